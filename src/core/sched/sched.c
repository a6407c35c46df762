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

RB_GENERATE(sched_job, sched_request, in_group, sched_by_age)
RB_GENERATE_STATIC(sched_promotions, sched_request, in_promotions, by_promotion)

struct sched *sched_new(const struct sched_opts *opts)
{
    struct sched *s = must_calloc(1, sizeof *s);
    s->opts = *opts;
    s->policy = sched_policy_type(opts->policy);
    places_init(&s->places, opts);
    projection_init(&s->projection, opts);
    for (int i = 0; i < SCHED_LEVELS; i++) {
        level_init(&s->with_slots[i], &s->opts);
        level_init(&s->without[i], &s->opts);
    }
    line_init(&s->line);
    RB_INIT(&s->promotions);
    TAILQ_INIT(&s->releasing);
    return s;
}

void sched_free(struct sched *s)
{
    if (s == NULL)
        return;
    for (int i = 0; i < SCHED_LEVELS; i++) {
        level_free(&s->with_slots[i]);
        level_free(&s->without[i]);
    }
    places_free(&s->places);
    projection_free(&s->projection);
    free(s->share);
    claims_free_room(&s->claims);
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
    places_add(&s->places, agent);
    projection_join(&s->projection, agent);
    if (++s->agent_n <= s->share_cap)
        return;
    s->share_cap = 2 * s->agent_n;
    s->share = must_reallocarray(s->share, s->share_cap, sizeof *s->share);
}

static void hold_on(const struct sched_request *r, const struct sched_share *share, int by)
{
    share->agent->held += (size_t)by;
    share->agent->fixed += r->preemptible ? 0 : by * share->slots;
}

static void forget_shares(struct sched *s, struct sched_request *r, const struct sched_agent *agent)
{
    size_t n = 0;
    for (size_t i = 0; i < r->share_n; i++) {
        if (r->share[i].agent != agent) {
            r->share[n++] = r->share[i];
            continue;
        }
        hold_on(r, &r->share[i], -1);
        if (r->state == SCHED_RELEASING)
            projection_leaves(&s->projection, &r->share[i], -1);
    }
    r->share_n = n;
}

/* Mostly everything on the agent has been given back before it leaves. If not, all requests are searched for what
 * they hold there. */
void sched_agent_leave(struct sched *s, struct sched_agent *agent)
{
    struct sched_group *g;
    struct sched_request *r;
    if (agent->held > 0)
        TAILQ_FOREACH(g, &s->line.order, in_order)
            RB_FOREACH(r, sched_job, &g->requests)
                forget_shares(s, r, agent);
    projection_leave(&s->projection, agent);
    places_remove(&s->places, agent);
    s->agent_n--;
}

void sched_agent_set(struct sched *s, struct sched_agent *agent, const struct sched_agent *to)
{
    places_set(&s->places, agent, to);
    projection_follow(&s->projection, agent);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

struct sched_level *sched_level_of(struct sched *s, const struct sched_request *r, int priority)
{
    return r->slots > 0 ? &s->with_slots[priority] : &s->without[priority];
}

/* Only a waiting request ages: what runs keeps the priority that it was placed with. */
static void set_priority(struct sched *s, struct sched_request *r, int aged_by)
{
    int priority = r->group->priority - aged_by;
    r->priority = !s->policy->has_queue ? 0 : priority < SCHED_PRIORITY_MIN ? SCHED_PRIORITY_MIN : priority;
    bool grows = s->opts.aging_us > 0 && r->priority > SCHED_PRIORITY_MIN && r->state == SCHED_PENDING;
    r->promote_us = grows ? r->request_us + (aged_by + 1) * s->opts.aging_us : 0;
}

static int aged_by(const struct sched_request *r)
{
    return r->priority == 0 ? 0 : r->group->priority - r->priority;
}

/* Adds a request to its job's sums, or takes it out of them. */
static void count(struct sched_request *r, int by)
{
    struct sched_group *g = r->group;
    if (r->state == SCHED_ALLOCATED) {
        g->active += by * r->slots;
        g->held_for_good += r->preemptible ? 0 : by * r->slots;
    }
    if (r->state == SCHED_RELEASING && r->preemptible)
        g->leaving += by * r->slots;
    if (r->state != SCHED_PENDING || r->slots == 0)
        return;
    g->waiting_n += (size_t)by;
    if (by > 0)
        g->shape = g->waiting_n == 1 || g->shape == r->shape ? r->shape : NULL;
    line_add_waiting(g, by * r->slots);
}

static void count_leaving(struct sched *s, struct sched_request *r, int by)
{
    s->releasing_n[r->slots > 0] += (size_t)by;
    for (size_t i = 0; i < r->share_n; i++)
        projection_leaves(&s->projection, &r->share[i], by);
}

static void file(struct sched *s, struct sched_request *r)
{
    level_add(sched_level_of(s, r, r->priority), r);
    count(r, 1);
    if (r->promote_us != 0)
        RB_INSERT(sched_promotions, &s->promotions, r);
    if (r->state != SCHED_RELEASING)
        return;
    TAILQ_INSERT_TAIL(&s->releasing, r, in_releasing);
    count_leaving(s, r, 1);
}

static void unfile(struct sched *s, struct sched_request *r)
{
    count(r, -1);
    level_remove(sched_level_of(s, r, r->priority), r);
    if (r->promote_us != 0)
        RB_REMOVE(sched_promotions, &s->promotions, r);
    if (r->state != SCHED_RELEASING)
        return;
    TAILQ_REMOVE(&s->releasing, r, in_releasing);
    count_leaving(s, r, -1);
}

static void set_state(struct sched *s, struct sched_request *r, enum sched_state to)
{
    unfile(s, r);
    r->state = to;
    if (to != SCHED_PENDING)
        r->promote_us = 0;
    file(s, r);
}

static void add(struct sched *s, struct sched_request *r, enum sched_state state, int aged)
{
    struct sched_group *g = r->group;
    r->state = state;
    r->hash = places_hash(r->allocation_id);
    r->shape = NULL;
    r->share = NULL;
    r->share_n = 0;
    r->released_in = r->granted_in = 0;
    r->backfilled = false;
    set_priority(s, r, aged);
    if (g->request_n++ == 0) {
        RB_INIT(&g->requests);
        g->by_age = !s->policy->has_queue;
        line_insert(&s->line, g);
        s->group_n++;
    }
    g->largest = r->slots > g->largest ? r->slots : g->largest;
    if (r->slots > 0 && (g->smallest == 0 || r->slots < g->smallest))
        g->smallest = r->slots;
    RB_INSERT(sched_job, &g->requests, r);
    file(s, r);
}

void sched_request_add(struct sched *s, struct sched_request *r)
{
    add(s, r, SCHED_PENDING, 0); /* the next pass makes it as old as it is */
}

static void keep_shares(struct sched_request *r, const struct sched_share *share, size_t n)
{
    r->share = must_reallocarray(NULL, n + 1, sizeof *share);
    for (size_t i = 0; i < n; i++) {
        r->share[i] = share[i];
        hold_on(r, &share[i], 1);
    }
    r->share_n = n;
}

static int aged_until(const struct sched *s, const struct sched_request *r, int64_t us)
{
    int64_t aged = s->opts.aging_us > 0 && us > r->request_us ? (us - r->request_us) / s->opts.aging_us : 0;
    return aged < SCHED_PRIORITY_MAX ? (int)aged : SCHED_PRIORITY_MAX;
}

void sched_request_hold(struct sched *s, struct sched_request *r, int64_t placed_us, const struct sched_share *share, size_t n)
{
    add(s, r, SCHED_ALLOCATED, aged_until(s, r, placed_us));
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
    struct sched_group *g = r->group;
    unfile(s, r);
    RB_REMOVE(sched_job, &g->requests, r);
    for (size_t i = 0; i < r->share_n; i++)
        hold_on(r, &r->share[i], -1);
    free(r->share);
    r->share = NULL;
    r->share_n = 0;
    if (--g->request_n > 0)
        return;
    line_remove(&s->line, g);
    s->group_n--;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static void unfile_all(struct sched *s, struct sched_group *g)
{
    struct sched_request *r;
    RB_FOREACH(r, sched_job, &g->requests)
        unfile(s, r);
}

static void file_all(struct sched *s, struct sched_group *g, int priority_before)
{
    struct sched_request *r;
    RB_FOREACH(r, sched_job, &g->requests) {
        set_priority(s, r, r->priority == 0 ? 0 : priority_before - r->priority);
        file(s, r);
    }
}

void sched_group_set(struct sched *s, struct sched_group *g, const struct sched_group *to)
{
    int before = g->priority;
    if (g->request_n > 0) {
        unfile_all(s, g);
        line_remove(&s->line, g);
    }
    g->priority = to->priority;
    g->weight = to->weight;
    g->max_slots = to->max_slots;
    g->queue_position = to->queue_position;
    if (g->request_n > 0) {
        line_insert(&s->line, g);
        file_all(s, g, before);
    }
}

const struct sched_group *sched_first_group(const struct sched *s)
{
    return TAILQ_FIRST(&s->line.order);
}

const struct sched_group *sched_next_group(const struct sched_group *g)
{
    return TAILQ_NEXT(g, in_order);
}

size_t sched_group_n(const struct sched *s)
{
    return s->group_n;
}

size_t sched_groups_ahead(const struct sched_group *g)
{
    return line_ahead(g).jobs;
}

int64_t sched_waiting_ahead(const struct sched_group *g)
{
    return line_ahead(g).waiting_slots;
}

/* ---- a pass ------------------------------------------------------------------------------------------------------ */

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
    d->allocate[d->allocate_n++] = (struct sched_placement){r, arena_dup(p->arena, share, n * sizeof *share), n};
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

/* Requests that have waited long enough get the next better priority. */
static void promote(struct sched *s, int64_t now_us)
{
    struct sched_request *r;
    while ((r = RB_MIN(sched_promotions, &s->promotions)) != NULL && r->promote_us <= now_us) {
        unfile(s, r);
        set_priority(s, r, aged_by(r) + 1);
        file(s, r);
    }
}

static void carry_out(struct sched *s, const struct sched_decision *d)
{
    for (size_t i = 0; i < d->allocate_n; i++) {
        const struct sched_placement *placement = &d->allocate[i];
        places_take(&s->places, placement->share, placement->share_n);
        set_state(s, placement->request, SCHED_ALLOCATED);
        keep_shares(placement->request, placement->share, placement->share_n);
        projection_taken(&s->projection, placement->share, placement->share_n);
    }
    places_commit(&s->projection.places);
    places_commit(&s->places);
}

void sched_pass(struct sched *s, int64_t now_us, struct arena *a, struct sched_decision *ret)
{
    struct pass p = {.s = s, .arena = a, .ret = ret};
    *ret = (struct sched_decision){0};
    s->pass++;
    if (s->share == NULL)
        return; /* there never was an agent */
    promote(s, now_us);
    s->policy->pass(&p);
    carry_out(s, ret);
    const struct sched_request *next = RB_MIN(sched_promotions, &s->promotions);
    ret->again_us = next == NULL ? 0 : next->promote_us;
}
