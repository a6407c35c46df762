/* Logging in on another device: this machine shows a code and asks the master, again and again, whether somebody who is
 * logged in to the web interface has confirmed it. Neither a browser nor a password is needed here. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cmd/access/access.h"
#include "common/base/clock.h"

#define SECOND_US INT64_C(1000000)

/* How the page on which the code is confirmed names this machine: USER@HOST. */
static const char *name_of_device(struct cli *cli)
{
    char host[65] = "", user[65] = "";
    if (gethostname(host, sizeof(host) - 1) < 0)
        host[0] = '\0';
    if (getlogin_r(user, sizeof(user)) != 0)
        snprintf(user, sizeof(user), "%lu", (unsigned long)getuid());
    return arena_printf(&cli->arena, "%.60s@%.60s", user, host);
}

/* Asks until somebody has answered. If the master cannot be reached, asks again until the code expires. */
static int wait_for_token(struct cli *cli, const struct wire_start_device_login_response *begun, const char **ret,
                          struct error *err)
{
    const struct wire_poll_device_login_request in = {.device_code = begun->device_code};
    int64_t until_us = clock_monotonic_us() + begun->expires_in * SECOND_US;
    for (;;) {
        struct wire_poll_device_login_response out;
        cleanup_error struct error why = ERROR_INIT;
        int rc = api_call(cli, ROUTE_ID_POLL_DEVICE_LOGIN, &in, &out, &why);
        if (rc == 0 && !out.pending && out.token) {
            *ret = out.token;
            return 0;
        }
        if (rc < 0 && (why.kind != ERR_UNAVAILABLE || clock_monotonic_us() > until_us)) {
            error_move(err, &why);
            return -1;
        }
        nanosleep(&(struct timespec){.tv_sec = begun->interval > 0 ? begun->interval : 1}, NULL);
    }
}

int login_on_another_device(struct cli *cli, struct error *err)
{
    const struct wire_start_device_login_request in = {.device = name_of_device(cli)};
    struct wire_start_device_login_response begun;
    const char *token;
    if (api_call(cli, ROUTE_ID_START_DEVICE_LOGIN, &in, &begun, err) < 0)
        return -1;
    fprintf(cli->out,
            "Open this address on any device, and log in there:\n\n    %s%s?code=%s\n\nConfirm the code %s within %d "
            "minutes. This command waits until the code is confirmed. If you end it before, nobody is logged in.\n",
            cli->master, begun.path, begun.user_code, begun.user_code, begun.expires_in / 60);
    fflush(cli->out);
    return wait_for_token(cli, &begun, &token, err) < 0 ? -1 : login_with_token(cli, token, err);
}
