#include <time.h>

#include "cli/cmd/experiment.h"

bool experiment_is_final(enum wire_experiment_state s)
{
    return s == WIRE_EXPERIMENT_STATE_COMPLETED || s == WIRE_EXPERIMENT_STATE_CANCELED ||
           s == WIRE_EXPERIMENT_STATE_ERROR || s == WIRE_EXPERIMENT_STATE_DELETED ||
           s == WIRE_EXPERIMENT_STATE_DELETE_FAILED;
}

void experiment_exit_as_it_ended(struct cli *cli, const struct wire_experiment *e, bool quiet)
{
    if (!quiet && e->state != WIRE_EXPERIMENT_STATE_COMPLETED)
        experiment_tell_state(cli, e);
    cli->exit_code = e->state == WIRE_EXPERIMENT_STATE_COMPLETED ? 0 : 1;
}

int cmd_experiment_wait(struct cli *cli, const struct args_experiment_wait *args, struct error *err)
{
    struct wire_get_experiment_request in = {.experiment_id = (int32_t)args->experiment_id};
    for (;;) {
        struct wire_get_experiment_response out;
        if (api_call(cli, ROUTE_ID_GET_EXPERIMENT, &in, &out, err) < 0)
            return -1;
        if (experiment_is_final(out.experiment->state)) {
            experiment_exit_as_it_ended(cli, out.experiment, args->quiet);
            return 0;
        }
        struct timespec pause = {.tv_sec = args->polling_interval > 0 ? args->polling_interval : 0,
                                 .tv_nsec = 100000000};
        pause.tv_nsec = args->polling_interval > 0 ? 0 : pause.tv_nsec;
        nanosleep(&pause, NULL);
    }
}
