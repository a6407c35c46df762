#include "core/experiments/task.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "core/resources/allocation.h"
#include "core/resources/rm.h"
#include "core/state/ids.h"
#include "core/state/step.h"

struct task *task_find(const struct core *c, const char *id)
{
    struct task *t = NULL;
    if (id)
        HASH_FIND_STR(c->tasks, id, t);
    return t;
}

struct task *task_find_by_job(const struct core *c, const char *job_id)
{
    struct task *t = NULL;
    HASH_FIND(by_job, c->task_jobs, job_id, strlen(job_id), t);
    return t;
}

static struct task *new_task(struct core *c, const struct task_row *row, bool stored)
{
    struct task *t = must_calloc(1, sizeof(*t));
    t->row = *row;
    record_init(&t->record, RECORD_TASK, &t->row, stored);
    HASH_ADD_STR(c->tasks, row.id, t);
    c->task_n[row->kind]++;
    return t;
}

/* Adds what belongs to a launched task only. */
static void set_launched(struct core *c, struct task *t, const struct launched_row *row, bool stored)
{
    t->launched = *row;
    t->description = must_strdup(row->description ? row->description : "");
    t->launched.description = t->description;
    t->used_us = c->now_us;
    record_init(&t->launched_record, RECORD_LAUNCHED, &t->launched, stored);
    task_join_queue(c, t);
}

void task_join_queue(struct core *c, struct task *t)
{
    if (!t->queued)
        HASH_ADD(by_job, c->task_jobs, row.job_id, strlen(t->row.job_id), t);
    t->queued = true;
}

void task_leave_queue(struct core *c, struct task *t)
{
    if (t->queued)
        HASH_DELETE(by_job, c->task_jobs, t);
    t->queued = false;
}

/* ---- a new one --------------------------------------------------------------------------------------------------- */

/* A parent that is being killed would leave a new child behind. */
static int check_parent(const struct core *c, const char *id, struct error *err)
{
    const struct task *parent = task_find(c, id);
    if (!parent || parent->row.kind != TASK_KIND_GENERIC)
        return error_set(err, ERR_PRECONDITION, "task '%s' has ended, so that it can have no more children", id);
    if (parent->launched.state == GENERIC_STOPPING_CANCELED)
        return error_set(err, ERR_PRECONDITION, "task '%s' is being killed, so that it can have no more children", id);
    return 0;
}

static int check_launched(const struct core *c, const struct core_task_spec *spec, struct error *err)
{
    if (spec->parent_id && check_parent(c, spec->parent_id, err) < 0)
        return -1;
    if (spec->priority < SCHED_PRIORITY_MIN || spec->priority > SCHED_PRIORITY_MAX)
        return error_set(err, ERR_INVALID, "resources.priority must be between %d and %d, and is %d",
                         SCHED_PRIORITY_MIN, SCHED_PRIORITY_MAX, spec->priority);
    if (spec->slots < 0 || !(spec->weight >= 0))
        return error_set(err, ERR_INVALID, "resources.slots and resources.weight must not be negative");
    if (spec->needs.millicores < 0 || spec->needs.memory_bytes < 0)
        return error_set(err, ERR_INVALID, "resources.cpus and resources.memory must not be negative");
    return 0;
}

static void launch(struct core *c, struct task *t, const struct core_task_spec *spec, const struct pool *pool)
{
    struct launched_row row = {.workspace_id = spec->workspace_id,
                               .slots = spec->slots,
                               .millicores = spec->needs.millicores,
                               .memory_bytes = spec->needs.memory_bytes,
                               .priority = spec->priority,
                               .max_slots = spec->max_slots,
                               .weight = spec->weight,
                               .queue_position = c->now_us,
                               .idle_timeout_us = spec->idle_timeout_us,
                               .max_time_us = spec->max_time_us,
                               .max_idle_us = spec->max_idle_us,
                               .description = spec->description,
                               .state = GENERIC_ACTIVE,
                               .no_pause = spec->no_pause,
                               .preemption_timeout_s = spec->preemption_timeout_s};
    if (spec->parent_id)
        SET_TEXT(row.parent_id, spec->parent_id);
    SET_TEXT(row.task_id, t->row.id);
    SET_TEXT(row.pool, pool->name);
    set_launched(c, t, &row, false);
    record_touch(c, &t->launched_record);
}

/* Tells whoever created the task what the store needs to know of it. */
static void answer(struct core *c, const struct task *t)
{
    struct arena *a = &c->out->arena;
    c->out->task_id = arena_strdup(a, t->row.id);
    if (!task_kind_is_launched(t->row.kind))
        return;
    struct launched_row *row = arena_dup(a, &t->launched, sizeof(t->launched));
    row->description = arena_strdup(a, t->description);
    c->out->launched = row;
    c->out->job_id = arena_strdup(a, t->row.job_id);
}

int task_create(struct core *c, const struct core_task_spec *spec, struct error *err)
{
    struct pool *pool = pool_find(c, spec->pool);
    bool launched = task_kind_is_launched(spec->kind);
    if (!pool)
        return error_set(err, ERR_NOT_FOUND, "resource pool \"%s\" does not exist", spec->pool);
    if (launched && check_launched(c, spec, err) < 0)
        return -1;
    struct task_row row = {.kind = spec->kind,
                           .owner_id = spec->owner_id,
                           .experiment_id = spec->experiment_id,
                           .start_us = c->now_us};
    char uuid[CORE_UUID_MAX];
    new_uuid(c, uuid);
    if (launched)
        SET_TEXT(row.id, uuid);
    else
        snprintf(row.id, sizeof(row.id), "%d.%s", spec->experiment_id, uuid);
    new_uuid(c, row.job_id);
    struct task *t = new_task(c, &row, false);
    if (launched)
        launch(c, t, spec, pool);
    record_touch(c, &t->record);
    allocation_request_for_task(c, t, pool);
    answer(c, t);
    return 0;
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

int task_kill(struct core *c, const char *id, struct error *err)
{
    struct task *t = task_find(c, id);
    if (!t || !task_kind_is_launched(t->row.kind) || t->row.kind == TASK_KIND_GENERIC)
        return error_set(err, ERR_NOT_FOUND, "task '%s' not found among those that run or wait", id ? id : "");
    if (t->allocation)
        allocation_kill(c, t->allocation, "user requested kill");
    return 0;
}

void task_used(struct core *c, const char *id)
{
    struct task *t = task_find(c, id);
    if (t)
        t->used_us = c->now_us;
}

void task_end(struct core *c, struct task *t)
{
    t->row.end_us = c->now_us;
    record_touch(c, &t->record);
    if (!task_kind_is_launched(t->row.kind))
        effect_add(c, CORE_TASK_ENDED)->task_id = arena_strdup(&c->out->arena, t->row.id);
    HASH_DEL(c->tasks, t);
    task_leave_queue(c, t);
    c->task_n[t->row.kind]--;
    task_free(c, t);
}

void task_allocation_ended(struct core *c, struct task *t)
{
    task_end(c, t);
}

/* ---- restart ----------------------------------------------------------------------------------------------------- */

void task_restore(struct core *c, const struct task_row *row)
{
    new_task(c, row, true);
}

void task_restore_launched(struct core *c, const struct launched_row *row)
{
    struct task *t = task_find(c, row->task_id);
    if (t && task_kind_is_launched(t->row.kind))
        set_launched(c, t, row, true);
}

bool task_can_go_on(const struct task *t)
{
    return !task_kind_is_launched(t->row.kind) || t->launched.task_id[0] != '\0';
}

void task_resume(struct core *c, struct task *t)
{
    if (!t->allocation)
        task_end(c, t);
}

void task_clock_set(struct core *c, int64_t by_us)
{
    for (struct task *t = c->tasks; t; t = t->hh.next)
        t->used_us += by_us;
}

void task_free(struct core *c, struct task *t)
{
    record_release(c, &t->record);
    record_release(c, &t->launched_record);
    free(t->description);
    free(t);
}
