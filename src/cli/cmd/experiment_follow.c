#include <time.h>

#include "cli/cmd/experiment.h"
#include "cli/logs.h"

void experiment_warn(struct cli *cli, const enum wire_launch_warning *warning, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (warning[i] == WIRE_LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED)
            cli_say(cli, CLI_YELLOW,
                    "Warning: the experiment asks for more slots than its resource pool has now; it waits until there "
                    "are enough.");
}

int experiment_follow(struct cli *cli, int32_t experiment_id, struct error *err)
{
    int32_t trial = 0;
    fputs("Waiting for first trial to begin...\n", cli->out);
    fflush(cli->out);
    for (;;) {
        struct wire_get_experiment_request in = {.experiment_id = experiment_id};
        struct wire_get_experiment_response out;
        if (experiment_first_trial(cli, experiment_id, &trial, err) < 0)
            return -1;
        if (trial)
            break;
        if (api_call(cli, ROUTE_ID_GET_EXPERIMENT, &in, &out, err) < 0)
            return -1;
        if (experiment_is_final(out.experiment->state))
            return error_set(err, ERR_ABORTED, "experiment %d has ended without a trial", experiment_id);
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    fprintf(cli->out, "Following first trial with ID %d\n", trial);
    fflush(cli->out);
    return logs_print(cli, &(struct log_query){.trial_id = trial, .follow = true}, err);
}
