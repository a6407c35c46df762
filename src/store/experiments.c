#include "store/environments.h"
#include "store/experiments.h"

#include "store/list.h"
#include "store/places.h"

void store_read_experiment(struct query *q, struct arena *a, void *row)
{
    struct store_experiment *x = row;
    x->id = take_i32(q);
    x->job_id = take_text(q, a);
    x->state = take_text(q, a);
    x->user_id = take_i32(q);
    x->project_id = take_i32(q);
    x->name = take_text(q, a);
    x->description = take_text(q, a);
    x->notes = take_text(q, a);
    x->labels = take_text(q, a);
    x->archived = take_bool(q);
    x->unmanaged = take_bool(q);
    x->has_parent = take_opt_i32(q, &x->parent_id);
    x->has_progress = take_opt_real(q, &x->progress);
    x->start_us = take_int(q);
    x->end_us = take_int(q);
    x->searcher_type = take_text(q, a);
    x->searcher_metric = take_text(q, a);
    x->smaller_is_better = take_bool(q);
    x->resource_pool = take_text(q, a);
    x->external_id = take_opt_text(q, a);
    x->num_trials = take_i32(q);
    x->checkpoint_count = take_i32(q);
    x->checkpoint_size = take_int(q);
    x->model_definition_size = take_int(q);
    take_opt_i32(q, &x->best_trial_id);
    x->has_best = take_opt_real(q, &x->best_metric);
    x->username = take_text(q, a);
    x->display_name = take_opt_text(q, a);
    x->project_name = take_text(q, a);
    x->workspace_name = take_text(q, a);
    x->workspace_id = take_i32(q);
    x->project_owner_id = take_i32(q);
    x->parent_archived = take_bool(q);
    x->queue_position = take_int(q);
    x->failure = take_opt_text(q, a);
    x->config = take_opt_text(q, a);
    x->original_config = take_opt_text(q, a);
}

/* ---- writing ---- */

static int insert_row(struct store *st, const struct store_experiment *x, size_t model_definition_n,
                      struct error *err)
{
    if (query_exec(st, Q_EXPERIMENTS_INSERT,
                   SQL_ARGS(sql_int(x->id), sql_text(x->job_id), sql_text(x->state), sql_int(x->user_id),
                            sql_int(x->project_id), sql_text(x->name), sql_text(x->description), sql_text(x->notes),
                            sql_text(x->labels ? x->labels : "[]"), sql_bool(x->archived), sql_bool(x->unmanaged),
                            sql_opt_int(x->has_parent, x->parent_id), sql_opt_real(x->has_progress, x->progress),
                            sql_int(x->start_us), sql_time(x->end_us), sql_text(x->searcher_type),
                            sql_text(x->searcher_metric), sql_bool(x->smaller_is_better), sql_text(x->resource_pool),
                            sql_opt_text(x->external_id), sql_int((int64_t)model_definition_n)), NULL, err) == 0)
        return 0;
    if (error_is_constraint(err, CONSTRAINT_FOREIGN_KEY, NULL))
        return explain_conflict(err, "experiment %d: project %d or user %d does not exist", x->id, x->project_id,
                                x->user_id);
    if (error_is_constraint(err, CONSTRAINT_UNIQUE, "experiments.external_id"))
        return explain_conflict(err, "an experiment with the external id \"%s\" already exists", x->external_id);
    return error_wrap(err, "experiment %d", x->id);
}

/* What it adds to the counts of its project's labels, or takes away. */
static int count_labels(struct store *st, int32_t id, int by, struct error *err)
{
    if (query_send(st, Q_LABELS_COUNT, SQL_ARGS(sql_int(id), sql_int(by)), err) < 0)
        return -1;
    return by < 0 ? query_send(st, Q_LABELS_FORGET, SQL_NO_ARGS, err) : 0;
}

int store_experiment_insert(struct store *st, const struct store_experiment *x, const void *model_definition,
                            size_t model_definition_n, struct error *err)
{
    const struct sql_value position = sql_int(x->queue_position ? x->queue_position : x->start_us);
    if (insert_row(st, x, model_definition_n, err) < 0 || count_labels(st, x->id, 1, err) < 0)
        return -1;
    if (query_send(st, Q_EXPERIMENT_DOCUMENTS_INSERT, SQL_ARGS(sql_int(x->id), sql_text(x->config),
                                                               sql_text(x->original_config)), err) < 0 ||
        query_send(st, Q_MODEL_DEFINITIONS_INSERT, SQL_ARGS(sql_int(x->id),
                                                            sql_blob(model_definition, model_definition_n)), err) < 0 ||
        query_send(st, Q_JOBS_PUT, SQL_ARGS(sql_text(x->job_id), sql_text("EXPERIMENT"), sql_int(x->user_id),
                                            sql_text(x->resource_pool), position, sql_null(), sql_null(),
                                            sql_int(x->start_us)), err) < 0)
        return error_wrap(err, "experiment %d", x->id);
    return 0;
}

int store_experiment_put(struct store *st, const struct experiment_row *x, struct error *err)
{
    bool fails = x->state == RUN_STOPPING_ERROR || x->state == RUN_ERROR;
    if (query_exec_one(st, Q_EXPERIMENTS_PUT, SQL_ARGS(sql_int(x->id), sql_text(run_state_name(x->state)),
                                                       sql_real(x->progress), sql_time(x->end_us),
                                                           sql_int(x->owner_id), sql_opt_text(x->failure), sql_bool(fails)),
                       err, "experiment %d", x->id) < 0)
        return -1;
    return query_send(st, Q_JOBS_SET_POSITION, SQL_ARGS(sql_text(x->job_id), sql_int(x->queue_position)), err);
}

int store_experiment_set_state(struct store *st, int32_t id, const char *state, int64_t end_us, struct error *err)
{
    if (query_exec_one(st, Q_EXPERIMENTS_SET_STATE, SQL_ARGS(sql_int(id), sql_text(state), sql_time(end_us)), err,
                       "experiment %d", id) < 0)
        return explain_conflict(err, "experiment %d: there is no state \"%s\"", id, state);
    return 0;
}

int store_experiment_set_archived(struct store *st, int32_t id, bool archived, struct error *err)
{
    return query_exec_one(st, Q_EXPERIMENTS_SET_ARCHIVED, SQL_ARGS(sql_int(id), sql_bool(archived)), err,
                          "experiment %d", id);
}

int store_experiment_set_project(struct store *st, int32_t id, int32_t project_id, struct error *err)
{
    if (count_labels(st, id, -1, err) < 0)
        return -1;
    if (query_exec_one(st, Q_EXPERIMENTS_SET_PROJECT, SQL_ARGS(sql_int(id), sql_int(project_id)), err, "experiment %d",
                       id) < 0)
        return explain_conflict(err, "project %d does not exist", project_id);
    return count_labels(st, id, 1, err);
}

int store_experiment_set_config(struct store *st, int32_t id, const char *config, const char *resource_pool,
                                struct error *err)
{
    if (query_exec_one(st, Q_EXPERIMENT_DOCUMENTS_SET_CONFIG, SQL_ARGS(sql_int(id), sql_text(config)), err,
                       "experiment %d", id) < 0)
        return -1;
    const struct sql_args args = SQL_ARGS(sql_int(id), sql_text(resource_pool));
    return query_send(st, Q_EXPERIMENTS_SET_POOL, args, err) < 0 ? -1
                                                                 : query_send(st, Q_JOBS_SET_POOL_OF_EXPERIMENT, args, err);
}

int store_experiment_patch(struct store *st, int32_t id, const struct store_experiment_patch *p, struct error *err)
{
    if (p->labels && count_labels(st, id, -1, err) < 0)
        return -1;
    if (query_exec_one(st, Q_EXPERIMENTS_PATCH, SQL_ARGS(sql_int(id), sql_opt_text(p->name),
                                                         sql_opt_text(p->description),
                                                         sql_opt_text(p->notes), sql_opt_text(p->labels)),
                       err, "experiment %d", id) < 0)
        return -1;
    return p->labels ? count_labels(st, id, 1, err) : 0;
}

static int delete_row(struct store *st, int32_t id, struct error *err)
{
    static const enum sql_query hanging[] = {
        Q_EXPERIMENTS_DELETE_LOGS, Q_EXPERIMENTS_DELETE_LOG_STATE, Q_EXPERIMENTS_DELETE_LOG_MARKS,
        Q_EXPERIMENTS_DELETE_JOB,
    };
    if (mark_last_id(st, STORE_IDS_EXPERIMENTS, err) < 0 || mark_last_id(st, STORE_IDS_TRIALS, err) < 0 ||
        count_labels(st, id, -1, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(hanging) / sizeof(*hanging); i++)
        if (query_send(st, hanging[i], SQL_ARGS(sql_int(id)), err) < 0)
            return -1;
    if (query_exec_one(st, Q_EXPERIMENTS_DELETE, SQL_ARGS(sql_int(id)), err, "experiment %d", id) < 0)
        return -1;
    return store_environments_forget(st, err) < 0 ? -1 : store_places_finish(st, err);
}

/* What the experiment tells of its trials is told without it. */
static int run_deleted(struct store *st, int32_t experiment_id, int32_t trial_id, struct error *err)
{
    const struct sql_args of_experiment = SQL_ARGS(sql_int(experiment_id));
    if (query_exec(st, Q_EXPERIMENTS_COUNT_TRIALS, of_experiment, NULL, err) < 0 ||
        query_exec(st, Q_EXPERIMENTS_RECOMPUTE_BEST, of_experiment, NULL, err) < 0 || store_environments_forget(st, err) < 0)
        return -1;
    return query_exec(st, Q_RUN_DELETIONS_DONE, SQL_ARGS(sql_int(trial_id)), NULL, err);
}

int store_experiment_delete_part(struct store *st, int32_t id, int32_t trial_id, int64_t limit, bool *ret_more,
                                 struct error *err)
{
    static const enum sql_query parts[] = {
        Q_EXPERIMENTS_DELETE_SOME_REPORTS, Q_EXPERIMENTS_DELETE_SOME_BLOCKS, Q_EXPERIMENTS_DELETE_SOME_LOGS,
        Q_EXPERIMENTS_DELETE_SOME_LOG_STATES, Q_EXPERIMENTS_DELETE_SOME_LOG_MARKS, Q_EXPERIMENTS_DELETE_SOME_CHECKPOINTS,
    };
    /* Logs and their like are found by tasks, and tasks by trials: those go when nothing hangs on them any more. */
    static const enum sql_query last_parts[] = {Q_EXPERIMENTS_DELETE_SOME_TASKS, Q_EXPERIMENTS_DELETE_SOME_TRIALS};
    *ret_more = true;
    int64_t changes;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (query_exec(st, parts[i], SQL_ARGS(sql_int(id), sql_int(trial_id), sql_int(limit)), &changes, err) < 0)
            return -1;
        if (changes > 0)
            return 0;
    }
    if (mark_last_id(st, STORE_IDS_TRIALS, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(last_parts) / sizeof(*last_parts); i++) {
        if (query_exec(st, last_parts[i], SQL_ARGS(sql_int(id), sql_int(trial_id), sql_int(limit)), &changes, err) < 0)
            return -1;
        bool last_run = trial_id && last_parts[i] == Q_EXPERIMENTS_DELETE_SOME_TRIALS; /* goes with what its experiment counts */
        if (changes > 0 && !last_run)
            return 0;
    }
    *ret_more = false;
    return trial_id ? run_deleted(st, id, trial_id, err) : delete_row(st, id, err);
}

int store_run_deletion_add(struct store *st, int32_t experiment_id, int32_t trial_id, struct error *err)
{
    return query_exec(st, Q_RUN_DELETIONS_ADD, SQL_ARGS(sql_int(trial_id), sql_int(experiment_id)), NULL, err);
}

int store_run_deletion_failed(struct store *st, int32_t trial_id, const char *reason, struct error *err)
{
    return query_exec(st, Q_RUN_DELETIONS_FAILED, SQL_ARGS(sql_int(trial_id), sql_text(reason)), NULL, err);
}

int store_run_deletion_forget(struct store *st, int32_t trial_id, struct error *err)
{
    return query_exec(st, Q_RUN_DELETIONS_FORGET, SQL_ARGS(sql_int(trial_id)), NULL, err);
}

static void read_run_deletion(struct query *q, struct arena *a, void *row)
{
    struct store_run_deletion *d = row;
    d->trial_id = take_i32(q);
    d->experiment_id = take_i32(q);
}

int store_run_deletions_open(struct store *st, struct arena *a, struct store_run_deletion **ret, size_t *ret_n,
                             struct error *err)
{
    return query_all(st, Q_RUN_DELETIONS_OPEN, SQL_NO_ARGS, read_run_deletion, sizeof(**ret), a, ret, ret_n, err);
}

int store_run_deletions_count(struct store *st, int32_t experiment_id, int64_t *ret, struct error *err)
{
    return query_int(st, Q_RUN_DELETIONS_COUNT, SQL_ARGS(sql_int(experiment_id)), ret, err);
}

int store_experiments_fail_deletions(struct store *st, struct error *err)
{
    if (query_exec(st, Q_EXPERIMENTS_FAIL_DELETIONS, SQL_NO_ARGS, NULL, err) < 0)
        return -1;
    return store_places_fail_all(st, err);
}

int store_experiment_checkpoint_count(struct store *st, int32_t id, int32_t trial_id, int64_t *ret, struct error *err)
{
    return query_int(st, Q_EXPERIMENTS_COUNT_CHECKPOINTS, SQL_ARGS(sql_int(id), sql_int(trial_id)), ret, err);
}

int store_experiment_set_log_retention(struct store *st, int32_t id, int32_t days, struct error *err)
{
    if (query_exec(st, Q_EXPERIMENTS_SET_LOG_RETENTION, SQL_ARGS(sql_int(id), sql_int(days)), NULL, err) < 0)
        return -1;
    return query_exec(st, Q_EXPERIMENTS_SET_LOG_RETENTION_OF_TASKS, SQL_ARGS(sql_int(id), sql_int(days)), NULL, err);
}

/* ---- reading ---- */

static void read_brief(struct query *q, struct arena *a, void *row)
{
    struct store_experiment_brief *x = row;
    char state[32];
    x->id = take_i32(q);
    take_chars(q, state, sizeof(state));
    if (run_state_parse(state, &x->state) < 0)
        x->state = RUN_DELETED; /* the table's check knows no other */
    x->user_id = take_i32(q);
    take_chars(q, x->username, sizeof(x->username));
    x->project_id = take_i32(q);
    x->archived = take_bool(q);
    x->unmanaged = take_bool(q);
    x->place_archived = take_bool(q);
}

int store_experiment_brief(struct store *st, int32_t id, struct store_experiment_brief *ret, struct error *err)
{
    int rc = query_one(st, Q_EXPERIMENTS_BRIEF, SQL_ARGS(sql_int(id)), read_brief, NULL, ret, err);
    return rc == 0 ? error_set(err, ERR_NOT_FOUND, "experiment '%d' not found", id) : rc < 0 ? -1 : 0;
}

int store_experiment_briefs(struct store *st, struct store_ints ids, struct arena *a,
                            struct store_experiment_brief **ret, size_t *ret_n, struct error *err)
{
    return query_all(st, Q_EXPERIMENTS_BRIEFS, SQL_ARGS(sql_text(json_of_ints(a, ids))), read_brief, sizeof(**ret), a,
                     ret, ret_n, err);
}

int store_experiment_get(struct store *st, int32_t id, bool with_config, struct arena *a, struct store_experiment *ret,
                         struct error *err)
{
    int rc = query_one(st, with_config ? Q_EXPERIMENTS_BY_ID_WITH_CONFIG : Q_EXPERIMENTS_BY_ID, SQL_ARGS(sql_int(id)),
                       store_read_experiment, a, ret, err);
    return rc == 0 ? error_set(err, ERR_NOT_FOUND, "experiment '%d' not found", id) : rc < 0 ? -1 : 0;
}

int store_experiment_by_external_id(struct store *st, const char *external_id, struct arena *a,
                                    struct store_experiment *ret, struct error *err)
{
    int rc = query_one(st, Q_EXPERIMENTS_BY_EXTERNAL_ID, SQL_ARGS(sql_text(external_id)), store_read_experiment, a, ret, err);
    return rc == 0 ? error_set(err, ERR_NOT_FOUND, "experiment '%s' not found", external_id) : rc < 0 ? -1 : 0;
}

struct bytes { const void *data; size_t n; };

static void read_bytes(struct query *q, struct arena *a, void *row)
{
    struct bytes *b = row;
    b->data = take_blob(q, a, &b->n);
}

int store_experiment_model_definition(struct store *st, int32_t id, struct arena *a, const void **ret, size_t *ret_n,
                                      struct error *err)
{
    struct bytes b;
    int rc = query_one(st, Q_MODEL_DEFINITIONS_GET, SQL_ARGS(sql_int(id)), read_bytes, a, &b, err);
    if (rc <= 0)
        return rc == 0 ? error_set(err, ERR_NOT_FOUND, "experiment '%d' not found", id) : -1;
    *ret = b.data;
    *ret_n = b.n;
    return 0;
}

int store_experiments_unfinished(struct store *st, struct arena *a, struct store_experiment **ret, size_t *ret_n,
                                 struct error *err)
{
    return query_all(st, Q_EXPERIMENTS_UNFINISHED, SQL_NO_ARGS, store_read_experiment, sizeof(**ret), a, ret, ret_n, err);
}

/* ---- snapshots ---- */

static void read_text(struct query *q, struct arena *a, void *row) { *(const char **)row = take_text(q, a); }

int store_snapshot_set(struct store *st, int32_t experiment_id, const char *content, struct error *err)
{
    if (query_exec(st, Q_SNAPSHOTS_SET, SQL_ARGS(sql_int(experiment_id), sql_text(content)), NULL, err) < 0)
        return explain_conflict(err, "experiment %d does not exist", experiment_id);
    return query_exec(st, Q_SEARCHER_EVENTS_DELETE, SQL_ARGS(sql_int(experiment_id)), NULL, err);
}

int store_snapshot_get(struct store *st, int32_t experiment_id, struct arena *a, const char **ret, struct error *err)
{
    *ret = NULL;
    return query_one(st, Q_SNAPSHOTS_GET, SQL_ARGS(sql_int(experiment_id)), read_text, a, ret, err) < 0 ? -1 : 0;
}

int store_snapshot_delete(struct store *st, int32_t experiment_id, struct error *err)
{
    if (query_send(st, Q_SNAPSHOTS_DELETE, SQL_ARGS(sql_int(experiment_id)), err) < 0)
        return -1;
    return query_send(st, Q_SEARCHER_EVENTS_DELETE, SQL_ARGS(sql_int(experiment_id)), err);
}

int store_searcher_events_add(struct store *st, int32_t experiment_id, int64_t from, const char *lines,
                              struct error *err)
{
    if (query_exec(st, Q_SEARCHER_EVENTS_ADD, SQL_ARGS(sql_int(experiment_id), sql_int(from), sql_text(lines)), NULL,
                   err) < 0)
        return explain_conflict(err, "experiment %d does not exist", experiment_id);
    return 0;
}

int store_searcher_events_get(struct store *st, int32_t experiment_id, struct arena *a, const char **ret,
                              struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    const char **lines;
    size_t n;
    if (query_all(st, Q_SEARCHER_EVENTS_GET, SQL_ARGS(sql_int(experiment_id)), read_text, sizeof(*lines), a, &lines,
                  &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        strbuf_adds(&text, lines[i]);
    *ret = arena_strdup(a, strbuf_str(&text));
    return 0;
}

int store_experiment_labels(struct store *st, int32_t project_id, struct arena *a, const char ***ret, size_t *ret_n,
                            struct error *err)
{
    return query_all(st, Q_EXPERIMENT_LABELS, SQL_ARGS(sql_int(project_id)), read_text, sizeof(**ret), a, ret, ret_n,
                     err);
}
