/* The options of a pool's scheduler. */
#ifndef DET_CORE_SCHED_OPTS_H
#define DET_CORE_SCHED_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "gen/config_numbers.h"

enum {
    SCHED_PRIORITY_MIN = EXP_RESOURCES_PRIORITY_MIN,
    SCHED_PRIORITY_MAX = EXP_RESOURCES_PRIORITY_MAX,
    /* of jobs that name none, in pools whose scheduler has no default_priority */
    SCHED_PRIORITY_DEFAULT = MASTER_CONFIG_RESOURCE_MANAGER_SCHEDULER_DEFAULT_PRIORITY_UNSET,
};

/* best packs: the agent with the least room left. worst spreads: the one with the largest part of it free. */
enum fitting_policy { FITTING_BEST, FITTING_WORST };

/* One row for each policy (policy.h): its constant SCHED_BY_…, and the end of sched_policy_…. */
#define SCHED_POLICIES(X) \
    X(PRIORITY, priority) \
    X(FAIR_SHARE, fair_share) \
    X(ROUND_ROBIN, round_robin)

enum sched_policy {
#define X(id, name) SCHED_BY_##id,
    SCHED_POLICIES(X)
#undef X
        SCHED_POLICY_NR,
};

struct sched_opts {
    enum sched_policy policy;
    bool preemption; /* where jobs have a queue: may what runs be stopped for what is more important? Fair share always
                        may */
    enum fitting_policy fitting;
    bool allow_heterogeneous_fits; /* may a gang take whole agents of different sizes? */
    /* A waiting request counts as one priority better for each of these that it has waited, and keeps that while it
     * runs: so nothing waits for ever. 0: never. */
    int64_t aging_us;
};

#endif
