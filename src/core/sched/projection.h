/* The projection of a pool: the pool as it will be once all that is on its way out has gone. It is kept beside the
 * pool as it is. For each agent it has a projected agent, with more room. So a pass that makes room need not give
 * back what leaves, and take it again afterwards. A policy says whether it needs the projection
 * (plans_on_projection). */
#ifndef DET_CORE_SCHED_PROJECTION_H
#define DET_CORE_SCHED_PROJECTION_H

#include "core/sched/agent_index.h"

struct projection {
    bool kept;
    struct agent_index agents; /* of the projected agents */
};

void projection_init(struct projection *pr, const struct sched_opts *opts);
void projection_free(struct projection *pr);
void projection_join(struct projection *pr, struct sched_agent *agent);
void projection_leave(struct projection *pr, struct sched_agent *agent);
/* The agent offers something else now, for good. */
void projection_follow(struct projection *pr, struct sched_agent *agent);
/* Of what is held on the agent, this begins to leave (by 1), or has gone (-1). */
void projection_leaves(struct projection *pr, const struct sched_share *share, int by);

/* As agent_index_fit, agent_index_take and agent_index_give. Shares are of the agents themselves, not of the projected
 * ones. */
size_t projection_fit(struct projection *pr, const struct sched_request *r, struct sched_share *ret);
void projection_take(struct projection *pr, const struct sched_share *share, size_t n);
void projection_give(struct projection *pr, const struct sched_share *share, size_t n);
/* The shares were taken from the agents themselves: the projected agents follow. agent_index_undo() takes that back. */
void projection_taken(struct projection *pr, const struct sched_share *share, size_t n);

#endif
