#include "core/sched/projection.h"

#include <stdlib.h>

#include "common/base/must.h"
#include "core/sched/policy.h"

void projection_init(struct projection *pr, const struct sched_opts *opts)
{
    pr->kept = sched_policy_type(opts->policy)->plans_on_projection && opts->preemption;
    agent_index_init(&pr->agents, opts);
}

void projection_free(struct projection *pr)
{
    struct sched_agent *projected, *next;
    HASH_ITER(hh, pr->agents.by_id, projected, next) { /* frees the projected agents of agents that have not left */
        HASH_DEL(pr->agents.by_id, projected);
        free(projected);
    }
    agent_index_free(&pr->agents);
}

static int at_most(int n, int most)
{
    return n < most ? n : most;
}

/* Returns what the agent will offer when all that is on its way out has ended. Slots may have been disabled meanwhile,
 * so the result is limited to the slots that the agent has. */
static struct sched_agent offer_of(const struct sched_agent *agent)
{
    struct sched_agent offer = *agent;
    if (!agent->open)
        return offer;
    offer.empty_slots = at_most(agent->empty_slots + agent->leaving_slots, agent->slots);
    offer.empty_aux = at_most(agent->empty_aux + agent->leaving_aux, agent->aux);
    needs_add_upto(&offer.left, &agent->leaving, &agent->has);
    return offer;
}

void projection_join(struct projection *pr, struct sched_agent *agent)
{
    agent->leaving_slots = agent->leaving_aux = 0;
    agent->leaving = (struct sched_needs){0};
    agent->projected = NULL;
    if (!pr->kept)
        return;
    agent->projected = must_calloc(1, sizeof(*agent->projected));
    *agent->projected = (struct sched_agent){.id = agent->id,
                                             .projects = agent,
                                             .open = agent->open,
                                             .slots = agent->slots,
                                             .empty_slots = agent->empty_slots,
                                             .aux = agent->aux,
                                             .empty_aux = agent->empty_aux,
                                             .has = agent->has,
                                             .left = agent->left};
    agent_index_add(&pr->agents, agent->projected);
}

void projection_leave(struct projection *pr, struct sched_agent *agent)
{
    if (!agent->projected)
        return;
    agent_index_remove(&pr->agents, agent->projected);
    free(agent->projected);
    agent->projected = NULL;
}

void projection_follow(struct projection *pr, struct sched_agent *agent)
{
    struct sched_agent offer = offer_of(agent);
    if (agent->projected)
        agent_index_set(&pr->agents, agent->projected, &offer);
}

void projection_leaves(struct projection *pr, const struct sched_share *share, int by)
{
    share->agent->leaving_slots += by * share->slots;
    share->agent->leaving_aux += share->slots == 0 ? by : 0;
    needs_add(&share->agent->leaving, &share->needs, by);
    projection_follow(pr, share->agent);
}

size_t projection_fit(struct projection *pr, const struct sched_request *r, struct sched_share *ret)
{
    size_t n = agent_index_fit(&pr->agents, r, ret);
    for (size_t i = 0; i < n; i++)
        ret[i].agent = ret[i].agent->projects;
    return n;
}

static struct sched_share projected_share(const struct sched_share *share)
{
    return (struct sched_share){share->agent->projected, share->slots, share->needs};
}

void projection_take(struct projection *pr, const struct sched_share *share, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sched_share projected = projected_share(&share[i]);
        agent_index_take(&pr->agents, &projected, 1);
    }
}

void projection_give(struct projection *pr, const struct sched_share *share, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sched_share projected = projected_share(&share[i]);
        agent_index_give(&pr->agents, &projected, 1);
    }
}

void projection_taken(struct projection *pr, const struct sched_share *share, size_t n)
{
    for (size_t i = 0; i < n && pr->kept; i++) {
        struct sched_agent offer = offer_of(share[i].agent);
        agent_index_plan(&pr->agents, share[i].agent->projected, &offer);
    }
}
