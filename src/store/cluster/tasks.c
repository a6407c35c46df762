#include "store/cluster/tasks.h"

#include "store/row_io.h"

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

static void fill_task_of_core(void *ctx, size_t i, struct sql_value *ret)
{
    const struct task_row *t = ((const struct task_row *const *)ctx)[i];
    const struct store_task task = {
        .id = t->id,
        .type = t->trial_id ? "TRIAL" : task_kind_name(t->kind),
        .job_id = t->job_id,
        .has_trial = t->trial_id != 0,
        .trial_id = t->trial_id,
        .start_us = t->start_us,
        .end_us = t->end_us,
        .has_log_retention = t->has_log_retention,
        .log_retention_days = t->log_retention_days,
        .owner_id = t->owner_id,
        .experiment_id = t->experiment_id,
    };
    bind_tasks(ret, &task);
}

int store_tasks_insert(struct store *st, const struct task_row *const *t, size_t n, struct error *err)
{
    const struct engine_rows rows = {.column_n = COPY_TASKS_COLUMNS,
                                     .row_n = n,
                                     .fill = fill_task_of_core,
                                     .ctx = (void *)t};
    return query_copy(st, C_TASKS, &rows, err) < 0 ? error_wrap(err, "task %s%s", t[0]->id, n > 1 ? " and others" : "")
                                                   : 0;
}

static int set_end(struct store *st, const char *id, int64_t end_us, struct error *err)
{
    return query_exec_one(st, Q_TASKS_SET_END, SQL_ARGS(sql_text(id), sql_time(end_us)), err, "task %s", id);
}

int store_task_put(struct store *st, const struct task_row *t, bool insert, struct error *err)
{
    return insert ? store_tasks_insert(st, &t, 1, err) : set_end(st, t->id, t->end_us, err);
}

/* ---- allocations ------------------------------------------------------------------------------------------------- */

int store_allocation_put(struct store *st, const struct allocation_row *x, bool insert, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    if (insert && query_exec(st, Q_ALLOCATIONS_INSERT, ARGS_ALLOCATIONS_INSERT(x, &a), NULL, err) < 0)
        return error_wrap(err, "allocation %s", x->id);
    if (!insert &&
        query_exec_one(st, Q_ALLOCATIONS_UPDATE, ARGS_ALLOCATIONS_UPDATE(x, &a), err, "allocation %s", x->id) < 0)
        return -1;
    return x->start_us && x->end_us ? store_usage_keep(st, x->id, err) : 0;
}

/* ---- containers -------------------------------------------------------------------------------------------------- */

int store_container_put(struct store *st, const struct container_row *c, bool insert, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    if (!insert)
        return query_exec_one(st, Q_CONTAINERS_UPDATE, ARGS_CONTAINERS_UPDATE(c, &a), err, "container %s", c->id);
    if (query_exec(st, Q_CONTAINERS_INSERT, ARGS_CONTAINERS_INSERT(c, &a), NULL, err) < 0)
        return error_wrap(err, "container %s", c->id);
    return 0;
}

/* ---- the files that were sent with tasks ------------------------------------------------------------------------- */

int store_context_add(struct store *st, const char *hash, const void *tgz, size_t n, struct error *err)
{
    return query_exec(st, Q_CONTEXTS_ADD, SQL_ARGS(sql_text(hash), sql_blob(tgz, n)), NULL, err);
}

int store_context_get(struct store *st, const char *task_id, struct arena *a, const void **ret_tgz, size_t *ret_n,
                      struct error *err)
{
    struct task_context x = {0};
    if (get_contexts_get(st, SQL_ARGS(sql_text(task_id)), a, &x, err) < 0)
        return -1;
    *ret_tgz = x.tgz;
    *ret_n = x.tgz_n;
    return 0;
}

/* ---- accelerators ------------------------------------------------------------------------------------------------ */
