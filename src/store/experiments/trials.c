#include "store/experiments/trials.h"

#include "store/lists/list.h"
#include "store/metrics/metrics.h"

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void fill_trial(void *ctx, size_t i, struct sql_value *ret)
{
    bind_trials(ret, ((const struct trial_row *const *)ctx)[i]);
}

int store_trials_insert(struct store *st, const struct trial_row *const *t, size_t n, struct error *err)
{
    const struct engine_rows rows = {.column_n = COPY_TRIALS_COLUMNS, .row_n = n, .fill = fill_trial, .ctx = (void *)t};
    if (query_copy(st, C_TRIALS, &rows, err) < 0)
        return error_wrap(err, "trial %d of experiment %d%s", t[0]->id, t[0]->experiment_id,
                          n > 1 ? " and others" : "");
    return query_send(st, Q_EXPERIMENTS_ADD_TRIALS, SQL_ARGS(sql_int(t[0]->experiment_id), sql_int((int64_t)n)), err);
}

static int update_trial(struct store *st, const struct trial_row *t, struct error *err)
{
    return query_exec_one(st, Q_TRIALS_UPDATE, ARGS_TRIALS_UPDATE(t), err, "trial %d", t->id);
}

int store_trial_put(struct store *st, const struct trial_row *t, bool is_new, struct error *err)
{
    return is_new ? store_trials_insert(st, &t, 1, err) : update_trial(st, t, err);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static struct store_ints ids_of(const struct store_trial *t, size_t n, struct arena *a)
{
    int32_t *id = arena_array(a, int32_t, n + 1);
    for (size_t i = 0; i < n; i++)
        id[i] = t[i].row.id;
    return (struct store_ints){id, n};
}

/* Reads the task ids of all trials of a list with one statement. */
static int add_task_ids(struct store *st, struct store_ints ids, struct arena *a, struct store_trial *t,
                        struct error *err)
{
    struct task_of_trial *task;
    size_t task_n;
    if (list_task_ids_of_trials(st, SQL_ARGS(sql_text(json_of_ints(a, ids))), a, &task, &task_n, err) < 0)
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
    const struct sql_args args = SQL_ARGS(sql_int(id));
    int rc = full ? get_trials_by_id_full(st, args, a, &t, err) : get_trials_by_id(st, args, a, &t, err);
    if (query_found(rc, err, "trial '%d'", id) < 0 || add_details(st, full, a, &t, 1, err) < 0)
        return -1;
    *ret = t;
    return 0;
}

int store_trials_by_ids(struct store *st, struct store_ints ids, struct arena *a, struct store_trial **ret,
                        size_t *ret_n, struct error *err)
{
    if (list_trials_by_ids_full(st, SQL_ARGS(sql_text(json_of_ints(a, ids))), a, ret, ret_n, err) < 0)
        return -1;
    return add_details(st, true, a, *ret, *ret_n, err);
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

int store_trial_list(struct store *st, const struct store_trial_filter *f, struct arena *a,
                     struct store_trial_list *ret, struct error *err)
{
    if (trial_list(st, f, a, ret, err) < 0)
        return -1;
    return add_details(st, true, a, ret->trial, ret->trial_n, err);
}
