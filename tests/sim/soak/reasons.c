/* Whether what people are told of jobs that wait is so: why, and when they may start. */
#include "view.h"

#include <stdlib.h>
#include <string.h>

static const struct plain_request *first_waiting(const struct view *v, const char *job_id)
{
    const struct plain_request *first = NULL;
    for (size_t i = 0; i < v->request_n; i++) {
        const struct plain_request *r = &v->request[i];
        if (r->state != SCHED_PENDING || strcmp(r->job_id, job_id) != 0)
            continue;
        if (!first || r->request_us < first->request_us ||
            (r->request_us == first->request_us && strcmp(r->allocation_id, first->allocation_id) < 0))
            first = r;
    }
    return first;
}

static bool request_fits(const struct soak *s, int pool, const struct view *v, const struct plain_request *r, bool idle,
                         struct arena *arena)
{
    struct plain_agent *agent = arena_dup(arena, v->agent, (v->agent_n + 1) * sizeof(*agent));
    struct plain_snapshot snapshot = {.opts = s->pool[pool].sched, .agent = agent, .agent_n = v->agent_n};
    struct plain_share *share;
    for (size_t i = 0; i < v->agent_n && idle; i++) {
        agent[i].empty_slots = agent[i].slots;
        agent[i].empty_aux = agent[i].aux;
        agent[i].left = agent[i].has;
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

static bool reason_says(const char *reason, const char *words)
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

/* Returns whether a sentence of core/queue/reasons.c is true, by the facts that make it true. */
static bool is_true(const struct soak *s, int pool, const struct view *v, const struct plain_request *r,
                    const char *reason, struct arena *arena)
{
    bool now = request_fits(s, pool, v, r, false, arena), idle = request_fits(s, pool, v, r, true, arena);
    bool fair = s->pool[pool].sched.policy == SCHED_BY_FAIR_SHARE,
         any_sizes = s->pool[pool].sched.allow_heterogeneous_fits;
    size_t open = 0, said;
    const char *others = strstr(reason, "waits for ");
    bool counted = others && sscanf(others, "waits for %zu", &said) == 1;
    for (size_t i = 0; i < v->agent_n; i++)
        open += v->agent[i].open;
    if (counted && s->pool[pool].sched.aging_us == 0 && (fair || said != more_important(v, r)))
        return false;
    if (strncmp(reason, "pool ", 5) == 0 &&
        (reason_says(reason, " launches agents for what waits") || reason_says(reason, " could not launch agents")))
        return pool == s->provider.pool && !idle;
    if (reason_says(reason, " has no agents"))
        return v->agent_n == 0;
    if (reason_says(reason, "takes new work: "))
        return open == 0;
    if (reason_says(reason, "none is free in pool") || reason_says(reason, "has as many free") ||
        reason_says(reason, "not enough whole agents") || reason_says(reason, "as many such tasks as they take") ||
        reason_says(reason, "but not free in one place") || reason_says(reason, "has as much left"))
        return !now && (idle || any_sizes);
    if (reason_says(reason, "the largest agent of pool") || reason_says(reason, "; use ") ||
        reason_says(reason, "the agents of pool") || reason_says(reason, "too many slots of pool") ||
        reason_says(reason, "log policies of the experiment") || reason_says(reason, " agents of ") ||
        reason_says(reason, " agent of "))
        return !idle;
    if (reason_says(reason, "by fair share what is free"))
        return now && fair;
    if (reason_says(reason, "of its max_slots"))
        return now && fair && held_by(v, r->job_id) + r->slots > r->max_slots;
    if (reason_says(reason, "is kept for a larger one"))
        return now && v->releasing;
    return counted && others == reason && now; /* nothing but other requests keeps this one waiting */
}

/* ---- when it may start ------------------------------------------------------------------------------------------- */

/* Keeps the run time of an allocation, found from its row as the master's store does. */
void run_times_keep(struct soak *s, const struct allocation_row *row)
{
    if (row->exit_kind != EXIT_OK || row->preempt_acked || row->slots == 0 || row->start_us == 0 ||
        row->end_us <= row->start_us)
        return;
    int pool = 0;
    while (strcmp(s->pool[pool].name, row->pool) != 0)
        pool++;
    struct run_times *t = &s->run_times[pool];
    if (t->n == t->cap) {
        t->cap = 2 * t->cap + 64;
        t->us = must(reallocarray(t->us, t->cap, sizeof(*t->us)));
    }
    t->us[t->n++] = row->end_us - row->start_us;
}

/* Returns as many run times of each pool as the master reads. */
void run_times_read(const struct soak *s, struct arena *arena, struct core_rows *ret)
{
    struct core_run_time *all = arena_array(arena, struct core_run_time, POOLS * CORE_RUN_TIMES_MAX);
    for (int i = 0; i < s->pool_n; i++) {
        const struct run_times *t = &s->run_times[i];
        for (size_t k = t->n > CORE_RUN_TIMES_MAX ? t->n - CORE_RUN_TIMES_MAX : 0; k < t->n; k++)
            all[ret->run_time_n++] = (struct core_run_time){.pool = s->pool[i].name, .us = t->us[k]};
    }
    ret->run_time = all;
}

enum { SAMPLES_LEAST = 10 };

static int by_length(const void *pa, const void *pb)
{
    const int64_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

/* Returns 0 if too few allocations have ended. */
static int64_t median_of(const struct run_times *t, struct arena *arena)
{
    size_t n = t->n < CORE_RUN_TIMES_MAX ? t->n : CORE_RUN_TIMES_MAX;
    if (n < SAMPLES_LEAST)
        return 0;
    int64_t *us = arena_dup(arena, t->us + t->n - n, n * sizeof(*us));
    qsort(us, n, sizeof(*us), by_length);
    return us[n / 2];
}

static bool stands_before(const struct plain_request *a, const struct plain_request *b)
{
    if (a->priority != b->priority)
        return a->priority < b->priority;
    if (a->queue_position != b->queue_position)
        return a->queue_position < b->queue_position;
    if (a->submitted_us != b->submitted_us)
        return a->submitted_us < b->submitted_us;
    return strcmp(a->job_id, b->job_id) < 0;
}

/* Computes when the request should start: slots come free evenly, so that all slots of the pool come free once in one
 * median run time, and the requests ahead get theirs first. 0: no estimate can be made, for example because cores or
 * memory are missing. */
static int64_t expected_wait(const struct soak *s, int pool, const struct view *v, const struct plain_request *r,
                             const char *reason, struct arena *arena)
{
    int64_t median = median_of(&s->run_times[pool], arena), all = 0, missing = r->slots;
    bool only_slots = !reason_says(reason, " that no set of agents has") && !reason_says(reason, "has as much left");
    for (size_t i = 0; i < v->agent_n; i++) {
        all += v->agent[i].open ? v->agent[i].slots : 0;
        missing -= v->agent[i].open ? v->agent[i].empty_slots : 0;
    }
    for (size_t i = 0; i < v->request_n; i++)
        if (v->request[i].state == SCHED_PENDING && stands_before(&v->request[i], r))
            missing += v->request[i].slots;
    if (median == 0 || all == 0 || r->slots == 0 || !only_slots || s->pool[pool].sched.policy == SCHED_BY_FAIR_SHARE)
        return 0;
    return (int64_t)((double)median * (double)(missing > r->slots ? missing : r->slots) / (double)all);
}

static bool is_estimate_right(struct soak *s, int pool, const struct view *v, const struct plain_request *r,
                              const struct core_wait_view *wait, struct arena *arena)
{
    bool any_sizes = s->pool[pool].sched.allow_heterogeneous_fits, idle = request_fits(s, pool, v, r, true, arena);
    int64_t said = wait->estimated_start_us == 0 ? 0 : wait->estimated_start_us - s->now_us;
    if (any_sizes && !idle)
        return said >= 0; /* which whole agents add up to the request depends on which of them are idle */
    s->estimates += said != 0;
    return said == (idle ? expected_wait(s, pool, v, r, wait->reason, arena) : 0);
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
        view_look(s, pool, &arena, &v);
        const struct plain_request *r = first_waiting(&v, x->row.job_id);
        bool waits = core_wait(s->core, x->row.id, s->now_us, &arena, &wait);
        CHECK(s, waits == (r != NULL), "job %s %s", x->row.job_id,
              waits ? "waits for nothing" : "waits, and does not know for what");
        if (!r)
            continue;
        s->reason_checks++;
        bool ok = !strchr(wait.reason, '\n') && is_true(s, pool, &v, r, wait.reason, &arena);
        if (!ok)
            view_print(&v, &s->pool[pool]);
        CHECK(s, ok, "%s of pool %s is said to wait, for it \"%s\"", r->allocation_id, s->pool[pool].name, wait.reason);
        CHECK(s, is_estimate_right(s, pool, &v, r, &wait, &arena),
              "%s of pool %s is said to start in %lld us, and should in %lld (\"%s\")", r->allocation_id,
              s->pool[pool].name, (long long)(wait.estimated_start_us - s->now_us),
              (long long)expected_wait(s, pool, &v, r, wait.reason, &arena), wait.reason);
    }
}
