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

/* Finds what will be empty when all that is on its way out has ended. Slots may have been disabled meanwhile, so the
 * result is limited to what the agent has. */
static void find_empty(const struct sched_agent *agent, int *ret_slots, int *ret_aux)
{
    bool open = agent->open;
    *ret_slots = open ? at_most(agent->empty_slots + agent->leaving_slots, agent->slots) : agent->empty_slots;
    *ret_aux = open ? at_most(agent->empty_aux + agent->leaving_aux, agent->aux) : agent->empty_aux;
}

static struct sched_needs find_left(const struct sched_agent *agent)
{
    struct sched_needs left = agent->left;
    if (agent->open)
        needs_add_upto(&left, &agent->leaving, &agent->has);
    return left;
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
    struct sched_agent offer; /* only what agent_index_set() uses is set: most of it is large and not needed */
    if (!agent->projected)
        return;
    offer.open = agent->open;
    offer.slots = agent->slots;
    offer.aux = agent->aux;
    offer.has = agent->has;
    offer.left = find_left(agent);
    find_empty(agent, &offer.empty_slots, &offer.empty_aux);
    agent_index_set(&pr->agents, agent->projected, &offer);
}

void projection_leaves(struct projection *pr, const struct sched_share *share, const struct sched_needs *needs, int by)
{
    share->agent->leaving_slots += by * share->slots;
    share->agent->leaving_aux += share->slots == 0 ? by : 0;
    needs_add(&share->agent->leaving, needs, by);
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
    return (struct sched_share){share->agent->projected, share->slots};
}

void projection_take(struct projection *pr, const struct sched_share *share, size_t n, const struct sched_needs *needs)
{
    for (size_t i = 0; i < n; i++) {
        struct sched_share projected = projected_share(&share[i]);
        agent_index_take(&pr->agents, &projected, 1, needs);
    }
}

void projection_give(struct projection *pr, const struct sched_share *share, size_t n, const struct sched_needs *needs)
{
    for (size_t i = 0; i < n; i++) {
        struct sched_share projected = projected_share(&share[i]);
        agent_index_give(&pr->agents, &projected, 1, needs);
    }
}

void projection_taken(struct projection *pr, const struct sched_share *share, size_t n, const struct sched_needs *needs)
{
    for (size_t i = 0; i < n && pr->kept; i++) {
        const struct sched_agent *agent = share[i].agent;
        int slots, aux;
        find_empty(agent, &slots, &aux);
        agent_index_plan(&pr->agents, agent->projected, slots, aux);
        if (!needs_any(needs))
            continue;
        const struct sched_needs left = find_left(agent);
        agent_index_plan_left(&pr->agents, agent->projected, &left);
    }
}
