/* Moves a job in the queue ahead of another or behind it (docs/spec/scheduling.md#moving-a-job). Positions are numbers
 * with room between them. Where no number is left between two jobs, the jobs behind are pushed on. */
#ifndef DET_CORE_SCHED_MOVES_H
#define DET_CORE_SCHED_MOVES_H

#include "core/sched/sched.h"

struct sched_step {
    struct sched_job *job;
    int priority;
    int64_t queue_position;
};

struct sched_move {
    /* The neighbour on the other side of the new place. NULL: there is none, because the job becomes the first or the
     * last of all. */
    const struct sched_job *second;
    bool adopts_priority; /* the job takes over the anchor's priority */
    /* the calls of sched_job_set() that carry out the move, in this order; none if the job stands there already */
    struct sched_step *step;
    size_t step_n;
};

/* Plans the move of a job to a place right ahead of `anchor` or right behind it, and changes nothing. Both jobs must
 * have requests in this pool's queue. The steps are allocated in the arena. */
void sched_plan_move(struct sched_job *job, struct sched_job *anchor, bool ahead, int64_t now_us, struct arena *a,
                     struct sched_move *ret);

#endif
