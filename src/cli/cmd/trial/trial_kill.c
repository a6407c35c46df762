#include <stdlib.h>

#include "cli/cmd/show.h"

static int kill_one(struct cli *cli, int32_t id, struct error *err)
{
    struct wire_get_trial_request look = {.trial_id = id};
    struct wire_get_trial_response out;
    struct wire_kill_trial_request in = {.id = id};
    if (api_call(cli, ROUTE_ID_GET_TRIAL, &look, &out, err) < 0)
        return -1;
    if (trial_has_ended(out.trial->state)) {
        fprintf(cli->out, "Trial %d has ended already (%s); nothing was changed\n", id,
                state_text(&wire_enum_trial_state, (int32_t)out.trial->state));
        return 0;
    }
    if (api_call(cli, ROUTE_ID_KILL_TRIAL, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Killed trial %d\n", id);
    return 0;
}

int cmd_trial_kill(struct cli *cli, const struct args_trial_kill *args, struct error *err)
{
    for (size_t i = 0; i < args->trial_ids_n; i++)
        if (kill_one(cli, (int32_t)strtol(args->trial_ids[i], NULL, 10), err) < 0)
            return -1;
    return 0;
}
