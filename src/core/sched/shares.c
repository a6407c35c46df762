#include "core/sched/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

#define ALMOST 1e-6 /* a share that is below a whole number by no more than this counts as that number */

/* ---- memory ------------------------------------------------------------------------------------------------------ */

void claims_reserve(struct claims_memory *memory, size_t n)
{
    if (n <= memory->cap)
        return;
    memory->cap = 2 * n;
    memory->item = must_reallocarray(memory->item, memory->cap, sizeof(*memory->item));
    memory->in_order = must_reallocarray(memory->in_order, memory->cap, sizeof(*memory->in_order));
    for (int i = 0; i < CLAIM_KEYS; i++)
        memory->keys[i] = must_reallocarray(memory->keys[i], memory->cap, sizeof(*memory->keys[i]));
    memory->in_play = must_reallocarray(memory->in_play, memory->cap, sizeof(*memory->in_play));
    memory->entitled = must_reallocarray(memory->entitled, memory->cap, sizeof(*memory->entitled));
}

void claims_release(struct claims_memory *memory)
{
    free(memory->item);
    free(memory->in_order);
    for (int i = 0; i < CLAIM_KEYS; i++)
        free(memory->keys[i]);
    free(memory->in_play);
    free(memory->entitled);
    free(memory->quota);
}

/* ---- what quotas leave ------------------------------------------------------------------------------------------- */

static void enter_quota(struct claims *c, struct claims_memory *memory, struct sched_quota *quota)
{
    if (quota->claims.pass == c->pass)
        return;
    quota->claims = (struct quota_claims){.pass = c->pass};
    if (c->quota_n == memory->quota_cap) {
        memory->quota_cap = memory->quota_cap == 0 ? 64 : 2 * memory->quota_cap;
        memory->quota = must_reallocarray(memory->quota, memory->quota_cap, sizeof(*memory->quota));
    }
    memory->quota[c->quota_n++] = (struct claim_rate){.quota = quota};
}

void claims_keep_to(struct claims *c, struct claims_memory *memory, struct sched_quotas *q,
                    const struct claim_held *held)
{
    if (q->claims.pass != c->pass) {
        q->claims = (struct set_claims){.pass = c->pass, .next = c->sets};
        c->sets = q;
        for (size_t i = 0; i < q->n; i++)
            enter_quota(c, memory, q->quota[i]);
    }
    q->claims.active += held->active;
    q->claims.held += held->all;
    q->claims.owned += held->own;
    q->claims.all_weight += held->weight;
    q->claims.all += held->weight > 0;
}

void claims_find_quotas(struct claims *c, struct claims_memory *memory)
{
    for (const struct sched_quotas *q = c->sets; q; q = q->claims.next)
        for (size_t i = 0; i < q->n; i++) {
            q->quota[i]->claims.limit += q->claims.held;
            q->quota[i]->claims.own += q->claims.owned;
            q->quota[i]->claims.active += q->claims.active;
        }
    for (size_t i = 0; i < c->quota_n; i++) {
        struct sched_quota *quota = memory->quota[i].quota;
        struct quota_claims *here = &quota->claims;
        here->limit += quota->limit - quota->held;
        here->limit = here->limit > here->active ? here->limit : here->active;
        here->own += quota->own - quota->owned;
        here->own = here->own < here->limit ? here->own : here->limit;
    }
}

/* Sets what the quotas leave to a round: their own slots, or, to the round that lends, what their limits leave. */
static void begin_round(struct claims *c, const struct claims_memory *memory, bool lends)
{
    c->lends = lends;
    for (size_t i = 0; i < c->quota_n; i++) {
        struct quota_claims *here = &memory->quota[i].quota->claims;
        here->left = lends ? here->limit - here->own_offered : here->own;
    }
    c->open_sets = 0;
    for (struct sched_quotas *q = c->sets; q; q = q->claims.next) {
        q->claims.room = INT64_MAX;
        c->open_sets += q->claims.all > 0;
    }
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* The most that the claim may be offered until the end of this round. */
static int most_for(const struct claims *c, const struct claim *claim)
{
    bool less = c->lends && claim->borrows_less && claim->job->lends_upto < claim->demand;
    return less ? claim->job->lends_upto : claim->demand;
}

/* How many slots more it may be offered than an earlier round has offered it. */
static int wanted(const struct claims *c, const struct claim *claim)
{
    return most_for(c, claim) - claim->own;
}

/* The bits of positive floats, read as integers, have the same order as the floats. */
static uint32_t need_of(const struct claims *c, const struct claim *claim)
{
    float need = (float)(wanted(c, claim) / claim->weight);
    uint32_t bits;
    memcpy(&bits, &need, sizeof(bits));
    return bits;
}

static struct claim_key key_of(const struct claims *c, size_t i)
{
    const struct claim *claim = &c->item[i];
    return (
        struct claim_key){.need = need_of(c, claim), .item = (uint32_t)i, .runs = claim->active > 0 || claim->fits_now};
}

/* One round of a radix sort: equal digits keep their order. */
static void sort_by_digit(size_t n, int shift, const struct claim_key *from, struct claim_key *ret)
{
    size_t at[DIGITS + 1] = {0};
    for (size_t i = 0; i < n; i++)
        at[(from[i].need >> shift & (DIGITS - 1)) + 1]++;
    for (size_t digit = 0; digit < DIGITS; digit++)
        at[digit + 1] += at[digit];
    for (size_t i = 0; i < n; i++)
        ret[at[from[i].need >> shift & (DIGITS - 1)]++] = from[i];
}

/* Returns the array, of the two, that has the sorted keys. `differ`: the bits in which any two needs differ. */
static struct claim_key *sort_keys(struct claim_key *key, size_t n, uint32_t differ, struct claim_key *other)
{
    for (int shift = 0; shift < 32; shift += DIGIT_BITS) {
        if ((differ >> shift & (DIGITS - 1)) == 0)
            continue;
        sort_by_digit(n, shift, key, other);
        struct claim_key *sorted = other;
        other = key;
        key = sorted;
    }
    return key;
}

/* Finds the order of the claims, and moves the claims themselves into it, so that the many walks that follow read
 * memory from its beginning to its end. */
static void sort_claims(struct claims *c, struct claims_memory *memory)
{
    struct claim_key *key = memory->keys[0];
    struct claim *from = memory->item;
    uint32_t differ = 0;
    for (size_t i = 0; i < c->n; i++) {
        c->item[i].own = 0;
        c->item[i].age = c->item[i].turn = (uint32_t)i;
        key[i] = key_of(c, i);
        differ |= key[i].need ^ key[0].need;
    }
    c->order = sort_keys(key, c->n, differ, memory->keys[1]);
    if (differ == 0)
        return;
    for (size_t i = 0; i < c->n; i++) {
        memory->in_order[i] = from[c->order[i].item];
        memory->in_order[i].turn = (uint32_t)i;
        c->order[i].item = (uint32_t)i;
    }
    c->item = memory->item = memory->in_order;
    memory->in_order = from;
}

/* Sorts keys by need, and then by age. */
static struct claim_key *sort_by_need(const struct claims *c, struct claim_key *key, size_t n, struct claim_key *other)
{
    uint32_t differ = 0;
    for (size_t i = 0; i < n; i++) {
        key[i].need = c->item[key[i].item].age;
        differ |= key[i].need ^ key[0].need;
    }
    struct claim_key *by_age = sort_keys(key, n, differ, other);
    other = by_age == key ? other : key;
    differ = 0;
    for (size_t i = 0; i < n; i++) {
        by_age[i].need = need_of(c, &c->item[by_age[i].item]);
        differ |= by_age[i].need ^ by_age[0].need;
    }
    return sort_keys(by_age, n, differ, other);
}

/* Finds the order anew; the claims themselves stay where they are. */
static void sort_again(struct claims *c, struct claims_memory *memory)
{
    for (size_t i = 0; i < c->n; i++) {
        c->item[i].own = 0;
        memory->keys[0][i] = key_of(c, i);
    }
    c->order = sort_by_need(c, memory->keys[0], c->n, memory->keys[1]);
    for (size_t i = 0; i < c->n; i++)
        c->item[c->order[i].item].turn = (uint32_t)i;
}

static bool is_before(const struct claims *c, const struct claim_key *a, const struct claim_key *b)
{
    return a->need != b->need ? a->need < b->need : c->item[a->item].age < c->item[b->item].age;
}

static void count_none(struct claims *c)
{
    for (struct sched_quotas *q = c->sets; q; q = q->claims.next) {
        q->claims.weight = q->claims.taken = 0;
        q->claims.growing = 0;
        q->claims.full = false;
    }
}

/* Finds the claims of the round that lends, in order: those of jobs that have quotas, and want more than is their
 * quotas' own. Room is made for all that the first round has offered them, although a job's part of its quotas' own
 * slots may be less than a whole request. Those that were offered nothing yet, as a rule most of them, are in order
 * already; the others are sorted, and the two are merged. again: it is a further plan, with the same first round. Then
 * these claims are among those of the last plan, and only those that borrow less now are out of order. */
static void find_borrowers(struct claims *c, struct claims_memory *memory, bool again)
{
    const struct claim_key *from = again ? c->served : c->order;
    struct claim_key *ordered = memory->keys[2], *others = memory->keys[3], *merged = memory->keys[4];
    size_t from_n = again ? c->served_n : c->n, ordered_n = 0, others_n = 0, o = 0, n = 0;
    count_none(c);
    c->lent_weight = 0;
    for (size_t i = 0; i < from_n; i++) {
        const struct claim_key key = from[i]; /* `from` may be one of the arrays that are written */
        struct claim *claim = &c->item[key.item];
        if (!claim->quotas)
            continue;
        if (again)
            claim->offered = claim->own;
        else
            claim->own = claim->offered;
        claim->whole = claim->own;
        if (wanted(c, claim) <= 0 || c->left <= 0)
            continue;
        claim->quotas->claims.weight += claim->weight;
        claim->quotas->claims.growing++;
        c->lent_weight += claim->weight;
        if ((again || claim->own == 0) && !claim->borrows_less)
            ordered[ordered_n++] = key;
        else
            others[others_n++] = key;
    }
    if (others_n == 0) {
        c->served = ordered;
        c->served_n = ordered_n;
        return;
    }
    others = sort_by_need(c, others, others_n, merged);
    merged = others == merged ? memory->keys[3] : merged;
    for (size_t i = 0; i < ordered_n; i++) {
        while (o < others_n && is_before(c, &others[o], &ordered[i]))
            merged[n++] = others[o++];
        merged[n++] = ordered[i];
    }
    while (o < others_n)
        merged[n++] = others[o++];
    c->served = merged;
    c->served_n = n;
}

/* ---- shares ------------------------------------------------------------------------------------------------------ */

/* While the shares grow together, in proportion to the weights: the slots that are left for those that grow, and their
 * weights. A quota of which nothing is left stops its jobs' shares at its *rate*, the share for a weight of 1. The
 * quotas whose jobs' shares grow are in a heap by their rates. A rate only ever rises, so that the heap may have an
 * older one, and the rate is found anew before the quota's jobs are stopped. */
struct growth {
    double left, weight;
    struct claim_rate *heap;
    size_t n;
    uint64_t pass;
};

static double rate_of(const struct sched_quota *quota)
{
    const struct quota_claims *here = &quota->claims;
    double left = (double)here->left - here->taken;
    if (here->growing == 0)
        return INFINITY;
    return left > 0 ? left / here->weight : 0;
}

static void sift_down(struct growth *g, size_t i)
{
    struct claim_rate item = g->heap[i];
    for (size_t child; (child = 2 * i + 1) < g->n; i = child) {
        if (child + 1 < g->n && g->heap[child + 1].rate < g->heap[child].rate)
            child++;
        if (g->heap[child].rate >= item.rate)
            break;
        g->heap[i] = g->heap[child];
    }
    g->heap[i] = item;
}

static bool is_fixed(const struct claims *c, const struct claim *claim)
{
    return claim->fixed && !c->lends;
}

/* At first, the shares of all jobs grow. (In the round that lends, find_borrowers() has counted whose do.) */
static void count_all(struct claims *c, struct growth *g)
{
    for (struct sched_quotas *q = c->sets; q; q = q->claims.next) {
        q->claims.weight = q->claims.all_weight;
        q->claims.taken = 0;
        q->claims.growing = q->claims.all;
        q->claims.full = false;
    }
    g->weight = c->weight;
}

/* Adds up whose shares grow, and what those hold whose do not because they cannot give it back. */
static void count_growing(struct claims *c, struct growth *g)
{
    count_none(c);
    for (size_t i = 0; i < c->served_n; i++) {
        const struct claim *claim = &c->item[c->served[i].item];
        struct set_claims *set = claim->quotas ? &claim->quotas->claims : NULL;
        if (is_fixed(c, claim)) {
            g->left -= claim->held_for_good;
            if (set)
                set->taken += claim->held_for_good;
            continue;
        }
        g->weight += claim->weight;
        if (!set)
            continue;
        set->weight += claim->weight;
        set->growing++;
    }
    g->left = g->left > 0 ? g->left : 0;
}

static void begin_growth(struct claims *c, const struct claims_memory *memory, struct growth *g, bool all)
{
    *g = (struct growth){.left = (double)c->left, .heap = memory->quota, .n = c->quota_n, .pass = c->pass};
    if (c->lends)
        g->weight = c->lent_weight;
    else if (all)
        count_all(c, g);
    else
        count_growing(c, g);
    for (size_t i = 0; i < g->n; i++) {
        struct quota_claims *here = &g->heap[i].quota->claims;
        here->weight = here->taken = 0;
        here->growing = 0;
    }
    for (const struct sched_quotas *q = c->sets; q; q = q->claims.next)
        for (size_t i = 0; i < q->n; i++) {
            q->quota[i]->claims.weight += q->claims.weight;
            q->quota[i]->claims.taken += q->claims.taken;
            q->quota[i]->claims.growing += q->claims.growing;
        }
    for (size_t i = 0; i < g->n; i++)
        g->heap[i].rate = rate_of(g->heap[i].quota);
    for (size_t i = g->n / 2; i-- > 0;)
        sift_down(g, i);
}

static void stop_growing(struct growth *g, struct sched_quotas *q, double rate)
{
    struct set_claims *set = &q->claims;
    if (set->pass != g->pass || set->full)
        return;
    set->full = true;
    set->rate = rate;
    for (size_t i = 0; i < q->n; i++) {
        q->quota[i]->claims.taken += set->weight * rate;
        q->quota[i]->claims.weight -= set->weight;
        q->quota[i]->claims.growing -= set->growing;
    }
    g->left -= set->weight * rate;
    g->weight -= set->weight;
}

/* Stops the shares of all jobs whose quotas leave nothing more before the shares for a weight of 1 are `need`, and
 * before the pool's slots are used up. */
static void stop_those_without_quota(struct growth *g, double need)
{
    while (g->n > 0 && g->heap[0].rate <= need && g->heap[0].rate * g->weight <= g->left) {
        const struct sched_quota *quota = g->heap[0].quota;
        const struct sched_member *m;
        double rate = rate_of(quota);
        if (rate <= g->heap[0].rate) {
            LIST_FOREACH(m, &quota->members, in_quota)
                stop_growing(g, m->of, rate);
            rate = INFINITY;
        }
        g->heap[0].rate = rate;
        sift_down(g, 0);
    }
}

static void leave_quotas(const struct claim *claim, double share)
{
    struct sched_quotas *q = claim->quotas;
    q->claims.weight -= claim->weight;
    q->claims.growing--;
    for (size_t i = 0; i < q->n; i++) {
        q->quota[i]->claims.taken += share;
        q->quota[i]->claims.weight -= claim->weight;
        q->quota[i]->claims.growing--;
    }
}

/* Returns true if a job holds more slots that cannot be preempted than its share, which it keeps: the others share
 * what is left, so this is to be called again. `all`: all jobs take part, and none is known yet to be such a one. */
static bool fill_shares(struct claims *c, const struct claims_memory *memory, bool all)
{
    bool again = false;
    struct growth g;
    begin_growth(c, memory, &g, all);
    for (size_t i = 0; i < c->served_n; i++) {
        struct claim *claim = &c->item[c->served[i].item];
        double share;
        if (is_fixed(c, claim))
            continue;
        if (g.n > 0)
            stop_those_without_quota(&g, wanted(c, claim) / claim->weight);
        if (claim->quotas && claim->quotas->claims.full) {
            share = claim->weight * claim->quotas->claims.rate;
        } else {
            share = g.weight > claim->weight ? g.left * claim->weight / g.weight : g.left;
            share = share < wanted(c, claim) ? share : wanted(c, claim);
            g.left -= share;
            g.weight -= claim->weight;
            if (claim->quotas)
                leave_quotas(claim, share);
        }
        if (!c->lends && claim->held_for_good > share) {
            claim->fixed = again = true;
            share = claim->held_for_good;
        }
        claim->share[c->lends] = share;
        c->lends_whole = c->lends_whole || (c->lends && share + ALMOST >= claim->unit);
    }
    return again;
}

/* ---- offers ------------------------------------------------------------------------------------------------------ */

/* Returns how many slots more the job's quotas, and what is left of the pool, leave to it in this round. */
static inline int64_t room_for(const struct claims *c, const struct claim *claim)
{
    int64_t room = c->left;
    for (size_t i = 0; claim->quotas && i < claim->quotas->n; i++) {
        int64_t left = claim->quotas->quota[i]->claims.left;
        room = left < room ? left : room;
    }
    return room;
}

static inline void offer_more(struct claims *c, struct claim *claim, int slots)
{
    if (c->has_gangs && claim->offered == 0 && claim->active == 0)
        c->in_play[c->in_play_n++] = (uint32_t)(claim - c->item);
    claim->offered += slots;
    c->left -= slots;
    for (size_t i = 0; claim->quotas && i < claim->quotas->n; i++)
        claim->quotas->quota[i]->claims.left -= slots;
}

/* Returns what the claim's share of this round is. In a further plan of a pass the claim may want less. */
static double share_of(const struct claims *c, const struct claim *claim)
{
    double share = claim->share[c->lends];
    return share < wanted(c, claim) ? share : wanted(c, claim);
}

static int in_whole_requests(const struct claim *claim, double share)
{
    return (int)((share + ALMOST) / claim->unit) * claim->unit;
}

/* Returns whether anything is offered. */
static inline bool offer_whole(struct claims *c, struct claim *claim)
{
    claim->own = claim->offered = 0;
    int offer = claim->whole = in_whole_requests(claim, share_of(c, claim));
    offer = offer > claim->held_for_good ? offer : claim->held_for_good;
    if (offer > 0)
        offer_more(c, claim, offer);
    return offer > 0;
}

static void offer_whole_requests(struct claims *c, struct claims_memory *memory)
{
    c->in_play = memory->in_play;
    c->entitled = memory->entitled;
    for (size_t i = 0; i < c->n && !c->has_gangs; i++)
        offer_whole(c, &c->item[i]);
    if (!c->has_gangs)
        return; /* there is one plan, in which nobody looks for claims by these lists */
    for (size_t i = 0; i < c->n; i++)
        if (c->item[i].active > 0)
            c->in_play[c->in_play_n++] = (uint32_t)i;
    c->holders_n = c->in_play_n;
    for (size_t i = 0; i < c->n; i++)
        if (offer_whole(c, &c->item[i]))
            c->entitled[c->entitled_n++] = (uint32_t)i;
}

/* Does the same in a further plan, in which no share is larger than in the first one. */
static void offer_whole_requests_again(struct claims *c)
{
    for (size_t i = 0; i < c->in_play_n; i++) {
        struct claim *claim = &c->item[c->in_play[i]];
        claim->own = claim->offered = claim->whole = 0;
    }
    c->in_play_n = c->holders_n;
    for (size_t i = 0; i < c->entitled_n; i++)
        offer_whole(c, &c->item[c->entitled[i]]);
}

/* In a further plan of a pass there may be less left to lend than in the first one, which the shares are from. */
static void lend_whole_requests(struct claims *c)
{
    for (size_t i = 0; i < c->served_n && c->lends_whole; i++) {
        struct claim *claim = &c->item[c->served[i].item];
        int whole = in_whole_requests(claim, share_of(c, claim));
        if (whole == 0)
            continue;
        int64_t room = room_for(c, claim);
        whole = whole <= room ? whole : room > 0 ? (int)room / claim->unit * claim->unit : 0;
        claim->whole += whole;
        if (whole > 0)
            offer_more(c, claim, whole);
    }
}

/* Whether the job can use one request more, and there are slots for it. Once there are not, there are none in this
 * round. */
static inline bool takes_one_more(struct claims *c, const struct claim *claim)
{
    if (claim->offered + claim->unit > most_for(c, claim) ||
        (claim->quotas && claim->unit > claim->quotas->claims.room))
        return false;
    int64_t room = room_for(c, claim);
    if (claim->quotas) {
        c->open_sets -= room < c->smallest && claim->quotas->claims.room >= c->smallest;
        claim->quotas->claims.room = room;
    }
    return claim->unit <= room;
}

/* Returns true if the job already runs one request more than it is offered, or is offered nothing and could place a
 * request now. Such a job is offered that request first, because nothing is gained by stopping a request to start one
 * of another job. */
static bool runs_one_more(const struct claim *claim)
{
    return claim->active > claim->offered || (claim->offered == 0 && claim->fits_now);
}

/* Returns whether the claim gets one request more: it lacks a part of one. `beyond`: or it stays less than the largest
 * gang above its share. */
static inline bool gets_one_more(const struct claims *c, const struct claim *claim, bool those_that_run, bool beyond)
{
    double fair = claim->own + share_of(c, claim);
    if (!beyond)
        return claim->offered + ALMOST < fair && (!those_that_run || runs_one_more(claim));
    return claim->offered + claim->unit - fair + ALMOST < c->largest &&
           (!those_that_run || claim->active > claim->offered);
}

/* Returns whether there may be claims that can be offered more in this round. */
static bool is_open(const struct claims *c)
{
    return c->open_sets > 0 || (!c->lends && c->unbound_n > 0);
}

/* Offers one request more to each claim that gets it; `beyond`: as long as it does. *rest gets those claims that may
 * get more in this round. */
static void offer_one_more(struct claims *c, const struct claim_key *served, size_t *n, struct claim_key *rest,
                           bool those_that_run, bool beyond)
{
    size_t rest_n = 0;
    for (size_t i = 0; i < *n && c->left >= c->smallest && is_open(c); i++) {
        if (those_that_run && !served[i].runs) {
            rest[rest_n++] = served[i];
            continue;
        }
        struct claim *claim = &c->item[served[i].item];
        bool takes = takes_one_more(c, claim);
        while (takes && gets_one_more(c, claim, those_that_run, beyond)) {
            offer_more(c, claim, claim->unit);
            takes = takes_one_more(c, claim);
            if (!beyond)
                break;
        }
        if (takes)
            rest[rest_n++] = served[i];
    }
    *n = rest_n;
}

/* Offers what is left after whole requests were offered. Slots are left because gangs are placed as a whole; where
 * there are none, whoever may get one more has got it by rounding up. */
static void offer_the_rest(struct claims *c, const struct claims_memory *memory)
{
    struct claim_key *rest = memory->keys[5];
    size_t n = c->served_n;
    offer_one_more(c, c->served, &n, rest, true, false);
    offer_one_more(c, rest, &n, rest, false, false);
    for (int run = 1; run >= 0 && c->largest > 1; run--)
        offer_one_more(c, rest, &n, rest, run == 1, true);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* What is their quotas' own, and all that jobs without quotas want. */
static void offer_own(struct claims *c, struct claims_memory *memory, bool again)
{
    begin_round(c, memory, false);
    if (!again)
        sort_claims(c, memory);
    else if (c->is_disordered)
        sort_again(c, memory);
    c->is_disordered = false;
    c->served = c->order;
    c->served_n = c->n;
    for (bool more = !again, all = true; more; all = false)
        more = fill_shares(c, memory, all);
    if (again)
        offer_whole_requests_again(c);
    else
        offer_whole_requests(c, memory);
    offer_the_rest(c, memory);
    c->left_to_lend = c->left;
    c->own_n = c->in_play_n;
    for (size_t i = 0; i < c->quota_n; i++) {
        struct quota_claims *here = &memory->quota[i].quota->claims;
        here->own_offered = here->own - here->left;
    }
}

/* What is left is lent. */
static void offer_on_loan(struct claims *c, struct claims_memory *memory, bool again)
{
    c->left = c->left_to_lend;
    c->in_play_n = c->own_n;
    begin_round(c, memory, true);
    find_borrowers(c, memory, again && c->keeps_own);
    if (!again)
        fill_shares(c, memory, false);
    lend_whole_requests(c);
    offer_the_rest(c, memory);
}

void claims_offer(struct claims *c, struct claims_memory *memory, bool again)
{
    if (!again || !c->keeps_own) {
        c->left = c->capacity;
        offer_own(c, memory, again);
    }
    if (c->sets)
        offer_on_loan(c, memory, again);
}
