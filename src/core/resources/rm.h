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
    /* Called at the end of a step in which the pool has changed. take_stock is called first for all such pools, because
     * an agent that joins one pool may have left another: each pool notes what it has now. Then the pools place what
     * can be placed, and stop what has to make room. */
    void (*take_stock)(struct pool *p);
    void (*turn)(struct core *c, struct pool *p);
    void (*signal)(struct core *c, struct container *k, int signal);
    /* A container has ended, and what it held is free again. */
    void (*released)(struct core *c, struct container *k);
    void (*leaving)(struct allocation *a);        /* the allocation has been told to end */
    void (*agent_forgotten)(struct agent *agent); /* the agent will be freed; nothing runs on it */
    void (*removed)(struct pool *p, struct allocation *a);
    /* the job's priority, weight, max_slots or queue_position have become those of *to */
    void (*reweighed)(struct pool *p, struct job *job, const struct sched_job *to);
};

extern const struct rm_type rm_agents;

struct pool *pool_find(const struct core *c, const char *name); /* "" or NULL: the first one */
void pool_add(struct pool *p, struct allocation *a);
void pool_remove(struct pool *p, struct allocation *a);
int pool_priority(const struct pool *p, int wanted); /* the priority that a job counts with in this pool */
/* Checks whether a job of this pool may have this priority, or this weight. */
int pool_check_priority(const struct pool *p, int32_t priority, struct error *err);
int pool_check_weight(const struct pool *p, double weight, struct error *err);

/* Makes what the scheduler knows of the experiment: its priority, weight, limits and place. */
struct job *job_new(struct experiment *x); /* x->spec and x->row must be set */
/* Returns the experiment's job in a pool that the experiment may have left while some of its trials still run there, or
 * to which it comes back. This is the job that the pool knows, or a new one without an experiment. */
struct job *job_in_pool(struct experiment *x, struct pool *p);
/* Returns NULL if the job belongs to a task of its own. */
struct experiment *job_experiment(const struct job *job);
/* Returns NULL if the job belongs to an experiment. */
struct task *job_task(const struct job *job);
/* Makes the job of a task of its own, whose only allocation is `a`. The job is freed with the allocation. */
void job_new_for_task(struct allocation *a);
/* To be called when the priority, weight or position of a launched task has changed. The task has an allocation. */
void job_reweigh_task(struct task *t);
void job_reweigh(
    struct experiment *x); /* to be called when the experiment's priority, weight, max_slots or position has changed */
/* Frees the experiment's job, or lets the end of the experiment's last allocation free it. */
void job_leave(struct experiment *x);

#endif
