/* Scheduling by fair share: weighted max-min fairness over jobs, by progressive filling.
 *
 * Slots are offered to the jobs round after round, each round in proportion to the weights of those that want more, until
 * none are left or nobody wants any. Then each job is brought to what it was offered: what it has too much is released,
 * what it lacks is placed as far as it fits. A gang that its job's offer never suffices for would keep slots from others
 * for nothing: the newest such jobs give theirs back, until the rest can be served. */
#include <stdlib.h>
#include <string.h>

#include "core/sched/internal.h"

struct claim {
    struct sched_group *group;
    int demand;      /* slots wanted, at most max_slots */
    int active;      /* held, and not on their way out */
    int held_for_good; /* of these, by what cannot be preempted */
    int smallest;    /* pending request; 0: none */
    int offered;
    int prepaid; /* of held_for_good, what rounds have not yet counted as offered */
    bool disabled; /* gave its offer back */
};

struct claims {
    struct claim *item; /* by demand, then age */
    size_t n;
    struct claim **newest; /* the same, newest first */
    size_t first, newest_next; /* before these nobody wants more, or can be talked into giving back */
    int capacity;          /* slots not yet offered */
    double weight;         /* of all that want more */
};

/* A request counts if it could be served one day, and one that waits only if it would fit right now. */
static bool counts(struct pass *p, const struct sched_request *r)
{
    if (r->slots == 0 || r->slots > p->s->places.capacity || r->state == SCHED_RELEASING)
        return false;
    return r->state == SCHED_ALLOCATED || r->shape->fits_in == p->s->pass;
}

static void look_which_shapes_fit(struct sched *s)
{
    for (struct sched_shape *shape = s->with_slots[0].first; shape != NULL; shape = shape->next) {
        struct sched_request *first = RB_MIN(sched_requests, &shape->pending);
        shape->fits_in = places_fit(&s->places, first, s->share) > 0 ? s->pass : 0;
    }
}

static void claim_of(struct pass *p, struct sched_group *g, struct claim *ret)
{
    struct sched_request *r;
    *ret = (struct claim){.group = g};
    RB_FOREACH(r, sched_job, &g->requests) {
        if (!counts(p, r))
            continue;
        ret->demand += r->slots;
        if (r->state == SCHED_ALLOCATED)
            ret->active += r->slots;
        else if (ret->smallest == 0 || r->slots < ret->smallest)
            ret->smallest = r->slots;
        if (r->state == SCHED_ALLOCATED && !r->preemptible)
            ret->held_for_good += r->slots;
    }
    if (g->max_slots >= 0 && ret->demand > g->max_slots)
        ret->demand = g->max_slots;
}

static int by_demand(const void *pa, const void *pb)
{
    const struct claim *a = pa, *b = pb;
    if (a->demand != b->demand)
        return a->demand < b->demand ? -1 : 1;
    if (a->group->submitted_us != b->group->submitted_us)
        return a->group->submitted_us < b->group->submitted_us ? -1 : 1;
    return strcmp(a->group->job_id, b->group->job_id);
}

static int newest_first(const void *pa, const void *pb)
{
    const struct sched_group *a = (*(struct claim *const *)pa)->group, *b = (*(struct claim *const *)pb)->group;
    if (a->submitted_us != b->submitted_us)
        return a->submitted_us > b->submitted_us ? -1 : 1;
    return strcmp(b->job_id, a->job_id);
}

static struct claims collect_claims(struct pass *p)
{
    struct sched *s = p->s;
    struct claims c = {.item = arena_array(p->arena, struct claim, s->group_n + 1),
                       .newest = arena_array(p->arena, struct claim *, s->group_n + 1),
                       .capacity = (int)s->places.capacity};
    struct sched_group *g;
    look_which_shapes_fit(s);
    RB_FOREACH(g, sched_groups, &s->groups) {
        claim_of(p, g, &c.item[c.n]);
        c.n += c.item[c.n].demand > 0 || c.item[c.n].active > 0;
    }
    qsort(c.item, c.n, sizeof *c.item, by_demand);
    for (size_t i = 0; i < c.n; i++)
        c.newest[i] = &c.item[i];
    qsort(c.newest, c.n, sizeof *c.newest, newest_first);
    return c;
}

/* ---- offers ------------------------------------------------------------------------------------------------------ */

static bool wants_more(const struct claim *c)
{
    return !c->disabled && c->offered != c->demand;
}

static void satisfied(struct claims *c, const struct claim *claim)
{
    c->weight -= claim->group->weight;
    while (c->first < c->n && !wants_more(&c->item[c->first]))
        c->first++;
}

static void offer_what_is_held_for_good(struct claims *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct claim *claim = &c->item[i];
        claim->offered = claim->prepaid = claim->held_for_good;
        c->capacity = c->capacity > claim->offered ? c->capacity - claim->offered : 0;
        c->weight += wants_more(claim) ? claim->group->weight : 0;
    }
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* What was offered in advance is worked off first; a rest smaller than an offer is forgiven (contract, scheduling §5). */
static int less_prepaid(struct claim *claim, int offer)
{
    if (claim->prepaid >= offer) {
        claim->prepaid -= offer;
        return 0;
    }
    claim->prepaid = 0;
    return offer;
}

/* Each that wants more is offered its share of what there was at the round's start, one slot at least. */
static bool offer_round(struct claims *c)
{
    int at_start = c->capacity;
    bool progress = false;
    for (size_t i = c->first; i < c->n && c->capacity > 0; i++) {
        struct claim *claim = &c->item[i];
        if (!wants_more(claim))
            continue;
        double part = c->weight > 0 ? at_start * claim->group->weight / c->weight : 0;
        int share = part < 1 ? 1 : part > at_start ? at_start : (int)part;
        int offer = least(least(share, c->capacity), claim->demand - claim->offered);
        progress = progress || offer > 0;
        offer = less_prepaid(claim, offer);
        claim->offered += offer;
        c->capacity -= offer;
        if (claim->offered == claim->demand)
            satisfied(c, claim);
    }
    return progress;
}

/* Nothing is left: the newest job whose offer is too small for its smallest request returns it. Offers only grow, so
 * who is passed over once need not be asked again. */
static bool give_back_a_useless_offer(struct claims *c)
{
    while (c->newest_next < c->n) {
        struct claim *claim = c->newest[c->newest_next++];
        if (!wants_more(claim) || claim->smallest <= claim->offered)
            continue;
        c->capacity += claim->offered;
        claim->offered = 0;
        claim->disabled = true;
        satisfied(c, claim);
        return true;
    }
    return false;
}

static void make_offers(struct claims *c)
{
    offer_what_is_held_for_good(c);
    for (bool progress = true; progress;) {
        progress = offer_round(c);
        if (c->capacity == 0)
            progress = give_back_a_useless_offer(c);
    }
}

/* ---- carrying them out ------------------------------------------------------------------------------------------- */

static void release_too_much(struct pass *p, const struct claim *claim)
{
    int active = claim->active;
    struct sched_request *r;
    RB_FOREACH(r, sched_job, &claim->group->requests) {
        if (active <= claim->offered)
            return;
        if (r->state != SCHED_ALLOCATED || !r->preemptible || !counts(p, r))
            continue;
        pass_release(p, r);
        active -= r->slots;
    }
}

static bool place(struct pass *p, struct sched_request *r)
{
    size_t n = places_fit(&p->s->places, r, p->s->share);
    if (n == 0)
        return false;
    places_take(&p->s->places, p->s->share, n);
    pass_allocate(p, r, p->s->share, n);
    return true;
}

static void place_missing(struct pass *p, const struct claim *claim)
{
    int rest = claim->offered - claim->active;
    struct sched_request *r;
    RB_FOREACH(r, sched_job, &claim->group->requests) {
        if (r->state != SCHED_PENDING || !counts(p, r) || r->slots > rest)
            continue;
        rest -= r->slots;
        if (!place(p, r))
            pass_grant(p, r);
    }
}

static void place_zero_slot(struct pass *p)
{
    struct walk walk;
    struct cursor c;
    walk_start(&walk, &p->s->without[0], p->arena);
    while (walk_pop(&walk, &c))
        if (place(p, c.next))
            walk_push(&walk, cursor_after(&c));
    places_undo(&p->s->places, 0);
}

void sched_by_fair_share(struct pass *p)
{
    place_zero_slot(p);
    struct claims claims = collect_claims(p);
    make_offers(&claims);
    for (size_t i = 0; i < claims.n; i++) {
        const struct claim *claim = &claims.item[i];
        if (claim->active > claim->offered)
            release_too_much(p, claim);
        else if (claim->active < claim->offered)
            place_missing(p, claim);
    }
    places_undo(&p->s->places, 0);
}
