/* The states of allocations and of their containers. */
#include "core/resources/allocation_internal.h"

#include <stdlib.h>

#include "core/resources/agents.h"
#include "core/state/step.h"

struct allocation *allocation_find(const struct core *c, const char *id)
{
    struct allocation *a = NULL;
    HASH_FIND_STR(c->allocations, id, a);
    return a;
}

struct container *container_find(const struct core *c, const char *id)
{
    struct container *k = NULL;
    HASH_FIND_STR(c->containers, id, k);
    return k;
}

void allocation_raise_state(struct core *c, struct allocation *a, enum allocation_state to)
{
    if (to <= a->row.state)
        return;
    if (sm_check_move(&allocation_sm, a->row.run_id, a->row.state, to, NULL) < 0)
        abort();
    a->row.state = to;
    if (to >= ALLOCATION_PULLING && a->row.start_us == 0 && a->container_n > 0)
        a->row.start_us = c->now_us;
    if (a->row.start_us == c->now_us)
        allocation_watch_max_time(c, a);
    record_touch(c, &a->record);
}

void allocation_set_ready(struct core *c, struct allocation *a)
{
    if (a->row.ready)
        return;
    a->row.ready = true;
    record_touch(c, &a->record);
    if (a->task)
        a->task->used_us = c->now_us;
    allocation_watch_idle(c, a);
}

void allocation_watch_idle(struct core *c, struct allocation *a)
{
    if (a->task && a->task->launched.idle_timeout_us > 0)
        timer_set(&c->timers, &a->task_timer, TIMER_TASK_IDLE, a->task->used_us + a->task->launched.idle_timeout_us);
}

int64_t allocation_max_time_us(const struct allocation *a)
{
    return a->trial ? a->trial->experiment->spec.max_time_us : a->task->launched.max_time_us;
}

/* The clock may have been set back since the start, which may therefore lie ahead. */
void allocation_watch_max_time(struct core *c, struct allocation *a)
{
    int64_t max_us = allocation_max_time_us(a), notice_us = max_us / 10;
    int64_t since_us = a->row.start_us < c->now_us ? a->row.start_us : c->now_us, due_us = since_us + max_us;
    if (max_us <= 0 || a->row.start_us == 0 || a->row.state >= ALLOCATION_TERMINATING)
        return;
    if (notice_us > ALLOCATION_NOTICE_MAX_US)
        notice_us = ALLOCATION_NOTICE_MAX_US;
    a->warned_of_max_time = due_us - notice_us < c->now_us;
    timer_set(&c->timers, &a->max_time, TIMER_MAX_TIME, a->warned_of_max_time ? due_us : due_us - notice_us);
}

const char *allocation_name(struct core *c, const struct allocation *a)
{
    struct arena *arena = &c->out->arena;
    if (!a->trial && !task_kind_is_launched(a->task->row.kind))
        return arena_printf(arena, "Checkpoint GC (Experiment %d)", a->task->row.experiment_id);
    if (!a->trial)
        return arena_strdup(arena, a->task->description);
    return arena_printf(arena, "Trial %d (Experiment %d)", a->trial->row.id, a->trial->row.experiment_id);
}

void container_set_state(struct core *c, struct container *k, enum container_state to)
{
    if (sm_check_move(&container_sm, k->row.rank, k->row.state, to, NULL) < 0)
        abort();
    k->row.state = to;
    record_touch(c, &k->record);
    if (k->agent)
        agent_revised(c, k->agent);
}

bool allocation_workers_done(const struct allocation *a)
{
    for (size_t i = 0; i < a->container_n; i++)
        if (container_is_live(a->container[i]) && !a->container[i]->row.daemon)
            return false;
    return true;
}

bool allocation_all_ended(const struct allocation *a)
{
    for (size_t i = 0; i < a->container_n; i++)
        if (container_is_live(a->container[i]))
            return false;
    return true;
}
