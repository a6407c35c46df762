#include "cli/simulate/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/number.h"
#include "core/timers.h"

#define START_US INT64_C(1767225600000000)
enum { STEPS = 16 /* validations of a trial that is searched */, FAIRNESS_LOOKS = 500 };

struct task {
    char id[CORE_UUID_MAX], agent_id[32];
    struct run *run;
    struct task *next; /* of the same run */
    bool running;
    UT_hash_handle hh;
};

/* One allocation. */
struct run {
    struct timer timer;
    char id[CORE_ALLOCATION_ID_MAX];
    struct world *world;
    struct sim_job_result *job;
    const struct sim_job *wanted;
    struct task *tasks;
    int trial_id, slots;
    int64_t since_us;
    UT_hash_handle hh;
};

struct progress { /* of a trial */
    int id, steps;
    int64_t done_us;
    UT_hash_handle hh;
};

enum thing_kind { THING_RUNNING, THING_PREEMPT, THING_KILLED };
struct thing { /* that follows from a step, and is to be said after it */
    enum thing_kind kind;
    char id[CORE_ALLOCATION_ID_MAX];
};

struct share { /* of a pool */
    double used_us, fair_sum, fair_us; /* slots × µs; index × µs */
    int slots, used;
    int64_t fair_seen_us;
};

struct world {
    const struct sim_cluster *cluster;
    const struct sim_trace *trace;
    struct core *core;
    int64_t now_us, seen_us, end_us, timer_us, look_every_us;
    struct timers timers;
    struct run *runs;
    struct task *tasks;
    struct progress *progress;
    struct sim_job_result *job; /* as in the trace */
    size_t *job_of;             /* by experiment id */
    size_t experiment_n, next_job;
    struct thing *thing;
    size_t thing_n, thing_cap;
    struct share *share;
};

static void *must(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

static void step(struct world *w, const struct core_event *ev);

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

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
    p = must(calloc(1, sizeof *p));
    p->id = trial_id;
    HASH_ADD_INT(w->progress, id, p);
    return p;
}

static void add_thing(struct world *w, enum thing_kind kind, const char *id)
{
    if (w->thing_n == w->thing_cap) {
        w->thing_cap = w->thing_cap ? 2 * w->thing_cap : 64;
        w->thing = must(realloc(w->thing, w->thing_cap * sizeof *w->thing));
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
    int64_t us = is_searched(r) ? r->wanted->duration_us / STEPS : r->wanted->duration_us;
    return us > 0 ? us : 1;
}

static void start(struct world *w, const struct core_start *e)
{
    size_t index = w->job_of[e->experiment_id];
    struct run *r = run_find(w, e->allocation_id);
    if (r == NULL) {
        r = must(calloc(1, sizeof *r));
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
    struct task *k = must(calloc(1, sizeof *k));
    snprintf(k->id, sizeof k->id, "%s", e->container_id);
    snprintf(k->agent_id, sizeof k->agent_id, "%s", e->agent_id);
    k->run = r;
    k->next = r->tasks;
    r->tasks = k;
    HASH_ADD_STR(w->tasks, id, k);
    if (!r->job->started)
        r->job->wait_us = w->now_us - START_US - r->wanted->submit_us;
    r->job->started = true;
}

static void report(struct world *w, const struct task *k, enum container_state state, int code)
{
    struct core_event ev = {.type = CORE_CONTAINER_CHANGED,
                            .container = {.agent_id = k->agent_id,
                                          .report = {.container_id = k->id, .state = state, .address = "",
                                                     .exit_kind = code == 0 ? EXIT_OK : EXIT_FAILED, .exit_code = code}}};
    step(w, &ev);
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
    step(w, &saved);
    step(w, &acked);
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
    step(w, &(struct core_event){.type = CORE_TRIAL_VALIDATED, .validated = {.trial_id = r->trial_id, .metrics = metrics}});
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
    if (p->steps >= STEPS)
        finish(w, r, 0);
    else
        timer_set(&w->timers, &r->timer, TIMER_POOL_PASS, w->now_us + step_us(r));
}

/* ---- the core ---------------------------------------------------------------------------------------------------- */

static void carry_out(struct world *w, const struct core_effect *e)
{
    const struct task *k = NULL;
    switch (e->type) {
    case CORE_START_CONTAINER:
        start(w, &e->start);
        return;
    case CORE_WAKE:
        if (e->wake.what == CORE_WAKE_PREEMPTION)
            add_thing(w, THING_PREEMPT, e->wake.allocation_id);
        return;
    case CORE_SIGNAL_CONTAINER:
        HASH_FIND_STR(w->tasks, e->signal.container_id, k);
        if (k != NULL)
            add_thing(w, THING_KILLED, k->run->id);
        return;
    case CORE_EXPERIMENT_ENDED:
        w->job[w->job_of[e->experiment_id]].ended = true;
        return;
    default:
        return;
    }
}

static void step(struct world *w, const struct core_event *ev)
{
    cleanup_effects struct core_effects effects = CORE_EFFECTS_INIT;
    struct core_event event = *ev;
    event.now_us = w->now_us;
    core_step(w->core, &event, &effects, NULL);
    w->timer_us = effects.next_timer_us;
    for (size_t i = 0; i < effects.n; i++)
        carry_out(w, &effects.item[i]);
}

/* Things may lead to more things. */
static void say_things(struct world *w)
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

static void connect_agents(struct world *w)
{
    struct core_device device[CORE_DEVICES_MAX];
    int n = 0;
    for (int i = 0; i < CORE_DEVICES_MAX; i++)
        device[i] = (struct core_device){.id = i, .type = 2, .brand = "", .uuid = ""};
    for (size_t p = 0; p < w->cluster->pool_n; p++)
        for (const struct sim_agents *group = w->cluster->agents[p]; group->count > 0; group++)
            for (int i = 0; i < group->count; i++) {
                char id[32];
                snprintf(id, sizeof id, "agent-%d", n++);
                step(w, &(struct core_event){.type = CORE_AGENT_CONNECTED,
                                             .agent = {.agent_id = id, .pool = w->cluster->pool[p].name, .version = "",
                                                       .hostname = id, .device = device, .device_n = (size_t)group->slots}});
                w->share[p].slots += group->slots;
            }
}

static const char *searcher_text(const struct sim_job *j, char buf[256])
{
    if (strcmp(j->searcher, "random") == 0)
        snprintf(buf, 256, "{\"name\": \"random\", \"max_trials\": %d, \"max_concurrent_trials\": %d}", j->trials, j->concurrent);
    else if (strcmp(j->searcher, "adaptive_asha") == 0)
        snprintf(buf, 256, "{\"name\": \"adaptive_asha\", \"metric\": \"loss\", \"max_trials\": %d, \"max_time\": %d, "
                 "\"time_metric\": \"batches\", \"max_concurrent_trials\": %d}", j->trials, STEPS, j->concurrent);
    else
        snprintf(buf, 256, "{\"name\": \"single\"}");
    return buf;
}

static int submit(struct world *w, const struct sim_job *j, size_t index, struct error *err)
{
    cleanup_effects struct core_effects effects = CORE_EFFECTS_INIT;
    char searcher[256];
    struct core_experiment_spec spec = {
        .owner_id = 1, .pool = w->cluster->pool[w->job[index].pool].name, .slots_per_trial = j->slots, .priority = j->priority,
        .weight = j->weight, .max_slots = j->max_slots, .preemption_timeout_s = 3600, .seed = (uint32_t)index,
        .searcher = searcher_text(j, searcher), .hyperparameters = "{}"};
    struct core_event ev = {.type = CORE_EXPERIMENT_CREATE, .now_us = w->now_us, .create = {.spec = &spec, .activate = true}};
    w->job_of[++w->experiment_n] = index;
    if (core_step(w->core, &ev, &effects, err) < 0)
        return error_wrap(err, "row %zu", j->row);
    w->timer_us = effects.next_timer_us;
    for (size_t i = 0; i < effects.n; i++)
        carry_out(w, &effects.item[i]);
    return 0;
}

/* ---- fairness ---------------------------------------------------------------------------------------------------- */

struct claim { double weight, demand, held, fair; };

static int by_need(const void *pa, const void *pb)
{
    const struct claim *a = pa, *b = pb;
    double x = a->demand / a->weight, y = b->demand / b->weight;
    return x < y ? -1 : x > y;
}

/* Jain's index of what each job has of its weighted max-min share; -1: there is room for all. */
static double jain(struct claim *claim, size_t n, double capacity)
{
    double weight = 0, wanted = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        weight += claim[i].weight;
        wanted += claim[i].demand;
    }
    if (n < 2 || wanted <= capacity)
        return -1;
    qsort(claim, n, sizeof *claim, by_need);
    for (size_t i = 0; i < n; i++) {
        double share = capacity * claim[i].weight / weight;
        double fair = share < claim[i].demand ? share : claim[i].demand;
        capacity -= fair;
        weight -= claim[i].weight;
        double x = fair > 0 ? claim[i].held / fair : 0;
        sum += x;
        squares += x * x;
    }
    return squares > 0 ? sum * sum / ((double)n * squares) : -1;
}

static void look_at_fairness(struct world *w, size_t pool)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct share *s = &w->share[pool];
    struct core_job_view *job;
    double passed_us = (double)(w->now_us - s->fair_seen_us);
    if (w->now_us - s->fair_seen_us < w->look_every_us)
        return;
    s->fair_seen_us = w->now_us;
    size_t n = core_queue(w->core, w->cluster->pool[pool].name, &a, &job), claims = 0;
    struct claim *claim = arena_array(&a, struct claim, n + 1);
    for (size_t i = 0; i < n; i++)
        if (job[i].requested_slots > 0)
            claim[claims++] = (struct claim){.weight = job[i].weight, .demand = job[i].requested_slots, .held = job[i].allocated_slots};
    double index = jain(claim, claims, s->slots);
    if (index < 0)
        return;
    s->fair_sum += index * passed_us;
    s->fair_us += passed_us;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static void sooner(int64_t *next, int64_t candidate)
{
    if (candidate != 0 && (*next == 0 || candidate < *next))
        *next = candidate;
}

static void pass_time(struct world *w, int64_t to_us)
{
    for (size_t i = 0; i < w->cluster->pool_n; i++)
        w->share[i].used_us += (double)w->share[i].used * (double)(to_us - w->now_us);
    w->now_us = to_us;
}

static int run_due(struct world *w, struct error *err)
{
    struct timer *t;
    for (; w->next_job < w->trace->n && START_US + w->trace->job[w->next_job].submit_us <= w->now_us; w->next_job++)
        if (submit(w, &w->trace->job[w->next_job], w->next_job, err) < 0)
            return -1;
    say_things(w);
    while ((t = timers_take_due(&w->timers, w->now_us)) != NULL) {
        work_done(w, (struct run *)((char *)t - offsetof(struct run, timer)));
        say_things(w);
    }
    if (w->timer_us != 0 && w->timer_us <= w->now_us) {
        step(w, &(struct core_event){.type = CORE_TIMER});
        say_things(w);
    }
    for (size_t i = 0; i < w->cluster->pool_n; i++)
        look_at_fairness(w, i);
    return 0;
}

static int run_all(struct world *w, struct error *err)
{
    for (;;) {
        int64_t next = timers_next_us(&w->timers);
        sooner(&next, w->timer_us);
        if (w->next_job < w->trace->n)
            sooner(&next, START_US + w->trace->job[w->next_job].submit_us);
        if (next == 0)
            return 0;
        pass_time(w, next > w->now_us ? next : w->now_us);
        if (run_due(w, err) < 0)
            return -1;
    }
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static int by_size(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;
    return a < b ? -1 : a > b;
}

/* The smallest wait that so large a part of the jobs does not exceed. */
static double percentile(const double *sorted, size_t n, double part)
{
    size_t i = n > 0 ? (size_t)ceil(part * (double)n) : 0;
    return n == 0 ? 0 : sorted[i > 0 ? i - 1 : 0];
}

/* pool -1: all. */
static void sum_up(const struct world *w, int pool, struct arena *a, struct sim_result *ret)
{
    double *wait = arena_array(a, double, w->trace->n + 1), sum = 0, used_us = 0, fair_sum = 0, fair_us = 0;
    int64_t first_us = START_US + w->trace->job[0].submit_us;
    double span_us = (double)(w->end_us > first_us ? w->end_us - first_us : 0);
    size_t n = 0;
    *ret = (struct sim_result){.pool = pool < 0 ? "" : w->cluster->pool[pool].name, .makespan_s = span_us / 1e6};
    for (size_t i = 0; i < w->trace->n; i++) {
        const struct sim_job_result *j = &w->job[i];
        if (pool >= 0 && j->pool != pool)
            continue;
        ret->jobs++;
        ret->unstarted += !j->started;
        ret->preemptions += (size_t)j->preemptions;
        if (j->started)
            sum += wait[n++] = (double)j->wait_us / 1e6;
    }
    for (size_t i = 0; i < w->cluster->pool_n; i++) {
        if (pool >= 0 && (int)i != pool)
            continue;
        ret->slots += w->share[i].slots;
        used_us += w->share[i].used_us;
        fair_sum += w->share[i].fair_sum;
        fair_us += w->share[i].fair_us;
    }
    qsort(wait, n, sizeof *wait, by_size);
    ret->wait_mean_s = n > 0 ? sum / (double)n : 0;
    ret->wait_p50_s = percentile(wait, n, 0.5);
    ret->wait_p99_s = percentile(wait, n, 0.99);
    ret->utilization = ret->slots > 0 && span_us > 0 ? used_us / (ret->slots * span_us) : 0;
    ret->fairness = fair_us > 0 ? fair_sum / fair_us : -1;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int find_pools(struct world *w, struct error *err)
{
    for (size_t i = 0; i < w->trace->n; i++) {
        const char *name = w->trace->job[i].pool;
        size_t p = 0;
        while (p < w->cluster->pool_n && name[0] != '\0' && strcmp(w->cluster->pool[p].name, name) != 0)
            p++;
        if (p == w->cluster->pool_n)
            return error_set(err, ERR_INVALID, "row %zu, column pool: %s has no pool \"%s\"", w->trace->job[i].row, w->cluster->file, name);
        w->job[i].pool = (int)p;
    }
    return 0;
}

static void release(struct world *w)
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
    core_free(w->core);
}

int sim_world_run(const struct sim_cluster *cluster, const struct sim_trace *trace, struct arena *a, struct sim_result **ret,
                  struct error *err)
{
    struct core_opts opts = {.pool = cluster->pool, .pool_n = cluster->pool_n,
                             .agent_reconnect_wait_us = CORE_AGENT_RECONNECT_WAIT_US,
                             .restore_wait_us = CORE_RESTORE_WAIT_US, .seed = 1};
    struct world w = {.cluster = cluster, .trace = trace, .now_us = START_US,
                      .job = arena_array(a, struct sim_job_result, trace->n + 1),
                      .job_of = arena_array(a, size_t, trace->n + 2), .share = arena_array(a, struct share, cluster->pool_n)};
    const struct sim_job *last = &trace->job[trace->n - 1];
    w.look_every_us = 1 + (last->submit_us + last->duration_us) / FAIRNESS_LOOKS;
    for (size_t i = 0; i < cluster->pool_n; i++)
        w.share[i].fair_seen_us = START_US;
    if (find_pools(&w, err) < 0)
        return -1;
    w.core = core_new(&opts);
    connect_agents(&w);
    int rv = run_all(&w, err);
    *ret = arena_array(a, struct sim_result, cluster->pool_n + 1);
    for (size_t i = 0; rv == 0 && i <= cluster->pool_n; i++)
        sum_up(&w, i < cluster->pool_n ? (int)i : -1, a, &(*ret)[i]);
    release(&w);
    return rv;
}
