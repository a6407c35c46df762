#include "store/tasks.h"

#include <stdlib.h>

#include "store/query.h"

/* Lists of numbers in a fixed field: "[4,5]". */
static void print_ints(const int32_t *value, int n, struct strbuf *out)
{
    strbuf_addc(out, '[');
    for (int i = 0; i < n; i++)
        strbuf_addf(out, i ? ",%d" : "%d", value[i]);
    strbuf_addc(out, ']');
}

static int32_t parse_ints(const char *text, int32_t *value, int max)
{
    int32_t n = 0;
    for (const char *p = text; n < max && (p = strpbrk(p, "-0123456789"));) {
        char *end;
        value[n++] = (int32_t)strtol(p, &end, 10);
        p = *end ? end + 1 : end;
    }
    return n;
}

/* ---- tasks ---- */

static void read_task(struct query *q, struct arena *a, void *row)
{
    struct store_task *t = row;
    t->id = take_text(q, a);
    t->type = take_text(q, a);
    t->job_id = take_text(q, a);
    t->has_trial = take_opt_i32(q, &t->trial_id);
    t->start_us = take_int(q);
    t->end_us = take_int(q);
    t->has_log_retention = take_opt_i32(q, &t->log_retention_days);
    t->state = take_opt_text(q, a);
    t->config = take_opt_text(q, a);
    t->parent_id = take_opt_text(q, a);
    t->forked_from = take_opt_text(q, a);
    t->no_pause = take_bool(q);
    t->snapshot = take_opt_text(q, a);
    take_opt_i32(q, &t->owner_id);
    take_opt_i32(q, &t->experiment_id);
}

enum { TASK_COLUMNS = 15 };

/* In the order of copy: tasks. */
static void set_task(const struct store_task *t, struct sql_value *ret)
{
    const struct sql_value row[TASK_COLUMNS] = {
        sql_text(t->id), sql_text(t->type), sql_text(t->job_id), sql_opt_int(t->has_trial, t->trial_id),
        sql_int(t->start_us), sql_time(t->end_us), sql_opt_int(t->has_log_retention, t->log_retention_days),
        sql_opt_text(t->state), sql_opt_text(t->config), sql_opt_text(t->parent_id), sql_opt_text(t->forked_from),
        sql_bool(t->no_pause), sql_opt_text(t->snapshot), sql_opt_int(t->owner_id != 0, t->owner_id),
        sql_opt_int(t->experiment_id != 0, t->experiment_id)};
    memcpy(ret, row, sizeof(row));
}


static void fill_task_of_core(void *ctx, size_t i, struct sql_value *ret)
{
    const struct task_row *t = ((const struct task_row *const *)ctx)[i];
    const struct store_task task = {
        .id = t->id, .type = t->trial_id ? "TRIAL" : "CHECKPOINT_GC", .job_id = t->job_id,
        .has_trial = t->trial_id != 0, .trial_id = t->trial_id, .start_us = t->start_us, .end_us = t->end_us,
        .has_log_retention = t->has_log_retention, .log_retention_days = t->log_retention_days,
        .owner_id = t->owner_id, .experiment_id = t->experiment_id,
    };
    set_task(&task, ret);
}

int store_tasks_insert(struct store *st, const struct task_row *const *t, size_t n, struct error *err)
{
    const struct engine_rows rows = {.column_n = TASK_COLUMNS, .row_n = n, .fill = fill_task_of_core, .ctx = (void *)t};
    return query_copy(st, C_TASKS, &rows, err) < 0 ? error_wrap(err, "task %s%s", t[0]->id, n > 1 ? " and others" : "") : 0;
}

static int set_end(struct store *st, const char *id, int64_t end_us, struct error *err)
{
    return query_exec_one(st, Q_TASKS_SET_END, SQL_ARGS(sql_text(id), sql_time(end_us)), err, "task %s", id);
}

int store_task_put(struct store *st, const struct task_row *t, bool insert, struct error *err)
{
    return insert ? store_tasks_insert(st, &t, 1, err) : set_end(st, t->id, t->end_us, err);
}

int store_task_get(struct store *st, const char *id, struct arena *a, struct store_task *ret, struct error *err)
{
    int rc = query_one(st, Q_TASKS_BY_ID, SQL_ARGS(sql_text(id)), read_task, a, ret, err);
    return rc == 0 ? error_set(err, ERR_NOT_FOUND, "task '%s' not found", id) : rc < 0 ? -1 : 0;
}

static void read_task_of_core(struct query *q, struct arena *a, void *row)
{
    struct store_task t;
    struct task_row *ret = row;
    read_task(q, a, &t);
    *ret = (struct task_row){.trial_id = t.trial_id, .owner_id = t.owner_id, .experiment_id = t.experiment_id,
                             .start_us = t.start_us, .end_us = t.end_us};
    snprintf(ret->id, sizeof(ret->id), "%s", t.id);
    snprintf(ret->job_id, sizeof(ret->job_id), "%s", t.job_id);
}

int store_tasks_open_of_their_own(struct store *st, struct arena *a, struct task_row **ret, size_t *ret_n,
                                  struct error *err)
{
    return query_all(st, Q_TASKS_OPEN_OF_THEIR_OWN, SQL_NO_ARGS, read_task_of_core, sizeof(**ret), a, ret, ret_n, err);
}

/* ---- allocations ---- */

static void read_allocation(struct query *q, struct arena *a, void *row)
{
    struct allocation_row *x = row;
    char name[32];
    *x = (struct allocation_row){0};
    take_chars(q, x->id, sizeof(x->id));
    take_chars(q, x->task_id, sizeof(x->task_id));
    take_chars(q, x->pool, sizeof(x->pool));
    x->trial_id = take_i32(q);
    x->run_id = take_i32(q);
    x->slots = take_i32(q);
    take_chars(q, name, sizeof(name));
    allocation_state_parse(name, &x->state);
    x->ready = take_bool(q);
    x->request_us = take_int(q);
    x->start_us = take_int(q);
    x->end_us = take_int(q);
    x->preempt_deadline_us = take_int(q);
    x->preempt_acked = take_bool(q);
    x->preempt_pending = take_bool(q);
    x->killed = take_bool(q);
    parse_ints(take_text(q, a), x->port, CORE_PORTS);
    take_chars(q, name, sizeof(name));
    exit_kind_parse(name, &x->exit_kind);
    x->exit_code = take_i32(q);
}

static int insert_allocation(struct store *st, const struct allocation_row *x, const char *ports, struct error *err)
{
    if (query_exec(st, Q_ALLOCATIONS_INSERT,
                   SQL_ARGS(sql_text(x->id), sql_text(x->task_id), sql_text(x->pool), sql_int(x->trial_id),
                            sql_int(x->run_id), sql_int(x->slots), sql_text(allocation_state_name(x->state)),
                            sql_bool(x->ready), sql_int(x->request_us), sql_time(x->start_us), sql_time(x->end_us),
                            sql_time(x->preempt_deadline_us), sql_bool(x->preempt_acked), sql_bool(x->preempt_pending),
                            sql_bool(x->killed), sql_text(ports), sql_text(exit_kind_name(x->exit_kind)),
                            sql_int(x->exit_code)), NULL, err) < 0)
        return error_wrap(err, "allocation %s", x->id);
    return 0;
}

static int update_allocation(struct store *st, const struct allocation_row *x, const char *ports, struct error *err)
{
    return query_exec_one(st, Q_ALLOCATIONS_UPDATE,
                          SQL_ARGS(sql_text(x->id), sql_text(x->pool), sql_int(x->slots),
                                   sql_text(allocation_state_name(x->state)), sql_bool(x->ready),
                                       sql_int(x->request_us),
                                   sql_time(x->start_us), sql_time(x->end_us), sql_time(x->preempt_deadline_us),
                                   sql_bool(x->preempt_acked), sql_bool(x->preempt_pending), sql_bool(x->killed),
                                   sql_text(ports), sql_text(exit_kind_name(x->exit_kind)), sql_int(x->exit_code)),
                          err, "allocation %s", x->id);
}

int store_allocation_put(struct store *st, const struct allocation_row *x, bool insert, struct error *err)
{
    cleanup_strbuf struct strbuf ports = STRBUF_INIT;
    print_ints(x->port, CORE_PORTS, &ports);
    return insert ? insert_allocation(st, x, ports.s, err) : update_allocation(st, x, ports.s, err);
}

int store_allocation_get(struct store *st, const char *id, struct arena *a, struct allocation_row *ret,
                         struct error *err)
{
    int rc = query_one(st, Q_ALLOCATIONS_BY_ID, SQL_ARGS(sql_text(id)), read_allocation, a, ret, err);
    return rc == 0 ? error_set(err, ERR_NOT_FOUND, "allocation '%s' not found", id) : rc < 0 ? -1 : 0;
}

int store_allocations_of_task(struct store *st, const char *task_id, struct arena *a, struct allocation_row **ret,
                              size_t *ret_n, struct error *err)
{
    return query_all(st, Q_ALLOCATIONS_OF_TASK, SQL_ARGS(sql_text(task_id)), read_allocation, sizeof(**ret), a, ret,
                     ret_n, err);
}

static void read_run_time(struct query *q, struct arena *a, void *row)
{
    (void)a;
    *(int64_t *)row = take_int(q);
}

int store_allocation_run_times(struct store *st, const char *pool, int64_t n, struct arena *a, int64_t **ret, size_t *ret_n,
                               struct error *err)
{
    return query_all(st, Q_ALLOCATIONS_RUN_TIMES, SQL_ARGS(sql_text(pool), sql_int(n)), read_run_time, sizeof(**ret), a, ret,
                     ret_n, err);
}

int store_allocations_open(struct store *st, struct arena *a, struct allocation_row **ret, size_t *ret_n,
                           struct error *err)
{
    return query_all(st, Q_ALLOCATIONS_OPEN, SQL_NO_ARGS, read_allocation, sizeof(**ret), a, ret, ret_n, err);
}

/* ---- containers ---- */

static void read_container(struct query *q, struct arena *a, void *row)
{
    struct container_row *c = row;
    char name[32];
    *c = (struct container_row){0};
    take_chars(q, c->id, sizeof(c->id));
    take_chars(q, c->allocation_id, sizeof(c->allocation_id));
    take_chars(q, c->agent_id, sizeof(c->agent_id));
    c->rank = take_i32(q);
    c->device_n = parse_ints(take_text(q, a), c->device_id, CORE_DEVICES_MAX);
    take_chars(q, name, sizeof(name));
    container_state_parse(name, &c->state);
    c->daemon = take_bool(q);
    take_chars(q, c->address, sizeof(c->address));
    take_chars(q, name, sizeof(name));
    exit_kind_parse(name, &c->exit_kind);
    c->exit_code = take_i32(q);
}

int store_container_put(struct store *st, const struct container_row *c, bool insert, struct error *err)
{
    cleanup_strbuf struct strbuf devices = STRBUF_INIT;
    print_ints(c->device_id, c->device_n, &devices);
    if (!insert)
        return query_exec_one(st, Q_CONTAINERS_UPDATE,
                              SQL_ARGS(sql_text(c->id), sql_text(c->agent_id), sql_int(c->rank), sql_text(devices.s),
                                       sql_text(container_state_name(c->state)), sql_bool(c->daemon),
                                           sql_text(c->address),
                                       sql_text(exit_kind_name(c->exit_kind)), sql_int(c->exit_code)),
                              err, "container %s", c->id);
    if (query_exec(st, Q_CONTAINERS_INSERT,
                   SQL_ARGS(sql_text(c->id), sql_text(c->allocation_id), sql_text(c->agent_id), sql_int(c->rank),
                            sql_text(devices.s), sql_text(container_state_name(c->state)), sql_bool(c->daemon),
                            sql_text(c->address), sql_text(exit_kind_name(c->exit_kind)), sql_int(c->exit_code)), NULL,
                   err) < 0)
        return error_wrap(err, "container %s", c->id);
    return 0;
}

int store_containers_open(struct store *st, struct arena *a, struct container_row **ret, size_t *ret_n,
                          struct error *err)
{
    return query_all(st, Q_CONTAINERS_OPEN, SQL_NO_ARGS, read_container, sizeof(**ret), a, ret, ret_n, err);
}

/* ---- accelerators ---- */

static void read_accelerator(struct query *q, struct arena *a, void *row)
{
    struct store_accelerator *x = row;
    x->container_id = take_text(q, a);
    x->allocation_id = take_text(q, a);
    x->node_name = take_text(q, a);
    x->accelerator_type = take_text(q, a);
    x->uuids = take_text(q, a);
    x->task_id = take_text(q, a);
    x->resource_pool = take_text(q, a);
}

int store_accelerator_set(struct store *st, const struct store_accelerator *x, struct error *err)
{
    if (query_exec(st, Q_ACCELERATORS_SET, SQL_ARGS(sql_text(x->allocation_id), sql_text(x->container_id),
                                                    sql_text(x->node_name), sql_text(x->accelerator_type),
                                                    sql_text(x->uuids)), NULL, err) < 0)
        return explain_conflict(err, "allocation %s does not exist", x->allocation_id);
    return 0;
}

int store_accelerators_of_task(struct store *st, const char *task_id, struct arena *a, struct store_accelerator **ret,
                               size_t *ret_n, struct error *err)
{
    return query_all(st, Q_ACCELERATORS_OF_TASK, SQL_ARGS(sql_text(task_id)), read_accelerator, sizeof(**ret), a, ret,
                     ret_n, err);
}
