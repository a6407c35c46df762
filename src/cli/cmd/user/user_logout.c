#include <stdlib.h>
#include <string.h>

#include "cli/connection/api.h"
#include "cli/connection/logins.h"

/* Deletes the stored token whatever the master answers: the token may have expired, or the master may be gone. */
static int log_out(struct cli *cli, const struct logins *l, const char *user, struct error *err)
{
    const char *token = logins_token(l, user);
    if (!token)
        return 0;
    if (logins_drop(l, user, err) < 0)
        return -1;
    api_logout(cli, token, NULL);
    return l->active_user && strcmp(l->active_user, user) == 0 ? logins_set_active(l, NULL, err) : 0;
}

/* Here the master's answer matters: whoever logs out everywhere wants to know that it has happened. */
static int log_out_everywhere(struct cli *cli, const struct logins *l, struct error *err)
{
    const struct wire_logout_request in = {.everywhere = true};
    const char *user;
    if (api_username(cli, &user, err) < 0 || api_call(cli, ROUTE_ID_LOGOUT, &in, NULL, err) < 0 ||
        logins_drop(l, user, err) < 0)
        return -1;
    return l->active_user && strcmp(l->active_user, user) == 0 ? logins_set_active(l, NULL, err) : 0;
}

int cmd_user_logout(struct cli *cli, const struct args_user_logout *args, struct error *err)
{
    struct logins l;
    const char *directory, *env = getenv("DET_PASS") ? getenv("DET_USER") : NULL;
    if (config_directory(&cli->arena, &directory, err) < 0 ||
        logins_load(&l, directory, cli->master, &cli->arena, err) < 0)
        return -1;
    if (args->everywhere)
        return log_out_everywhere(cli, &l, err);
    if (!args->all) {
        const char *user = cli->user ? cli->user : env ? env : l.active_user ? l.active_user : "determined";
        return log_out(cli, &l, user, err);
    }
    for (size_t i = 0; i < l.n; i++)
        if (log_out(cli, &l, l.user[i], err) < 0)
            return -1;
    return logins_set_active(&l, NULL, err);
}
