#include "cli/connection/api.h"

int cmd_dev_auth_token(struct cli *cli, struct error *err)
{
    const char *token;
    if (api_token(cli, &token, err) < 0)
        return -1;
    fprintf(cli->out, "%s\n", token);
    return 0;
}
