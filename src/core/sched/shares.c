#include "core/sched/shares.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

#define LEAST_WEIGHT 1e-3
#define ALMOST 1e-6 /* a share that is below a whole number by no more than this counts as that number */

/* ---- room -------------------------------------------------------------------------------------------------------- */

void claims_reserve(struct claims_memory *memory, size_t n)
{
    if (n <= memory->cap)
        return;
    memory->cap = 2 * n;
    memory->item = must_reallocarray(memory->item, memory->cap, sizeof(*memory->item));
    memory->order = must_reallocarray(memory->order, memory->cap, sizeof(*memory->order));
    memory->sorted = must_reallocarray(memory->sorted, memory->cap, sizeof(*memory->sorted));
}

void claims_release(struct claims_memory *memory)
{
    free(memory->item);
    free(memory->order);
    free(memory->sorted);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

double claim_weight(double weight)
{
    return weight > LEAST_WEIGHT ? weight : LEAST_WEIGHT;
}

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* The bits of positive floats, read as integers, have the same order as the floats. */
static uint32_t need_of(const struct claim *claim)
{
    float need = (float)(claim->demand / claim->weight);
    uint32_t bits;
    memcpy(&bits, &need, sizeof(bits));
    return bits;
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

static void sort_claims(struct claims *c, struct claims_memory *memory)
{
    struct claim_key *order = memory->order, *other = memory->sorted;
    uint32_t differ = 0;
    for (size_t i = 0; i < c->n; i++) {
        order[i] = (struct claim_key){need_of(&c->item[i]), (uint32_t)i};
        differ |= order[i].need ^ order[0].need;
    }
    for (int shift = 0; shift < 32; shift += DIGIT_BITS) {
        if ((differ >> shift & (DIGITS - 1)) == 0)
            continue;
        sort_by_digit(c->n, shift, order, other);
        struct claim_key *sorted = other;
        other = order;
        order = sorted;
    }
    c->order = order;
}

/* ---- shares ------------------------------------------------------------------------------------------------------ */

static void fill_shares(struct claims *c)
{
    double left = (double)c->capacity, weight = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct claim *claim = &c->item[c->order[i].item];
        if (claim->fixed)
            left -= claim->held_for_good;
        else
            weight += claim->weight;
    }
    left = left > 0 ? left : 0;
    for (size_t i = 0; i < c->n; i++) {
        struct claim *claim = &c->item[c->order[i].item];
        if (claim->fixed)
            continue;
        double share = weight > claim->weight ? left * claim->weight / weight : left;
        claim->fair = share < claim->demand ? share : claim->demand;
        left -= claim->fair;
        weight -= claim->weight;
    }
}

/* Lets a job keep all the slots that it holds and that cannot be preempted, if these are more than its fair share. The
 * other jobs share what is left. Returns true if there is such a job. */
static bool fix_what_is_held_for_good(struct claims *c)
{
    bool found = false;
    for (size_t i = 0; i < c->n; i++) {
        struct claim *claim = &c->item[i];
        if (claim->fixed || claim->held_for_good <= claim->fair)
            continue;
        claim->fixed = found = true;
        claim->fair = claim->held_for_good;
    }
    return found;
}

/* ---- offers ------------------------------------------------------------------------------------------------------ */

static int64_t offer_whole_requests(struct claims *c)
{
    int64_t left = c->capacity;
    for (size_t i = 0; i < c->n; i++) {
        struct claim *claim = &c->item[i];
        claim->whole = (int)((claim->fair + ALMOST) / claim->unit) * claim->unit;
        claim->offered = claim->whole > claim->held_for_good ? claim->whole : claim->held_for_good;
        left -= claim->offered;
    }
    return left;
}

static bool takes_one_more(const struct claim *claim, int64_t left)
{
    return claim->unit <= left && claim->offered + claim->unit <= claim->demand;
}

/* Returns true if the job already runs one request more than it is offered, or is offered nothing and could place a
 * request now. Such a job is offered that request first, because nothing is gained by stopping a request to start one
 * of another job. */
static bool runs_one_more(const struct claim *claim)
{
    return claim->active > claim->offered || (claim->offered == 0 && claim->fits_now);
}

static int64_t round_up(struct claims *c, int64_t left, bool those_that_run)
{
    for (size_t i = 0; i < c->n && left > 0; i++) {
        struct claim *claim = &c->item[c->order[i].item];
        if (!takes_one_more(claim, left) || claim->offered + ALMOST >= claim->fair ||
            (those_that_run && !runs_one_more(claim)))
            continue;
        claim->offered += claim->unit;
        left -= claim->unit;
    }
    return left;
}

/* Gives slots that are left to jobs that can use them. Slots are left because a gang is placed as a whole. */
static int64_t give_away(struct claims *c, int64_t left, bool those_that_run)
{
    for (size_t i = 0; i < c->n && left > 0; i++) {
        struct claim *claim = &c->item[c->order[i].item];
        while (takes_one_more(claim, left) && claim->offered + claim->unit - claim->fair + ALMOST < c->largest &&
               (!those_that_run || claim->active > claim->offered)) {
            claim->offered += claim->unit;
            left -= claim->unit;
        }
    }
    return left;
}

static void remember_first_shares(const struct claims *c)
{
    for (size_t i = 0; i < c->n; i++)
        c->item[i].at_first = c->item[i].fair;
}

static void recall_first_shares(struct claims *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct claim *claim = &c->item[i];
        claim->fair = claim->at_first < claim->demand ? claim->at_first : claim->demand;
    }
}

void claims_offer(struct claims *c, struct claims_memory *memory, bool again)
{
    sort_claims(c, memory);
    if (again) {
        recall_first_shares(c);
    } else {
        do
            fill_shares(c);
        while (fix_what_is_held_for_good(c));
        remember_first_shares(c);
    }
    int64_t left = offer_whole_requests(c);
    left = round_up(c, left, true);
    left = round_up(c, left, false);
    left = give_away(c, left, true);
    give_away(c, left, false);
}
