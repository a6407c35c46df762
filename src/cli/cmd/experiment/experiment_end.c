#include <inttypes.h>
#include <time.h>

#include "cli/cmd/experiment.h"
#include "cli/cmd/show.h"

/* Waits for the experiment's end, which comes a moment after the end of its first trial's log. Does not wait if
 * other trials go on. */
static int wait_for_end(struct cli *cli, int32_t id, const struct wire_experiment **ret, size_t *ret_running,
                        struct error *err)
{
    for (;;) {
        struct wire_get_experiment_request in = {.experiment_id = id};
        struct wire_get_experiment_response out;
        struct wire_get_experiment_trials_request of = {.experiment_id = id, .limit = -1};
        struct wire_get_experiment_trials_response trials;
        if (api_call(cli, ROUTE_ID_GET_EXPERIMENT, &in, &out, err) < 0)
            return -1;
        *ret = out.experiment;
        *ret_running = 0;
        if (experiment_is_final(out.experiment->state))
            return 0;
        if (api_call(cli, ROUTE_ID_GET_EXPERIMENT_TRIALS, &of, &trials, err) < 0)
            return -1;
        for (size_t i = 0; i < trials.trials_n; i++)
            *ret_running += !trial_has_ended(trials.trials[i].state);
        if (*ret_running > 0 || out.experiment->state == WIRE_EXPERIMENT_STATE_PAUSED)
            return 0;
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
}

/* Finds the trial with the best value of the searcher's metric; NULL: no trial has reported it. */
static int find_best(struct cli *cli, int32_t id, const struct searched_metric *m, const struct wire_trial **ret,
                     struct error *err)
{
    struct wire_get_experiment_trials_request in = {
        .experiment_id = id,
        .limit = 1,
        .sort_by = WIRE_GET_EXPERIMENT_TRIALS_REQUEST_SORT_BY_BEST_VALIDATION_METRIC,
        .order_by = m->smaller_is_better ? WIRE_ORDER_BY_ASC : WIRE_ORDER_BY_DESC};
    struct wire_get_experiment_trials_response out;
    if (api_call(cli, ROUTE_ID_GET_EXPERIMENT_TRIALS, &in, &out, err) < 0)
        return -1;
    *ret = out.trials_n && out.trials[0].best_validation ? &out.trials[0] : NULL;
    return 0;
}

/* Finds the checkpoint with the best value; if no checkpoint was saved at a validation, the last one. "": there is
 * none. */
static int find_checkpoint(struct cli *cli, int32_t id, const char **ret, struct error *err)
{
    enum wire_checkpoint_state completed = WIRE_CHECKPOINT_STATE_COMPLETED;
    struct wire_get_experiment_checkpoints_request in = {.id = id,
                                                         .limit = 1,
                                                         .states = &completed,
                                                         .states_n = 1,
                                                         .has_sort_by_attr = true,
                                                         .sort_by_attr = WIRE_CHECKPOINT_SORT_BY_SEARCHER_METRIC};
    struct wire_get_experiment_checkpoints_response out;
    if (api_call(cli, ROUTE_ID_GET_EXPERIMENT_CHECKPOINTS, &in, &out, err) < 0)
        return -1;
    *ret = out.checkpoints_n ? out.checkpoints[0].uuid : "";
    return 0;
}

static void tell_best(struct cli *cli, const struct wire_trial *best, const struct searched_metric *m,
                      const char *checkpoint)
{
    const char *value = best ? metric_text(&cli->arena, best->best_validation->metrics, m->name) : NULL;
    if (value)
        cli_say(cli, CLI_PLAIN, "  best:        %s=%s (trial %d, after %d batches)", m->name, value, best->id,
                best->best_validation->total_batches);
    if (*checkpoint)
        cli_say(cli, CLI_PLAIN, "  checkpoint:  %s", checkpoint);
}

static void tell_next(struct cli *cli, const struct wire_experiment *e, const char *checkpoint)
{
    if (e->state != WIRE_EXPERIMENT_STATE_COMPLETED)
        cli_say(cli, CLI_PLAIN, "  next:        det experiment logs %d --tail 50, or det experiment continue %d", e->id,
                e->id);
    else if (*checkpoint)
        cli_say(cli, CLI_PLAIN, "  next:        det checkpoint download %.8s", checkpoint);
    else
        cli_say(cli, CLI_PLAIN, "  next:        det experiment describe %d --metrics", e->id);
}

void experiment_tell_state(struct cli *cli, const struct wire_experiment *e)
{
    bool completed = e->state == WIRE_EXPERIMENT_STATE_COMPLETED;
    cli_say(cli, completed ? CLI_GREEN : CLI_RED, "Experiment %d ended: %s%s%s", e->id,
            state_text(&wire_enum_experiment_state, (int32_t)e->state), e->failure ? ": " : "",
            e->failure ? e->failure : "");
}

int experiment_tell_end(struct cli *cli, int32_t id, struct error *err)
{
    const struct wire_experiment *e;
    const struct wire_trial *best;
    struct searched_metric m;
    const char *checkpoint;
    size_t running;
    if (wait_for_end(cli, id, &e, &running, err) < 0)
        return -1;
    if (!experiment_is_final(e->state)) {
        if (running)
            cli_say(cli, CLI_PLAIN,
                    "Experiment %d goes on with %zu more trial%s. To wait for its end, run: det experiment wait %d", id,
                    running, running == 1 ? "" : "s", id);
        else
            cli_say(cli, CLI_PLAIN, "Experiment %d is paused. To continue it, run: det experiment activate %d", id, id);
        return 0;
    }
    if (searched_metric_fetch(cli, id, &m, err) < 0 || find_best(cli, id, &m, &best, err) < 0 ||
        find_checkpoint(cli, id, &checkpoint, err) < 0)
        return -1;
    experiment_tell_state(cli, e);
    tell_best(cli, best, &m, checkpoint);
    tell_next(cli, e, checkpoint);
    cli->exit_code = e->state == WIRE_EXPERIMENT_STATE_COMPLETED ? 0 : 1;
    return 0;
}
