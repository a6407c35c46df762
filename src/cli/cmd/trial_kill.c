#include <inttypes.h>
#include <stdlib.h>

#include "cli/api.h"

int cmd_trial_kill(struct cli *cli, const struct args_trial_kill *args, struct error *err)
{
    struct wire_kill_trial_request in = {.id = (int32_t)args->trial_id};
    if (api_call(cli, ROUTE_ID_KILL_TRIAL, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Killed trial %" PRId64 "\n", args->trial_id);
    return 0;
}
