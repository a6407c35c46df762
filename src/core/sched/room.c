#include "core/sched/room.h"

#include <stdlib.h>
#include <string.h>

/* ---- who could have a place -------------------------------------------------------------------------------------- */

/* If all that can be preempted were gone: the largest room on one agent. Sets size->whole, the number of idle agents
 * of each size. */
static int look_what_could_be_free(struct sched *s, const struct sched_request *r)
{
    int most = 0;
    for (struct agent_size *size = s->places.sizes; size != NULL; size = size->next)
        size->whole = 0;
    for (const struct sched_agent *agent = s->places.by_id; agent != NULL; agent = agent->hh.next) {
        if (!agent->open || places_blocked(r, agent))
            continue;
        most = agent->slots - agent->fixed > most ? agent->slots - agent->fixed : most;
        agent->size->whole += agent->fixed == 0;
    }
    return most;
}

/* Where gangs may take agents of several sizes, which agents add up depends on which are idle. There, room is made
 * on one agent only. */
static bool needs_one_agent(const struct sched *s, const struct sched_request *r)
{
    return r->single_agent || s->opts.allow_heterogeneous_fits;
}

static bool would_fit(const struct sched *s, const struct sched_request *r, int most)
{
    if (r->slots <= most)
        return true;
    if (needs_one_agent(s, r))
        return false;
    for (const struct agent_size *size = s->places.sizes; size != NULL && size->slots > 0; size = size->next)
        if (r->slots % size->slots == 0 && size->whole >= (size_t)(r->slots / size->slots))
            return true;
    return false;
}

/* All shapes without blocked agents share one look at the agents. */
void room_find_who_counts(struct sched *s)
{
    int most = -1;
    for (int blocked = 0; blocked < 2; blocked++)
        for (struct sched_shape *shape = s->with_slots[0].first; shape != NULL; shape = shape->next) {
            struct sched_request *first = RB_MIN(sched_requests, &shape->pending);
            if ((first->blocked_n > 0) != blocked)
                continue;
            shape->fits_now = places_fit(&s->places, first, s->share) > 0;
            shape->counts = shape->fits_now || (first->slots == 1 && places_could_fit(&s->places, first));
            if (shape->counts || first->slots == 1 || !places_could_fit(&s->places, first))
                continue;
            if (most < 0 || blocked)
                most = look_what_could_be_free(s, first);
            shape->counts = would_fit(s, first, most);
        }
}

/* ---- which agents ------------------------------------------------------------------------------------------------ */

struct candidate {
    struct sched_agent *agent;
    uint64_t distance;
};

static bool may_be_stopped(const struct pass *p, const struct sched_request *victim, const struct sched_request *r)
{
    return victim->slots < r->slots && victim->released_in != p->s->pass;
}

/* agent->room: the slots on it that could be had by stopping something. */
static void look_what_could_be_stopped(struct pass *p, const struct sched_request *r)
{
    struct sched *s = p->s;
    struct sched_request *victim;
    s->outlooks++;
    RB_FOREACH(victim, sched_requests, &s->with_slots[0].running) {
        for (size_t i = 0; may_be_stopped(p, victim, r) && i < victim->share_n; i++) {
            struct sched_agent *agent = victim->share[i].agent;
            agent->room = (agent->outlook == s->outlooks ? agent->room : 0) + victim->share[i].slots;
            agent->outlook = s->outlooks;
        }
    }
}

static int room_on(const struct sched *s, const struct sched_agent *agent)
{
    int room = agent->empty_slots + (agent->outlook == s->outlooks ? agent->room : 0);
    return room < agent->slots ? room : agent->slots;
}

/* First the agents on which least has to be stopped; then in the request's order of preference. */
static int by_ease(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    if (a->agent->empty_slots != b->agent->empty_slots)
        return a->agent->empty_slots > b->agent->empty_slots ? -1 : 1;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return strcmp(a->agent->id, b->agent->id);
}

/* size 0: any agent that could have room for all of it; else those of this size that could be idle. */
static size_t find_candidates(struct sched *s, const struct sched_request *r, int size, struct candidate *ret)
{
    size_t n = 0;
    for (struct sched_agent *agent = s->places.by_id; agent != NULL; agent = agent->hh.next) {
        if (!agent->open || places_blocked(r, agent) || (size > 0 && agent->slots != size))
            continue;
        if (room_on(s, agent) >= (size > 0 ? size : r->slots))
            ret[n++] = (struct candidate){agent, r->hash - agent->hash};
    }
    qsort(ret, n, sizeof *ret, by_ease);
    return n;
}

static size_t choose(struct pass *p, const struct sched_request *r, struct sched_share *ret)
{
    struct sched *s = p->s;
    struct candidate *c = arena_array(p->arena, struct candidate, s->agent_n + 1);
    if (find_candidates(s, r, 0, c) > 0) {
        ret[0] = (struct sched_share){c[0].agent, r->slots};
        return 1;
    }
    for (const struct agent_size *size = s->places.sizes; size != NULL && !needs_one_agent(s, r); size = size->next) {
        if (size->slots == 0 || r->slots % size->slots != 0)
            continue;
        size_t wanted = (size_t)(r->slots / size->slots);
        if (size->n < wanted || find_candidates(s, r, size->slots, c) < wanted)
            continue;
        for (size_t i = 0; i < wanted; i++)
            ret[i] = (struct sched_share){c[i].agent, size->slots};
        return wanted;
    }
    return 0;
}

/* ---- making it --------------------------------------------------------------------------------------------------- */

static bool helps(const struct sched *s, const struct sched_request *victim)
{
    for (size_t i = 0; i < victim->share_n; i++) {
        const struct sched_agent *agent = victim->share[i].agent;
        if (agent->outlook == s->outlooks && agent->empty_slots < agent->room)
            return true;
    }
    return false;
}

static void stop(struct pass *p, struct sched_request *victim)
{
    struct sched_group *g = victim->group;
    g->stopped = (g->stopped_in == p->s->pass ? g->stopped : 0) + victim->slots;
    g->stopped_in = p->s->pass;
    pass_release(p, victim);
    places_give(&p->s->places, victim->share, victim->share_n);
}

size_t room_make(struct pass *p, const struct sched_request *r)
{
    struct sched *s = p->s;
    struct sched_request *victim;
    look_what_could_be_stopped(p, r);
    size_t n = choose(p, r, s->share);
    if (n == 0)
        return 0;
    s->outlooks++; /* from here on room is what has to be free there */
    for (size_t i = 0; i < n; i++) {
        s->share[i].agent->outlook = s->outlooks;
        s->share[i].agent->room = s->share[i].slots;
    }
    RB_FOREACH_REVERSE(victim, sched_requests, &s->with_slots[0].running)
        if (may_be_stopped(p, victim, r) && helps(s, victim))
            stop(p, victim);
    return n;
}
