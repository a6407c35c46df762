#include <inttypes.h>

#include "cli/cmd/experiment.h"
#include "cli/connection/logs.h"

int experiment_first_trial(struct cli *cli, int32_t experiment_id, int32_t *ret, struct error *err)
{
    struct wire_get_experiment_trials_request in = {.experiment_id = experiment_id};
    struct wire_get_experiment_trials_response out;
    if (api_call(cli, ROUTE_ID_GET_EXPERIMENT_TRIALS, &in, &out, err) < 0)
        return -1;
    *ret = 0;
    for (size_t i = 0; i < out.trials_n; i++)
        if (*ret == 0 || out.trials[i].id < *ret)
            *ret = out.trials[i].id;
    return 0;
}

int cmd_experiment_logs(struct cli *cli, const struct args_experiment_logs *args, struct error *err)
{
    struct log_query q = LOG_QUERY(args);
    if (experiment_first_trial(cli, (int32_t)args->experiment_id, &q.trial_id, err) < 0)
        return -1;
    if (q.trial_id == 0)
        return error_set(err, ERR_NOT_FOUND, "Failed to %s: experiment %" PRId64 " has no trial yet",
                         cli->command->help, args->experiment_id);
    return logs_print(cli, &q, err);
}

int cmd_trial_logs(struct cli *cli, const struct args_trial_logs *args, struct error *err)
{
    struct log_query q = LOG_QUERY(args);
    q.trial_id = (int32_t)args->trial_id;
    return logs_print(cli, &q, err);
}

int cmd_task_logs(struct cli *cli, const struct args_task_logs *args, struct error *err)
{
    struct log_query q = LOG_QUERY(args);
    q.task_id = args->task_id;
    q.allocation_id = args->allocation_ids;
    q.allocation_id_n = args->allocation_ids_n;
    return logs_print(cli, &q, err);
}
