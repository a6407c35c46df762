#include <time.h>

#include "cli/cmd/experiment.h"
#include "cli/cmd/show.h"
#include "cli/connection/logs.h"
#include "cli/connection/publish.h"
#include "cli/terminal/terminal.h"

/* The reason in the job queue why the experiment waits; NULL: there is none, or it cannot be read. */
static const char *waiting_reason(struct cli *cli, int32_t experiment_id)
{
    cleanup_error struct error none = ERROR_INIT;
    struct wire_get_experiment_request in = {.experiment_id = experiment_id};
    struct wire_get_experiment_response out;
    if (api_call(cli, ROUTE_ID_GET_EXPERIMENT, &in, &out, &none) < 0 || !out.job_summary)
        return NULL;
    return out.job_summary->reason;
}

void experiment_warn(struct cli *cli, int32_t experiment_id, const enum wire_launch_warning *warning, size_t n)
{
    bool exceeds = false;
    for (size_t i = 0; i < n; i++)
        exceeds = exceeds || warning[i] == WIRE_LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED;
    if (!exceeds)
        return;
    const char *reason = waiting_reason(cli, experiment_id);
    cli_say(cli, CLI_YELLOW,
            "Warning: no agents of its resource pool can hold a trial of this experiment now; it waits for some "
            "that can%s%s.",
            reason ? ": " : "", reason ? reason : "");
}

void experiment_warn_of_config(struct cli *cli, const char *const *sentence, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cli_say(cli, CLI_YELLOW, "Warning: %s.", sentence[i]);
}

static int serve_ports(struct cli *cli, struct publish *ports, int32_t trial_id, struct error *err)
{
    struct wire_get_trial_request in = {.trial_id = trial_id};
    struct wire_get_trial_response out;
    if (api_call(cli, ROUTE_ID_GET_TRIAL, &in, &out, err) < 0)
        return -1;
    return publish_serve(ports, cli, out.trial->task_id, err);
}

static int wait_for_trial(struct cli *cli, int32_t experiment_id, struct progress *bar, int32_t *ret, struct error *err)
{
    for (;;) {
        struct wire_get_experiment_request in = {.experiment_id = experiment_id};
        struct wire_get_experiment_response out;
        if (experiment_first_trial(cli, experiment_id, ret, err) < 0)
            return -1;
        if (*ret)
            return 0;
        if (api_call(cli, ROUTE_ID_GET_EXPERIMENT, &in, &out, err) < 0)
            return -1;
        if (experiment_is_final(out.experiment->state))
            return error_set(err, ERR_ABORTED, "experiment %d has ended without a trial%s%s", experiment_id,
                             out.experiment->failure ? ": " : "",
                             out.experiment->failure ? out.experiment->failure : "");
        progress_show(bar, out.experiment->progress,
                      state_text(&wire_enum_experiment_state, (int32_t)out.experiment->state));
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
}

int experiment_follow(struct cli *cli, int32_t experiment_id, struct publish *ports, struct error *err)
{
    int32_t trial = 0;
    struct progress bar = {.cli = cli, .what = arena_printf(&cli->arena, "Experiment %d", experiment_id)};
    fputs("Waiting for first trial to begin...\n", cli->out);
    fflush(cli->out);
    int rc = wait_for_trial(cli, experiment_id, &bar, &trial, err);
    progress_end(&bar);
    if (rc < 0)
        return -1;
    if (ports && serve_ports(cli, ports, trial, err) < 0)
        return -1;
    fprintf(cli->out, "Following first trial with ID %d\n", trial);
    fflush(cli->out);
    if (logs_print(cli, &(struct log_query){.trial_id = trial, .experiment_id = experiment_id, .follow = true}, err) <
        0)
        return -1;
    return experiment_tell_end(cli, experiment_id, err);
}
