/* Why a request waits (docs/spec/scheduling.md#why-a-job-waits). The reason is found when somebody asks; passes keep no
 * record. */
#ifndef DET_CORE_SCHED_REASONS_H
#define DET_CORE_SCHED_REASONS_H

#include "core/sched/agent_index.h"

enum sched_why {
    SCHED_WHY_NO_AGENTS, /* the pool has none */
    SCHED_WHY_CLOSED,    /* none of them takes new work */
    SCHED_WHY_BLOCKED,   /* some could hold it, were it allowed there */
    SCHED_WHY_NEVER,     /* no set of the open agents could hold it, were they idle */
    SCHED_WHY_NO_ROOM,   /* agents that could hold it are not free */
    SCHED_WHY_KEPT,      /* there is room, but more important ones wait */
    SCHED_WHY_MAX_SLOTS, /* there is room, but its job has as much as it may */
    SCHED_WHY_SHARE,     /* there is room, but by fair share it goes to other jobs */
    SCHED_WHY_GANG,      /* there is room, but a gang of its priority, ahead of it, will need it when more has gone */
    SCHED_WHY_NEXT,      /* nothing stands in its way: the next pass places it */
};

struct sched_reason {
    enum sched_why why;
    size_t ahead; /* requests of higher priority that wait; without preemption they keep this one waiting */
    const struct sched_request *stuck; /* the first of those ahead that no set of agents can ever hold; NULL: none */
    size_t leaving;                    /* requests that are on their way out */
    bool granted;                      /* by fair share it got its slots, but no place */
};

/* r waits. The answer is as of the last pass; a change since then may have made room for r. */
void sched_why(struct sched *s, const struct sched_request *r, struct sched_reason *ret);
/* Does something wait only because it may not run on the agents that could hold it? */
bool sched_is_any_blocked(const struct sched *s);
const struct agent_size *
sched_sizes(const struct sched *s); /* of the open agents, with slots first; NULL: there are none */

/* Slots that are free and kept for no request, and all slots of open agents. */
struct sched_slot_count {
    int64_t free, all;
};
struct sched_slot_count sched_count_slots(const struct sched *s);

#endif
