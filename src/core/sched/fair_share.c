/* Scheduling by fair share: weighted max-min fairness over jobs, by progressive filling.
 *
 * Slots are offered to the jobs round after round, each round in proportion to the weights of those that want more, until
 * none are left or nobody wants any. Then each job is brought to what it was offered: what it has too much is released,
 * what it lacks is placed as far as it fits. A gang that its job's offer never suffices for would keep slots from others
 * for nothing: the newest such jobs give theirs back, until the rest can be served. */
#include <stdlib.h>

#include "core/sched/internal.h"

struct claim {
    struct sched_group *group;
    double weight;
    int demand;        /* slots wanted, at most max_slots */
    int active;        /* held, and not on their way out */
    int held_for_good; /* of these, by what cannot be preempted */
    int smallest;      /* pending request; 0: none */
    int offered;
    int prepaid;   /* of held_for_good, what rounds have not yet counted as offered */
    int served_in; /* the last round that offered it something */
    bool fits_now; /* one of its pending requests does */
    bool disabled; /* gave its offer back */
};

struct claims {
    struct claim *item; /* by age */
    size_t n;
    uint32_t *by_demand; /* indexes, then by age */
    size_t first;        /* in by_demand: before it nobody wants more */
    size_t not_asked;    /* in item: behind it nobody can be talked into giving back */
    int capacity;        /* slots not yet offered */
    double weight;       /* of all that want more */
    size_t wanting_n;    /* so many */
    int round;
};

/* A request counts if it could be served one day, and one that waits only if it would fit right now; one of a single slot
 * also if there is an agent for it, for whatever is released will do. */
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
        shape->fits_now = places_fit(&s->places, first, s->share) > 0;
        bool counts = shape->fits_now || (first->slots == 1 && places_could_fit(&s->places, first));
        shape->fits_in = counts ? s->pass : 0;
    }
}

static void add_up(struct pass *p, struct claim *ret)
{
    struct sched_request *r;
    RB_FOREACH(r, sched_job, &ret->group->requests) {
        if (!counts(p, r))
            continue;
        ret->demand += r->slots;
        if (r->state == SCHED_ALLOCATED)
            ret->active += r->slots;
        else if (ret->smallest == 0 || r->slots < ret->smallest)
            ret->smallest = r->slots;
        if (r->state == SCHED_ALLOCATED && !r->preemptible)
            ret->held_for_good += r->slots;
        ret->fits_now = ret->fits_now || (r->state == SCHED_PENDING && r->shape->fits_now);
    }
}

/* From the job's own sums, unless some of its requests count and others do not. */
static void claim_of(struct pass *p, struct sched_group *g, struct claim *ret)
{
    *ret = (struct claim){.group = g, .weight = g->weight};
    if (g->largest > p->s->places.capacity || (g->waiting_n > 0 && g->shape == NULL)) {
        add_up(p, ret);
    } else {
        bool fits = g->waiting_n > 0 && g->shape->fits_in == p->s->pass;
        ret->active = g->active;
        ret->held_for_good = g->held_for_good;
        ret->smallest = fits ? g->shape->key.slots : 0;
        ret->fits_now = fits && g->shape->fits_now;
        ret->demand = g->active + (fits ? (int)g->waiting_slots : 0);
    }
    if (g->max_slots >= 0 && ret->demand > g->max_slots)
        ret->demand = g->max_slots;
}

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* One round of a radix sort: equal digits keep their order. */
static void sort_by_digit(const struct claims *c, int shift, const uint32_t *from, uint32_t *ret)
{
    size_t at[DIGITS + 1] = {0};
    for (size_t i = 0; i < c->n; i++)
        at[((c->item[from[i]].demand >> shift) & (DIGITS - 1)) + 1]++;
    for (size_t digit = 0; digit < DIGITS; digit++)
        at[digit + 1] += at[digit];
    for (size_t i = 0; i < c->n; i++)
        ret[at[(c->item[from[i]].demand >> shift) & (DIGITS - 1)]++] = from[i];
}

static void sort_by_demand(struct claims *c, const struct claims_room *room)
{
    uint32_t *order = room->order, *other = room->sorted;
    int most = 0, least = INT32_MAX;
    for (size_t i = 0; i < c->n; i++) {
        order[i] = (uint32_t)i;
        most = c->item[i].demand > most ? c->item[i].demand : most;
        least = c->item[i].demand < least ? c->item[i].demand : least;
    }
    for (int shift = 0; shift < 31 && most != least && most >> shift > 0; shift += DIGIT_BITS) {
        sort_by_digit(c, shift, order, other);
        uint32_t *sorted = other;
        other = order;
        order = sorted;
    }
    c->by_demand = order;
}

static void make_room(struct claims_room *room, size_t n)
{
    if (n <= room->cap)
        return;
    room->cap = 2 * n;
    room->item = reallocarray(room->item, room->cap, sizeof *room->item);
    room->order = reallocarray(room->order, room->cap, sizeof *room->order);
    room->sorted = reallocarray(room->sorted, room->cap, sizeof *room->sorted);
    if (room->item == NULL || room->order == NULL || room->sorted == NULL)
        abort();
}

static struct claims collect_claims(struct pass *p)
{
    struct sched *s = p->s;
    make_room(&s->claims, s->group_n + 1);
    struct claims c = {.item = s->claims.item, .capacity = (int)s->places.capacity};
    struct sched_group *g;
    look_which_shapes_fit(s);
    RB_FOREACH(g, sched_groups, &s->groups) {
        claim_of(p, g, &c.item[c.n]);
        c.n += c.item[c.n].demand > 0 || c.item[c.n].active > 0;
    }
    c.not_asked = c.n;
    sort_by_demand(&c, &s->claims);
    return c;
}

/* ---- offers ------------------------------------------------------------------------------------------------------ */

static bool wants_more(const struct claim *c)
{
    return !c->disabled && c->offered != c->demand;
}

static void satisfied(struct claims *c, const struct claim *claim)
{
    c->weight -= claim->weight;
    c->wanting_n--;
    while (c->first < c->n && !wants_more(&c->item[c->by_demand[c->first]]))
        c->first++;
}

static void offer_what_is_held_for_good(struct claims *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct claim *claim = &c->item[c->by_demand[i]];
        claim->offered = claim->prepaid = claim->held_for_good;
        c->capacity = c->capacity > claim->offered ? c->capacity - claim->offered : 0;
        c->weight += wants_more(claim) ? claim->weight : 0;
        c->wanting_n += wants_more(claim);
    }
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* What was offered in advance is worked off first; a rest smaller than an offer is forgiven. */
static int less_prepaid(struct claim *claim, int offer)
{
    if (claim->prepaid >= offer) {
        claim->prepaid -= offer;
        return 0;
    }
    claim->prepaid = 0;
    return offer;
}

/* Its share of what there was at the round's start, one slot at least. False: it got nothing. */
static bool offer_share(struct claims *c, struct claim *claim, int at_start, double weight)
{
    double part = weight > 0 ? at_start * claim->weight / weight : 0;
    int share = part < 1 ? 1 : part > at_start ? at_start : (int)part;
    int offer = least(least(share, c->capacity), claim->demand - claim->offered);
    bool progress = offer > 0;
    claim->served_in = c->round;
    offer = less_prepaid(claim, offer);
    claim->offered += offer;
    c->capacity -= offer;
    if (claim->offered == claim->demand)
        satisfied(c, claim);
    return progress;
}

static bool can_have_one_now(const struct claim *c)
{
    return c->active > c->offered || (c->offered == 0 && c->fits_now);
}

/* Each that wants more is offered its share, of the weight of all that are not full yet. When there is not a slot for each, those come
 * first that have one, or could have one at once: nothing were gained by taking it from one to give it to another. And then a
 * share is one of all: those that are soon full must not make it two for the others. */
static bool offer_round(struct claims *c)
{
    int at_start = c->capacity;
    bool progress = false, scarce = (size_t)at_start < c->wanting_n;
    double weight = c->weight;
    c->round++;
    for (int turn = 0; turn < (scarce ? 2 : 1); turn++)
        for (size_t i = c->first; i < c->n && c->capacity > 0; i++) {
            struct claim *claim = &c->item[c->by_demand[i]];
            if (wants_more(claim) && claim->served_in < c->round && (!scarce || turn == 1 || can_have_one_now(claim)))
                progress = offer_share(c, claim, at_start, scarce ? weight : c->weight) || progress;
        }
    return progress;
}

/* Nothing is left: the newest job whose offer is too small for its smallest request returns it. Offers only grow, so
 * who is passed over once need not be asked again. */
static bool give_back_a_useless_offer(struct claims *c)
{
    while (c->not_asked > 0) {
        struct claim *claim = &c->item[--c->not_asked];
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
        const struct claim *claim = &claims.item[claims.by_demand[i]];
        if (claim->active > claim->offered)
            release_too_much(p, claim);
        else if (claim->active < claim->offered)
            place_missing(p, claim);
    }
    places_undo(&p->s->places, 0);
}
