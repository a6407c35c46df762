/* The scheduler against the obvious one: random pools, random changes; each pass must decide exactly the same, and
 * leave the books in order. TEST_SEED=N reproduces a run, TEST_PASSES=N makes it longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/rng.h"
#include "core/sched/job_order.h"
#include "core/sched/reasons.h"
#include "plain_sched.h"

enum { AGENTS = 12, JOBS = 10, REQUESTS = 60, QUOTAS = 4, QUOTA_SETS = 5 };

struct world {
    struct rng rng;
    struct sched *sched;
    int64_t now_us;
    struct sched_agent agent[AGENTS];
    bool present[AGENTS];
    char agent_id[AGENTS][16];
    struct sched_ledger ledger;
    struct sched_quota quota[QUOTAS];
    struct sched_quotas quotas[QUOTA_SETS];
    size_t quota_index[QUOTA_SETS][SCHED_QUOTAS_MAX];
    bool has_quotas, has_needs;
    struct sched_job job[JOBS];
    char job_id[JOBS][16];
    int job_slots[JOBS]; /* the slots of each request of the job; -1: its requests have different sizes */
    struct sched_needs job_needs[JOBS];
    struct sched_request request[REQUESTS];
    char request_id[REQUESTS][16];
    bool open[REQUESTS];
    /* counted so that a run can show that it has tested something */
    long placed, gangs, borrowed, released, needy;
    long why[SCHED_WHY_NEXT + 1], lacks[SCHED_LACKS_BOTH + 1];
    const char *blocked[REQUESTS][2];
    int next_id;
};

static int random_upto(struct world *w, int n)
{
    return (int)rng_int(&w->rng, (uint64_t)n);
}

static bool once_in(struct world *w, int n)
{
    return random_upto(w, n) == 0;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

/* An agent of an older version does not tell what it has. */
static struct sched_needs random_machine(struct world *w)
{
    if (once_in(w, 6))
        return (struct sched_needs){0};
    return (struct sched_needs){1000 * (1 + random_upto(w, 16)), 10 * (1 + random_upto(w, 10))};
}

static struct sched_needs random_needs(struct world *w)
{
    struct sched_needs none = {0};
    return !w->has_needs || once_in(w, 2)
               ? none
               : (struct sched_needs){500 * random_upto(w, 10), once_in(w, 3) ? 0 : 1 + random_upto(w, 50)};
}

static void join_agent(struct world *w, size_t i)
{
    static const int sizes[] = {0, 1, 2, 4, 4, 8, 8, 8};
    struct sched_agent *agent = &w->agent[i];
    int slots = sizes[random_upto(w, 8)], aux = random_upto(w, 4);
    snprintf(w->agent_id[i], sizeof(w->agent_id[i]), "agent-%d", w->next_id++);
    *agent = (struct sched_agent){
        .id = w->agent_id[i], .open = true, .slots = slots, .empty_slots = slots, .aux = aux, .empty_aux = aux};
    agent->has = agent->left = random_machine(w);
    sched_agent_join(w->sched, agent);
    w->present[i] = true;
}

/* Sets what the agent offers when its running requests are known: in half of the cases all its slots, otherwise fewer,
 * as if some were disabled. */
static void set_agent(struct world *w, size_t i, bool open, bool fewer_slots)
{
    struct sched_agent *agent = &w->agent[i];
    int held = agent->slots - agent->empty_slots;
    struct sched_agent to = *agent;
    to.open = open;
    if (!open) {
        to.slots = held;
        to.empty_slots = to.empty_aux = 0;
        to.has = to.left = (struct sched_needs){0};
    } else if (once_in(w, 4)) { /* the agent came back with less than before, perhaps less than is in use */
        struct sched_needs less = {1000, 10};
        needs_add(&to.has, &less, -1);
        needs_add(&to.left, &less, -1);
    } else if (fewer_slots && agent->empty_slots > 0) {
        to.slots--;
        to.empty_slots--;
    }
    sched_agent_set(w->sched, agent, &to);
}

static void remove_agent(struct world *w, size_t i)
{
    sched_agent_leave(w->sched, &w->agent[i]);
    w->present[i] = false;
}

static void change_agent(struct world *w)
{
    size_t i = (size_t)random_upto(w, AGENTS);
    if (!w->present[i])
        join_agent(w, i);
    else if (once_in(w, 4))
        remove_agent(w, i);
    else if (w->agent[i].open)
        set_agent(w, i, !once_in(w, 3), once_in(w, 2));
}

static void add_request(struct world *w, size_t i)
{
    static const int sizes[] = {0, 0, 1, 1, 1, 2, 3, 4, 8, 8, 12, 16, 24};
    struct sched_request *r = &w->request[i];
    int job = random_upto(w, JOBS), any = sizes[random_upto(w, 13)];
    snprintf(w->request_id[i], sizeof(w->request_id[i]), "task-%d", w->next_id++);
    *r = (struct sched_request){.allocation_id = w->request_id[i],
                                .job = &w->job[job],
                                .slots = w->job_slots[job] >= 0 ? w->job_slots[job] : any,
                                .needs = once_in(w, 5) ? random_needs(w) : w->job_needs[job],
                                .single_agent = once_in(w, 6),
                                .preemptible = !once_in(w, 5),
                                .request_us = w->now_us};
    for (size_t k = 0; k < 2 && once_in(w, 5); k++) {
        w->blocked[i][k] = w->agent_id[random_upto(w, AGENTS)];
        r->blocked_agent = w->blocked[i];
        r->blocked_n = k + 1;
    }
    sched_request_add(w->sched, r);
    w->open[i] = true;
}

static void give_back(struct world *w, const struct sched_request *r, const struct sched_share *share)
{
    struct sched_agent *agent = share->agent, to = *agent;
    if (!agent->open) {
        to.slots -= share->slots < to.slots ? share->slots : to.slots;
    } else if (share->slots > 0) {
        to.empty_slots = to.empty_slots + share->slots < to.slots ? to.empty_slots + share->slots : to.slots;
    } else {
        to.empty_aux = to.empty_aux + 1 < to.aux ? to.empty_aux + 1 : to.aux;
    }
    if (agent->open)
        needs_add_upto(&to.left, &r->needs, &to.has);
    sched_agent_set(w->sched, agent, &to);
}

static void end_request(struct world *w, size_t i)
{
    struct sched_request *r = &w->request[i];
    while (r->share_n > 0) {
        struct sched_share share = r->share[0];
        sched_request_gave_back(w->sched, r, share.agent);
        give_back(w, r, &share);
    }
    sched_request_remove(w->sched, r);
    w->open[i] = false;
}

static void change_request(struct world *w)
{
    size_t i = (size_t)random_upto(w, REQUESTS);
    struct sched_request *r = &w->request[i];
    if (!w->open[i])
        add_request(w, i);
    else if (r->state == SCHED_PENDING ? once_in(w, 10) : once_in(w, 3))
        end_request(w, i);
    else if (r->state != SCHED_PENDING && once_in(w, 4)) /* a part of the gang has ended already */
        sched_request_releasing(w->sched, r);
}

static void change_job(struct world *w)
{
    static const double weights[] = {0, 1e-3, 1, 2, 3, 1e6, 1e17};
    struct sched_job *g = &w->job[random_upto(w, JOBS)], to = *g;
    if (once_in(w, 2))
        to.priority = 40 + random_upto(w, 5);
    if (once_in(w, 2))
        to.queue_position = random_upto(w, 20);
    to.weight = once_in(w, 3) ? weights[random_upto(w, 7)] : 1;
    to.max_slots = once_in(w, 3) ? random_upto(w, 12) : -1;
    sched_job_set(w->sched, g, &to);
}

/* Gives a job other quotas, or the same ones after one of them was changed. */
static void change_quotas(struct world *w)
{
    struct sched_quota *q = &w->quota[random_upto(w, QUOTAS)];
    int set = random_upto(w, QUOTA_SETS + 1);
    struct sched_job *one = &w->job[random_upto(w, JOBS)], to = *one;
    if (!w->has_quotas)
        return;
    to.quotas = set < QUOTA_SETS ? &w->quotas[set] : NULL;
    sched_job_set(w->sched, one, &to);
    if (!once_in(w, 4))
        return;
    q->own = random_upto(w, 12);
    q->limit = q->own + (once_in(w, 2) ? random_upto(w, 12) : 0);
    for (size_t i = 0; i < JOBS; i++)
        for (size_t k = 0; w->job[i].quotas && k < w->job[i].quotas->n; k++)
            if (w->job[i].quotas->quota[k] == q) {
                to = w->job[i];
                sched_job_set(w->sched, &w->job[i], &to);
            }
}

/* The third set has the first two quotas together, as a user's quota and that of a workspace are. */
static void make_quotas(struct world *w)
{
    static const size_t index[QUOTA_SETS][SCHED_QUOTAS_MAX] = {{0}, {1}, {0, 1}, {2}, {0, 2, 3}};
    static const size_t n[QUOTA_SETS] = {1, 1, 2, 1, 3};
    for (size_t i = 0; i < QUOTAS; i++) {
        int own = random_upto(w, 12);
        w->quota[i] = (struct sched_quota){.what = "quota", .own = own, .limit = own + random_upto(w, 12)};
    }
    for (size_t i = 0; i < QUOTA_SETS; i++) {
        w->quotas[i].n = n[i];
        for (size_t k = 0; k < n[i]; k++) {
            w->quota_index[i][k] = index[i][k];
            w->quotas[i].quota[k] = &w->quota[index[i][k]];
        }
        if (w->has_quotas)
            sched_quotas_add(&w->quotas[i]);
    }
}

static void random_opts(struct world *w, struct sched_opts *ret)
{
    *ret = (struct sched_opts){.policy = once_in(w, 3) ? SCHED_BY_FAIR_SHARE : SCHED_BY_PRIORITY,
                               .preemption = once_in(w, 2),
                               .fitting = once_in(w, 2) ? FITTING_WORST : FITTING_BEST,
                               .allow_heterogeneous_fits = once_in(w, 3),
                               .aging_us = once_in(w, 4) ? 50 : 0};
}

static void change_something(struct world *w)
{
    w->now_us += random_upto(w, 20);
    int what = random_upto(w, 20);
    if (what < 14)
        change_request(w);
    else if (what < 16)
        change_job(w);
    else if (what < 17)
        change_quotas(w);
    else
        change_agent(w);
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

struct view {
    struct plain_snapshot snapshot;
    struct sched_agent *agent[AGENTS];
    struct sched_request *request[REQUESTS];
};

static size_t agent_index(const struct view *v, const struct sched_agent *agent)
{
    for (size_t i = 0; i < v->snapshot.agent_n; i++)
        if (v->agent[i] == agent)
            return i;
    abort();
}

static void look_at_agents(struct world *w, struct view *v, struct arena *a)
{
    struct plain_agent *agent = arena_array(a, struct plain_agent, AGENTS);
    for (size_t i = 0; i < AGENTS; i++) {
        const struct sched_agent *g = &w->agent[i];
        if (!w->present[i])
            continue;
        v->agent[v->snapshot.agent_n] = &w->agent[i];
        agent[v->snapshot.agent_n++] = (struct plain_agent){.id = g->id,
                                                            .open = g->open,
                                                            .slots = g->slots,
                                                            .empty_slots = g->empty_slots,
                                                            .aux = g->aux,
                                                            .empty_aux = g->empty_aux,
                                                            .has = g->has,
                                                            .left = g->left};
    }
    v->snapshot.agent = agent;
}

static int aged_priority(const struct world *w, const struct sched_request *r)
{
    int64_t aging = sched_get_opts(w->sched)->aging_us;
    int priority = r->job->priority;
    if (r->state != SCHED_PENDING)
        return r->priority;
    if (aging > 0)
        priority -= (int)((w->now_us - r->request_us) / aging);
    return priority < SCHED_PRIORITY_MIN ? SCHED_PRIORITY_MIN : priority;
}

static void look_at_requests(struct world *w, struct view *v, struct arena *a)
{
    struct plain_request *request = arena_array(a, struct plain_request, REQUESTS);
    for (size_t i = 0; i < REQUESTS; i++) {
        struct sched_request *r = &w->request[i];
        if (!w->open[i])
            continue;
        struct plain_share *share = arena_array(a, struct plain_share, r->share_n + 1);
        for (size_t k = 0; k < r->share_n; k++)
            share[k] = (struct plain_share){agent_index(v, r->share[k].agent), r->share[k].slots, r->needs};
        v->request[v->snapshot.request_n] = r;
        request[v->snapshot.request_n++] = (struct plain_request){.allocation_id = r->allocation_id,
                                                                  .job_id = r->job->job_id,
                                                                  .priority = aged_priority(w, r),
                                                                  .queue_position = r->job->queue_position,
                                                                  .submitted_us = r->job->submitted_us,
                                                                  .request_us = r->request_us,
                                                                  .weight = r->job->weight,
                                                                  .max_slots = r->job->max_slots,
                                                                  .slots = r->slots,
                                                                  .needs = r->needs,
                                                                  .single_agent = r->single_agent,
                                                                  .preemptible = r->preemptible,
                                                                  .blocked_agent = r->blocked_agent,
                                                                  .blocked_n = r->blocked_n,
                                                                  .state = r->state,
                                                                  .share = share,
                                                                  .share_n = r->share_n};
        const struct sched_quotas *q = r->job->quotas;
        struct plain_request *seen = &request[v->snapshot.request_n - 1];
        seen->borrows = r->borrows;
        seen->quotas = r->slots > 0 ? q : NULL;
        seen->quota = q ? w->quota_index[q - w->quotas] : NULL;
        seen->quota_n = q ? q->n : 0;
    }
    v->snapshot.request = request;
}

static void look_at_quotas(struct world *w, struct view *v, struct arena *a)
{
    struct plain_quota *quota = arena_array(a, struct plain_quota, QUOTAS);
    for (size_t i = 0; i < QUOTAS; i++)
        quota[i] = (struct plain_quota){w->quota[i].own, w->quota[i].limit};
    v->snapshot.quota = quota;
    v->snapshot.quota_n = QUOTAS;
}

static void same_placement(const struct view *v, const struct sched_placement *found,
                           const struct plain_placement *wanted)
{
    assert_string_equal(found->request->allocation_id, v->request[wanted->request]->allocation_id);
    assert_int_equal(found->share_n, wanted->share_n);
    for (size_t i = 0; i < found->share_n; i++) {
        assert_string_equal(found->share[i].agent->id, v->agent[wanted->share[i].agent]->id);
        assert_int_equal(found->share[i].slots, wanted->share[i].slots);
    }
}

static int by_request(const void *a, const void *b)
{
    return strcmp(((const struct sched_placement *)a)->request->allocation_id,
                  ((const struct sched_placement *)b)->request->allocation_id);
}

static const struct view *sorting;

static int by_index(const void *a, const void *b)
{
    return strcmp(sorting->request[((const struct plain_placement *)a)->request]->allocation_id,
                  sorting->request[((const struct plain_placement *)b)->request]->allocation_id);
}

/* Prints what the schedulers have looked at, for the case that they differ. */
static void print_difference(const struct view *v, const struct sched_decision *found,
                             const struct plain_decision *wanted)
{
    const struct plain_snapshot *s = &v->snapshot;
    print_message("policy %d preemption %d fitting %d heterogeneous %d aging %lld\n", s->opts.policy,
                  s->opts.preemption, s->opts.fitting, s->opts.allow_heterogeneous_fits, (long long)s->opts.aging_us);
    for (size_t i = 0; i < s->agent_n; i++)
        print_message("%s open %d slots %d/%d aux %d/%d cores %lld/%lld memory %lld/%lld\n", s->agent[i].id,
                      s->agent[i].open, s->agent[i].empty_slots, s->agent[i].slots, s->agent[i].empty_aux,
                      s->agent[i].aux, (long long)s->agent[i].left.millicores, (long long)s->agent[i].has.millicores,
                      (long long)s->agent[i].left.memory_bytes, (long long)s->agent[i].has.memory_bytes);
    for (size_t i = 0; i < s->request_n; i++) {
        const struct plain_request *r = &s->request[i];
        print_message("%s %s slots %d priority %d position %lld age %lld state %d%s%s blocked %zu holds",
                      r->allocation_id, r->job_id, r->slots, r->priority, (long long)r->queue_position,
                      (long long)r->request_us, r->state, r->single_agent ? " single" : "",
                      r->preemptible ? " preemptible" : "", r->blocked_n);
        for (size_t k = 0; k < r->share_n; k++)
            print_message(" %s:%d", s->agent[r->share[k].agent].id, r->share[k].slots);
        print_message(" (weight %g, max %d, needs %lld %lld)%s", r->weight, r->max_slots,
                      (long long)r->needs.millicores, (long long)r->needs.memory_bytes, r->borrows ? " borrows" : "");
        for (size_t k = 0; k < r->quota_n; k++)
            print_message(" quota %zu", r->quota[k]);
        print_message("\n");
    }
    for (size_t i = 0; i < s->quota_n; i++)
        print_message("quota %zu own %d limit %d\n", i, s->quota[i].own, s->quota[i].limit);
    for (size_t i = 0; i < found->allocate_n; i++)
        print_message("found  + %s\n", found->allocate[i].request->allocation_id);
    for (size_t i = 0; i < found->release_n; i++)
        print_message("found  - %s\n", found->release[i]->allocation_id);
    for (size_t i = 0; i < found->unplaced_n; i++)
        print_message("found  ? %s\n", found->unplaced[i]->allocation_id);
    for (size_t i = 0; i < wanted->unplaced_n; i++)
        print_message("wanted ? %s\n", s->request[wanted->unplaced[i]].allocation_id);
    for (size_t i = 0; i < wanted->allocate_n; i++)
        print_message("wanted + %s\n", s->request[wanted->allocate[i].request].allocation_id);
    for (size_t i = 0; i < wanted->release_n; i++)
        print_message("wanted - %s\n", s->request[wanted->release[i]].allocation_id);
}

static void same_decision(const struct view *v, struct sched_decision *found, struct plain_decision *wanted)
{
    if (found->allocate_n != wanted->allocate_n || found->release_n != wanted->release_n ||
        found->unplaced_n != wanted->unplaced_n)
        print_difference(v, found, wanted);
    assert_int_equal(found->allocate_n, wanted->allocate_n);
    assert_int_equal(found->unplaced_n, wanted->unplaced_n);
    assert_int_equal(found->release_n, wanted->release_n);
    sorting = v;
    if (found->allocate_n > 0)
        qsort(found->allocate, found->allocate_n, sizeof(*found->allocate), by_request);
    qsort(wanted->allocate, wanted->allocate_n, sizeof(*wanted->allocate), by_index);
    for (size_t i = 0; i < found->allocate_n; i++)
        same_placement(v, &found->allocate[i], &wanted->allocate[i]);
    for (size_t i = 0; i < wanted->release_n; i++) {
        bool there = false;
        for (size_t k = 0; k < found->release_n; k++)
            there = there || found->release[k] == v->request[wanted->release[i]];
        if (!there)
            print_difference(v, found, wanted);
        assert_true(there);
    }
}

/* Checks that no placement was made on an agent beyond what the agent has of cores and memory, with all that lies
 * there. */
static void check_needs(struct world *w, const struct sched_decision *d)
{
    struct sched_needs held[AGENTS] = {0};
    for (size_t i = 0; i < REQUESTS; i++)
        for (size_t k = 0; w->open[i] && k < w->request[i].share_n; k++)
            needs_add(&held[w->request[i].share[k].agent - w->agent], &w->request[i].needs, 1);
    for (size_t i = 0; i < d->allocate_n; i++)
        for (size_t k = 0; k < d->allocate[i].share_n; k++) {
            const struct sched_agent *agent = d->allocate[i].share[k].agent;
            const struct sched_needs *needs = &d->allocate[i].request->needs, *all = &held[agent - w->agent];
            assert_true(needs->millicores == 0 || all->millicores <= agent->has.millicores);
            assert_true(needs->memory_bytes == 0 || all->memory_bytes <= agent->has.memory_bytes);
            w->needy += needs_any(needs);
        }
}

/* Checks that no agent has given out more than it has, and that what is left there is what nobody holds. */
static void check_books(struct world *w)
{
    struct sched_needs left[AGENTS];
    for (size_t i = 0; i < AGENTS; i++)
        left[i] = w->agent[i].has;
    for (size_t i = 0; i < REQUESTS; i++)
        for (size_t k = 0; w->open[i] && k < w->request[i].share_n; k++)
            needs_add(&left[w->request[i].share[k].agent - w->agent], &w->request[i].needs, -1);
    for (size_t i = 0; i < AGENTS; i++) {
        const struct sched_agent *agent = &w->agent[i];
        if (!w->present[i])
            continue;
        assert_in_range(agent->empty_slots, 0, agent->slots);
        assert_true(!agent->open || agent->empty_aux <= agent->aux);
        assert_true(agent->empty_aux >= 0);
        assert_true(!agent->open || agent->left.millicores == left[i].millicores);
        assert_true(!agent->open || agent->left.memory_bytes == left[i].memory_bytes);
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        int held = 0;
        for (size_t k = 0; w->open[i] && k < w->request[i].share_n; k++)
            held += w->request[i].share[k].slots;
        assert_true(held == 0 || held <= w->request[i].slots);
    }
}

/* Checks that the counts of the quotas are those of the requests, that nothing was placed beyond a limit, that nothing
 * borrows which need not, and that what is on loan was stopped before what is its quotas' own. */
static void check_quotas(struct world *w, const struct sched_decision *d)
{
    int held[QUOTAS] = {0}, owned[QUOTAS] = {0};
    bool has_stopped_own = false, stops_by_priority = sched_get_opts(w->sched)->policy == SCHED_BY_PRIORITY;
    for (size_t i = 0; i < REQUESTS; i++) {
        const struct sched_request *r = &w->request[i];
        const struct sched_quotas *q = w->open[i] && r->state != SCHED_PENDING ? r->job->quotas : NULL;
        for (size_t k = 0; q && k < q->n; k++) {
            held[q->quota[k] - w->quota] += r->slots;
            owned[q->quota[k] - w->quota] += r->borrows ? 0 : r->slots;
        }
    }
    for (size_t i = 0; i < QUOTAS; i++) {
        assert_int_equal(w->quota[i].held, held[i]);
        assert_int_equal(w->quota[i].owned, owned[i]);
        assert_true(owned[i] <= w->quota[i].own);
        assert_int_equal(w->quota[i].planned_held, 0);
        assert_int_equal(w->quota[i].planned_owned, 0);
    }
    for (size_t i = 0; i < d->allocate_n; i++)
        for (size_t k = 0; d->allocate[i].request->job->quotas && k < d->allocate[i].request->job->quotas->n; k++)
            assert_true(d->allocate[i].request->slots == 0 || d->allocate[i].request->job->quotas->quota[k]->held <=
                                                                  d->allocate[i].request->job->quotas->quota[k]->limit);
    for (size_t i = 0; stops_by_priority && i < d->release_n; i++) {
        if (d->release[i]->slots == 0)
            continue;
        assert_false(has_stopped_own && d->release[i]->borrows);
        has_stopped_own = has_stopped_own || !d->release[i]->borrows;
    }
}

/* Checks that what each job is told about those ahead of it equals what a walk over the queue finds. */
static void check_line(struct world *w)
{
    size_t jobs = 0;
    int64_t waiting = 0;
    for (const struct sched_job *g = sched_first_job(w->sched); g; g = sched_next_job(g), jobs++) {
        struct jobs_ahead ahead = jobs_ahead(g);
        assert_int_equal(ahead.jobs, jobs);
        assert_int_equal(ahead.waiting_slots, waiting);
        for (size_t i = 0; i < REQUESTS; i++)
            if (w->open[i] && w->request[i].job == g && w->request[i].state == SCHED_PENDING)
                waiting += w->request[i].slots;
    }
    assert_int_equal(jobs, sched_job_n(w->sched));
}

/* ---- reasons ----------------------------------------------------------------------------------------------------- */

static size_t fits_on(const struct view *v, const struct plain_agent *agent, size_t request, struct arena *a)
{
    struct plain_share *share;
    return plain_fit(&v->snapshot, agent, &v->snapshot.request[request], a, &share);
}

static struct plain_agent *idle_agents(const struct view *v, struct arena *a)
{
    struct plain_agent *idle = arena_dup(a, v->snapshot.agent, v->snapshot.agent_n * sizeof(*idle));
    for (size_t i = 0; i < v->snapshot.agent_n; i++) {
        idle[i].empty_slots = idle[i].open ? idle[i].slots : 0;
        idle[i].empty_aux = idle[i].open ? idle[i].aux : 0;
        idle[i].left = idle[i].has;
    }
    return idle;
}

static size_t more_important(const struct view *v, size_t i)
{
    const struct plain_request *r = &v->snapshot.request[i];
    size_t n = 0;
    for (size_t k = 0; k < v->snapshot.request_n; k++) {
        const struct plain_request *other = &v->snapshot.request[k];
        n += other->state == SCHED_PENDING && other->priority < r->priority && (other->slots > 0) == (r->slots > 0);
    }
    return n;
}

/* Checks what the reason says that the request lacks: with that much less to ask for, it would fit. */
static void check_lack(const struct view *v, size_t i, const struct sched_reason *reason, struct arena *a)
{
    struct plain_request less = v->snapshot.request[i];
    bool now = reason->why == SCHED_WHY_NO_ROOM;
    const struct plain_agent *agent = now ? v->snapshot.agent : idle_agents(v, a);
    struct plain_share *share;
    less.needs = (struct sched_needs){0};
    bool fits = plain_fit(&v->snapshot, agent, &less, a, &share) > 0;
    if (!now && v->snapshot.opts.allow_heterogeneous_fits)
        return; /* such fits may fail on idle agents alone */
    assert_int_equal(fits, reason->lacks != SCHED_LACKS_SLOTS);
    less.needs.memory_bytes = v->snapshot.request[i].needs.memory_bytes;
    if (fits)
        assert_int_equal(plain_fit(&v->snapshot, agent, &less, a, &share) == 0, reason->lacks == SCHED_LACKS_MEMORY);
    less.needs = (struct sched_needs){.millicores = v->snapshot.request[i].needs.millicores};
    if (reason->lacks == SCHED_LACKS_CORES || reason->lacks == SCHED_LACKS_BOTH)
        assert_int_equal(plain_fit(&v->snapshot, agent, &less, a, &share) == 0, reason->lacks == SCHED_LACKS_CORES);
}

/* Checks that the reason given for a waiting request is true. */
static void check_reason(struct world *w, const struct view *v, size_t i, struct arena *a)
{
    struct sched_reason reason;
    bool fair = v->snapshot.opts.policy == SCHED_BY_FAIR_SHARE;
    size_t open_n = 0, fits = fits_on(v, v->snapshot.agent, i, a), fits_idle = fits_on(v, idle_agents(v, a), i, a);
    for (size_t k = 0; k < v->snapshot.agent_n; k++)
        open_n += v->snapshot.agent[k].open;
    sched_why(w->sched, v->request[i], &reason);
    w->why[reason.why]++;
    if (reason.why == SCHED_WHY_NEVER || reason.why == SCHED_WHY_NO_ROOM) {
        w->lacks[reason.lacks]++;
        check_lack(v, i, &reason, a);
    }
    assert_int_equal(reason.why == SCHED_WHY_NO_AGENTS, v->snapshot.agent_n == 0);
    if (v->snapshot.agent_n > 0) /* before there has been an agent, nothing ages */
        assert_int_equal(reason.ahead, fair ? 0 : more_important(v, i));
    assert_int_equal(reason.why == SCHED_WHY_CLOSED, v->snapshot.agent_n > 0 && open_n == 0);
    if (reason.why <= SCHED_WHY_NEVER)
        assert_int_equal(fits_idle, 0);
    else if (!v->snapshot.opts.allow_heterogeneous_fits) /* such fits may fail on idle agents alone */
        assert_int_not_equal(fits_idle, 0);
    if (reason.why == SCHED_WHY_QUOTA)
        assert_non_null(reason.quota);
    else
        assert_int_equal(reason.why > SCHED_WHY_NO_ROOM, fits > 0);
    if (reason.why == SCHED_WHY_KEPT)
        assert_true(reason.ahead > 0);
    assert_false(fair ? reason.why == SCHED_WHY_KEPT
                      : reason.why == SCHED_WHY_SHARE || reason.why == SCHED_WHY_MAX_SLOTS);
    assert_int_not_equal(reason.why, SCHED_WHY_NEXT);
}

static void check_reasons(struct world *w)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct view v = {.snapshot = {.opts = *sched_get_opts(w->sched)}};
    look_at_agents(w, &v, &a);
    look_at_requests(w, &v, &a);
    look_at_quotas(w, &v, &a);
    for (size_t i = 0; i < v.snapshot.request_n; i++)
        if (v.request[i]->state == SCHED_PENDING)
            check_reason(w, &v, i, &a);
}

static void pass_and_compare(struct world *w)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct view v = {.snapshot = {.opts = *sched_get_opts(w->sched)}};
    struct plain_decision wanted;
    struct sched_decision found;
    look_at_agents(w, &v, &a);
    look_at_requests(w, &v, &a);
    look_at_quotas(w, &v, &a);
    plain_pass(&v.snapshot, &a, &wanted);
    sched_pass(w->sched, w->now_us, &a, &found);
    same_decision(&v, &found, &wanted);
    check_books(w);
    check_needs(w, &found);
    check_quotas(w, &found);
    check_line(w);
    check_reasons(w);
    w->placed += (long)found.allocate_n;
    for (size_t i = 0; i < found.allocate_n; i++)
        w->borrowed += found.allocate[i].request->borrows;
    w->released += (long)found.release_n;
    for (size_t i = 0; i < found.allocate_n; i++)
        w->gangs += found.allocate[i].share_n > 1;
    for (size_t i = 0; i < found.release_n; i++)
        if (once_in(w, 2))
            sched_request_releasing(w->sched, found.release[i]);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static void begin_world(struct world *w, long seed)
{
    static const int sizes[] = {-1, -1, 1, 1, 1, 2, 4, 8, 8, 16};
    struct sched_opts opts;
    memset(w, 0, sizeof(*w));
    rng_init(&w->rng, (uint32_t)seed);
    random_opts(w, &opts);
    w->sched = sched_new(&opts, &w->ledger);
    w->has_quotas = once_in(w, 2);
    w->has_needs = once_in(w, 2);
    make_quotas(w);
    for (size_t i = 0; i < JOBS; i++) {
        snprintf(w->job_id[i], sizeof(w->job_id[i]), "job-%zu", i);
        w->job[i] = (struct sched_job){.job_id = w->job_id[i],
                                       .priority = 42,
                                       .weight = 1,
                                       .max_slots = -1,
                                       .submitted_us = (int64_t)i / 2,
                                       .queue_position = (int64_t)i / 2};
        w->job_slots[i] = sizes[random_upto(w, 10)];
        w->job_needs[i] = random_needs(w);
    }
}

static void finish_world(struct world *w)
{
    for (size_t i = 0; i < REQUESTS; i++)
        if (w->open[i])
            end_request(w, i);
    for (size_t i = 0; i < AGENTS; i++)
        if (w->present[i])
            remove_agent(w, i);
    assert_null(sched_first_job(w->sched));
    sched_free(w->sched);
}

static long from_environment(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return !text ? otherwise : strtol(text, NULL, 10);
}

static void test_random__decides_as_the_obvious_one(void **state)
{
    (void)state;
    static struct world w;
    long seed = from_environment("TEST_SEED", 1), passes = from_environment("TEST_PASSES", 20000);
    long placed = 0, gangs = 0, borrowed = 0, released = 0, needy = 0, why[SCHED_WHY_NEXT + 1] = {0},
         lacks[SCHED_LACKS_BOTH + 1] = {0};
    for (long run = 0, done = 0; done < passes; run++) {
        printf("# seed %ld\n", seed + run);
        begin_world(&w, seed + run);
        for (int i = 0; i < 500; i++, done++) {
            for (int n = 1 + random_upto(&w, 3); n > 0; n--)
                change_something(&w);
            pass_and_compare(&w);
        }
        finish_world(&w);
        placed += w.placed;
        gangs += w.gangs;
        borrowed += w.borrowed;
        released += w.released;
        for (size_t i = 0; i <= SCHED_WHY_NEXT; i++)
            why[i] += w.why[i];
        for (size_t i = 0; i <= SCHED_LACKS_BOTH; i++)
            lacks[i] += w.lacks[i];
        needy += w.needy;
    }
    printf("# %ld placed, %ld of them gangs, %ld of them borrow, %ld wishes to release\n", placed, gangs, borrowed,
           released);
    for (size_t i = 0; i < SCHED_WHY_NEXT; i++) {
        printf("# reason %zu given %ld times\n", i, why[i]);
        assert_true(why[i] > 0 || passes < 20000);
    }
    for (size_t i = 0; i <= SCHED_LACKS_BOTH; i++) {
        printf("# lack %zu found %ld times\n", i, lacks[i]);
        assert_true(lacks[i] > 0 || passes < 20000);
    }
    printf("# %ld containers placed that need cores or memory\n", needy);
    assert_true(needy > passes / 100 || passes < 20000);
    assert_true(borrowed > passes / 1000 || passes < 20000);
    assert_true(placed > passes / 20 && gangs > passes / 1000 && released > passes / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random__decides_as_the_obvious_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
