#include "core/sched/later.h"

#include <stdlib.h>

#include "core/sched/policy.h"

void later_init(struct later *l, const struct sched_opts *opts)
{
    l->kept = sched_policy_type(opts->policy)->plans_on_projection && opts->preemption;
    places_init(&l->places, opts);
}

void later_free(struct later *l)
{
    struct sched_agent *shadow, *next;
    HASH_ITER(hh, l->places.by_id, shadow, next) { /* of agents that have not left */
        HASH_DEL(l->places.by_id, shadow);
        free(shadow);
    }
    places_free(&l->places);
}

static int at_most(int n, int most)
{
    return n < most ? n : most;
}

/* What leaves may hold slots that are not offered any more. */
static struct sched_agent offer_of(const struct sched_agent *agent)
{
    struct sched_agent offer = *agent;
    if (!agent->open)
        return offer;
    offer.empty_slots = at_most(agent->empty_slots + agent->leaving_slots, agent->slots);
    offer.empty_aux = at_most(agent->empty_aux + agent->leaving_aux, agent->aux);
    return offer;
}

void later_join(struct later *l, struct sched_agent *agent)
{
    agent->leaving_slots = agent->leaving_aux = 0;
    agent->shadow = NULL;
    if (!l->kept)
        return;
    agent->shadow = must_calloc(1, sizeof *agent->shadow);
    *agent->shadow = (struct sched_agent){.id = agent->id, .shadow_of = agent, .open = agent->open, .slots = agent->slots,
                                          .empty_slots = agent->empty_slots, .aux = agent->aux, .empty_aux = agent->empty_aux};
    places_add(&l->places, agent->shadow);
}

void later_leave(struct later *l, struct sched_agent *agent)
{
    if (agent->shadow == NULL)
        return;
    places_remove(&l->places, agent->shadow);
    free(agent->shadow);
    agent->shadow = NULL;
}

void later_follow(struct later *l, struct sched_agent *agent)
{
    struct sched_agent offer = offer_of(agent);
    if (agent->shadow != NULL)
        places_set(&l->places, agent->shadow, &offer);
}

void later_leaves(struct later *l, const struct sched_share *share, int by)
{
    share->agent->leaving_slots += by * share->slots;
    share->agent->leaving_aux += share->slots == 0 ? by : 0;
    later_follow(l, share->agent);
}

size_t later_fit(struct later *l, const struct sched_request *r, struct sched_share *ret)
{
    size_t n = places_fit(&l->places, r, ret);
    for (size_t i = 0; i < n; i++)
        ret[i].agent = ret[i].agent->shadow_of;
    return n;
}

static struct sched_share of_shadow(const struct sched_share *share)
{
    return (struct sched_share){share->agent->shadow, share->slots};
}

void later_take(struct later *l, const struct sched_share *share, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sched_share shadow = of_shadow(&share[i]);
        places_take(&l->places, &shadow, 1);
    }
}

void later_give(struct later *l, const struct sched_share *share, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sched_share shadow = of_shadow(&share[i]);
        places_give(&l->places, &shadow, 1);
    }
}

void later_taken(struct later *l, const struct sched_share *share, size_t n)
{
    for (size_t i = 0; i < n && l->kept; i++) {
        struct sched_agent offer = offer_of(share[i].agent);
        places_plan(&l->places, share[i].agent->shadow, offer.empty_slots, offer.empty_aux);
    }
}
