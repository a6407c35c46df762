/* What runs in a simulated world: an allocation's tasks start, work as long as the trace says, report, and make way when asked to. */
#include "cli/simulate/world_internal.h"
#include "common/base/must.h"

#include <stdlib.h>
#include <string.h>

static struct run *run_find(const struct world *w, const char *id)
{
    struct run *r = NULL;
    HASH_FIND_STR(w->runs, id, r);
    return r;
}

static struct progress *progress_of(struct world *w, int trial_id)
{
    struct progress *p = NULL;
    HASH_FIND_INT(w->progress, &trial_id, p);
    if (p != NULL)
        return p;
    p = must_calloc(1, sizeof *p);
    p->id = trial_id;
    HASH_ADD_INT(w->progress, id, p);
    return p;
}

static void add_thing(struct world *w, enum thing_kind kind, const char *id)
{
    if (w->thing_n == w->thing_cap) {
        w->thing_cap = w->thing_cap ? 2 * w->thing_cap : 64;
        w->thing = must_realloc(w->thing, w->thing_cap * sizeof *w->thing);
    }
    struct thing *t = &w->thing[w->thing_n++];
    t->kind = kind;
    snprintf(t->id, sizeof t->id, "%s", id);
}

static bool is_searched(const struct run *r)
{
    return strcmp(r->wanted->searcher, "adaptive_asha") == 0;
}

static int64_t step_us(const struct run *r)
{
    int64_t us = is_searched(r) ? r->wanted->duration_us / SIM_STEPS : r->wanted->duration_us;
    return us > 0 ? us : 1;
}

void world_start_task(struct world *w, const struct core_start *e)
{
    size_t index = w->job_of[e->experiment_id];
    struct run *r = run_find(w, e->allocation_id);
    if (r == NULL) {
        r = must_calloc(1, sizeof *r);
        snprintf(r->id, sizeof r->id, "%s", e->allocation_id);
        r->world = w;
        r->job = &w->job[index];
        r->wanted = &w->trace->job[index];
        r->trial_id = e->trial_id;
        r->slots = e->slots;
        HASH_ADD_STR(w->runs, id, r);
        w->share[r->job->pool].used += r->slots;
        add_thing(w, THING_RUNNING, r->id);
    }
    struct task *k = must_calloc(1, sizeof *k);
    snprintf(k->id, sizeof k->id, "%s", e->container_id);
    snprintf(k->agent_id, sizeof k->agent_id, "%s", e->agent_id);
    k->run = r;
    k->next = r->tasks;
    r->tasks = k;
    HASH_ADD_STR(w->tasks, id, k);
    if (!r->job->started)
        r->job->wait_us = w->now_us - SIM_START_US - r->wanted->submit_us;
    r->job->started = true;
}

static void report(struct world *w, const struct task *k, enum container_state state, int code)
{
    struct core_event ev = {.type = CORE_CONTAINER_CHANGED,
                            .container = {.agent_id = k->agent_id,
                                          .report = {.container_id = k->id, .state = state, .address = "",
                                                     .exit_kind = code == 0 ? EXIT_OK : EXIT_FAILED, .exit_code = code}}};
    world_step(w, &ev);
}

static void begin(struct world *w, struct run *r)
{
    int64_t done_us = progress_of(w, r->trial_id)->done_us % step_us(r);
    r->since_us = w->now_us;
    timer_set(&w->timers, &r->timer, TIMER_POOL_PASS, w->now_us + step_us(r) - done_us);
    for (struct task *k = r->tasks; k != NULL; k = k->next)
        report(w, k, CONTAINER_RUNNING, 0);
}

/* All its tasks exit, with what was done kept. */
static void finish(struct world *w, struct run *r, int code)
{
    timer_clear(&w->timers, &r->timer);
    HASH_DEL(w->runs, r);
    w->share[r->job->pool].used -= r->slots;
    w->end_us = w->now_us;
    r->job->end_us = w->now_us;
    for (struct task *k = r->tasks, *next; k != NULL; k = next) {
        next = k->next;
        HASH_DEL(w->tasks, k);
        report(w, k, CONTAINER_TERMINATED, code);
        free(k);
    }
    free(r);
}

static void preempt(struct world *w, struct run *r)
{
    struct progress *p = progress_of(w, r->trial_id);
    struct core_event saved = {.type = CORE_TRIAL_CHECKPOINTED,
                               .checkpoint = {.trial_id = r->trial_id, .uuid = "checkpoint", .steps_completed = p->steps + 1}};
    struct core_event acked = {.type = CORE_PREEMPTION_ACKED, .allocation = {.allocation_id = r->id}};
    struct core_trial_view trial;
    if (core_preemption(w->core, r->id) != CORE_ANSWER_YES)
        return;
    bool goes_on = core_trial(w->core, r->trial_id, &trial) && trial.row->state == RUN_ACTIVE;
    r->job->preemptions += goes_on;
    p->done_us += w->now_us - r->since_us;
    world_step(w, &saved);
    world_step(w, &acked);
    finish(w, r, 0);
}

/* The same for the same trial, whatever the schedule: better ones get better with time. */
static double loss_of(const struct run *r, int steps)
{
    uint32_t x = (uint32_t)r->trial_id * UINT32_C(2654435761);
    return (double)(x >> 8) / (1 << 24) + 1.0 / (steps + 1);
}

static void validate(struct world *w, struct run *r, const struct progress *p)
{
    char metrics[96];
    snprintf(metrics, sizeof metrics, "{\"loss\": %.9g, \"batches\": %d}", loss_of(r, p->steps), p->steps);
    world_step(w, &(struct core_event){.type = CORE_TRIAL_VALIDATED, .validated = {.trial_id = r->trial_id, .metrics = metrics}});
}

static void work_done(struct world *w, struct run *r)
{
    struct progress *p = progress_of(w, r->trial_id);
    p->steps++;
    p->done_us += w->now_us - r->since_us;
    r->since_us = w->now_us;
    if (!is_searched(r)) {
        finish(w, r, 0);
        return;
    }
    validate(w, r, p);
    if (p->steps >= SIM_STEPS)
        finish(w, r, 0);
    else
        timer_set(&w->timers, &r->timer, TIMER_POOL_PASS, w->now_us + step_us(r));
}

/* The core asks for it. */
void world_must_stop(struct world *w, const struct core_effect *e)
{
    const struct task *k = NULL;
    if (e->type == CORE_WAKE && e->wake.what == CORE_WAKE_PREEMPTION)
        add_thing(w, THING_PREEMPT, e->wake.allocation_id);
    if (e->type != CORE_SIGNAL_CONTAINER)
        return;
    HASH_FIND_STR(w->tasks, e->signal.container_id, k);
    if (k != NULL)
        add_thing(w, THING_KILLED, k->run->id);
}

/* Things may lead to more things. */
void world_say_things(struct world *w)
{
    for (size_t i = 0; i < w->thing_n; i++) {
        struct thing t = w->thing[i];
        struct run *r = run_find(w, t.id);
        if (r == NULL)
            continue;
        if (t.kind == THING_RUNNING)
            begin(w, r);
        else if (t.kind == THING_PREEMPT)
            preempt(w, r);
        else
            finish(w, r, 137);
    }
    w->thing_n = 0;
}

void world_run_tasks(struct world *w)
{
    struct timer *t;
    while ((t = timers_take_due(&w->timers, w->now_us)) != NULL) {
        work_done(w, (struct run *)((char *)t - offsetof(struct run, timer)));
        world_say_things(w);
    }
}

void world_release_tasks(struct world *w)
{
    struct run *r, *next_r;
    struct task *k, *next_k;
    struct progress *p, *next_p;
    HASH_ITER(hh, w->runs, r, next_r) {
        HASH_DEL(w->runs, r);
        free(r);
    }
    HASH_ITER(hh, w->tasks, k, next_k) {
        HASH_DEL(w->tasks, k);
        free(k);
    }
    HASH_ITER(hh, w->progress, p, next_p) {
        HASH_DEL(w->progress, p);
        free(p);
    }
    timers_release(&w->timers);
    free(w->thing);
}
