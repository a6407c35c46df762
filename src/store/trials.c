#include "store/trials.h"

#include "store/list.h"
#include "store/metrics.h"

static void read_core(struct query *q, struct arena *a, void *row)
{
    struct trial_row *t = row;
    char name[32];
    *t = (struct trial_row){0};
    t->id = take_i32(q);
    t->experiment_id = take_i32(q);
    take_chars(q, t->request_id, sizeof(t->request_id));
    take_chars(q, t->task_id, sizeof(t->task_id));
    take_chars(q, name, sizeof(name));
    run_state_parse(name, &t->state);
    t->start_us = take_int(q);
    t->end_us = take_int(q);
    t->seed = (uint32_t)take_int(q);
    t->hparams = take_text(q, a);
    t->run_id = take_i32(q);
    t->restarts = take_i32(q);
    t->steps_completed = take_i32(q);
    take_chars(q, t->latest_checkpoint, sizeof(t->latest_checkpoint));
    take_chars(q, t->warm_start_checkpoint, sizeof(t->warm_start_checkpoint));
    take_chars(q, name, sizeof(name));
    early_exit_parse(name, &t->early_exit);
    t->stopped_by_searcher = take_bool(q);
    t->retries_canceled = take_bool(q);
    t->excluded_agents = take_opt_text(q, a);
    t->runs_before_task = take_i32(q);
    t->launch_failures = take_i32(q);
}

static void read_validation(struct query *q, struct arena *a, struct store_validation *v)
{
    v->id = take_int(q);
    v->end_us = take_int(q);
    v->total_batches = take_i32(q);
    v->metrics = take_opt_text(q, a);
}

static void read_trial(struct query *q, struct arena *a, void *row)
{
    struct store_trial *t = row;
    *t = (struct store_trial){0};
    read_core(q, a, &t->row);
    t->total_batches = take_i32(q);
    t->runner_state = take_text(q, a);
    t->has_log_retention = take_opt_i32(q, &t->log_retention_days);
    t->external_id = take_opt_text(q, a);
    t->log_policy_matched = take_opt_text(q, a);
    t->last_activity_us = take_int(q);
    t->has_searcher_metric = take_opt_real(q, &t->searcher_metric);
    t->checkpoint_size = take_int(q);
    t->checkpoint_count = take_i32(q);
    t->metadata = take_opt_text(q, a);
    read_validation(q, a, &t->best_validation);
    read_validation(q, a, &t->latest_validation);
}

static struct sql_value opt_chars(const char *s) { return *s ? sql_text(s) : sql_null(); }

/* ---- writing ---- */

enum { TRIAL_COLUMNS = 19 };

/* In the order of copy: trials. */
static void fill_trial(void *ctx, size_t i, struct sql_value *ret)
{
    const struct trial_row *t = ((const struct trial_row *const *)ctx)[i];
    const struct sql_value row[TRIAL_COLUMNS] = {
        sql_int(t->id), sql_int(t->experiment_id), sql_text(t->request_id), sql_text(t->task_id),
        sql_text(run_state_name(t->state)), sql_int(t->start_us), sql_time(t->end_us), sql_int(t->seed),
        sql_text(t->hparams ? t->hparams : "{}"), sql_int(t->run_id), sql_int(t->restarts), sql_int(t->steps_completed),
        opt_chars(t->latest_checkpoint), opt_chars(t->warm_start_checkpoint), sql_text(early_exit_name(t->early_exit)),
        sql_bool(t->stopped_by_searcher), sql_bool(t->retries_canceled), sql_opt_text(t->excluded_agents),
        sql_opt_int(t->has_log_retention, t->log_retention_days)};
    memcpy(ret, row, sizeof(row));
}

int store_trials_insert(struct store *st, const struct trial_row *const *t, size_t n, struct error *err)
{
    const struct engine_rows rows = {.column_n = TRIAL_COLUMNS, .row_n = n, .fill = fill_trial, .ctx = (void *)t};
    if (query_copy(st, C_TRIALS, &rows, err) < 0)
        return error_wrap(err, "trial %d of experiment %d%s", t[0]->id, t[0]->experiment_id, n > 1 ? " and others" : "");
    return query_send(st, Q_EXPERIMENTS_ADD_TRIALS, SQL_ARGS(sql_int(t[0]->experiment_id), sql_int((int64_t)n)), err);
}

static int update(struct store *st, const struct trial_row *t, struct error *err)
{
    return query_exec_one(st, Q_TRIALS_UPDATE,
                          SQL_ARGS(sql_int(t->id), sql_text(t->task_id), sql_text(run_state_name(t->state)),
                                   sql_int(t->start_us), sql_time(t->end_us), sql_int(t->run_id), sql_int(t->restarts),
                                   sql_int(t->steps_completed), opt_chars(t->latest_checkpoint),
                                   opt_chars(t->warm_start_checkpoint), sql_text(early_exit_name(t->early_exit)),
                                   sql_bool(t->stopped_by_searcher), sql_bool(t->retries_canceled),
                                   sql_opt_text(t->excluded_agents), sql_opt_text(t->hparams),
                                   sql_int(t->runs_before_task), sql_int(t->launch_failures)),
                          err, "trial %d", t->id);
}

int store_trial_put(struct store *st, const struct trial_row *t, bool is_new, struct error *err)
{
    return is_new ? store_trials_insert(st, &t, 1, err) : update(st, t, err);
}

int store_trial_set_external_id(struct store *st, int32_t id, const char *external_id, struct error *err)
{
    if (query_exec_one(st, Q_TRIALS_SET_EXTERNAL_ID, SQL_ARGS(sql_int(id), sql_opt_text(external_id)), err, "trial %d",
                       id) < 0)
        return explain_conflict(err, "the experiment already has a trial with the external id \"%s\"", external_id);
    return 0;
}

int store_trial_set_runner_state(struct store *st, int32_t id, const char *runner_state, struct error *err)
{
    return query_exec_one(st, Q_TRIALS_SET_RUNNER_STATE, SQL_ARGS(sql_int(id), sql_text(runner_state)), err, "trial %d",
                          id);
}

int store_trial_set_log_retention(struct store *st, int32_t id, bool has, int32_t days, struct error *err)
{
    struct sql_args args = SQL_ARGS(sql_int(id), sql_opt_int(has, days));
    if (query_exec_one(st, Q_TRIALS_SET_LOG_RETENTION, args, err, "trial %d", id) < 0)
        return -1;
    return query_exec(st, Q_TRIALS_SET_LOG_RETENTION_OF_TASKS, args, NULL, err);
}

int store_trial_set_metadata(struct store *st, int32_t id, const char *metadata, struct error *err)
{
    return query_exec_one(st, Q_TRIALS_SET_METADATA, SQL_ARGS(sql_int(id), sql_opt_text(metadata)), err, "trial %d",
                          id);
}

int store_trial_touch(struct store *st, int32_t id, int64_t now_us, struct error *err)
{
    return query_exec_one(st, Q_TRIALS_TOUCH, SQL_ARGS(sql_int(id), sql_int(now_us)), err, "trial %d", id);
}

int store_trial_set_log_policy_matched(struct store *st, int32_t id, const char *policy, struct error *err)
{
    return query_exec_one(st, Q_TRIALS_SET_LOG_POLICY_MATCHED, SQL_ARGS(sql_int(id), sql_opt_text(policy)), err,
                          "trial %d", id);
}

/* ---- reading ---- */

static struct store_ints ids_of(const struct store_trial *t, size_t n, struct arena *a)
{
    int32_t *id = arena_array(a, int32_t, n + 1);
    for (size_t i = 0; i < n; i++)
        id[i] = t[i].row.id;
    return (struct store_ints){id, n};
}

struct task_of_trial {
    int32_t trial_id;
    const char *id;
};

static void read_task(struct query *q, struct arena *a, void *row)
{
    struct task_of_trial *t = row;
    t->trial_id = take_i32(q);
    t->id = take_text(q, a);
}

/* Of all of them at once. */
static int add_task_ids(struct store *st, struct store_ints ids, struct arena *a, struct store_trial *t, struct error *err)
{
    struct task_of_trial *task;
    size_t task_n;
    if (query_all(st, Q_TASK_IDS_OF_TRIALS, SQL_ARGS(sql_text(json_of_ints(a, ids))), read_task, sizeof(*task), a, &task, &task_n,
                  err) < 0)
        return -1;
    const char **id = arena_array(a, const char *, task_n + 1);
    for (size_t i = 0; i < task_n; i++)
        id[i] = task[i].id;
    for (size_t i = 0; i < ids.n; i++) {
        size_t from = store_first_row_of(task, task_n, sizeof(*task), ids.value[i]), to = from;
        while (to < task_n && task[to].trial_id == ids.value[i])
            to++;
        t[i].task_ids = id + from;
        t[i].task_ids_n = to - from;
    }
    return 0;
}

static int add_details(struct store *st, bool full, struct arena *a, struct store_trial *t, size_t n, struct error *err)
{
    const struct store_ints ids = ids_of(t, n, a);
    const char **summary;
    if (add_task_ids(st, ids, a, t, err) < 0 || (full && store_summary_metrics(st, ids, a, &summary, err) < 0))
        return -1;
    for (size_t i = 0; full && i < n; i++)
        t[i].summary_metrics = summary[i];
    return 0;
}

int store_trial_get(struct store *st, int32_t id, bool full, struct arena *a, struct store_trial *ret,
                    struct error *err)
{
    struct store_trial t;
    int rc = query_one(st, full ? Q_TRIALS_BY_ID_FULL : Q_TRIALS_BY_ID, SQL_ARGS(sql_int(id)), read_trial, a, &t, err);
    if (rc <= 0)
        return rc == 0 ? error_set(err, ERR_NOT_FOUND, "trial '%d' not found", id) : -1;
    if (add_details(st, full, a, &t, 1, err) < 0)
        return -1;
    *ret = t;
    return 0;
}

int store_trials_by_ids(struct store *st, struct store_ints ids, struct arena *a, struct store_trial **ret, size_t *ret_n,
                        struct error *err)
{
    if (query_all(st, Q_TRIALS_BY_IDS_FULL, SQL_ARGS(sql_text(json_of_ints(a, ids))), read_trial, sizeof(**ret), a, ret, ret_n,
                  err) < 0)
        return -1;
    return add_details(st, true, a, *ret, *ret_n, err);
}

static void read_id(struct query *q, struct arena *a, void *row)
{
    (void)a;
    *(int32_t *)row = take_i32(q);
}

int store_trial_ids_of_experiment(struct store *st, int32_t experiment_id, struct arena *a, int32_t **ret,
                                  size_t *ret_n, struct error *err)
{
    return query_all(st, Q_TRIAL_IDS_OF_EXPERIMENT, SQL_ARGS(sql_int(experiment_id)), read_id, sizeof(**ret), a, ret,
                     ret_n, err);
}

int store_trial_rows_of_experiment(struct store *st, int32_t experiment_id, struct arena *a, struct trial_row **ret,
                                   size_t *ret_n, struct error *err)
{
    return query_all(st, Q_TRIALS_OF_EXPERIMENT, SQL_ARGS(sql_int(experiment_id)), read_core, sizeof(**ret), a, ret,
                     ret_n, err);
}

int store_trials_unfinished(struct store *st, struct arena *a, struct trial_row **ret, size_t *ret_n,
                            struct error *err)
{
    return query_all(st, Q_TRIALS_UNFINISHED, SQL_NO_ARGS, read_core, sizeof(**ret), a, ret, ret_n, err);
}

/* ---- the list ---- */

struct trial_list_filter {
    const struct store_trial_filter *f;
    int64_t now_us;
};

/* By the numbers of api.v1.GetExperimentTrialsRequest.SortBy. */
static const struct list_sort sorts[] = {
    {0, F_TRIAL_SORT_ID, F_TRIAL_SORT_ID_DESC},
    {1, F_TRIAL_SORT_ID, F_TRIAL_SORT_ID_DESC},
    {4, F_TRIAL_SORT_START, F_TRIAL_SORT_START_DESC},
    {5, F_TRIAL_SORT_END, F_TRIAL_SORT_END_DESC},
    {6, F_TRIAL_SORT_STATE, F_TRIAL_SORT_STATE_DESC},
    {7, F_TRIAL_SORT_BEST, F_TRIAL_SORT_BEST_DESC},
    {8, F_TRIAL_SORT_LATEST, F_TRIAL_SORT_LATEST_DESC},
    {9, F_TRIAL_SORT_BATCHES, F_TRIAL_SORT_BATCHES_DESC},
    {11, F_TRIAL_SORT_RESTARTS, F_TRIAL_SORT_RESTARTS_DESC},
    {12, F_TRIAL_SORT_CHECKPOINT_SIZE, F_TRIAL_SORT_CHECKPOINT_SIZE_DESC},
    {13, F_TRIAL_SORT_LOG_RETENTION, F_TRIAL_SORT_LOG_RETENTION_DESC},
};
enum { SORT_BY_DURATION = 10 };

static void start_list(struct compose *c, enum sql_fragment fragment, const void *filter)
{
    const struct trial_list_filter *f = filter;
    compose_add(c, fragment, SQL_ARGS(sql_int(f->f->experiment_id)));
}

static void add_filters(struct compose *c, const void *filter, struct arena *a)
{
    const struct trial_list_filter *f = filter;
    if (f->f->states.n)
        compose_add(c, F_TRIAL_FILTER_STATES, SQL_ARGS(sql_text(json_of_texts(a, f->f->states))));
}

static void sort_by_duration(struct compose *c, const struct list_spec *s)
{
    const struct trial_list_filter *f = s->filter;
    compose_add(c, s->descending ? F_TRIAL_SORT_DURATION_DESC : F_TRIAL_SORT_DURATION, SQL_ARGS(sql_int(f->now_us)));
}

int store_trial_list(struct store *st, const struct store_trial_filter *f, int64_t now_us, struct arena *a,
                     struct store_trial_list *ret, struct error *err)
{
    const struct trial_list_filter filter = {f, now_us};
    const struct list_spec spec = {
        .count = F_TRIALS_COUNT, .rows = F_TRIALS_ROWS, .start = start_list, .add_filters = add_filters,
            .filter = &filter,
        .add_sort = f->sort_by == SORT_BY_DURATION ? sort_by_duration : NULL,
        .sort = sorts, .sort_n = sizeof(sorts) / sizeof(*sorts), .sort_by = f->sort_by, .descending = f->descending,
        .page = f->page, .window = page_of_query_list, .read = read_trial, .row_size = sizeof(struct store_trial),
    };
    if (list_run(st, &spec, a, &ret->trial, &ret->trial_n, &ret->window, err) < 0)
        return -1;
    return add_details(st, true, a, ret->trial, ret->trial_n, err);
}
