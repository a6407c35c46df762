#include <strings.h>

#include "cli/cmd/user/user.h"
#include "cli/connection/logins.h"
#include "cli/terminal/terminal.h"

/* Logs in again, because a change of the password ends all logins of the user; with release 0.38.1 it also ended
 * this one. */
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

/* Logs in with the present password, because the master requires a recent login of users who change their own
 * password. *err is the master's refusal; it stays if nobody is there to answer. */
static int show_present_password(struct cli *cli, const char *user, struct error *err)
{
    const char *present, *token;
    if (terminal_ask_password(cli, arena_printf(&cli->arena, "Present password of user '%s': ", user), &present, NULL) <
        0)
        return -1;
    error_release(err);
    if (api_login(cli, user, present, &token, err) < 0)
        return -1;
    api_use_token(cli, user, token);
    return 0;
}

static int change_password(struct cli *cli, const char *user, const struct wire_patch_user_request *in,
                           struct error *err)
{
    const char *self;
    if (api_call(cli, ROUTE_ID_PATCH_USER, in, NULL, err) == 0)
        return 0;
    bool own = api_username(cli, &self, NULL) == 0 && strcasecmp(self, user) == 0;
    if (!own || err->kind != ERR_FORBIDDEN || show_present_password(cli, user, err) < 0)
        return -1;
    return api_call(cli, ROUTE_ID_PATCH_USER, in, NULL, err);
}

int cmd_user_change_password(struct cli *cli, const struct args_user_change_password *args, struct error *err)
{
    const char *name = args->target_user ? args->target_user : cli->user, *password;
    const struct wire_user *user;
    if (!name && api_username(cli, &name, err) < 0)
        return -1;
    if (user_ask_new_password(cli, arena_printf(&cli->arena, "New password for user '%s': ", name), &password, err) < 0)
        return -1;
    if (user_check_new_password(cli, password, name, err) < 0)
        return error_wrap(err, "Failed to %s", cli->command->help);
    if (user_by_name(cli, name, &user, err) < 0)
        return -1;
    struct wire_user_patch_user patch = {.password = password_hash(&cli->arena, password), .is_hashed = true};
    struct wire_patch_user_request in = {.user_id = user->id, .user = &patch};
    if (change_password(cli, name, &in, err) < 0)
        return -1;
    return args->target_user ? 0 : log_in_again(cli, name, password, err);
}
