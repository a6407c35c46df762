#include "plain_sched.h"

#include <md5.h>
#include <stdlib.h>
#include <string.h>

/* ---- fits -------------------------------------------------------------------------------------------------------- */

struct candidate {
    size_t index;
    const struct plain_agent *agent;
    double score;
    uint64_t distance;
};

static uint64_t hash_of(const char *id)
{
    MD5_CTX ctx;
    uint8_t digest[MD5_DIGEST_LENGTH];
    MD5Init(&ctx);
    MD5Update(&ctx, (const uint8_t *)id, strlen(id));
    MD5Final(digest, &ctx);
    uint64_t h = 0;
    for (int i = 7; i >= 0; i--)
        h = h << 8 | digest[i];
    return h;
}

static double score_of(enum fitting_policy policy, const struct plain_agent *agent, int needed)
{
    bool by_slots = agent->slots > agent->empty_slots || needed > 0;
    int all = by_slots ? agent->slots : agent->aux, empty = by_slots ? agent->empty_slots : agent->empty_aux;
    if (all == 0)
        return 0;
    return policy == FITTING_BEST ? 1.0 / (1 + empty) : (double)empty / all;
}

static int by_preference(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return strcmp(a->agent->id, b->agent->id);
}

static int by_size(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    if (a->agent->empty_slots != b->agent->empty_slots)
        return a->agent->empty_slots > b->agent->empty_slots ? -1 : 1;
    return by_preference(pa, pb);
}

static bool permitted(const struct plain_request *r, const struct plain_agent *agent)
{
    for (size_t i = 0; i < r->blocked_n; i++)
        if (strcmp(r->blocked_agent[i], agent->id) == 0)
            return false;
    return agent->open;
}

static bool fits_alone(const struct plain_request *r, const struct plain_agent *agent)
{
    return agent->empty_slots >= r->slots && (r->slots > 0 || agent->empty_aux > 0);
}

static bool fits_dedicated(const struct plain_request *r, const struct plain_agent *agent)
{
    (void)r;
    return agent->empty_slots == agent->slots && agent->empty_slots > 0;
}

static size_t find_candidates(const struct plain_snapshot *s, const struct plain_agent *agent,
                              const struct plain_request *r,
                              bool (*constraint)(const struct plain_request *, const struct plain_agent *),
                              struct candidate *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < s->agent_n; i++)
        if (permitted(r, &agent[i]) && constraint(r, &agent[i]))
            ret[n++] = (struct candidate){i, &agent[i], score_of(s->opts.fitting, &agent[i], r->slots),
                                          hash_of(r->allocation_id) - hash_of(agent[i].id)};
    return n;
}

static size_t fit_one_size(const struct candidate *c, size_t n, int needed, struct plain_share *ret)
{
    for (size_t first = 0, end; first < n; first = end) {
        int size = c[first].agent->empty_slots;
        for (end = first; end < n && c[end].agent->empty_slots == size; end++)
            ;
        size_t taken = (size_t)(needed / size);
        if (needed % size != 0 || taken > end - first)
            continue;
        for (size_t i = 0; i < taken; i++)
            ret[i] = (struct plain_share){c[first + i].index, size};
        return taken;
    }
    return 0;
}

static size_t fit_any_size(const struct candidate *c, size_t n, int needed, struct plain_share *ret)
{
    size_t taken = 0;
    for (size_t i = 0; i < n && needed > 0; i++) {
        int size = c[i].agent->empty_slots;
        if (size > needed)
            continue;
        ret[taken++] = (struct plain_share){c[i].index, size};
        needed -= size;
    }
    return needed == 0 ? taken : 0;
}

size_t plain_fit(const struct plain_snapshot *s, const struct plain_agent *agent, const struct plain_request *r,
                 struct arena *a, struct plain_share **ret)
{
    struct candidate *c = arena_array(a, struct candidate, s->agent_n + 1);
    *ret = arena_array(a, struct plain_share, s->agent_n + 1);
    size_t n = find_candidates(s, agent, r, fits_alone, c);
    if (n > 0) {
        qsort(c, n, sizeof *c, by_preference);
        (*ret)[0] = (struct plain_share){c[0].index, r->slots};
        return 1;
    }
    if (r->single_agent || r->slots <= 1)
        return 0;
    n = find_candidates(s, agent, r, fits_dedicated, c);
    qsort(c, n, sizeof *c, by_size);
    size_t taken = fit_one_size(c, n, r->slots, *ret);
    return taken == 0 && s->opts.allow_heterogeneous_fits ? fit_any_size(c, n, r->slots, *ret) : taken;
}

static void take(struct plain_agent *agent, const struct plain_share *share, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *(share[i].slots > 0 ? &agent[share[i].agent].empty_slots : &agent[share[i].agent].empty_aux) -=
            share[i].slots > 0 ? share[i].slots : 1;
}

static void give(struct plain_agent *agent, const struct plain_share *share, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct plain_agent *g = &agent[share[i].agent];
        if (!g->open)
            continue;
        if (share[i].slots > 0)
            g->empty_slots = g->empty_slots + share[i].slots < g->slots ? g->empty_slots + share[i].slots : g->slots;
        else
            g->empty_aux = g->empty_aux + 1 < g->aux ? g->empty_aux + 1 : g->aux;
    }
}

/* ---- by priority ------------------------------------------------------------------------------------------------- */

#define COMPARE(x, y)                  \
    do {                               \
        if ((x) != (y))                \
            return (x) < (y) ? -1 : 1; \
    } while (0)

static int by_age(const struct plain_request *a, const struct plain_request *b)
{
    COMPARE(a->submitted_us, b->submitted_us);
    COMPARE(a->request_us, b->request_us);
    return strcmp(a->allocation_id, b->allocation_id);
}

static int by_turn(const void *pa, const void *pb)
{
    const struct plain_request *a = *(const struct plain_request *const *)pa,
                               *b = *(const struct plain_request *const *)pb;
    COMPARE(a->priority, b->priority);
    COMPARE(a->queue_position, b->queue_position);
    return by_age(a, b);
}

struct plan {
    const struct plain_snapshot *s;
    struct arena *a;
    struct plain_decision *ret;
    struct plain_agent *agent; /* as they would be */
    const struct plain_request **order;
    bool *released; /* by index of the request */
    bool zero_slot, backfilling, releasing, leaving_given;
    int kept_n; /* in what leaves */
};

static size_t index_of(const struct plan *p, const struct plain_request *r)
{
    return (size_t)(r - p->s->request);
}

static void allocate(struct plan *p, const struct plain_request *r, struct plain_share *share, size_t n)
{
    p->ret->allocate[p->ret->allocate_n++] = (struct plain_placement){index_of(p, r), share, n};
}

static bool has_turn(const struct plan *p, const struct plain_request *r, int priority)
{
    return r->priority == priority && (r->slots == 0) == p->zero_slot;
}

static void give_leaving(struct plan *p, struct plain_agent *agent)
{
    for (size_t i = 0; i < p->s->request_n; i++)
        if (p->s->request[i].state == SCHED_RELEASING && (p->s->request[i].slots == 0) == p->zero_slot)
            give(agent, p->s->request[i].share, p->s->request[i].share_n);
}

/* A gang keeps what will be its own, so that others of its priority do not take it piece by piece. */
static size_t fit_into_what_leaves(struct plan *p, const struct plain_request *r, struct plain_share **share)
{
    size_t leaving = 0;
    for (size_t i = 0; i < p->s->request_n; i++)
        leaving += p->s->request[i].state == SCHED_RELEASING && p->s->request[i].slots > 0;
    if (!p->s->opts.preemption || p->releasing || r->slots <= 1 || leaving == 0 || leaving > SCHED_LEAVING_MAX ||
        p->kept_n >= SCHED_KEPT_MAX)
        return 0;
    struct plain_agent *agent = arena_dup(p->a, p->agent, p->s->agent_n * sizeof *agent);
    give_leaving(p, agent);
    size_t n = plain_fit(p->s, agent, r, p->a, share);
    p->kept_n += n > 0;
    return n;
}

/* Steps 1 to 3 at one priority. Returns the number that failed, which stand in ret. */
static size_t try_in_order(struct plan *p, int priority, const struct plain_request **ret)
{
    struct plain_share *share;
    size_t failed = 0;
    for (size_t i = 0; i < p->s->request_n; i++) {
        const struct plain_request *r = p->order[i];
        if (!has_turn(p, r, priority) || r->state != SCHED_PENDING)
            continue;
        size_t n = plain_fit(p->s, p->agent, r, p->a, &share);
        bool now = n > 0;
        if (!now)
            n = fit_into_what_leaves(p, r, &share);
        if (n == 0) {
            ret[failed++] = r;
            continue;
        }
        take(p->agent, share, n);
        if (now && !p->releasing && (!p->backfilling || (p->s->opts.preemption && r->preemptible)))
            allocate(p, r, share, n);
    }
    return failed;
}

/* Fits on `agent` after more and more has been stopped. The victims stand in ret. */
static size_t stop_for(struct plan *p, struct plain_agent *agent, const struct plain_request *r,
                       struct plain_share **share, size_t *ret, size_t *ret_n)
{
    for (int priority = SCHED_PRIORITY_MAX; priority >= r->priority; priority--)
        for (size_t i = p->s->request_n; i-- > 0;) {
            const struct plain_request *victim = p->order[i];
            if (!has_turn(p, victim, priority) || victim->state != SCHED_ALLOCATED || !victim->preemptible)
                continue;
            if (priority == r->priority && victim->queue_position <= r->queue_position)
                return 0;
            if (p->released[index_of(p, victim)])
                continue;
            give(agent, victim->share, victim->share_n);
            ret[(*ret_n)++] = index_of(p, victim);
            size_t n = plain_fit(p->s, agent, r, p->a, share);
            if (n > 0)
                return n;
        }
    return 0;
}

/* Step 4 for one request. What is leaving anyway comes before what would have to be stopped. */
static void preempt_for(struct plan *p, const struct plain_request *r)
{
    struct plain_share *share;
    size_t *victim = arena_array(p->a, size_t, p->s->request_n + 1), victim_n = 0;
    struct plain_agent *agent = arena_dup(p->a, p->agent, p->s->agent_n * sizeof *agent);
    size_t n = plain_fit(p->s, agent, r, p->a, &share);
    if (n > 0) {
        take(p->agent, share, n);
        return;
    }
    if (!p->leaving_given) {
        give_leaving(p, agent);
        n = plain_fit(p->s, agent, r, p->a, &share);
    }
    if (n == 0)
        n = stop_for(p, agent, r, &share, victim, &victim_n);
    if (n == 0)
        return;
    take(agent, share, n);
    p->agent = agent;
    p->leaving_given = p->releasing = true;
    for (size_t i = 0; i < victim_n; i++) {
        p->released[victim[i]] = true;
        p->ret->release[p->ret->release_n++] = victim[i];
    }
}

static void serve(const struct plain_snapshot *s, bool zero_slot, struct arena *a, struct plain_decision *ret)
{
    struct plan p = {.s = s, .a = a, .ret = ret, .zero_slot = zero_slot,
                     .agent = arena_dup(a, s->agent, s->agent_n * sizeof *s->agent),
                     .order = arena_array(a, const struct plain_request *, s->request_n + 1),
                     .released = arena_array(a, bool, s->request_n + 1)};
    const struct plain_request **failed = arena_array(a, const struct plain_request *, s->request_n + 1);
    for (size_t i = 0; i < s->request_n; i++)
        p.order[i] = &s->request[i];
    qsort(p.order, s->request_n, sizeof *p.order, by_turn);
    for (int priority = SCHED_PRIORITY_MIN; priority <= SCHED_PRIORITY_MAX; priority++) {
        size_t n = try_in_order(&p, priority, failed);
        p.backfilling = p.backfilling || n > 0;
        for (size_t i = 0; s->opts.preemption && i < n; i++)
            preempt_for(&p, failed[i]);
    }
}

/* ---- by fair share ----------------------------------------------------------------------------------------------- */

struct group {
    const char *job_id;
    int64_t submitted_us, queue_position;
    int priority;
    double weight;
    int max_slots, demand, active, held_for_good, smallest, offered, prepaid;
    bool disabled, fits_now, served; /* served: in this round */
};

struct shares {
    const struct plain_snapshot *s;
    struct arena *a;
    struct plain_decision *ret;
    struct plain_agent *agent;
    const struct plain_request **order;
    struct group *group;
    size_t group_n;
    int capacity;
};

static int by_submission(const void *pa, const void *pb)
{
    return by_age(*(const struct plain_request *const *)pa, *(const struct plain_request *const *)pb);
}

static bool counts(const struct shares *f, const struct plain_request *r)
{
    struct plain_share *share;
    if (r->slots == 0 || r->slots > f->capacity || r->state == SCHED_RELEASING)
        return false;
    if (r->state == SCHED_ALLOCATED || plain_fit(f->s, f->s->agent, r, f->a, &share) > 0)
        return true;
    for (size_t i = 0; i < f->s->agent_n; i++) /* any slot that is released will do */
        if (r->slots == 1 && permitted(r, &f->s->agent[i]) && f->s->agent[i].slots > 0)
            return true;
    return false;
}

static struct group *group_of(struct shares *f, const struct plain_request *r)
{
    for (size_t i = 0; i < f->group_n; i++)
        if (strcmp(f->group[i].job_id, r->job_id) == 0)
            return &f->group[i];
    f->group[f->group_n] = (struct group){.job_id = r->job_id, .submitted_us = r->submitted_us, .weight = r->weight,
                                          .max_slots = r->max_slots, .queue_position = r->queue_position};
    return &f->group[f->group_n++];
}

static int by_demand(const void *pa, const void *pb)
{
    const struct group *a = pa, *b = pb;
    COMPARE(a->demand, b->demand);
    COMPARE(a->submitted_us, b->submitted_us);
    return strcmp(a->job_id, b->job_id);
}

static void find_groups(struct shares *f)
{
    for (size_t i = 0; i < f->s->request_n; i++) {
        const struct plain_request *r = f->order[i];
        if (!counts(f, r))
            continue;
        struct group *g = group_of(f, r);
        g->demand += r->slots;
        g->active += r->state == SCHED_ALLOCATED ? r->slots : 0;
        g->held_for_good += r->state == SCHED_ALLOCATED && !r->preemptible ? r->slots : 0;
        if (r->state == SCHED_PENDING && (g->smallest == 0 || r->slots < g->smallest))
            g->smallest = r->slots;
        struct plain_share *share;
        g->fits_now = g->fits_now || (r->state == SCHED_PENDING && plain_fit(f->s, f->s->agent, r, f->a, &share) > 0);
    }
    for (size_t i = 0; i < f->group_n; i++)
        if (f->group[i].max_slots >= 0 && f->group[i].demand > f->group[i].max_slots)
            f->group[i].demand = f->group[i].max_slots;
    qsort(f->group, f->group_n, sizeof *f->group, by_demand);
}

static bool unfilled(const struct group *g)
{
    return !g->disabled && g->offered != g->demand;
}

static double unfilled_weight(const struct shares *f)
{
    double weight = 0;
    for (size_t i = 0; i < f->group_n; i++)
        weight += unfilled(&f->group[i]) ? f->group[i].weight : 0;
    return weight;
}

static bool offer_in_turn(struct shares *f, int at_start, double scarce_weight, bool at_once)
{
    bool progress = false;
    for (size_t i = 0; i < f->group_n; i++) {
        struct group *g = &f->group[i];
        double weight = scarce_weight > 0 ? scarce_weight : unfilled_weight(f);
        if (!unfilled(g) || g->served || (at_once && g->active <= g->offered && (g->offered > 0 || !g->fits_now)))
            continue;
        g->served = true;
        int offer = weight > 0 ? (int)(at_start * g->weight / weight) : 0;
        offer = offer < 1 ? 1 : offer;
        offer = offer < f->capacity ? offer : f->capacity;
        offer = offer < g->demand - g->offered ? offer : g->demand - g->offered;
        progress = progress || offer > 0;
        if (g->prepaid >= offer) {
            g->prepaid -= offer;
            offer = 0;
        } else {
            g->prepaid = 0;
        }
        g->offered += offer;
        f->capacity -= offer;
    }
    return progress;
}

/* With less than a slot for each, first to those that have one, or could have it at once. */
static bool offer_once(struct shares *f)
{
    int at_start = f->capacity, unfilled_n = 0;
    bool progress = false;
    for (size_t i = 0; i < f->group_n; i++) {
        unfilled_n += unfilled(&f->group[i]);
        f->group[i].served = false;
    }
    double weight = at_start < unfilled_n ? unfilled_weight(f) : 0;
    if (at_start < unfilled_n)
        progress = offer_in_turn(f, at_start, weight, true);
    return offer_in_turn(f, at_start, weight, false) || progress;
}

static bool newest_gives_back(struct shares *f)
{
    struct group *newest = NULL;
    for (size_t i = 0; i < f->group_n; i++) {
        struct group *g = &f->group[i];
        if (!unfilled(g) || g->smallest <= g->offered)
            continue;
        if (newest == NULL || g->submitted_us > newest->submitted_us ||
            (g->submitted_us == newest->submitted_us && strcmp(g->job_id, newest->job_id) > 0))
            newest = g;
    }
    if (newest == NULL)
        return false;
    f->capacity += newest->offered;
    newest->offered = 0;
    newest->disabled = true;
    return true;
}

static void fill(struct shares *f)
{
    for (size_t i = 0; i < f->group_n; i++) {
        struct group *g = &f->group[i];
        g->offered = g->prepaid = g->held_for_good;
        f->capacity -= g->offered;
    }
    if (f->capacity < 0)
        f->capacity = 0;
    for (bool progress = true; progress;) {
        progress = offer_once(f);
        if (f->capacity == 0)
            progress = newest_gives_back(f);
    }
}

static void place(struct shares *f, const struct plain_request *r)
{
    struct plain_share *share;
    size_t n = plain_fit(f->s, f->agent, r, f->a, &share);
    if (n == 0 && r->slots > 0)
        f->ret->unplaced[f->ret->unplaced_n++] = (size_t)(r - f->s->request);
    if (n == 0)
        return;
    take(f->agent, share, n);
    f->ret->allocate[f->ret->allocate_n++] = (struct plain_placement){(size_t)(r - f->s->request), share, n};
}

static void assign(struct shares *f, const struct group *g)
{
    int active = g->active, rest = g->offered - g->active;
    for (size_t i = 0; i < f->s->request_n; i++) {
        const struct plain_request *r = f->order[i];
        if (strcmp(r->job_id, g->job_id) != 0 || !counts(f, r))
            continue;
        if (r->state == SCHED_ALLOCATED && r->preemptible && active > g->offered) {
            f->ret->release[f->ret->release_n++] = (size_t)(r - f->s->request);
            active -= r->slots;
        }
        if (r->state == SCHED_PENDING && rest > 0 && r->slots <= rest) {
            place(f, r);
            rest -= r->slots;
        }
    }
}

static void share_fairly(const struct plain_snapshot *s, struct arena *a, struct plain_decision *ret)
{
    struct shares f = {.s = s, .a = a, .ret = ret, .group = arena_array(a, struct group, s->request_n + 1),
                       .order = arena_array(a, const struct plain_request *, s->request_n + 1),
                       .agent = arena_dup(a, s->agent, s->agent_n * sizeof *s->agent)};
    for (size_t i = 0; i < s->request_n; i++)
        f.order[i] = &s->request[i];
    qsort(f.order, s->request_n, sizeof *f.order, by_submission);
    for (size_t i = 0; i < s->request_n; i++)
        if (f.order[i]->slots == 0 && f.order[i]->state == SCHED_PENDING)
            place(&f, f.order[i]);
    f.agent = arena_dup(a, s->agent, s->agent_n * sizeof *s->agent);
    for (size_t i = 0; i < s->agent_n; i++)
        f.capacity += s->agent[i].slots;
    int capacity = f.capacity;
    find_groups(&f);
    fill(&f);
    f.capacity = capacity; /* what counts() compares with */
    for (size_t i = 0; i < f.group_n; i++)
        assign(&f, &f.group[i]);
}

void plain_pass(const struct plain_snapshot *s, struct arena *a, struct plain_decision *ret)
{
    *ret = (struct plain_decision){.allocate = arena_array(a, struct plain_placement, s->request_n + 1),
                                   .unplaced = arena_array(a, size_t, s->request_n + 1),
                                   .release = arena_array(a, size_t, s->request_n + 1)};
    if (s->opts.policy == SCHED_BY_FAIR_SHARE) {
        share_fairly(s, a, ret);
        return;
    }
    serve(s, false, a, ret);
    serve(s, true, a, ret);
}
