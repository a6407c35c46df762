/* experiment create --test-mode: one trial of one batch, which is validated and saves a checkpoint that is not kept. */
#include <string.h>
#include <time.h>

#include "cli/cmd/experiment.h"
#include "cli/connection/logs.h"
#include "common/base/cleanup.h"
#include "gen/experiment_config.h"

/* ---- the configuration of the test ------------------------------------------------------------------------------- */

static struct json_object *one_batch(void)
{
    struct json_object *length = json_object_new_object();
    json_object_object_add(length, exp_unit_name(EXP_UNIT_BATCHES), json_object_new_int(1));
    return length;
}

/* Replaces any searcher by a single one, which draws the hyperparameters once. */
static void make_single(struct json_object *config)
{
    struct json_object *was = schema_get(exp_values, config, searcher), *single = json_object_new_object();
#define KEEP(field) schema_put(exp_searcher, single, field, json_object_get(schema_get(exp_searcher, was, field)))
    KEEP(metric);
    KEEP(smaller_is_better);
    KEEP(source_trial_id);
    KEEP(source_checkpoint_uuid);
#undef KEEP
    schema_put(exp_searcher, single, kind, json_object_new_string(exp_searcher_kind_name(EXP_SEARCHER_SINGLE)));
    schema_put(exp_searcher, single, max_length, one_batch());
    schema_put(exp_values, config, searcher, single);
}

int experiment_test_config(const char *effective, struct strbuf *ret, struct error *err)
{
    cleanup_json struct json_object *config = NULL;
    cleanup_strbuf struct strbuf description = STRBUF_INIT;
    if (json_parse(effective ? effective : "", effective ? strlen(effective) : 0, &config, err) < 0)
        return error_wrap(err, "the master's effective configuration");
    struct json_object *was = schema_get(exp_values, config, description);
    strbuf_addf(&description, "[test-mode] %s", was ? json_object_get_string(was) : "");
    schema_put(exp_values, config, description, json_object_new_string(description.s));
    make_single(config);
    schema_put(exp_values, config, min_validation_period, one_batch());
    schema_put(exp_values, config, scheduling_unit_batches, json_object_new_int(1));
    schema_put(exp_values, config, max_restarts, json_object_new_int(0));
    struct json_object *storage = schema_section(exp_values, config, checkpoint_storage);
    schema_put(exp_checkpoint_storage, storage, save_experiment_best, json_object_new_int(0));
    schema_put(exp_checkpoint_storage, storage, save_trial_best, json_object_new_int(0));
    schema_put(exp_checkpoint_storage, storage, save_trial_latest, json_object_new_int(0));
    yaml_print(config, ret);
    return 0;
}

/* ---- the progress of the test ------------------------------------------------------------------------------------ */

enum step { SCHEDULING, TRAINING, VALIDATION, CHECKPOINTING, STEP_NR };

static void print_steps(struct cli *cli, int done, bool failed, bool redraw)
{
    static const char *const name[STEP_NR] = {"Scheduling task..........", "Testing training.........",
                                              "Testing validation.......", "Testing checkpointing...."};
    static const char *const brief[STEP_NR] = {"scheduling", "training", "validation", "checkpoint"};
    enum { ONE_LINE = 128 }; /* columns; a narrower terminal cannot redraw the line in place */
    bool narrow = cli->out_width && cli->out_width < ONE_LINE;
    for (int i = 0; i < STEP_NR; i++)
        fprintf(cli->out, "%s%s [%s]",
                i        ? ", "
                : redraw ? "\r"
                         : "",
                narrow ? brief[i] : name[i],
                i < done              ? "\u2714"
                : i == done && failed ? "\u2717"
                                      : " ");
    if (!cli->out_terminal)
        fputc('\n', cli->out);
    fflush(cli->out);
}

/* The number of steps that are done. */
static int steps_done(const struct wire_trial *t, enum wire_experiment_state state)
{
    if (state == WIRE_EXPERIMENT_STATE_COMPLETED)
        return STEP_NR;
    if (!t)
        return 0;
    bool done[STEP_NR] = {state == WIRE_EXPERIMENT_STATE_RUNNING || t->total_batches_processed > 0,
                          t->total_batches_processed > 0, t->latest_validation != NULL, t->checkpoint_count > 0};
    int n = 0;
    while (n < STEP_NR && done[n])
        n++;
    return n;
}

static int look_at_trial(struct cli *cli, int32_t id, enum wire_experiment_state *ret_state,
                         const struct wire_trial **ret, struct error *err)
{
    struct wire_get_experiment_request in = {.experiment_id = id};
    struct wire_get_experiment_trials_request of = {.experiment_id = id, .limit = 1};
    struct wire_get_experiment_response experiment;
    struct wire_get_experiment_trials_response trials;
    if (api_call(cli, ROUTE_ID_GET_EXPERIMENT, &in, &experiment, err) < 0 ||
        api_call(cli, ROUTE_ID_GET_EXPERIMENT_TRIALS, &of, &trials, err) < 0)
        return -1;
    *ret_state = experiment.experiment->state;
    *ret = trials.trials_n ? &trials.trials[0] : NULL;
    return 0;
}

static int explain_failure(struct cli *cli, int32_t experiment_id, const struct wire_trial *t, struct error *err)
{
    if (t && logs_print(cli, &(struct log_query){.trial_id = t->id}, err) < 0)
        return -1;
    return error_set(err, ERR_ABORTED, "Model definition test failed: see above, or 'det experiment logs %d'",
                     experiment_id);
}

int experiment_watch_test(struct cli *cli, int32_t experiment_id, struct error *err)
{
    enum wire_experiment_state state;
    const struct wire_trial *t;
    for (int shown = -1;;) {
        if (look_at_trial(cli, experiment_id, &state, &t, err) < 0)
            return -1;
        int done = steps_done(t, state);
        bool over = experiment_is_final(state), failed = over && done < STEP_NR;
        if (done > shown || failed)
            print_steps(cli, done, failed, cli->out_terminal && shown >= 0);
        shown = done > shown ? done : shown;
        if (over) {
            fputs(cli->out_terminal ? "\n" : "", cli->out);
            if (failed)
                return explain_failure(cli, experiment_id, t, err);
            cli_print(cli, CLI_GREEN, "Model definition test succeeded! \U0001F389");
            return 0;
        }
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
}
