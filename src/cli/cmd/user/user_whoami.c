#include "cli/cmd/show.h"

int cmd_user_whoami(struct cli *cli, const struct args_user_whoami *args, struct error *err)
{
    (void)args;
    struct wire_get_me_response out;
    if (cli->format)
        return document_show(cli, ROUTE_ID_GET_ME, NULL, "user", err);
    if (api_call(cli, ROUTE_ID_GET_ME, NULL, &out, err) < 0)
        return -1;
    fprintf(cli->out, "You are logged in as user '%s'\n", out.user->username);
    return 0;
}
