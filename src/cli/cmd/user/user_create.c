#include "cli/cmd/user/user.h"

int cmd_user_create(struct cli *cli, const struct args_user_create *args, struct error *err)
{
    const char *password = args->password;
    if (!args->remote && !password &&
        user_ask_new_password(cli, arena_printf(&cli->arena, "Password for user '%s': ", args->username), &password,
                              err) < 0)
        return -1;
    if (!args->remote && user_check_new_password(cli, password, args->username, err) < 0)
        return error_wrap(err, "Failed to %s", cli->command->help);
    struct wire_user user = {.username = args->username, .admin = args->admin, .active = true, .remote = args->remote};
    struct wire_post_user_request in = {.user = &user,
                                        .password = password ? password_hash(&cli->arena, password) : "",
                                        .is_hashed = true};
    return api_call(cli, ROUTE_ID_POST_USER, &in, NULL, err);
}
