/* The options of a pool's scheduler. */
#ifndef DET_CORE_SCHED_OPTS_H
#define DET_CORE_SCHED_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "gen/config_numbers.h"

enum {
    SCHED_PRIORITY_MIN = EXP_RESOURCES_PRIORITY_MIN,
    SCHED_PRIORITY_MAX = EXP_RESOURCES_PRIORITY_MAX,
    /* The priority of jobs that have none, in pools whose scheduler has no default_priority. */
    SCHED_PRIORITY_DEFAULT = MASTER_CONFIG_RESOURCE_MANAGER_SCHEDULER_DEFAULT_PRIORITY_UNSET,
};

/* FITTING_BEST packs requests: it prefers the agent with the least room left. FITTING_WORST spreads them: it prefers
 * the agent with the largest free part. */
enum fitting_policy { FITTING_BEST, FITTING_WORST };

/* There is one row for each policy (policy.h), with the ends of the names SCHED_BY_… and sched_policy_…. */
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
    /* in pools whose jobs have a queue: running requests may be stopped for more important ones; with fair share
     * this is always so */
    bool preemption;
    enum fitting_policy fitting;
    bool allow_heterogeneous_fits; /* a gang may take whole agents of different sizes */
    /* A waiting request counts as one priority better each time it has waited this long, and keeps the better priority
     * while it runs. So no request waits for ever. 0: requests do not age. */
    int64_t aging_us;
};

#endif
