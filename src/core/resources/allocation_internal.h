/* Within allocations (allocation.c and container.c, which call allocation_end.c, which calls allocation_state.c):
 * what they share. */
#ifndef DET_CORE_RESOURCES_ALLOCATION_INTERNAL_H
#define DET_CORE_RESOURCES_ALLOCATION_INTERNAL_H

#include "core/resources/allocation.h"

/* A lower state than the present one is ignored. */
void allocation_raise_state(struct core *c, struct allocation *a, enum allocation_state to);
void allocation_set_ready(struct core *c, struct allocation *a);
/* Begins to watch whether a launched task is idle, if it has an idle_timeout. To be called when the task is ready. */
void allocation_watch_idle(struct core *c, struct allocation *a);
/* Begins to watch how long the allocation runs, if that is limited. To be called when it has started. */
void allocation_watch_max_time(struct core *c, struct allocation *a);
int64_t allocation_max_time_us(const struct allocation *a); /* 0: no limit */
const char *allocation_name(
    struct core *c,
    const struct allocation *a); /* the name of the allocation in its log, such as "Trial 3 (Experiment 1)" */
int64_t allocation_preemption_timeout_us(const struct allocation *a);
/* Sends SIGKILL to the allocation's containers that still run, at once and every 30 s until they have ended. */
void allocation_kill_containers(struct core *c, struct allocation *a);
/* Returns true if all containers that are not daemons have ended. The caller then kills the daemons. */
bool allocation_workers_done(const struct allocation *a);
bool allocation_all_ended(const struct allocation *a);

void container_set_state(struct core *c, struct container *k, enum container_state to);
static inline bool container_is_live(const struct container *k)
{
    return k->row.state != CONTAINER_TERMINATED;
}

#endif
