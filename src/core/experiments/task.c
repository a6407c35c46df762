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
    HASH_FIND_STR(c->tasks, id, t);
    return t;
}

static struct task *new_task(struct core *c, const struct task_row *row, bool stored)
{
    struct task *t = must_calloc(1, sizeof(*t));
    t->row = *row;
    record_init(&t->record, RECORD_TASK, &t->row, stored);
    HASH_ADD_STR(c->tasks, row.id, t);
    return t;
}

int task_create(struct core *c, const struct core_task_spec *spec, struct error *err)
{
    struct pool *pool = pool_find(c, spec->pool);
    if (!pool)
        return error_set(err, ERR_NOT_FOUND, "resource pool \"%s\" does not exist", spec->pool);
    struct task_row row = {.owner_id = spec->owner_id, .experiment_id = spec->experiment_id, .start_us = c->now_us};
    char uuid[CORE_UUID_MAX];
    new_uuid(c, uuid);
    snprintf(row.id, sizeof(row.id), "%d.%s", spec->experiment_id, uuid);
    new_uuid(c, row.job_id);
    struct task *t = new_task(c, &row, false);
    record_touch(c, &t->record);
    allocation_request_for_task(c, t, pool);
    c->out->task_id = arena_strdup(&c->out->arena, row.id);
    return 0;
}

static void end_task(struct core *c, struct task *t)
{
    t->row.end_us = c->now_us;
    record_touch(c, &t->record);
    effect_add(c, CORE_TASK_ENDED)->task_id = arena_strdup(&c->out->arena, t->row.id);
    HASH_DEL(c->tasks, t);
    task_free(c, t);
}

void task_allocation_ended(struct core *c, struct task *t)
{
    end_task(c, t);
}

/* ---- restart ----------------------------------------------------------------------------------------------------- */

void task_restore(struct core *c, const struct task_row *row)
{
    new_task(c, row, true);
}

void task_resume(struct core *c, struct task *t)
{
    if (!t->allocation)
        end_task(c, t);
}

void task_free(struct core *c, struct task *t)
{
    record_release(c, &t->record);
    free(t);
}
