#include "cli/cmd/user.h"
#include "cli/logins.h"

/* A change of the password ends all logins of that user, this one, too: log in again right away. */
static int log_in_again(struct cli *cli, const char *user, const char *password, struct error *err)
{
    struct logins l;
    const char *directory, *token;
    if (config_directory(&cli->arena, &directory, err) < 0 ||
        logins_load(&l, directory, cli->master, &cli->arena, err) < 0 ||
        api_login(cli, user, password, &token, err) < 0 || logins_set_token(&l, user, token, err) < 0)
        return -1;
    return logins_set_active(&l, user, err);
}

int cmd_user_change_password(struct cli *cli, const struct args_user_change_password *args, struct error *err)
{
    const char *name = args->target_user ? args->target_user : cli->user, *password;
    const struct wire_user *user;
    if (!name && api_username(cli, &name, err) < 0)
        return -1;
    if (user_ask_new_password(cli, arena_printf(&cli->arena, "New password for user '%s': ", name), &password, err) < 0)
        return -1;
    if (password_check(password, err) < 0)
        return error_wrap(err, "Failed to %s", cli->command->help);
    if (user_by_name(cli, name, &user, err) < 0)
        return -1;
    struct wire_user_patch_user patch = {.password = password_hash(&cli->arena, password), .is_hashed = true};
    struct wire_patch_user_request in = {.user_id = user->id, .user = &patch};
    if (api_call(cli, ROUTE_ID_PATCH_USER, &in, NULL, err) < 0)
        return -1;
    return args->target_user ? 0 : log_in_again(cli, name, password, err);
}
