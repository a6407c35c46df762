/* Whether what runs is what should run: against the obvious scheduler, on the rows; and against weighted max-min
 * fairness, worked out in real numbers. */
#include "view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- against the obvious scheduler ------------------------------------------------------------------------------- */

/* Checks that the obvious scheduler would change nothing: in the order of priorities, no request waits that could be
 * placed, and no request runs that should make room for another one. */
void check_against_plain(struct soak *s)
{
    for (int i = 0; i < s->pool_n && s->core; i++) {
        cleanup_arena struct arena arena = ARENA_INIT;
        struct view v;
        struct plain_decision wanted;
        if (s->pool[i].sched.aging_us > 0 && s->pool[i].sched.policy != SCHED_BY_FAIR_SHARE)
            /* a running request keeps the priority with which it was placed, and the rows do not say which one that
             * was */
            continue;
        view_look(s, i, &arena, &v);
        struct plain_snapshot snapshot = {.opts = s->pool[i].sched,
                                          .agent = v.agent,
                                          .agent_n = v.agent_n,
                                          .request = v.request,
                                          .request_n = v.request_n};
        plain_pass(&snapshot, &arena, &wanted);
        s->plain_checks++;
        if (wanted.allocate_n > 0 || wanted.release_n > 0)
            view_print(&v, &s->pool[i]);
        CHECK(s, wanted.allocate_n == 0, "pool %s: %s could be placed on %s, and waits", s->pool[i].name,
              v.request[wanted.allocate[0].request].allocation_id, v.agent[wanted.allocate[0].share[0].agent].id);
        CHECK(s, wanted.release_n == 0, "pool %s: %s should make way, and runs", s->pool[i].name,
              v.request[wanted.release[0]].allocation_id);
    }
}

/* ---- max-min fairness -------------------------------------------------------------------------------------------- */

struct claim {
    const char *job_id;
    double weight, fair;
    int demand, held, max_slots, gang;
};

static int by_job(const void *pa, const void *pb)
{
    const struct plain_request *a = pa, *b = pb;
    return strcmp(a->job_id, b->job_id);
}

/* Collects what the jobs want. Requests without slots do not count. */
static size_t collect_claims(struct view *v, struct claim *claim)
{
    size_t n = 0;
    if (v->request_n > 0)
        qsort(v->request, v->request_n, sizeof(*v->request), by_job);
    for (size_t i = 0; i < v->request_n; i++) {
        const struct plain_request *r = &v->request[i];
        if (r->slots == 0)
            continue;
        if (n == 0 || strcmp(claim[n - 1].job_id, r->job_id) != 0)
            claim[n++] = (struct claim){.job_id = r->job_id, .weight = r->weight, .max_slots = r->max_slots};
        claim[n - 1].demand += r->slots;
        claim[n - 1].gang = r->slots;
        claim[n - 1].held += r->state != SCHED_PENDING ? r->slots : 0;
    }
    for (size_t i = 0; i < n; i++)
        if (claim[i].max_slots >= 0 && claim[i].demand > claim[i].max_slots)
            claim[i].demand = claim[i].max_slots - claim[i].max_slots % claim[i].gang;
    return n;
}

static int by_need(const void *pa, const void *pb)
{
    const struct claim *a = pa, *b = pb;
    double x = a->demand / a->weight, y = b->demand / b->weight;
    return x < y ? -1 : x > y;
}

/* Computes the fair share of each claim: all shares grow alike, in proportion to the weights, and a job that has all it
 * wants leaves the rest to the others (Bertsekas and Gallager, 6.5.2). */
static void fill_claims(struct claim *claim, size_t n, double capacity)
{
    double weight = 0;
    for (size_t i = 0; i < n; i++)
        weight += claim[i].weight;
    if (n > 0)
        qsort(claim, n, sizeof(*claim), by_need);
    for (size_t i = 0; i < n; i++) {
        double share = capacity * claim[i].weight / weight;
        claim[i].fair = share < claim[i].demand ? share : claim[i].demand;
        capacity -= claim[i].fair;
        weight -= claim[i].weight;
    }
}

/* Returns whether the shares can be checked: nothing is on its way out, all agents are open and have eight slots, and
 * all requests share eight slots evenly. Otherwise there may be no place for a request although its share is fair. */
static bool is_settled(const struct view *v, int *ret_largest)
{
    *ret_largest = 1;
    if (v->releasing)
        return false;
    for (size_t i = 0; i < v->agent_n; i++)
        if ((!v->agent[i].open && v->agent[i].slots > 0) || (v->agent[i].open && v->agent[i].slots != EVEN_SLOTS))
            return false;
    for (size_t i = 0; i < v->request_n; i++) {
        const struct plain_request *r = &v->request[i];
        bool even = r->slots == 0 || (r->slots > EVEN_SLOTS ? r->slots % EVEN_SLOTS : EVEN_SLOTS % r->slots) == 0;
        if (r->blocked_n > 0 || needs_any(&r->needs) || (r->slots > 0 && !r->preemptible) || !even)
            return false;
        *ret_largest = r->slots > *ret_largest ? r->slots : *ret_largest;
    }
    return true;
}

/* Checks that each job has its fair share: to one slot if all requests have one slot, otherwise to less than the
 * largest gang. */
static void check_shares(struct soak *s, int pool)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct view v;
    int largest;
    view_look(s, pool, &arena, &v);
    if (!is_settled(&v, &largest) || (largest > EVEN_SLOTS && s->pool[pool].sched.allow_heterogeneous_fits))
        return;
    int64_t capacity = 0;
    for (size_t i = 0; i < v.agent_n; i++)
        capacity += v.agent[i].slots;
    struct claim *claim = arena_array(&arena, struct claim, v.request_n + 1);
    size_t n = collect_claims(&v, claim);
    for (size_t i = 0; i < n; i++)
        if (claim[i].gang > capacity)
            return; /* such a gang cannot be placed, so its job's share would not count */
    fill_claims(claim, n, (double)capacity);
    s->fairness_checks++;
    s->gang_shares += largest > 1;
    for (size_t i = 0; i < n; i++) {
        double error = fabs(claim[i].held - claim[i].fair);
        bool ok = largest > 1 ? error < largest - 0.001 : error < 1.001;
        if (!ok)
            view_print(&v, &s->pool[pool]);
        CHECK(
            s, ok,
            "pool %s: job %s has %d slots, its fair share is %.2f (demand %d, %lld slots in all, %zu jobs, gangs of %d)",
            s->pool[pool].name, claim[i].job_id, claim[i].held, claim[i].fair, claim[i].demand, (long long)capacity, n,
            largest);
    }
}

/* Checks requests of one slot: while a more important request waits and nothing is on its way out, no less important
 * request runs on a slot that the waiting one could have. Requests that cannot be stopped are left out: they keep their
 * slots, and are not placed past a gang that waits. */
static void check_no_inversion(struct soak *s, int pool)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct view v;
    int waits = SCHED_PRIORITY_MAX + 1, runs = 0;
    bool free_slot = false;
    view_look(s, pool, &arena, &v);
    for (size_t i = 0; i < v.agent_n; i++)
        free_slot = free_slot || v.agent[i].empty_slots > 0;
    for (size_t i = 0; i < v.request_n; i++) {
        const struct plain_request *r = &v.request[i];
        if (r->slots != 1 || r->blocked_n > 0 || needs_any(&r->needs) || !r->preemptible)
            continue;
        if (r->state == SCHED_PENDING && r->priority < waits)
            waits = r->priority;
        bool open = r->share_n > 0 && v.agent[r->share[0].agent].open;
        if (r->state == SCHED_ALLOCATED && open && r->priority > runs)
            runs = r->priority;
    }
    s->fairness_checks++;
    CHECK(s, v.releasing || !s->pool[pool].sched.preemption || runs <= waits,
          "pool %s: a request of priority %d waits while one of %d runs", s->pool[pool].name, waits, runs);
}

void check_fairness(struct soak *s)
{
    for (int i = 0; i < s->pool_n; i++) {
        if (s->pool[i].sched.policy != SCHED_BY_FAIR_SHARE && s->pool[i].sched.aging_us == 0)
            check_no_inversion(s, i);
        else if (s->pool[i].sched.policy == SCHED_BY_FAIR_SHARE)
            check_shares(s, i);
    }
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static bool is_in(const int32_t *ids, size_t n, int32_t id)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Kills the experiments whose requests no set of agents can hold. They are all found before any is killed, because a
 * step frees what the view refers to. */
void kill_what_has_no_place(struct soak *s)
{
    for (int i = 0; i < s->pool_n; i++) {
        cleanup_arena struct arena arena = ARENA_INIT;
        struct view v;
        view_look(s, i, &arena, &v);
        if (i == s->provider.pool)
            v.agent_n = provider_might_have(s, &arena, &v.agent);
        for (size_t k = 0; k < v.agent_n; k++) {
            v.agent[k].empty_slots = v.agent[k].slots;
            v.agent[k].empty_aux = v.agent[k].aux;
            v.agent[k].left = v.agent[k].has;
        }
        struct plain_snapshot snapshot = {.opts = s->pool[i].sched, .agent = v.agent, .agent_n = v.agent_n};
        int32_t *to_kill = arena_array(&arena, int32_t, v.request_n + 1);
        size_t n = 0;
        for (size_t k = 0; k < v.request_n; k++) {
            const struct plain_request *r = &v.request[k];
            struct plain_share *share;
            if (plain_fit(&snapshot, v.agent, r, &arena, &share) > 0 && (r->max_slots < 0 || r->slots <= r->max_slots))
                continue;
            const struct stored_allocation *a = store_allocation(s, r->allocation_id);
            if (a && a->trial && !is_in(to_kill, n, a->trial->experiment->row.id))
                to_kill[n++] = a->trial->experiment->row.id;
        }
        for (size_t k = 0; k < n; k++)
            soak_step(s, &(struct core_event){.type = CORE_EXPERIMENT_KILL, .experiment_id = to_kill[k]});
    }
}
