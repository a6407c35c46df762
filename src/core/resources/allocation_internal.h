/* Within allocations (allocation.c and container.c, which call allocation_end.c, which calls allocation_state.c):
 * what they share. */
#ifndef DET_CORE_RESOURCES_ALLOCATION_INTERNAL_H
#define DET_CORE_RESOURCES_ALLOCATION_INTERNAL_H

#include "core/resources/allocation.h"

void allocation_raise_state(struct core *c, struct allocation *a, enum allocation_state to); /* states only rise */
void allocation_set_ready(struct core *c, struct allocation *a);
const char *allocation_name(
    struct core *c,
    const struct allocation *a); /* the name of the allocation in its log, such as "Trial 3 (Experiment 1)" */
int64_t allocation_preemption_timeout_us(const struct allocation *a);
/* SIGKILL to what still runs of it, at once and every 30 s until it is gone. */
void allocation_kill_containers(struct core *c, struct allocation *a);
bool allocation_workers_done(
    const struct allocation *a); /* true: all containers that are not daemons have ended; daemons are killed then */
bool allocation_all_ended(const struct allocation *a);

void container_set_state(struct core *c, struct container *k, enum container_state to);
static inline bool container_is_live(const struct container *k)
{
    return k->row.state != CONTAINER_TERMINATED;
}

#endif
