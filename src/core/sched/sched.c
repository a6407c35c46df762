#include "common/base/must.h"
#include "core/sched/internal.h"

#include <stdlib.h>
#include <string.h>

int sched_by_age(const struct sched_request *a, const struct sched_request *b)
{
    if (a->request_us != b->request_us)
        return a->request_us < b->request_us ? -1 : 1;
    return strcmp(a->allocation_id, b->allocation_id);
}

static int by_promotion(const struct sched_request *a, const struct sched_request *b)
{
    if (a->promote_us != b->promote_us)
        return a->promote_us < b->promote_us ? -1 : 1;
    return strcmp(a->allocation_id, b->allocation_id);
}

RB_GENERATE(sched_job_requests, sched_request, in_job, sched_by_age)
RB_GENERATE_STATIC(sched_promotions, sched_request, in_promotions, by_promotion)

struct sched *sched_new(const struct sched_opts *opts, struct sched_ledger *ledger)
{
    struct sched *s = must_calloc(1, sizeof(*s));
    s->opts = *opts;
    s->policy = sched_policy_type(opts->policy);
    s->ledger = ledger ? ledger : &s->own_ledger;
    agent_index_init(&s->agents, opts);
    projection_init(&s->projection, opts);
    for (int i = 0; i < SCHED_LEVELS; i++) {
        level_init(&s->with_slots[i], &s->opts);
        level_init(&s->without[i], &s->opts);
    }
    job_order_init(&s->order);
    RB_INIT(&s->promotions);
    TAILQ_INIT(&s->releasing);
    return s;
}

void sched_free(struct sched *s)
{
    if (!s)
        return;
    for (int i = 0; i < SCHED_LEVELS; i++) {
        level_free(&s->with_slots[i]);
        level_free(&s->without[i]);
    }
    agent_index_free(&s->agents);
    projection_free(&s->projection);
    free(s->share);
    claims_release(&s->claims);
    free(s);
}

const struct sched_opts *sched_get_opts(const struct sched *s)
{
    return &s->opts;
}

/* ---- agents ------------------------------------------------------------------------------------------------------ */

void sched_agent_join(struct sched *s, struct sched_agent *agent)
{
    agent->held = 0;
    agent->fixed = 0;
    agent->fixed_needs = (struct sched_needs){0};
    agent_index_add(&s->agents, agent);
    projection_join(&s->projection, agent);
    if (++s->agent_n <= s->share_cap)
        return;
    s->share_cap = 2 * s->agent_n;
    s->share = must_reallocarray(s->share, s->share_cap, sizeof(*s->share));
}

static void count_held(const struct sched_request *r, const struct sched_share *share, int by)
{
    share->agent->held += (size_t)by;
    if (r->preemptible && r->slots > 0)
        return;
    share->agent->fixed += r->preemptible ? 0 : by * share->slots;
    needs_add(&share->agent->fixed_needs, &r->needs, by);
    r->sched->agents.changes++;
}

static void forget_shares(struct sched *s, struct sched_request *r, const struct sched_agent *agent)
{
    size_t n = 0;
    for (size_t i = 0; i < r->share_n; i++) {
        if (r->share[i].agent != agent) {
            r->share[n++] = r->share[i];
            continue;
        }
        count_held(r, &r->share[i], -1);
        if (r->state == SCHED_RELEASING)
            projection_leaves(&s->projection, &r->share[i], &r->needs, -1);
    }
    r->share_n = n;
}

/* Takes the agent out. In most cases everything on it has been given back before. If not, all requests are searched for
 * what they hold on it. */
void sched_agent_leave(struct sched *s, struct sched_agent *agent)
{
    struct sched_job *job;
    struct sched_request *r;
    if (agent->held > 0)
        TAILQ_FOREACH(job, &s->order.list, in_order)
            RB_FOREACH(r, sched_job_requests, &job->requests)
                forget_shares(s, r, agent);
    projection_leave(&s->projection, agent);
    agent_index_remove(&s->agents, agent);
    s->agent_n--;
}

void sched_agent_set(struct sched *s, struct sched_agent *agent, const struct sched_agent *to)
{
    agent_index_set(&s->agents, agent, to);
    projection_follow(&s->projection, agent);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

struct sched_level *sched_level_of(struct sched *s, const struct sched_request *r, int priority)
{
    return r->slots > 0 ? &s->with_slots[priority] : &s->without[priority];
}

/* Sets the priority and the position of a request. Only a waiting request ages: a running request keeps the priority
 * with which it was placed. */
static void set_priority(struct sched *s, struct sched_request *r, int aged_by)
{
    int priority = r->job->priority - aged_by;
    r->priority = !s->policy->has_queue ? 0 : priority < SCHED_PRIORITY_MIN ? SCHED_PRIORITY_MIN : priority;
    r->position = s->policy->has_queue ? r->job->queue_position : r->job->submitted_us;
    bool grows = s->opts.aging_us > 0 && r->priority > SCHED_PRIORITY_MIN && r->state == SCHED_PENDING;
    r->promote_us = grows ? r->request_us + (aged_by + 1) * s->opts.aging_us : 0;
}

static int aged_by(const struct sched_request *r)
{
    return r->priority == 0 ? 0 : r->job->priority - r->priority;
}

/* Adds a request to its job's sums, or takes it out of them. */
static void count_in_job(struct sched_request *r, int by)
{
    struct sched_job *job = r->job;
    if (r->state == SCHED_ALLOCATED) {
        job->active += by * r->slots;
        job->held_for_good += r->preemptible ? 0 : by * r->slots;
    }
    if (r->state == SCHED_RELEASING && r->preemptible)
        job->leaving += by * r->slots;
    if (!r->borrows && (r->state == SCHED_ALLOCATED || (r->state == SCHED_RELEASING && r->preemptible)))
        job->owned += by * r->slots;
    if (r->state != SCHED_PENDING || r->slots == 0)
        return;
    job->waiting_n += (size_t)by;
    if (by > 0)
        job->shape = job->waiting_n == 1 || job->shape == r->shape ? r->shape : NULL;
    job_order_add_waiting(job, by * r->slots);
}

static void count_leaving(struct sched *s, struct sched_request *r, int by)
{
    s->releasing_n[r->slots > 0] += (size_t)by;
    for (size_t i = 0; i < r->share_n; i++)
        projection_leaves(&s->projection, &r->share[i], &r->needs, by);
}

static void index_request(struct sched *s, struct sched_request *r)
{
    level_add(sched_level_of(s, r, sched_rank(r)), r);
    count_in_job(r, 1);
    quotas_count(s->ledger, r, 1);
    if (r->promote_us != 0)
        RB_INSERT(sched_promotions, &s->promotions, r);
    if (r->state != SCHED_RELEASING)
        return;
    TAILQ_INSERT_TAIL(&s->releasing, r, in_releasing);
    count_leaving(s, r, 1);
}

static void unindex_request(struct sched *s, struct sched_request *r)
{
    quotas_count(s->ledger, r, -1);
    count_in_job(r, -1);
    level_remove(sched_level_of(s, r, sched_rank(r)), r);
    if (r->promote_us != 0)
        RB_REMOVE(sched_promotions, &s->promotions, r);
    if (r->state != SCHED_RELEASING)
        return;
    TAILQ_REMOVE(&s->releasing, r, in_releasing);
    count_leaving(s, r, -1);
}

static void set_state(struct sched *s, struct sched_request *r, enum sched_state to)
{
    unindex_request(s, r);
    if (r->state == SCHED_PENDING)
        r->borrows = r->would_borrow;
    r->state = to;
    if (to != SCHED_PENDING)
        r->promote_us = 0;
    index_request(s, r);
}

static void add_request(struct sched *s, struct sched_request *r, enum sched_state state, int aged)
{
    struct sched_job *job = r->job;
    r->state = state;
    r->sched = s;
    /* which of the requests that run already borrow is found in the next pass, in the order of their turns */
    r->would_borrow = false;
    r->borrows = state != SCHED_PENDING && job->quotas && r->slots > 0;
    r->hash = sched_hash(r->allocation_id);
    r->shape = NULL;
    r->share = NULL;
    r->share_n = 0;
    r->released_in = r->granted_in = r->lent_in = 0;
    r->backfilled = false;
    set_priority(s, r, aged);
    if (job->request_n++ == 0) {
        RB_INIT(&job->requests);
        job->by_age = !s->policy->has_queue;
        job_order_insert(&s->order, job);
        s->job_n++;
    }
    job->largest = r->slots > job->largest ? r->slots : job->largest;
    if (r->slots > 0 && (job->smallest == 0 || r->slots < job->smallest))
        job->smallest = r->slots;
    RB_INSERT(sched_job_requests, &job->requests, r);
    index_request(s, r);
}

void sched_request_add(struct sched *s, struct sched_request *r)
{
    add_request(s, r, SCHED_PENDING, 0); /* the next pass finds how long it has waited, and sets its priority by that */
}

static void keep_shares(struct sched_request *r, const struct sched_share *share, size_t n)
{
    r->share = must_reallocarray(NULL, n + 1, sizeof(*share));
    for (size_t i = 0; i < n; i++) {
        r->share[i] = share[i];
        count_held(r, &share[i], 1);
    }
    r->share_n = n;
}

static int aged_until(const struct sched *s, const struct sched_request *r, int64_t us)
{
    int64_t aged = s->opts.aging_us > 0 && us > r->request_us ? (us - r->request_us) / s->opts.aging_us : 0;
    return aged < SCHED_PRIORITY_MAX ? (int)aged : SCHED_PRIORITY_MAX;
}

void sched_request_hold(struct sched *s, struct sched_request *r, int64_t placed_us, const struct sched_share *share,
                        size_t n)
{
    add_request(s, r, SCHED_ALLOCATED, aged_until(s, r, placed_us));
    keep_shares(r, share, n);
}

void sched_request_releasing(struct sched *s, struct sched_request *r)
{
    if (r->state == SCHED_ALLOCATED)
        set_state(s, r, SCHED_RELEASING);
}

void sched_request_gave_back(struct sched *s, struct sched_request *r, const struct sched_agent *agent)
{
    forget_shares(s, r, agent);
}

void sched_request_remove(struct sched *s, struct sched_request *r)
{
    struct sched_job *job = r->job;
    unindex_request(s, r);
    RB_REMOVE(sched_job_requests, &job->requests, r);
    for (size_t i = 0; i < r->share_n; i++)
        count_held(r, &r->share[i], -1);
    free(r->share);
    r->share = NULL;
    r->share_n = 0;
    if (--job->request_n > 0)
        return;
    job_order_remove(&s->order, job);
    s->job_n--;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static void unindex_requests_of(struct sched *s, struct sched_job *job)
{
    struct sched_request *r;
    RB_FOREACH(r, sched_job_requests, &job->requests)
        unindex_request(s, r);
}

/* The next pass finds which of the job's requests borrow. */
static void borrow_again(struct sched_job *job)
{
    struct sched_request *r;
    RB_FOREACH(r, sched_job_requests, &job->requests)
        r->borrows = r->state != SCHED_PENDING && job->quotas && r->slots > 0;
}

static void index_requests_of(struct sched *s, struct sched_job *job, int priority_before)
{
    struct sched_request *r;
    RB_FOREACH(r, sched_job_requests, &job->requests) {
        set_priority(s, r, r->priority == 0 ? 0 : priority_before - r->priority);
        index_request(s, r);
    }
}

void sched_job_set(struct sched *s, struct sched_job *job, const struct sched_job *to)
{
    int before = job->priority;
    if (job->request_n > 0) {
        unindex_requests_of(s, job);
        job_order_remove(&s->order, job);
    }
    job->priority = to->priority;
    job->weight = to->weight;
    job->max_slots = to->max_slots;
    job->queue_position = to->queue_position;
    job->quotas = to->quotas;
    quotas_note_change(s->ledger, job->quotas);
    if (job->request_n > 0) {
        borrow_again(job);
        job_order_insert(&s->order, job);
        index_requests_of(s, job, before);
    }
}

const struct sched_job *sched_first_job(const struct sched *s)
{
    return TAILQ_FIRST(&s->order.list);
}

const struct sched_job *sched_next_job(const struct sched_job *job)
{
    return TAILQ_NEXT(job, in_order);
}

size_t sched_job_n(const struct sched *s)
{
    return s->job_n;
}

size_t sched_jobs_ahead(const struct sched_job *job)
{
    return jobs_ahead(job).jobs;
}

int64_t sched_waiting_ahead(const struct sched_job *job)
{
    return jobs_ahead(job).waiting_slots;
}

/* ---- a pass ------------------------------------------------------------------------------------------------------ */

void pass_plan_quotas(struct pass *p, const struct sched_request *r)
{
    if (!r->job->quotas || r->slots == 0)
        return;
    bool borrows = p->s->policy->has_queue ? p->borrowing : sched_quotas_borrowing(r->job->quotas, r->slots) != NULL;
    if (p->planned_n == p->planned_cap) {
        p->planned_cap = p->planned_cap == 0 ? 16 : 2 * p->planned_cap;
        struct planned *more = arena_array(p->arena, struct planned, p->planned_cap);
        for (size_t i = 0; i < p->planned_n; i++)
            more[i] = p->planned[i];
        p->planned = more;
    }
    p->planned[p->planned_n++] = (struct planned){r->job->quotas, r->slots, borrows};
    p->s->ledger->now.turn = r;
    quotas_plan(p->s->ledger, r->job->quotas, r->slots, borrows, p->s->policy->has_queue);
}

void pass_forget_quotas(struct pass *p)
{
    while (p->planned_n > 0) {
        const struct planned *last = &p->planned[--p->planned_n];
        quotas_forget(p->s->ledger, last->quotas, last->slots, last->borrows);
    }
}

void pass_allocate(struct pass *p, struct sched_request *r, const struct sched_share *share, size_t n)
{
    struct sched_decision *d = p->ret;
    if (d->allocate_n == p->allocate_cap) {
        p->allocate_cap = p->allocate_cap == 0 ? 16 : 2 * p->allocate_cap;
        struct sched_placement *more = arena_array(p->arena, struct sched_placement, p->allocate_cap);
        for (size_t i = 0; i < d->allocate_n; i++)
            more[i] = d->allocate[i];
        d->allocate = more;
    }
    r->backfilled = p->backfilling;
    r->would_borrow = p->s->policy->has_queue ? p->borrowing : sched_quotas_borrowing(r->job->quotas, r->slots) != NULL;
    d->allocate[d->allocate_n++] = (struct sched_placement){r, arena_dup(p->arena, share, n * sizeof(*share)), n};
}

static void add_to(struct arena *a, struct sched_request ***list, size_t *n, size_t *cap, struct sched_request *r)
{
    if (*n == *cap) {
        *cap = *cap == 0 ? 16 : 2 * *cap;
        struct sched_request **more = arena_array(a, struct sched_request *, *cap);
        for (size_t i = 0; i < *n; i++)
            more[i] = (*list)[i];
        *list = more;
    }
    (*list)[(*n)++] = r;
}

void pass_grant(struct pass *p, struct sched_request *r)
{
    r->granted_in = p->s->pass;
    add_to(p->arena, &p->ret->unplaced, &p->ret->unplaced_n, &p->unplaced_cap, r);
}

void pass_release(struct pass *p, struct sched_request *r)
{
    r->released_in = p->s->pass;
    add_to(p->arena, &p->ret->release, &p->ret->release_n, &p->release_cap, r);
}

/* Makes requests their quotas' own that borrow and need not any more. */
static void own_what_may_be_own(struct sched *s)
{
    struct sched_request *r;
    for (bool begin = true; (r = quotas_next_to_own(s->ledger, begin)); begin = false) {
        struct sched_level *before = sched_level_of(r->sched, r, sched_rank(r));
        quotas_make_own(s->ledger, r);
        struct sched_level *now = sched_level_of(r->sched, r, sched_rank(r));
        r->job->owned += r->slots;
        if (now == before)
            continue;
        level_remove(before, r);
        level_add(now, r);
    }
}

/* Gives each request that has waited long enough the next better priority. */
static void promote_waiting(struct sched *s, int64_t now_us)
{
    struct sched_request *r;
    while ((r = RB_MIN(sched_promotions, &s->promotions)) && r->promote_us <= now_us) {
        unindex_request(s, r);
        set_priority(s, r, aged_by(r) + 1);
        index_request(s, r);
    }
}

static void carry_out(struct sched *s, const struct sched_decision *d)
{
    for (size_t i = 0; i < d->allocate_n; i++) {
        const struct sched_placement *placement = &d->allocate[i];
        const struct sched_needs *needs = &placement->request->needs;
        agent_index_take(&s->agents, placement->share, placement->share_n, needs);
        set_state(s, placement->request, SCHED_ALLOCATED);
        keep_shares(placement->request, placement->share, placement->share_n);
        projection_taken(&s->projection, placement->share, placement->share_n, needs);
    }
    agent_index_commit(&s->projection.agents);
    agent_index_commit(&s->agents);
}

void sched_pass(struct sched *s, int64_t now_us, struct arena *a, struct sched_decision *ret)
{
    struct pass p = {.s = s, .arena = a, .ret = ret};
    *ret = (struct sched_decision){0};
    s->pass++;
    if (!s->share)
        return; /* there has never been an agent */
    promote_waiting(s, now_us);
    s->ledger->now = (struct sched_moment){.pass = s->ledger->now.pass + 1};
    own_what_may_be_own(s);
    quotas_settle(s->ledger);
    s->policy->pass(&p);
    pass_forget_quotas(&p);
    carry_out(s, ret);
    const struct sched_request *next = RB_MIN(sched_promotions, &s->promotions);
    ret->again_us = !next ? 0 : next->promote_us;
}
