/* The pool as it will be once all that is on its way out has gone, kept beside the pool as it is: each agent has a shadow
 * there, with more room. So a pass that makes room need not give back what leaves, and take it again afterwards. Only for
 * scheduling by priority with preemption; elsewhere nobody asks. */
#ifndef DET_CORE_SCHED_LATER_H
#define DET_CORE_SCHED_LATER_H

#include "core/sched/places.h"

struct later {
    bool kept;
    struct places places; /* of the shadows */
};

void later_init(struct later *l, const struct sched_opts *opts);
void later_free(struct later *l);
void later_join(struct later *l, struct sched_agent *agent);
void later_leave(struct later *l, struct sched_agent *agent);
/* The agent offers something else now, for good. */
void later_follow(struct later *l, struct sched_agent *agent);
/* Of what is held on the agent, this begins to leave (by 1), or has gone (-1). */
void later_leaves(struct later *l, const struct sched_share *share, int by);

/* As places_fit, places_take and places_give. Shares are those of the agents, not of their shadows. */
size_t later_fit(struct later *l, const struct sched_request *r, struct sched_share *ret);
void later_take(struct later *l, const struct sched_share *share, size_t n);
void later_give(struct later *l, const struct sched_share *share, size_t n);
/* These were taken from the agents as they are; the trail knows. */
void later_taken(struct later *l, const struct sched_share *share, size_t n);

#endif
