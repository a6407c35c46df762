#include "store/experiments/experiments.h"
#include "store/experiments/environments.h"

#include "common/base/clock.h"
#include "store/accounts/workspace_deletion.h"
#include "store/changes/changes.h"
#include "store/lists/list.h"

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static int insert_row(struct store *st, const struct store_experiment *x, struct error *err)
{
    if (query_exec(st, Q_EXPERIMENTS_INSERT, ARGS_EXPERIMENTS_INSERT(x), NULL, err) == 0)
        return 0;
    if (error_is_constraint(err, CONSTRAINT_FOREIGN_KEY, NULL))
        return explain_conflict(err, "experiment %d: project %d or user %d does not exist", x->id, x->project_id,
                                x->user_id);
    if (error_is_constraint(err, CONSTRAINT_UNIQUE, "experiments.external_id"))
        return explain_conflict(err, "an experiment with the external id \"%s\" already exists", x->external_id);
    return error_wrap(err, "experiment %d", x->id);
}

/* Adds the experiment's labels to the counts of its project's labels (by 1), or takes them away (by -1). */
static int count_labels(struct store *st, int32_t id, int by, struct error *err)
{
    if (query_send(st, Q_LABELS_COUNT, SQL_ARGS(sql_int(id), sql_int(by)), err) < 0)
        return -1;
    return by < 0 ? query_send(st, Q_LABELS_FORGET, SQL_NO_ARGS, err) : 0;
}

int store_experiment_insert(struct store *st, const struct store_experiment *x, const void *model_definition,
                            size_t model_definition_n, struct error *err)
{
    struct store_experiment row = *x;
    row.model_definition_size = (int64_t)model_definition_n;
    row.queue_position = x->queue_position ? x->queue_position : x->start_us;
    if (insert_row(st, &row, err) < 0 || count_labels(st, x->id, 1, err) < 0)
        return -1;
    const struct sql_args definition = SQL_ARGS(sql_int(x->id), sql_blob(model_definition, model_definition_n));
    if (query_send(st, Q_EXPERIMENT_DOCUMENTS_INSERT, ARGS_EXPERIMENT_DOCUMENTS_INSERT(&row), err) < 0 ||
        query_send(st, Q_MODEL_DEFINITIONS_INSERT, definition, err) < 0 ||
        query_send(st, Q_JOBS_PUT, ARGS_JOBS_PUT(&row), err) < 0)
        return error_wrap(err, "experiment %d", x->id);
    return 0;
}

int store_experiment_put(struct store *st, const struct experiment_row *x, struct error *err)
{
    if (query_exec_one(st, Q_EXPERIMENTS_PUT, ARGS_EXPERIMENTS_PUT(x), err, "experiment %d", x->id) < 0)
        return -1;
    return query_send(st, Q_JOBS_SET_POSITION, ARGS_JOBS_SET_POSITION(x), err);
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
    return query_send(st, Q_EXPERIMENTS_SET_POOL, args, err) < 0
               ? -1
               : query_send(st, Q_JOBS_SET_POOL_OF_EXPERIMENT, args, err);
}

int store_experiment_patch(struct store *st, int32_t id, const struct store_experiment_patch *p, struct error *err)
{
    if (p->labels && count_labels(st, id, -1, err) < 0)
        return -1;
    if (query_exec_one(st, Q_EXPERIMENTS_PATCH, ARGS_EXPERIMENTS_PATCH(p, id), err, "experiment %d", id) < 0)
        return -1;
    return p->labels ? count_labels(st, id, 1, err) : 0;
}

/* Deletes the projects and workspaces whose last experiment has gone. The master does so by itself, long after the
 * request, and is named as the author. */
static int finish_workspaces(struct store *st, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const struct change_author master = {
        .at_us = clock_now_us(), .username = "", .via = "master", .address = "", .route = ""};
    if (store_act_as(st, change_author_text(&a, &master), err) < 0)
        return -1;
    int rc = store_workspace_deletions_finish(st, err);
    return store_act_as(st, NULL, rc < 0 ? NULL : err) < 0 ? -1 : rc;
}

static int delete_row(struct store *st, int32_t id, struct error *err)
{
    static const enum sql_query hanging[] = {
        Q_EXPERIMENTS_DELETE_LOGS,
        Q_EXPERIMENTS_DELETE_LOG_STATE,
        Q_EXPERIMENTS_DELETE_LOG_MARKS,
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
    return store_environments_forget(st, err) < 0 ? -1 : finish_workspaces(st, err);
}

/* Computes again, after a trial was deleted, what the experiment tells of its trials, and marks the deletion as
 * done. */
static int run_deleted(struct store *st, int32_t experiment_id, int32_t trial_id, struct error *err)
{
    const struct sql_args of_experiment = SQL_ARGS(sql_int(experiment_id));
    if (query_exec(st, Q_EXPERIMENTS_COUNT_TRIALS, of_experiment, NULL, err) < 0 ||
        query_exec(st, Q_EXPERIMENTS_RECOMPUTE_BEST, of_experiment, NULL, err) < 0 ||
        store_environments_forget(st, err) < 0)
        return -1;
    return query_exec(st, Q_RUN_DELETIONS_DONE, SQL_ARGS(sql_int(trial_id)), NULL, err);
}

int store_experiment_delete_part(struct store *st, int32_t id, int32_t trial_id, int64_t limit, bool *ret_more,
                                 struct error *err)
{
    static const enum sql_query parts[] = {
        Q_EXPERIMENTS_DELETE_SOME_REPORTS,   Q_EXPERIMENTS_DELETE_SOME_BLOCKS,
        Q_EXPERIMENTS_DELETE_SOME_LOGS,      Q_EXPERIMENTS_DELETE_SOME_LOG_STATES,
        Q_EXPERIMENTS_DELETE_SOME_LOG_MARKS, Q_EXPERIMENTS_DELETE_SOME_CHECKPOINTS,
    };
    /* Logs and other rows are found by tasks, and tasks by trials. So tasks and trials are deleted when no such rows
     * are left. */
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
        bool last_run = trial_id &&
                        last_parts[i] == Q_EXPERIMENTS_DELETE_SOME_TRIALS; /* deleted with the experiment's counts */
        if (changes > 0 && !last_run)
            return 0;
    }
    *ret_more = false;
    return trial_id ? run_deleted(st, id, trial_id, err) : delete_row(st, id, err);
}

int store_experiments_fail_deletions(struct store *st, struct error *err)
{
    if (query_exec(st, Q_EXPERIMENTS_FAIL_DELETIONS, SQL_NO_ARGS, NULL, err) < 0)
        return -1;
    return store_workspace_deletions_fail_all(st, err);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int store_experiment_get(struct store *st, int32_t id, bool with_config, struct arena *a, struct store_experiment *ret,
                         struct error *err)
{
    const struct sql_args args = SQL_ARGS(sql_int(id));
    int rc = with_config ? get_experiments_by_id_with_config(st, args, a, ret, err)
                         : get_experiments_by_id(st, args, a, ret, err);
    return query_found(rc, err, "experiment '%d'", id);
}

int store_experiment_model_definition(struct store *st, int32_t id, struct arena *a, const void **ret, size_t *ret_n,
                                      struct error *err)
{
    struct model_definition m;
    int rc = get_model_definitions_get(st, SQL_ARGS(sql_int(id)), a, &m, err);
    if (query_found(rc, err, "experiment '%d'", id) < 0)
        return -1;
    *ret = m.tgz;
    *ret_n = m.tgz_n;
    return 0;
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

int store_searcher_events_get(struct store *st, int32_t experiment_id, struct arena *a, const char **ret,
                              struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    const char **lines;
    size_t n;
    if (query_texts(st, Q_SEARCHER_EVENTS_GET, SQL_ARGS(sql_int(experiment_id)), a, &lines, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        strbuf_adds(&text, lines[i]);
    *ret = arena_strdup(a, strbuf_str(&text));
    return 0;
}
