/* Moves a job in the queue ahead of another or behind it (docs/spec/scheduling.md#moving-a-job). Positions are numbers with room
 * between them. Where no number is left between two jobs, the jobs behind are pushed on. */
#ifndef DET_CORE_SCHED_MOVES_H
#define DET_CORE_SCHED_MOVES_H

#include "core/sched/sched.h"

struct sched_step {
    struct sched_group *group;
    int priority;
    int64_t queue_position;
};

struct sched_move {
    /* The other neighbour of the new place; NULL: none, it becomes the first or the last of all. */
    const struct sched_group *second;
    bool adopts_priority; /* of the anchor */
    struct sched_step *step; /* what to sched_group_set(), in this order; none: it is there already */
    size_t step_n;
};

/* Changes nothing. Both jobs have requests in this pool's queue. Array in the arena. */
void sched_plan_move(struct sched_group *g, struct sched_group *anchor, bool ahead, int64_t now_us, struct arena *a,
                     struct sched_move *ret);

#endif
