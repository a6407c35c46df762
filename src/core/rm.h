/* A resource manager places allocations somewhere and reports what becomes of their containers. Agents are one case
 * (rm_agents.c); engines with a scheduler of their own (Kubernetes, Slurm) will be others.
 *
 * Upwards it calls allocation_add_container(), allocation_assigned(), container_report() and container_exited(). */
#ifndef DET_CORE_RM_H
#define DET_CORE_RM_H

#include "core/objects.h"

struct rm_type {
    const char *name;
    /* At the end of a step in which the pool has changed: place what can be placed. */
    void (*turn)(struct core *c, struct pool *p);
    void (*signal)(struct core *c, struct container *k, int signal);
    /* A container has ended: what it held is free again. */
    void (*released)(struct core *c, struct container *k);
};

extern const struct rm_type rm_agents;

struct pool *pool_find(const struct core *c, const char *name); /* "" or NULL: the first one */
void pools_init(struct core *c, const struct core_opts *opts);
void pools_turn(struct core *c);
void pools_free(struct core *c);
void pool_add(struct pool *p, struct allocation *a);
void pool_remove(struct pool *p, struct allocation *a);
void pool_placed(struct pool *p, const struct allocation *a); /* is about to leave ALLOCATION_PENDING */

#endif
