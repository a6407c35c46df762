/* Scheduling by fair share.
 *
 * Each job is offered as many slots as are its share (shares.h), and brought to that: what it has too much is
 * released, what it lacks is placed as far as it fits. Gangs come first, those to which slots are lent behind the
 * others, and of each the largest first. They have room made for them (room.h) as far as they are their job's share
 * without rounding up. What has no place goes to the others: then the pass plans anew. What is beyond the quotas' own
 * slots is shared out last, so that it is what owners get back. */
#include "core/sched/reasons.h"
#include "core/sched/room.h"

#include <limits.h>
#include <stdlib.h>

static bool waiting_counts(const struct pass *p, const struct sched_job *job, const struct sched_shape *shape)
{
    return shape_fits_now(shape) || (shape_counts(shape) && job->no_place_in != p->began);
}

static bool request_counts(const struct pass *p, const struct sched_request *r)
{
    if (r->slots == 0 || r->slots > p->s->agents.capacity)
        return false;
    if (r->state == SCHED_PENDING)
        return waiting_counts(p, r->job, r->shape);
    return r->state == SCHED_ALLOCATED || r->preemptible;
}

static void add_up(struct pass *p, struct claim *ret)
{
    struct sched_request *r;
    int smallest = INT32_MAX;
    ret->demand = ret->active = ret->held_for_good = ret->largest = 0;
    ret->fits_now = false;
    RB_FOREACH(r, sched_job_requests, &ret->job->requests) {
        if (!request_counts(p, r))
            continue;
        ret->demand += r->slots;
        smallest = r->slots < smallest ? r->slots : smallest;
        ret->largest = r->slots > ret->largest ? r->slots : ret->largest;
        ret->active += r->state == SCHED_ALLOCATED ? r->slots : 0;
        ret->held_for_good += r->state == SCHED_ALLOCATED && !r->preemptible ? r->slots : 0;
        ret->fits_now = ret->fits_now || (r->state == SCHED_PENDING && shape_fits_now(r->shape));
    }
    ret->unit = smallest == ret->largest ? smallest : 1;
}

/* Returns whether all requests of the job count alike, so that the sums that it keeps say what its claim is. */
static bool has_sums(const struct pass *p, const struct sched_job *job)
{
    return job->largest == job->smallest && job->largest <= p->s->agents.capacity &&
           (job->waiting_n == 0 || job->shape);
}

/* Finds what a job holds, and what it would want without max_slots. That follows from sums that the job keeps, unless
 * the job's requests differ in size. In that case each of them is looked at. */
static inline void sum_up(struct pass *p, struct claim *ret)
{
    const struct sched_job *job = ret->job;
    if (!has_sums(p, job)) {
        add_up(p, ret);
    } else {
        bool wait = job->waiting_n > 0 && waiting_counts(p, job, job->shape);
        ret->active = job->active;
        ret->held_for_good = job->held_for_good;
        ret->largest = job->largest;
        ret->unit = job->largest > 0 ? job->largest : 1;
        ret->fits_now = wait && shape_fits_now(job->shape);
        ret->demand = job->active + job->leaving + (wait ? (int)job->waiting_slots : 0);
    }
}

/* Finds what a job wants and holds, and sets no other member of its claim. */
static void find_wants(struct pass *p, struct claim *ret)
{
    const struct sched_job *job = ret->job;
    sum_up(p, ret);
    if (job->max_slots >= 0 && ret->demand > job->max_slots)
        ret->demand = job->max_slots - job->max_slots % ret->unit;
}

static void keep_to_quotas(struct pass *p, struct claims *c, struct sched_job *job, double weight)
{
    struct claim_held held = {job->active + job->leaving, job->owned, job->active, weight};
    struct sched_request *r;
    if (!has_sums(p, job)) {
        held = (struct claim_held){.weight = weight};
        RB_FOREACH(r, sched_job_requests, &job->requests) {
            int slots = r->state != SCHED_PENDING && request_counts(p, r) ? r->slots : 0;
            held.all += slots;
            held.own += r->borrows ? 0 : slots;
            held.active += r->state == SCHED_ALLOCATED ? slots : 0;
        }
    }
    claims_keep_to(c, &p->s->claims, job->quotas, &held);
}

static struct claims collect_claims(struct pass *p)
{
    struct sched *s = p->s;
    claims_reserve(&s->claims, s->job_n + 1);
    struct claims c = {.pass = s->ledger->now.pass,
                       .item = s->claims.item,
                       .capacity = s->agents.capacity,
                       .smallest = INT_MAX};
    for (struct sched_job *job = TAILQ_FIRST(&s->order.list); job; job = TAILQ_NEXT(job, in_order)) {
        struct claim *claim = &c.item[c.n];
        *claim = (struct claim){.job = job, .quotas = job->quotas, .weight = claim_weight(job->weight)};
        find_wants(p, claim);
        bool claims = claim->demand > 0 || claim->active > 0;
        if (job->quotas)
            keep_to_quotas(p, &c, job, claims ? claim->weight : 0);
        c.n += claims;
        c.unbound_n += claims && !claim->quotas;
        c.weight += claims ? claim->weight : 0;
        c.has_gangs = c.has_gangs || claim->largest > 1;
        c.largest = claim->demand > 0 && claim->largest > c.largest ? claim->largest : c.largest;
        c.smallest = claim->demand > 0 && claim->unit < c.smallest ? claim->unit : c.smallest;
    }
    claims_find_quotas(&c, &s->claims);
    return c;
}

/* ---- jobs that hold too much ------------------------------------------------------------------------------------- */

/* Releases requests of a job that holds more than it is offered. Slots that this pass has taken from the job for a gang
 * count as given back. */
static void release_too_much(struct pass *p, const struct claim *claim)
{
    int active = claim->active;
    struct sched_request *r;
    if (claim->job->stopped_in == p->s->pass)
        active -= claim->job->stopped;
    RB_FOREACH(r, sched_job_requests, &claim->job->requests) {
        if (active <= claim->offered)
            return;
        if (r->state != SCHED_ALLOCATED || !r->preemptible || !request_counts(p, r) || r->released_in == p->s->pass)
            continue;
        pass_release(p, r);
        active -= r->slots;
    }
}

/* ---- jobs that hold too little ----------------------------------------------------------------------------------- */

static bool place_at_once(struct pass *p, struct sched_request *r)
{
    if (p->releasing || shape_set_has(&p->unfit, r->shape))
        return false;
    size_t n = agent_index_fit(&p->s->agents, r, p->s->share);
    if (n == 0) {
        shape_set_add(&p->unfit, r->shape);
        return false;
    }
    agent_index_take(&p->s->agents, p->s->share, n, &r->needs);
    pass_allocate(p, r, p->s->share, n);
    pass_plan_quotas(p, r);
    return true;
}

static size_t leaving_n(const struct pass *p)
{
    return p->s->releasing_n[1] + p->ret->release_n;
}

static void give_back_what_leaves(struct pass *p)
{
    struct sched_request *r;
    TAILQ_FOREACH(r, &p->s->releasing, in_releasing)
        if (r->slots > 0)
            agent_index_give(&p->s->agents, r->share, r->share_n, &r->needs);
    for (size_t i = 0; i < p->ret->release_n; i++)
        agent_index_give(&p->s->agents, p->ret->release[i]->share, p->ret->release[i]->share_n,
                         &p->ret->release[i]->needs);
}

/* free_too: the gang may have a place in what is free alone. */
static size_t fit_into_what_leaves(struct pass *p, const struct sched_request *r, bool free_too)
{
    struct agent_index *agents = &p->s->agents;
    size_t mark = agent_index_mark(agents);
    if (shape_set_has(&p->too_large, r->shape) || (!p->releasing && leaving_n(p) == 0 && !free_too))
        return 0;
    if (!p->releasing) /* when `releasing` is set, what is on its way out has been given back already */
        give_back_what_leaves(p);
    size_t n = agent_index_fit(agents, r, p->s->share);
    if (!p->releasing)
        agent_index_undo(agents, mark);
    if (n == 0)
        shape_set_add(&p->too_large, r->shape);
    return n;
}

/* Finds the running requests that a job has beyond what is its own: those that are released first when the job is
 * offered less. */
static void find_lent(struct pass *p, const struct claims *c)
{
    struct sched_request *r;
    p->knows_lent = true;
    for (size_t i = 0; i < c->holders_n; i++) {
        const struct claim *claim = &c->item[c->in_play[i]];
        int active = claim->active, own = claim_own(claim);
        if (active <= own)
            continue;
        RB_FOREACH(r, sched_job_requests, &claim->job->requests) {
            if (active <= own)
                break;
            if (r->state != SCHED_ALLOCATED || !r->preemptible || !request_counts(p, r))
                continue;
            r->lent_in = p->s->pass;
            active -= r->slots;
            p->has_lent = true;
        }
    }
}

static size_t make_room(struct pass *p, const struct claims *c, const struct sched_request *r)
{
    size_t mark = agent_index_mark(&p->s->agents);
    if (shape_set_has(&p->infeasible, r->shape))
        return 0;
    if (!p->knows_lent)
        find_lent(p, c);
    if (!p->releasing)
        give_back_what_leaves(p);
    size_t n = room_make(p, r);
    if (n == 0) {
        agent_index_undo(&p->s->agents, mark);
        shape_set_add(&p->infeasible, r->shape);
        return 0;
    }
    p->releasing = true;
    p->too_large.n = 0; /* there is more room now, so shapes may fit that were too large before */
    for (size_t i = 0; i < p->infeasible.n; i++)
        if (p->infeasible.key[i].slots < r->slots) {
            p->infeasible.n = 0; /* requests have been stopped that could not be stopped for these smaller ones */
            break;
        }
    return n;
}

/* Keeps places for the gang: places that are free, or that will be free when the requests there have ended. Returns
 * false if there are no such places and room for them cannot be made. */
static bool serve_gang(struct pass *p, const struct claims *c, struct sched_request *r, bool may_make_room)
{
    bool at_limit = sched_quotas_exceeded(r->job->quotas, r->slots) != NULL;
    if (!at_limit && place_at_once(p, r))
        return true;
    if (r->slots == 1) {
        if (!at_limit)
            pass_grant(p, r);
        return true;
    }
    if (p->kept_n[1] >= SCHED_KEPT_MAX || leaving_n(p) > SCHED_LEAVING_MAX)
        return true; /* this pass keeps slots for no more gangs */
    size_t n = fit_into_what_leaves(p, r, at_limit);
    if (n == 0 && may_make_room)
        n = make_room(p, c, r);
    if (n > 0) {
        agent_index_take(&p->s->agents, p->s->share, n, &r->needs);
        pass_plan_quotas(p, r);
        p->kept_n[1]++;
        r->granted_in = p->s->pass;
    } else if (shape_fits_now(r->shape)) {
        pass_grant(p, r); /* another gang took the slots in this pass */
    }
    return n > 0 || shape_fits_now(r->shape);
}

/* Serves the gangs of a job: if p->borrowing is set, those to which slots are lent, otherwise the others. Returns false
 * if some of them have no place. */
static bool place_gangs(struct pass *p, const struct claims *c, const struct claim *claim)
{
    int rest = claim->offered - claim->active, own = claim_own(claim);
    bool ok = true;
    struct sched_request *r;
    RB_FOREACH(r, sched_job_requests, &claim->job->requests) {
        if (r->state != SCHED_PENDING || !request_counts(p, r) || r->slots > rest)
            continue;
        rest -= r->slots;
        if ((claim->offered - rest > own) == p->borrowing)
            ok = serve_gang(p, c, r, claim->offered - rest <= claim->whole) && ok;
    }
    return ok;
}

static void place_single(struct pass *p, const struct claim *claim)
{
    int rest = claim->offered - claim->active;
    struct sched_request *r;
    RB_FOREACH(r, sched_job_requests, &claim->job->requests) {
        if (rest <= 0)
            return;
        if (r->state != SCHED_PENDING || !request_counts(p, r))
            continue;
        rest -= r->slots;
        if (!sched_quotas_exceeded(r->job->quotas, r->slots) && !place_at_once(p, r))
            pass_grant(p, r);
    }
}

/* ---- the pass ---------------------------------------------------------------------------------------------------- */

/* The order in which jobs with gangs are served. Larger gangs come first, because they would stop smaller ones
 * otherwise. Of equally large gangs the one whose turn is earlier comes first. */
static int by_size(const void *pa, const void *pb)
{
    const struct claim *const *a = pa, *const *b = pb;
    if ((*a)->largest != (*b)->largest)
        return (*a)->largest > (*b)->largest ? -1 : 1;
    return (*a)->turn < (*b)->turn ? -1 : 1;
}

/* Returns whether there is something for place_gangs() to serve. */
static bool has_turn(const struct pass *p, const struct claim *claim)
{
    return p->borrowing ? claim->offered > claim_own(claim) : claim_own(claim) > claim->active;
}

/* *ret gets the claims of the jobs some of whose gangs have found no place. The plan then has to be made again without
 * these gangs. */
static size_t serve_gangs(struct pass *p, const struct claims *c, struct claim ***ret)
{
    struct claim **lack = arena_array(p->arena, struct claim *, c->has_gangs ? c->in_play_n : 0);
    size_t n = 0, without_place = 0;
    for (size_t i = 0; i < c->in_play_n && c->has_gangs; i++) {
        struct claim *claim = &c->item[c->in_play[i]];
        claim->lacks_place = claim->lacks_own = false;
        if (claim->largest > 1 && claim->active > claim->offered)
            release_too_much(p, claim);
        else if (claim->largest > 1 && claim->active < claim->offered)
            lack[n++] = claim;
    }
    qsort(lack, n, sizeof(struct claim *), by_size);
    for (int borrowing = 0; borrowing <= (c->sets != NULL); borrowing++) {
        p->borrowing = borrowing == 1;
        for (size_t i = 0; i < n; i++) {
            if (!has_turn(p, lack[i]) || place_gangs(p, c, lack[i]))
                continue;
            lack[i]->lacks_place = true;
            lack[i]->lacks_own = lack[i]->lacks_own || !p->borrowing;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (lack[i]->lacks_place)
            lack[without_place++] = lack[i];
    *ret = lack;
    return without_place;
}

/* For the rest of the pass, a job wants less some of whose gangs have no place. If these would not be lent, its waiting
 * requests count only if they fit now. Otherwise they count for what is its own as before, and are lent nothing unless
 * they fit now: what has no place as a loan must not change what is whose own. */
static void claim_less(struct pass *p, struct claims *c, struct claim *claim)
{
    struct sched_job *job = claim->job;
    if (claim->lacks_own || claim->borrows_less) {
        job->no_place_in = p->began;
        find_wants(p, claim);
        c->keeps_own = false;
        c->is_disordered = c->is_disordered || claim->demand > 0;
        return;
    }
    struct claim less = *claim;
    uint64_t before = job->no_place_in;
    job->no_place_in = p->began;
    sum_up(p, &less);
    job->no_place_in = before;
    job->lends_upto = less.demand > claim_own(claim) ? less.demand : claim_own(claim);
    claim->borrows_less = true;
}

static void serve_single(struct pass *p, const struct claims *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct claim *claim = &c->item[c->order[i].item];
        if (claim->largest > 1)
            continue;
        if (claim->active > claim->offered)
            release_too_much(p, claim);
        else if (claim->active < claim->offered)
            place_single(p, claim);
    }
}

static void place_zero_slot(struct pass *p)
{
    struct walk walk;
    struct line *line;
    walk_start(&walk, &p->s->without[0], ALLOWED_AS_OWN, &p->s->ledger->now, p->arena);
    while ((line = walk_pop(&walk)))
        if (place_at_once(p, line_next(line))) {
            line_advance(line);
            walk_push(&walk, line);
        }
    agent_index_undo(&p->s->agents, 0);
    for (size_t i = 0; i < p->ret->allocate_n; i++)
        agent_index_take_needs(&p->s->agents, p->ret->allocate[i].share, p->ret->allocate[i].share_n,
                               &p->ret->allocate[i].request->needs);
    p->begun_at = agent_index_mark(&p->s->agents);
}

static void start_again(struct pass *p, size_t placed_before)
{
    agent_index_undo(&p->s->agents, p->begun_at);
    pass_forget_quotas(p);
    p->s->pass++; /* what the last plan granted and released carries the old number, and does not count any more */
    p->releasing = p->knows_lent = p->has_lent = false;
    p->kept_n[1] = 0;
    p->unfit.n = p->too_large.n = p->infeasible.n = 0;
    p->ret->allocate_n = placed_before;
    p->ret->release_n = p->ret->unplaced_n = 0;
}

static void pass_by_fair_share(struct pass *p)
{
    struct claim **without_place;
    p->began = p->s->pass;
    place_zero_slot(p);
    size_t placed = p->ret->allocate_n;
    room_find_who_counts(p->s);
    start_again(p, placed);
    struct claims claims = collect_claims(p);
    claims_offer(&claims, &p->s->claims, false);
    for (int plans = 1;; plans++) {
        size_t n = serve_gangs(p, &claims, &without_place);
        if (n == 0 || plans == SCHED_PLANS_MAX)
            break;
        start_again(p, placed);
        claims.keeps_own = true;
        for (size_t i = 0; i < n; i++)
            claim_less(p, &claims, without_place[i]);
        claims_offer(&claims, &p->s->claims, true);
    }
    serve_single(p, &claims);
    agent_index_undo(&p->s->agents, 0);
}

static void why_by_fair_share(struct sched *s, const struct sched_request *r, struct sched_reason *ret)
{
    const struct sched_job *job = r->job;
    bool at_limit = job->max_slots >= 0 && job->active + r->slots > job->max_slots;
    ret->why = r->slots == 0 ? SCHED_WHY_NEXT : at_limit ? SCHED_WHY_MAX_SLOTS : SCHED_WHY_SHARE;
}

const struct sched_policy_type sched_policy_fair_share = {
    .name = "fair_share",
    .no_priorities = "is scheduled by fair_share and has no priorities; set a weight",
    .pass = pass_by_fair_share,
    .why = why_by_fair_share};
