#include "cli/connection/api.h"
#include "cli/connection/logins.h"
#include "cli/terminal/terminal.h"

/* Shows the message of the administrators, if there is one. A login does not fail for want of it. */
static void show_cluster_message(struct cli *cli)
{
    struct wire_get_master_response out = {0};
    if (api_call(cli, ROUTE_ID_GET_MASTER, NULL, &out, NULL) == 0 && out.cluster_message &&
        out.cluster_message->message)
        cli_say(cli, CLI_YELLOW, "Message of the administrators: %s", out.cluster_message->message);
}

int cmd_user_login(struct cli *cli, const struct args_user_login *args, struct error *err)
{
    struct logins l;
    struct error weak = ERROR_INIT;
    const char *user = args->username, *password, *token, *directory;
    if (config_directory(&cli->arena, &directory, err) < 0 ||
        logins_load(&l, directory, cli->master, &cli->arena, err) < 0)
        return -1;
    if (!user && terminal_ask_line(cli, "Username: ", &user, err) < 0)
        return -1;
    if (terminal_ask_password(cli, arena_printf(&cli->arena, "Password for user '%s': ", user), &password, err) < 0 ||
        api_login(cli, user, password, &token, err) < 0)
        return -1;
    if (password_check(password, &weak) < 0)
        cli_say(cli, CLI_YELLOW, "Warning: this password is weak: %s. Please change it soon.", error_msg(&weak));
    error_release(&weak);
    if (logins_set_token(&l, user, token, err) < 0)
        return -1;
    if (logins_set_active(&l, user, err) < 0)
        return -1;
    show_cluster_message(cli);
    return 0;
}
