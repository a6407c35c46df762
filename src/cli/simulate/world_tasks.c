/* What runs in a simulated world: an allocation's tasks start, work as long as the trace says, report validations,
 * and stop when they are asked to. */
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
    if (p)
        return p;
    p = must_calloc(1, sizeof(*p));
    p->id = trial_id;
    HASH_ADD_INT(w->progress, id, p);
    return p;
}

static void add_consequence(struct world *w, enum consequence_kind kind, const char *id)
{
    if (w->consequence_n == w->consequence_cap) {
        w->consequence_cap = w->consequence_cap ? 2 * w->consequence_cap : 64;
        w->consequence = must_realloc(w->consequence, w->consequence_cap * sizeof(*w->consequence));
    }
    struct consequence *t = &w->consequence[w->consequence_n++];
    t->kind = kind;
    snprintf(t->id, sizeof(t->id), "%s", id);
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
    if (!r) {
        r = must_calloc(1, sizeof(*r));
        snprintf(r->id, sizeof(r->id), "%s", e->allocation_id);
        r->world = w;
        r->job = &w->job[index];
        r->wanted = &w->trace->job[index];
        r->trial_id = e->trial_id;
        r->slots = e->slots;
        HASH_ADD_STR(w->runs, id, r);
        w->share[r->job->pool].used += r->slots;
        add_consequence(w, AFTER_RUNNING, r->id);
    }
    struct task *k = must_calloc(1, sizeof(*k));
    snprintf(k->id, sizeof(k->id), "%s", e->container_id);
    snprintf(k->agent_id, sizeof(k->agent_id), "%s", e->agent_id);
    k->run = r;
    k->next = r->tasks;
    r->tasks = k;
    HASH_ADD_STR(w->tasks, id, k);
    if (!r->job->started)
        r->job->wait_us = w->now_us - SIM_START_US - r->wanted->submit_us;
    r->job->started = true;
}

static void report_container(struct world *w, const struct task *k, enum container_state state, int code)
{
    struct core_event ev = {.type = CORE_CONTAINER_CHANGED,
                            .container = {.agent_id = k->agent_id,
                                          .report = {.container_id = k->id,
                                                     .state = state,
                                                     .address = "",
                                                     .exit_kind = code == 0 ? EXIT_OK : EXIT_FAILED,
                                                     .exit_code = code}}};
    world_step(w, &ev);
}

static void begin_run(struct world *w, struct run *r)
{
    int64_t done_us = progress_of(w, r->trial_id)->done_us % step_us(r);
    r->since_us = w->now_us;
    timer_set(&w->timers, &r->timer, TIMER_POOL_PASS, w->now_us + step_us(r) - done_us);
    for (struct task *k = r->tasks; k; k = k->next)
        report_container(w, k, CONTAINER_RUNNING, 0);
}

/* Ends the run: all its tasks exit; the progress is kept. */
static void finish_run(struct world *w, struct run *r, int code)
{
    timer_clear(&w->timers, &r->timer);
    HASH_DEL(w->runs, r);
    w->share[r->job->pool].used -= r->slots;
    w->end_us = w->now_us;
    r->job->end_us = w->now_us;
    for (struct task *k = r->tasks, *next; k; k = next) {
        next = k->next;
        HASH_DEL(w->tasks, k);
        report_container(w, k, CONTAINER_TERMINATED, code);
        free(k);
    }
    free(r);
}

static void preempt_run(struct world *w, struct run *r)
{
    struct progress *p = progress_of(w, r->trial_id);
    struct core_event saved = {.type = CORE_TRIAL_CHECKPOINTED,
                               .checkpoint = {.trial_id = r->trial_id,
                                              .uuid = "checkpoint",
                                              .steps_completed = p->steps + 1}};
    struct core_event acked = {.type = CORE_PREEMPTION_ACKED, .allocation = {.allocation_id = r->id}};
    struct core_trial_view trial;
    if (core_preemption(w->core, r->id) != CORE_ANSWER_YES)
        return;
    bool goes_on = core_trial(w->core, r->trial_id, &trial) && trial.row->state == RUN_ACTIVE;
    r->job->preemptions += goes_on;
    p->done_us += w->now_us - r->since_us;
    world_step(w, &saved);
    world_step(w, &acked);
    finish_run(w, r, 0);
}

/* The loss after so many steps. It depends on the trial alone, not on the schedule, and gets smaller with each step. */
static double loss_of(const struct run *r, int steps)
{
    uint32_t x = (uint32_t)r->trial_id * UINT32_C(2654435761);
    return (double)(x >> 8) / (1 << 24) + 1.0 / (steps + 1);
}

static void validate_run(struct world *w, struct run *r, const struct progress *p)
{
    char metrics[96];
    snprintf(metrics, sizeof(metrics), "{\"loss\": %.9g, \"batches\": %d}", loss_of(r, p->steps), p->steps);
    world_step(w, &(struct core_event){.type = CORE_TRIAL_VALIDATED,
                                       .validated = {.trial_id = r->trial_id, .metrics = metrics}});
}

static void work_done(struct world *w, struct run *r)
{
    struct progress *p = progress_of(w, r->trial_id);
    p->steps++;
    p->done_us += w->now_us - r->since_us;
    r->since_us = w->now_us;
    if (!is_searched(r)) {
        finish_run(w, r, 0);
        return;
    }
    validate_run(w, r, p);
    if (p->steps >= SIM_STEPS)
        finish_run(w, r, 0);
    else
        timer_set(&w->timers, &r->timer, TIMER_POOL_PASS, w->now_us + step_us(r));
}

/* The core asks a run to stop. */
void world_must_stop(struct world *w, const struct core_effect *e)
{
    const struct task *k = NULL;
    if (e->type == CORE_WAKE && e->wake.what == CORE_WAKE_PREEMPTION)
        add_consequence(w, AFTER_PREEMPT, e->wake.allocation_id);
    if (e->type != CORE_SIGNAL_CONTAINER)
        return;
    HASH_FIND_STR(w->tasks, e->signal.container_id, k);
    if (k)
        add_consequence(w, AFTER_KILLED, k->run->id);
}

/* A consequence may add further consequences. */
void world_report_consequences(struct world *w)
{
    for (size_t i = 0; i < w->consequence_n; i++) {
        struct consequence t = w->consequence[i];
        struct run *r = run_find(w, t.id);
        if (!r)
            continue;
        if (t.kind == AFTER_RUNNING)
            begin_run(w, r);
        else if (t.kind == AFTER_PREEMPT)
            preempt_run(w, r);
        else
            finish_run(w, r, 137);
    }
    w->consequence_n = 0;
}

void world_run_tasks(struct world *w)
{
    struct timer *t;
    while ((t = timers_take_due(&w->timers, w->now_us))) {
        work_done(w, (struct run *)((char *)t - offsetof(struct run, timer)));
        world_report_consequences(w);
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
    free(w->consequence);
}
