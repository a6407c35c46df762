/* Whether what runs is what should run: against the obvious scheduler, on the rows; and against weighted max-min
 * fairness, worked out in real numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "soak.h"
#include "plain_sched.h"

/* ---- a pool, by its rows ----------------------------------------------------------------------------------------- */

struct view {
    struct plain_agent *agent;
    int *index; /* of an agent of the world in `agent`, or -1 */
    struct plain_request *request;
    size_t agent_n, request_n;
    bool releasing; /* something is on its way out */
};

static bool is_disabled(const struct agent *a, int32_t device)
{
    for (int i = 0; i < a->row.disabled_slot_n; i++)
        if (a->row.disabled_slot[i] == device)
            return true;
    return false;
}

static struct plain_agent offer_of(const struct agent *a, int aux_max)
{
    struct plain_agent offer = {.id = a->id, .open = a->connected && a->row.enabled, .aux = aux_max};
    const struct stored_container *k;
    int aux = 0;
    LIST_FOREACH(k, &a->held, in_agent)
        aux += k->row.device_n == 0;
    for (int i = 0; i < a->slots; i++) {
        bool usable = offer.open && !is_disabled(a, i);
        offer.slots += offer.open ? usable : a->holder[i] != NULL;
        offer.empty_slots += usable && a->holder[i] == NULL;
    }
    offer.empty_aux = offer.open && aux < aux_max ? aux_max - aux : 0;
    return offer;
}

/* An agent counts where it is: known to the core, and in this pool. */
static void look_at_agents(struct soak *s, int pool, struct arena *arena, struct view *v)
{
    struct core_agent_view there;
    v->agent = arena_array(arena, struct plain_agent, (size_t)s->size.agents + 1);
    v->index = arena_array(arena, int, (size_t)s->size.agents + 1);
    for (int i = 0; i < s->size.agents; i++) {
        const struct agent *a = &s->agent[i];
        v->index[i] = -1;
        if (!core_agent_by_id(s->core, a->id, &there) || strcmp(there.pool, s->pool[pool].name) != 0)
            continue;
        v->index[i] = (int)v->agent_n;
        v->agent[v->agent_n++] = offer_of(a, s->pool[pool].max_aux_containers_per_agent);
    }
}

static size_t shares_of(const struct stored_allocation *a, const struct view *v, struct arena *arena,
                        const struct plain_share **ret)
{
    const struct stored_container *k;
    size_t n = 0;
    LIST_FOREACH(k, &a->containers, in_allocation)
        n++;
    struct plain_share *share = arena_array(arena, struct plain_share, n + 1);
    n = 0;
    LIST_FOREACH(k, &a->containers, in_allocation)
        if (k->agent != NULL && v->index[k->agent->index] >= 0)
            share[n++] = (struct plain_share){(size_t)v->index[k->agent->index], k->row.device_n};
    *ret = share;
    return n;
}

static void look_at_blocked(const struct stored_trial *t, struct arena *arena, struct plain_request *ret)
{
    const char *lines = t->row.excluded_agents;
    if (lines == NULL)
        return;
    const char **id = arena_array(arena, const char *, strlen(lines));
    for (; *lines != '\0'; lines += strcspn(lines, "\n") + 1)
        id[ret->blocked_n++] = arena_strndup(arena, lines, strcspn(lines, "\n"));
    ret->blocked_agent = id;
}

static struct plain_request of_own_task(const struct stored_allocation *a)
{
    return (struct plain_request){.allocation_id = a->row.id, .job_id = a->task->row.job_id, .priority = SCHED_PRIORITY_DEFAULT,
                                  .queue_position = a->row.request_us, .submitted_us = a->row.request_us,
                                  .request_us = a->row.request_us, .weight = 1, .max_slots = -1};
}

static struct plain_request of_trial(const struct soak *s, int pool, const struct stored_allocation *a)
{
    const struct stored_experiment *x = a->trial->experiment;
    return (struct plain_request){
        .allocation_id = a->row.id, .job_id = x->row.job_id,
        .priority = s->pool[pool].equal_priorities ? SCHED_PRIORITY_DEFAULT : x->spec.priority,
        .queue_position = x->row.queue_position, .submitted_us = x->row.start_us, .request_us = a->row.request_us,
        .weight = x->spec.weight, .max_slots = x->spec.max_slots, .slots = a->row.slots,
        .single_agent = x->spec.single_node, .preemptible = true};
}

static void look_at_requests(struct soak *s, int pool, struct arena *arena, struct view *v)
{
    v->request = arena_array(arena, struct plain_request, s->allocation_n + 1);
    for (const struct stored_allocation *a = s->allocations; a != NULL; a = a->hh.next) {
        if (strcmp(a->row.pool, s->pool[pool].name) != 0)
            continue;
        bool leaves = a->row.state == ALLOCATION_TERMINATING || a->row.preempt_deadline_us != 0;
        struct plain_request *r = &v->request[v->request_n++];
        *r = a->trial == NULL ? of_own_task(a) : of_trial(s, pool, a);
        r->state = a->row.state == ALLOCATION_PENDING ? SCHED_PENDING : leaves ? SCHED_RELEASING : SCHED_ALLOCATED;
        r->share_n = shares_of(a, v, arena, &r->share);
        if (a->trial != NULL)
            look_at_blocked(a->trial, arena, r);
        v->releasing = v->releasing || leaves;
    }
}

static void look(struct soak *s, int pool, struct arena *arena, struct view *v)
{
    *v = (struct view){0};
    look_at_agents(s, pool, arena, v);
    look_at_requests(s, pool, arena, v);
}

/* What was looked at, for when it is not as it should be. */
static void print(const struct view *v, const struct core_pool_opts *p)
{
    fprintf(stderr, "%s preemption %d fitting %d heterogeneous %d equal %d\n",
            p->sched.policy == SCHED_BY_PRIORITY ? "priority" : "fair share", p->sched.preemption, p->sched.fitting,
            p->sched.allow_heterogeneous_fits, p->equal_priorities);
    for (size_t i = 0; i < v->agent_n && i < 50; i++)
        fprintf(stderr, "  %s%s: %d of %d slots empty, aux %d of %d\n", v->agent[i].id, v->agent[i].open ? "" : " closed",
                v->agent[i].empty_slots, v->agent[i].slots, v->agent[i].empty_aux, v->agent[i].aux);
    for (size_t i = 0; i < v->request_n && i < 200; i++) {
        const struct plain_request *r = &v->request[i];
        fprintf(stderr, "  %s job %.8s%s: %d slots, priority %d position %lld weight %g max %d blocked %zu, %s",
                r->allocation_id, r->job_id, r->single_agent ? " single" : "", r->slots, r->priority,
                (long long)r->queue_position, r->weight, r->max_slots, r->blocked_n,
                r->state == SCHED_PENDING ? "waits" : r->state == SCHED_RELEASING ? "leaves" : "runs");
        for (size_t k = 0; k < r->share_n; k++)
            fprintf(stderr, " %s:%d", v->agent[r->share[k].agent].id, r->share[k].slots);
        fprintf(stderr, "\n");
    }
}

/* ---- against the obvious scheduler ------------------------------------------------------------------------------- */

/* What the core leaves is what the obvious scheduler would leave: nothing that could be placed waits, in the order of
 * priorities, and nothing runs that should make way. */
void check_against_plain(struct soak *s)
{
    for (int i = 0; i < s->pool_n && s->core != NULL; i++) {
        cleanup_arena struct arena arena = ARENA_INIT;
        struct view v;
        struct plain_decision wanted;
        if (s->pool[i].sched.aging_us > 0 && s->pool[i].sched.policy == SCHED_BY_PRIORITY)
            continue; /* what runs keeps the priority that it came in with, and no row says which */
        look(s, i, &arena, &v);
        struct plain_snapshot snapshot = {.opts = s->pool[i].sched, .agent = v.agent, .agent_n = v.agent_n,
                                          .request = v.request, .request_n = v.request_n};
        plain_pass(&snapshot, &arena, &wanted);
        s->plain_checks++;
        if (wanted.allocate_n > 0 || wanted.release_n > 0)
            print(&v, &s->pool[i]);
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

/* What has no slots is none of it. */
static size_t collect_claims(struct view *v, struct claim *claim)
{
    size_t n = 0;
    if (v->request_n > 0)
        qsort(v->request, v->request_n, sizeof *v->request, by_job);
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

/* Water rises over all alike, by weight; who is full leaves the rest to the others (Bertsekas and Gallager, 6.5.2). */
static void fill(struct claim *claim, size_t n, double capacity)
{
    double weight = 0;
    for (size_t i = 0; i < n; i++)
        weight += claim[i].weight;
    if (n > 0)
        qsort(claim, n, sizeof *claim, by_need);
    for (size_t i = 0; i < n; i++) {
        double share = capacity * claim[i].weight / weight;
        claim[i].fair = share < claim[i].demand ? share : claim[i].demand;
        capacity -= claim[i].fair;
        weight -= claim[i].weight;
    }
}

/* Nothing on its way out, and agents on which whatever is granted finds a place: open, of eight slots, and of tasks that
 * share them evenly. Otherwise what is fair may have no place. */
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
        if (r->blocked_n > 0 || (r->slots > 0 && !r->preemptible) || !even)
            return false;
        *ret_largest = r->slots > *ret_largest ? r->slots : *ret_largest;
    }
    return true;
}

/* Jobs of one slot have their fair share to the slot, others less than the largest gang away from it. */
static void check_shares(struct soak *s, int pool)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct view v;
    int largest;
    look(s, pool, &arena, &v);
    if (!is_settled(&v, &largest) || (largest > EVEN_SLOTS && s->pool[pool].sched.allow_heterogeneous_fits))
        return;
    int64_t capacity = 0;
    for (size_t i = 0; i < v.agent_n; i++)
        capacity += v.agent[i].slots;
    struct claim *claim = arena_array(&arena, struct claim, v.request_n + 1);
    size_t n = collect_claims(&v, claim);
    for (size_t i = 0; i < n; i++)
        if (claim[i].gang > capacity)
            return; /* nor does it count */
    fill(claim, n, (double)capacity);
    s->fairness_checks++;
    s->gang_shares += largest > 1;
    for (size_t i = 0; i < n; i++) {
        double error = fabs(claim[i].held - claim[i].fair);
        bool ok = largest > 1 ? error < largest - 0.001 : error < 1.001;
        if (!ok)
            print(&v, &s->pool[pool]);
        CHECK(s, ok, "pool %s: job %s has %d slots, its fair share is %.2f (demand %d, %lld slots in all, %zu jobs, gangs of %d)",
              s->pool[pool].name, claim[i].job_id, claim[i].held, claim[i].fair, claim[i].demand, (long long)capacity, n, largest);
    }
}

/* Between requests of one slot, nothing is simpler: while a more important one waits and nothing is on its way, none that
 * is less important runs on a slot that it could have. */
static void check_no_inversion(struct soak *s, int pool)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct view v;
    int waits = SCHED_PRIORITY_MAX + 1, runs = 0;
    bool free_slot = false;
    look(s, pool, &arena, &v);
    for (size_t i = 0; i < v.agent_n; i++)
        free_slot = free_slot || v.agent[i].empty_slots > 0;
    for (size_t i = 0; i < v.request_n; i++) {
        const struct plain_request *r = &v.request[i];
        if (r->slots != 1 || r->blocked_n > 0)
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
        if (s->pool[i].sched.policy == SCHED_BY_PRIORITY && s->pool[i].sched.aging_us == 0)
            check_no_inversion(s, i);
        else if (s->pool[i].sched.policy == SCHED_BY_FAIR_SHARE)
            check_shares(s, i);
    }
}

/* ---- reasons ----------------------------------------------------------------------------------------------------- */

static const struct plain_request *first_waiting(const struct view *v, const char *job_id)
{
    const struct plain_request *first = NULL;
    for (size_t i = 0; i < v->request_n; i++) {
        const struct plain_request *r = &v->request[i];
        if (r->state != SCHED_PENDING || strcmp(r->job_id, job_id) != 0)
            continue;
        if (first == NULL || r->request_us < first->request_us ||
            (r->request_us == first->request_us && strcmp(r->allocation_id, first->allocation_id) < 0))
            first = r;
    }
    return first;
}

static bool fits(const struct soak *s, int pool, const struct view *v, const struct plain_request *r, bool idle,
                 struct arena *arena)
{
    struct plain_agent *agent = arena_dup(arena, v->agent, (v->agent_n + 1) * sizeof *agent);
    struct plain_snapshot snapshot = {.opts = s->pool[pool].sched, .agent = agent, .agent_n = v->agent_n};
    struct plain_share *share;
    for (size_t i = 0; i < v->agent_n && idle; i++) {
        agent[i].empty_slots = agent[i].slots;
        agent[i].empty_aux = agent[i].aux;
    }
    return plain_fit(&snapshot, agent, r, arena, &share) > 0;
}

static size_t more_important(const struct view *v, const struct plain_request *r)
{
    size_t n = 0;
    for (size_t i = 0; i < v->request_n; i++) {
        const struct plain_request *other = &v->request[i];
        n += other->state == SCHED_PENDING && other->priority < r->priority && (other->slots > 0) == (r->slots > 0);
    }
    return n;
}

static bool says(const char *reason, const char *words)
{
    return strstr(reason, words) != NULL;
}

static int held_by(const struct view *v, const char *job_id)
{
    int held = 0;
    for (size_t i = 0; i < v->request_n; i++)
        if (v->request[i].state == SCHED_ALLOCATED && strcmp(v->request[i].job_id, job_id) == 0)
            held += v->request[i].slots;
    return held;
}

/* Each sentence of core/reasons.c, by what makes it true. */
static bool is_true(const struct soak *s, int pool, const struct view *v, const struct plain_request *r, const char *reason,
                    struct arena *arena)
{
    bool now = fits(s, pool, v, r, false, arena), idle = fits(s, pool, v, r, true, arena);
    bool fair = s->pool[pool].sched.policy == SCHED_BY_FAIR_SHARE, any_sizes = s->pool[pool].sched.allow_heterogeneous_fits;
    size_t open = 0, said;
    const char *others = strstr(reason, "waits for ");
    bool counted = others != NULL && sscanf(others, "waits for %zu", &said) == 1;
    for (size_t i = 0; i < v->agent_n; i++)
        open += v->agent[i].open;
    if (counted && s->pool[pool].sched.aging_us == 0 && (fair || said != more_important(v, r)))
        return false;
    if (says(reason, " has no agents"))
        return v->agent_n == 0;
    if (says(reason, "takes new work: "))
        return open == 0;
    if (says(reason, "none is free in pool") || says(reason, "has as many free") || says(reason, "not enough whole agents") ||
        says(reason, "as many such tasks as they take") || says(reason, "but not free in one place"))
        return !now && (idle || any_sizes);
    if (says(reason, "the largest agent of pool") || says(reason, "; use ") || says(reason, "the agents of pool") ||
        says(reason, "too many slots of pool") || says(reason, "log policies of the experiment") || says(reason, " agents of ") ||
        says(reason, " agent of "))
        return !idle;
    if (says(reason, "by fair share what is free"))
        return now && fair;
    if (says(reason, "of its max_slots"))
        return now && fair && held_by(v, r->job_id) + r->slots > r->max_slots;
    if (says(reason, "is kept for a larger one"))
        return now && v->releasing;
    return counted && others == reason && now; /* only others stand in its way */
}

enum { LOOKED_AT = 3 };

void check_reasons(struct soak *s)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct core_wait_view wait;
    struct view v;
    for (int n = 0; n < LOOKED_AT && s->open_n > 0; n++) {
        const struct stored_experiment *x = s->open[(size_t)(s->events + n) * 7919 % s->open_n];
        int pool = 0;
        while (strcmp(s->pool[pool].name, x->spec.pool) != 0)
            pool++;
        look(s, pool, &arena, &v);
        const struct plain_request *r = first_waiting(&v, x->row.job_id);
        bool waits = core_wait(s->core, x->row.id, s->now_us, &arena, &wait);
        CHECK(s, waits == (r != NULL), "job %s %s", x->row.job_id, waits ? "waits for nothing" : "waits, and does not know for what");
        if (r == NULL)
            continue;
        s->reason_checks++;
        bool ok = strchr(wait.reason, '\n') == NULL && is_true(s, pool, &v, r, wait.reason, &arena);
        if (!ok)
            print(&v, &s->pool[pool]);
        CHECK(s, ok, "%s of pool %s is said to wait, for it \"%s\"", r->allocation_id, s->pool[pool].name, wait.reason);
        CHECK(s, wait.estimated_start_us == 0 || wait.estimated_start_us > s->now_us, "%s is to start in the past", r->allocation_id);
    }
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

void kill_what_has_no_place(struct soak *s)
{
    for (int i = 0; i < s->pool_n; i++) {
        cleanup_arena struct arena arena = ARENA_INIT;
        struct view v;
        look(s, i, &arena, &v);
        for (size_t k = 0; k < v.agent_n; k++) {
            v.agent[k].empty_slots = v.agent[k].slots;
            v.agent[k].empty_aux = v.agent[k].aux;
        }
        struct plain_snapshot snapshot = {.opts = s->pool[i].sched, .agent = v.agent, .agent_n = v.agent_n};
        for (size_t k = 0; k < v.request_n; k++) {
            const struct plain_request *r = &v.request[k];
            struct plain_share *share;
            if (plain_fit(&snapshot, v.agent, r, &arena, &share) > 0 && (r->max_slots < 0 || r->slots <= r->max_slots))
                continue;
            const struct stored_allocation *a = store_allocation(s, r->allocation_id);
            if (a != NULL && a->trial != NULL)
                soak_step(s, &(struct core_event){.type = CORE_EXPERIMENT_KILL, .experiment_id = a->trial->experiment->row.id});
        }
    }
}
