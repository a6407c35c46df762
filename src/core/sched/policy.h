/* A scheduling policy: which jobs of a pool are served first, and which give way.
 *
 * To add one: a file that defines `const struct sched_policy_type sched_policy_NAME`, and a row of SCHED_POLICIES
 * (opts.h). Nothing else looks at which policy a pool has; what differs from one to the next is a member of this
 * struct. */
#ifndef DET_CORE_SCHED_POLICY_H
#define DET_CORE_SCHED_POLICY_H

#include "core/sched/opts.h"

struct pass;
struct sched;
struct sched_reason;
struct sched_request;

struct sched_policy_type {
    const char *name; /* scheduler.type of a pool's configuration */
    /* Why nobody can give a job of such a pool a priority, or a weight: the end of the sentence "resource pool p …".
     * NULL: it can be given one. */
    const char *no_priorities, *no_weights;
    bool equal_priorities; /* whatever a job's priority is, it counts as SCHED_PRIORITY_DEFAULT */
    /* Jobs stand in a queue: by priority, then by their positions, which users may change. Otherwise all requests are
     * of one priority, 0, and go by age. */
    bool has_queue;
    bool plans_on_projection; /* with preemption, its passes look at the pool as it will be (projection.h) */
    /* Makes the decision of one pass. It leaves the index of agents as it has found it. */
    void (*pass)(struct pass *p);
    /* Sets ret->why for a request that waits although it could be placed on what is free; and, for whatever reason it
     * waits, what the reason says of those ahead of it. */
    void (*why)(struct sched *s, const struct sched_request *r, struct sched_reason *ret);
};

const struct sched_policy_type *sched_policy_type(enum sched_policy policy); /* never NULL */
int sched_policy_find(const char *name, enum sched_policy *ret);             /* -1: there is none of that name */

#endif
