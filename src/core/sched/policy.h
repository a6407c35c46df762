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
    const char *name; /* the value of scheduler.type in a pool's configuration */
    /* Why jobs of such a pool cannot be given a priority, or a weight. The text is the end of a sentence that begins
     * with "resource pool p". NULL: they can be given one. */
    const char *no_priorities, *no_weights;
    bool equal_priorities; /* each job counts with SCHED_PRIORITY_DEFAULT, whatever its own priority is */
    /* True: jobs stand in a queue, by priority and then by their positions, which users may change. False: all requests
     * have the priority 0 and go by age. */
    bool has_queue;
    bool plans_on_projection; /* when preemption is on, passes look at the pool as it will be (projection.h) */
    /* Makes the decision of one pass. Afterwards the index of agents is as it was before. */
    void (*pass)(struct pass *p);
    /* Sets ret->why for a request that waits although it could be placed on what is free. In all cases it sets what the
     * reason says about the requests ahead of this one. */
    void (*why)(struct sched *s, const struct sched_request *r, struct sched_reason *ret);
};

const struct sched_policy_type *sched_policy_type(enum sched_policy policy); /* never NULL */
int sched_policy_find(const char *name, enum sched_policy *ret);             /* -1: no policy has that name */

#endif
