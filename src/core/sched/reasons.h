/* Why a request waits (docs/spec/scheduling.md#why-a-job-waits). The reason is found when somebody asks; passes keep no
 * record. */
#ifndef DET_CORE_SCHED_REASONS_H
#define DET_CORE_SCHED_REASONS_H

#include "core/sched/agent_index.h"

enum sched_why {
    SCHED_WHY_NO_AGENTS, /* the pool has no agents */
    SCHED_WHY_CLOSED,    /* none of the agents takes new work */
    SCHED_WHY_BLOCKED,   /* agents could hold the request, but it must not run on them */
    SCHED_WHY_NEVER,     /* no set of the open agents could hold the request, even if all were idle */
    SCHED_WHY_QUOTA,     /* `quota` does not allow it, or it would borrow while others wait who need not */
    SCHED_WHY_NO_ROOM,   /* the agents that could hold the request are not free */
    SCHED_WHY_KEPT,      /* there is room, but more important requests wait */
    SCHED_WHY_MAX_SLOTS, /* there is room, but the job holds its max_slots */
    SCHED_WHY_SHARE,     /* there is room, but by fair share it goes to other jobs */
    /* there is room, but a gang of the same priority, ahead of the request, will need it, or, of cores and memory, a
     * request with slots */
    SCHED_WHY_GANG,
    SCHED_WHY_NEXT, /* nothing prevents it: the next pass places the request */
};

/* What a request lacks that has no room, or that no set of agents could hold. */
enum sched_lack {
    SCHED_LACKS_SLOTS, /* slots, or places for tasks without slots; perhaps more */
    SCHED_LACKS_CORES,
    SCHED_LACKS_MEMORY,
    SCHED_LACKS_BOTH, /* cores and memory together: there is enough of each, but not in one place */
};

struct sched_reason {
    enum sched_why why;
    enum sched_lack lacks; /* set with SCHED_WHY_NEVER and SCHED_WHY_NO_ROOM */
    size_t ahead;          /* requests of higher priority that wait; without preemption this request waits for them */
    /* the first of those ahead that no set of agents can hold; NULL: there is none */
    const struct sched_request *stuck;
    const struct sched_quota
        *quota;     /* the one that does not allow it; or, if there is no room, the one that would borrow */
    size_t leaving; /* requests that are on their way out */
    /* by fair share the request was granted its slots, but there was no place for it */
    bool granted;
};

/* Says why r waits, as of the last pass. A change since then may have made room for r. */
void sched_why(struct sched *s, const struct sched_request *r, struct sched_reason *ret);
/* The largest that an open agent on which the request may run has of cores and of memory, or has left of them. The two
 * may be of different agents. */
struct sched_needs sched_most(const struct sched *s, const struct sched_request *r, bool left);
/* Returns whether any request waits only because it must not run on the agents that could hold it. */
bool sched_is_any_blocked(const struct sched *s);
const struct agent_size *
sched_sizes(const struct sched *s); /* the sizes of the open agents, those with slots first; NULL: there are none */

/* free: the slots that are free and kept for no request. all: all slots of open agents. */
struct sched_slot_count {
    int64_t free, all;
};
struct sched_slot_count sched_count_slots(const struct sched *s);

#endif
