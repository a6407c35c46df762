/* Puts the rows of the core's effects into the store, and reads them back when a master starts. */
#include <stdio.h>
#include <string.h>

#include "api/webhooks/webhook_events.h"
#include "core/config/expconf.h"
#include "core/config/spec.h"
#include "gen/wire.h"
#include "master/master.h"
#include "store/cluster/tasks.h"
#include "store/experiments/experiments.h"
#include "store/experiments/removals.h"
#include "store/experiments/trials.h"
#include "store/functions.h"
#include "store/logs/task_logs.h"
#include "store/store.h"

static int store_log(struct store *db, const struct core_effect *e, int64_t now_us, struct error *err)
{
    struct store_log_line line = {.time_us = now_us,
                                  .allocation_id = e->log.allocation_id,
                                  .source = "master",
                                  .stdtype = "stdout",
                                  .level = e->log.error ? WIRE_LOG_LEVEL_ERROR : WIRE_LOG_LEVEL_INFO,
                                  .text = e->log.text,
                                  .text_n = strlen(e->log.text)};
    int64_t first_id;
    return store_task_log_append(db, e->log.task_id, &line, 1, &first_id, err);
}

/* Stores an experiment. If it is over, a collection of its checkpoints is requested. */
static int store_experiment(struct store *db, const struct experiment_row *x, struct error *err)
{
    if (store_experiment_put(db, x, err) < 0)
        return -1;
    return run_state_is_over(x->state) ? store_collection_ask(db, x->id, err) : 0;
}

/* Changes the resources in the configuration as it is stored at this moment, because users may have changed other parts
 * of it since the step. */
static int store_resources(struct store *db, const struct core_effect *e, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_json struct json_object *config = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct store_experiment x;
    if (store_experiment_get(db, e->resources.experiment_id, /* with_config= */ true, &a, &x, err) < 0 ||
        json_parse(x.config, strlen(x.config), &config, err) < 0)
        return -1;
    struct json_object *resources = schema_section(exp_values, config, resources);
    schema_put(exp_resources, resources, priority, json_object_new_int(e->resources.priority));
    schema_put(exp_resources, resources, weight, json_object_new_double(e->resources.weight));
    schema_put(exp_resources, resources, resource_pool, json_object_new_string(e->resources.pool));
    json_print(config, &text);
    return store_experiment_set_config(db, x.id, strbuf_str(&text), e->resources.pool, err);
}

/* Stores an allocation. If it is the ended allocation of a task that removes checkpoints, the checkpoints that the task
 * has not removed can be given to another task. */
static int store_allocation(struct store *db, const struct core_effect *e, int64_t now_us, struct error *err)
{
    const struct allocation_row *a = e->allocation;
    char reason[256];
    if (store_allocation_put(db, a, e->insert, err) < 0)
        return -1;
    if (a->trial_id != 0 || a->state != ALLOCATION_TERMINATED)
        return 0;
    snprintf(reason, sizeof(reason), "task %s ended without having removed it: %s (exit code %d); its log tells more",
             a->task_id, exit_kind_text(a->exit_kind), a->exit_code);
    return store_removals_task_ended(db, a->task_id, a->exit_kind == EXIT_OK, now_us, reason, err);
}

static int store_row(struct store *db, const struct core_effect *e, int64_t now_us, const char *webhook_base_url,
                     struct error *err)
{
    switch (e->type) {
    case CORE_PUT_EXPERIMENT: /* the request's companion has inserted a new one, together with its configuration */
        return store_experiment(db, e->experiment, err);
    case CORE_PUT_TRIAL: /* new trials are inserted by store_new_rows() */
        return store_trial_put(db, e->trial, /* insert= */ false, err);
    case CORE_PUT_TASK:
        return store_task_put(db, e->task, /* insert= */ false, err);
    case CORE_PUT_LAUNCHED: /* the request's companion has inserted a new one, together with its configuration */
        return e->insert ? 0 : store_launched_task_update(db, e->launched, err);
    case CORE_PUT_ALLOCATION:
        return store_allocation(db, e, now_us, err);
    case CORE_PUT_CONTAINER:
        return store_container_put(db, e->container, e->insert, err);
    case CORE_PUT_AGENT:
        return store_agent_put(db, e->agent, err);
    case CORE_DELETE_AGENT:
        return store_agent_delete(db, e->agent_id, err);
    case CORE_PUT_SEARCHER:
        if (!e->searcher.snapshot)
            return store_snapshot_delete(db, e->searcher.experiment_id, err);
        return store_snapshot_set(db, e->searcher.experiment_id, e->searcher.snapshot, err);
    case CORE_ADD_SEARCHER_EVENTS:
        return store_searcher_events_add(db, e->searcher_events.experiment_id, e->searcher_events.from,
                                         e->searcher_events.lines, err);
    case CORE_PUT_RESOURCES:
        return store_resources(db, e, err);
    case CORE_TASK_LOG:
        return store_log(db, e, now_us, err);
    case CORE_EXPERIMENT_STATE: /* the experiment's row comes before this effect */
        return webhook_state_changed(db, e->state.experiment_id, run_state_name(e->state.to), webhook_base_url, now_us,
                                     err);
    default:
        return 0;
    }
}

/* ---- many trials at once: a step puts rows by kind, so that a searcher's new trials stand beside each other ------ */

static bool is_new(const struct core_effect *e, enum core_effect_type type)
{
    return e->type == type && e->insert;
}

/* Returns how many new trials of one experiment, or new tasks, begin at effect i. */
static size_t new_rows_at(const struct core_effects *effects, size_t i)
{
    const struct core_effect *first = &effects->item[i];
    size_t n = 0;
    if (!is_new(first, CORE_PUT_TRIAL) && !is_new(first, CORE_PUT_TASK))
        return 0;
    while (i + n < effects->n && is_new(&effects->item[i + n], first->type) &&
           (first->type == CORE_PUT_TASK || effects->item[i + n].trial->experiment_id == first->trial->experiment_id))
        n++;
    return n;
}

static int store_new_rows(struct store *db, const struct core_effect *first, size_t n, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    if (first->type == CORE_PUT_TASK) {
        const struct task_row **row = arena_array(&a, const struct task_row *, n);
        for (size_t i = 0; i < n; i++)
            row[i] = first[i].task;
        return store_tasks_insert(db, row, n, err);
    }
    const struct trial_row **row = arena_array(&a, const struct trial_row *, n);
    for (size_t i = 0; i < n; i++)
        row[i] = first[i].trial;
    return store_trials_insert(db, row, n, err);
}

int persist_effects(struct store *db, const struct core_effects *effects, int64_t now_us, const char *webhook_base_url,
                    struct error *err)
{
    for (size_t i = 0; i < effects->n;) {
        const struct core_effect *e = &effects->item[i];
        size_t n = new_rows_at(effects, i);
        if ((n ? store_new_rows(db, e, n, err) : store_row(db, e, now_us, webhook_base_url, err)) < 0)
            return -1;
        i += n ? n : 1;
    }
    return 0;
}

static int load_experiment(struct store *db, const struct store_experiment *x, struct arena *a,
                           struct core_restored_experiment *ret, struct error *err)
{
    cleanup_exp_config struct exp_config *config = NULL;
    if (exp_config_from_json(x->config, strlen(x->config), &config, err) < 0)
        return error_wrap(err, "configuration of experiment %d", x->id);
    core_spec_of_config(config, x->user_id, a, &ret->spec);
    ret->spec.workspace_id = x->workspace_id;
    ret->row = (struct experiment_row){.id = x->id,
                                       .progress = x->has_progress ? x->progress : 0,
                                       .start_us = x->start_us,
                                       .end_us = x->end_us,
                                       .queue_position = x->queue_position,
                                       .owner_id = x->user_id};
    snprintf(ret->row.job_id, sizeof(ret->row.job_id), "%s", x->job_id);
    if (run_state_parse(x->state, &ret->row.state) < 0)
        return error_set(err, ERR_INTERNAL, "experiment %d has the unknown state %s", x->id, x->state);
    if (store_snapshot_get(db, x->id, a, &ret->searcher_snapshot, err) < 0)
        return -1;
    return store_searcher_events_get(db, x->id, a, &ret->searcher_events, err);
}

static int load_quotas(struct store *db, struct arena *a, struct core_rows *rows, struct error *err)
{
    struct store_quota *q;
    if (store_quotas_all(db, a, &q, &rows->quota_n, err) < 0)
        return -1;
    struct core_quota_change *quota = arena_array(a, struct core_quota_change, rows->quota_n + 1);
    for (size_t i = 0; i < rows->quota_n; i++)
        quota[i] = (struct core_quota_change){.workspace_id = q[i].workspace_id,
                                              .user_id = q[i].user_id,
                                              .what = core_quota_what(q[i].workspace_name, q[i].username, a),
                                              .own = q[i].own,
                                              .limit = q[i].max_slots};
    rows->quota = quota;
    return 0;
}

static int load_run_times(struct store *db, const struct core *core, struct arena *a, struct core_rows *rows,
                          struct error *err)
{
    struct core_run_time *all = arena_array(a, struct core_run_time, core_pool_n(core) * CORE_RUN_TIMES_MAX + 1);
    struct core_pool_view pool;
    for (size_t i = 0; core_pool(core, i, &pool); i++) {
        int64_t *us;
        size_t n;
        if (store_allocation_run_times(db, pool.name, CORE_RUN_TIMES_MAX, a, &us, &n, err) < 0)
            return -1;
        while (n-- > 0)
            all[rows->run_time_n++] = (struct core_run_time){.pool = pool.name, .us = us[n]};
    }
    rows->run_time = all;
    return 0;
}

int persist_load(struct store *db, const struct core *core, struct arena *a, struct core_rows *ret, struct error *err)
{
    struct store_experiment *x;
    struct core_rows rows = {0};
    if (store_experiments_unfinished(db, a, &x, &rows.experiment_n, err) < 0)
        return -1;
    struct core_restored_experiment *e = arena_array(a, struct core_restored_experiment, rows.experiment_n + 1);
    size_t n = 0;
    for (size_t i = 0; i < rows.experiment_n; i++)
        if (!x[i].unmanaged && load_experiment(db, &x[i], a, &e[n++], err) < 0)
            return -1;
    rows.experiment = e;
    rows.experiment_n = n;
    int64_t last_experiment, last_trial;
    if (store_trials_unfinished(db, a, (struct trial_row **)&rows.trial, &rows.trial_n, err) < 0 ||
        store_tasks_open_of_their_own(db, a, (struct task_row **)&rows.task, &rows.task_n, err) < 0 ||
        store_launched_tasks_open(db, a, (struct launched_row **)&rows.launched, &rows.launched_n, err) < 0 ||
        store_allocations_open(db, a, (struct allocation_row **)&rows.allocation, &rows.allocation_n, err) < 0 ||
        store_containers_open(db, a, (struct container_row **)&rows.container, &rows.container_n, err) < 0 ||
        store_agents_all(db, a, (struct agent_row **)&rows.agent, &rows.agent_n, err) < 0 ||
        store_last_id(db, STORE_IDS_EXPERIMENTS, &last_experiment, err) < 0 ||
        store_last_id(db, STORE_IDS_TRIALS, &last_trial, err) < 0 || load_run_times(db, core, a, &rows, err) < 0 ||
        load_quotas(db, a, &rows, err) < 0)
        return -1;
    rows.last_experiment_id = (int32_t)last_experiment;
    rows.last_trial_id = (int32_t)last_trial;
    *ret = rows;
    return 0;
}
