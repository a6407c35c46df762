/* A resource manager places allocations somewhere and reports what becomes of their containers. Agents are one case
 * (rm_agents.c); engines with a scheduler of their own (Kubernetes, Slurm) will be others.
 *
 * In its turn it calls allocation_add_container(), allocation_assigned() and allocation_terminate(). What it is told
 * between two turns it notes down: signal, released, leaving, agent_forgotten, removed and reweighed call no
 * allocation. */
#ifndef DET_CORE_RESOURCES_RM_H
#define DET_CORE_RESOURCES_RM_H

#include "core/state/objects.h"

struct rm_type {
    const char *name;
    void (*open)(struct pool *p);
    void (*close)(struct pool *p);
    /* At the end of a step in which the pool has changed: first, in all such pools, take note of what they have now,
     * for what joins one may have left another; then place what can be placed, stop what must give way. */
    void (*take_stock)(struct pool *p);
    void (*turn)(struct core *c, struct pool *p);
    void (*signal)(struct core *c, struct container *k, int signal);
    /* A container has ended: what it held is free again. */
    void (*released)(struct core *c, struct container *k);
    void (*leaving)(struct allocation *a);        /* the allocation has been told to end */
    void (*agent_forgotten)(struct agent *agent); /* the agent will be freed; nothing runs on it */
    void (*removed)(struct pool *p, struct allocation *a);
    void (*reweighed)(struct pool *p, struct job *job); /* experiment.spec and row say what it is worth now */
};

extern const struct rm_type rm_agents;

struct pool *pool_find(const struct core *c, const char *name); /* "" or NULL: the first one */
void pool_add(struct pool *p, struct allocation *a);
void pool_remove(struct pool *p, struct allocation *a);
int pool_priority(const struct pool *p, int wanted); /* the priority that a job counts with in this pool */
/* Whether a job of this pool may have such a priority, or weight. */
int pool_check_priority(const struct pool *p, int32_t priority, struct error *err);
int pool_check_weight(const struct pool *p, double weight, struct error *err);

/* The experiment's own share of the queue: priority, weight, limits, place. */
struct job *job_new(struct experiment *x); /* x->spec and x->row are set */
/* The experiment's job in a pool that it may have left while some of its trials still run there, or to which it comes
 * back: the job that the pool knows, or a new one without an experiment. */
struct job *job_in_pool(struct experiment *x, struct pool *p);
/* NULL: the job belongs to a task of its own. */
struct experiment *job_experiment(const struct job *job);
/* Makes the job of a task of its own. It is freed with the task's only allocation, which this is. */
void job_new_for_task(struct allocation *a);
void job_reweigh(
    struct experiment *x); /* to be called when the experiment's priority, weight, max_slots or position has changed */
void job_leave(struct experiment *x); /* frees the experiment's job, or leaves that to the end of its last allocation */

#endif
