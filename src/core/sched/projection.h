/* The projection of a pool: the pool as it will be once all that is on its way out has gone. It is kept beside the
 * pool as it is. For each agent it has a projected agent, with more room. So a pass that makes room need not give
 * back what leaves, and take it again afterwards. A policy says whether it needs the projection
 * (plans_on_projection). */
#ifndef DET_CORE_SCHED_PROJECTION_H
#define DET_CORE_SCHED_PROJECTION_H

#include "core/sched/agent_index.h"

struct projection {
    bool kept;
    struct agent_index agents; /* the index of the projected agents */
};

void projection_init(struct projection *pr, const struct sched_opts *opts);
void projection_free(struct projection *pr);
void projection_join(struct projection *pr, struct sched_agent *agent);
void projection_leave(struct projection *pr, struct sched_agent *agent);
/* Has to be called when what the agent offers has changed other than by planning. */
void projection_follow(struct projection *pr, struct sched_agent *agent);
/* Has to be called when a share on the agent begins to leave (by 1), and when it is gone (-1). */
void projection_leaves(struct projection *pr, const struct sched_share *share, const struct sched_needs *needs, int by);

/* These functions do what agent_index_fit, agent_index_take and agent_index_give do. Shares name the agents themselves,
 * not the projected agents. */
size_t projection_fit(struct projection *pr, const struct sched_request *r, struct sched_share *ret);
void projection_take(struct projection *pr, const struct sched_share *share, size_t n, const struct sched_needs *needs);
void projection_give(struct projection *pr, const struct sched_share *share, size_t n, const struct sched_needs *needs);
/* Has to be called when the shares were taken from the agents themselves, so that the projected agents change as well.
 * agent_index_undo() undoes this. */
void projection_taken(struct projection *pr, const struct sched_share *share, size_t n,
                      const struct sched_needs *needs);

#endif
