#include "agent/machine/use_watch.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "agent/machine/host_counters.h"
#include "common/base/arena.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"

enum {
    SAMPLES = 5, /* before each report */
    PERIOD_MAX_US = 5000000,
    PERIOD_MIN_US = 50000,
    PROBLEM_MAX = 160, /* bytes, with the final NUL */
};

struct watched {
    TAILQ_ENTRY(watched) next;
    uint64_t serial; /* never used twice: the task may have gone while a sample is under way */
    char *container_id;
    int64_t every_us;
    unsigned below_percent;
    const struct gpu **gpu;
    size_t gpu_n;
    pid_t supervisor; /* 0: it is not known yet */
    bool hidden;      /* … and will not be */
    bool counted;     /* `ticks` is what its processes had used at ticks_us */
    uint64_t ticks;
    int64_t ticks_us;
    int64_t used_us, seen_us; /* the last use, or the beginning of the watch; the last sample that told something */
    bool known;
    char problem[PROBLEM_MAX];
};

/* What a sample finds out about one task. */
struct probe {
    uint64_t serial;
    const struct gpu **gpu;
    size_t gpu_n;
    unsigned busy_percent; /* the greatest of its GPUs */
    char problem[PROBLEM_MAX];
};

/* While a sample is under way, only the worker touches it. */
struct sample {
    struct arena arena;
    int64_t at_us;
    struct probe *probe;
    struct task_counters *task; /* for each probe; supervisor 0: it is not asked for */
    size_t n;
    bool any_task, complete;
};

struct use_watch {
    struct pool *pool;
    struct loop_timer *timer;
    const struct gpu_maker *maker;
    const char *proc;
    use_watch_fn *told;
    void *ctx;
    TAILQ_HEAD(, watched) tasks;
    size_t n;
    uint64_t last_serial;
    int64_t report_us; /* when the next report is due */
    bool busy;
    struct sample sample;
};

/* ---- one sample, on a worker ------------------------------------------------------------------------------------- */

static void sample_gpus(const struct gpu_maker *maker, struct probe *p)
{
    for (size_t i = 0; i < p->gpu_n; i++) {
        cleanup_error struct error err = ERROR_INIT; /* gpu_watch logs GPUs that are lost */
        struct gpu_usage u;
        if (maker->usage(p->gpu[i], &u, &err) < 0)
            snprintf(p->problem, sizeof(p->problem), "GPU %d does not answer", p->gpu[i]->index);
        else if (!u.busy_known)
            snprintf(p->problem, sizeof(p->problem), "GPU %d (%.80s) does not tell how busy it is", p->gpu[i]->index,
                     p->gpu[i]->uuid);
        else if (u.busy_percent > p->busy_percent)
            p->busy_percent = u.busy_percent;
    }
}

static void sample_work(void *worker, void *ctx)
{
    struct use_watch *w = ctx;
    struct sample *s = &w->sample;
    s->at_us = clock_monotonic_us();
    for (size_t i = 0; i < s->n; i++)
        sample_gpus(w->maker, &s->probe[i]);
    s->complete = !s->any_task || host_counters_read_tasks(w->proc, s->task, s->n);
}

/* ---- what follows from it ---------------------------------------------------------------------------------------- */

static void set_unknown(struct watched *t, int64_t at_us, const char *problem)
{
    t->known = t->counted = false;
    t->used_us = t->seen_us = at_us;
    snprintf(t->problem, sizeof(t->problem), "%s", problem);
}

static void set_known(struct watched *t, int64_t at_us, bool used)
{
    t->known = true;
    t->seen_us = at_us;
    t->problem[0] = '\0';
    if (used)
        t->used_us = at_us;
}

static void take_gpus(struct watched *t, const struct probe *p, int64_t at_us)
{
    bool used = p->busy_percent >= t->below_percent;
    if (!used && p->problem[0])
        set_unknown(t, at_us, p->problem);
    else
        set_known(t, at_us, used);
}

/* A counter that has shrunk counts as unchanged: a process may have left the task with what it had used. */
static void take_processes(struct watched *t, const struct task_counters *c, int64_t at_us)
{
    uint64_t growth = c->ticks > t->ticks ? c->ticks - t->ticks : 0;
    double seconds = (double)(at_us - t->ticks_us) / 1e6;
    double percent = seconds > 0 ? 100 * (double)growth / (double)sysconf(_SC_CLK_TCK) / seconds : 0;
    set_known(t, at_us, !t->counted || percent >= t->below_percent);
    t->counted = true;
    t->ticks = c->ticks;
    t->ticks_us = at_us;
}

static void take_probe(struct watched *t, const struct sample *s, size_t i)
{
    char problem[PROBLEM_MAX];
    if (t->gpu_n > 0) {
        take_gpus(t, &s->probe[i], s->at_us);
    } else if (t->hidden) {
        set_unknown(t, s->at_us, "the agent does not see its processes");
    } else if (!s->complete) {
        snprintf(problem, sizeof(problem), "the machine has more than %d processes", PROCESSES_MAX);
        set_unknown(t, s->at_us, problem);
    } else if (!s->task[i].found) {
        set_unknown(t, s->at_us, ""); /* the agent is not connected to it yet, or it has just ended */
    } else {
        take_processes(t, &s->task[i], s->at_us);
    }
}

static struct watched *find_serial(const struct use_watch *w, uint64_t serial)
{
    struct watched *t;
    TAILQ_FOREACH(t, &w->tasks, next)
        if (t->serial == serial)
            return t;
    return NULL;
}

static int64_t shortest_us(const struct use_watch *w)
{
    int64_t least = INT64_MAX;
    const struct watched *t;
    TAILQ_FOREACH(t, &w->tasks, next)
        if (t->every_us < least)
            least = t->every_us;
    return least;
}

static void report(struct use_watch *w)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct use_watch_report *list = arena_array(&a, struct use_watch_report, w->n + 1);
    size_t n = 0;
    const struct watched *t;
    TAILQ_FOREACH(t, &w->tasks, next)
        if (t->known || t->problem[0])
            list[n++] = (struct use_watch_report){t->container_id, t->seen_us - t->used_us, t->problem};
    if (n > 0)
        w->told(w->ctx, list, n);
}

static void arm(struct use_watch *w)
{
    int64_t period_us = shortest_us(w) / SAMPLES;
    if (period_us > PERIOD_MAX_US)
        period_us = PERIOD_MAX_US;
    loop_timer_arm(w->timer, period_us < PERIOD_MIN_US ? PERIOD_MIN_US : period_us);
}

static void release_sample(struct use_watch *w)
{
    arena_release(&w->sample.arena);
    w->sample = (struct sample){0};
    w->busy = false;
}

static void sample_done(void *ctx)
{
    struct use_watch *w = ctx;
    int64_t now_us = w->sample.at_us;
    for (size_t i = 0; i < w->sample.n; i++) {
        struct watched *t = find_serial(w, w->sample.probe[i].serial);
        if (t)
            take_probe(t, &w->sample, i);
    }
    release_sample(w);
    if (TAILQ_EMPTY(&w->tasks))
        return;
    if (now_us >= w->report_us) {
        report(w);
        w->report_us = now_us + shortest_us(w);
    }
    arm(w);
}

static void prepare_sample(struct use_watch *w)
{
    struct sample *s = &w->sample;
    const struct watched *t;
    s->probe = arena_array(&s->arena, struct probe, w->n + 1);
    s->task = arena_array(&s->arena, struct task_counters, w->n + 1);
    TAILQ_FOREACH(t, &w->tasks, next) {
        const struct gpu **gpu = arena_dup(&s->arena, t->gpu, t->gpu_n * sizeof(struct gpu *));
        s->task[s->n].supervisor = t->gpu_n > 0 ? 0 : t->supervisor;
        s->any_task |= s->task[s->n].supervisor > 0;
        s->probe[s->n++] = (struct probe){.serial = t->serial, .gpu = gpu, .gpu_n = t->gpu_n};
    }
}

static void on_timer(void *ctx)
{
    struct use_watch *w = ctx;
    if (w->busy || TAILQ_EMPTY(&w->tasks))
        return;
    prepare_sample(w);
    w->busy = pool_submit(w->pool, sample_work, sample_done, w, NULL) == 0;
    if (!w->busy) {
        release_sample(w);
        arm(w);
    }
}

/* ---- which tasks ------------------------------------------------------------------------------------------------- */

static struct watched *find(const struct use_watch *w, const char *container_id)
{
    struct watched *t;
    TAILQ_FOREACH(t, &w->tasks, next)
        if (strcmp(t->container_id, container_id) == 0)
            return t;
    return NULL;
}

static void free_watched(struct use_watch *w, struct watched *t)
{
    TAILQ_REMOVE(&w->tasks, t, next);
    w->n--;
    free(t->gpu);
    free(t->container_id);
    free(t);
}

struct use_watch *use_watch_new(struct loop *l, struct pool *p, const struct gpu_maker *maker, const char *proc,
                                use_watch_fn *told, void *ctx)
{
    struct use_watch *w = must_calloc(1, sizeof(*w));
    *w = (struct use_watch){.pool = p, .maker = maker, .proc = proc, .told = told, .ctx = ctx};
    w->timer = loop_timer_new(l, on_timer, w);
    TAILQ_INIT(&w->tasks);
    return w;
}

void use_watch_add(struct use_watch *w, const struct use_watch_task *o)
{
    int64_t now_us = clock_monotonic_us();
    struct watched *t = must_calloc(1, sizeof(*t));
    *t = (struct watched){.serial = ++w->last_serial,
                          .container_id = must_strdup(o->container_id),
                          .every_us = o->every_us,
                          .below_percent = o->below_percent,
                          .gpu = must_calloc(o->gpu_n + 1, sizeof(*t->gpu)),
                          .gpu_n = o->gpu_n,
                          .used_us = now_us,
                          .seen_us = now_us};
    for (size_t i = 0; i < o->gpu_n; i++)
        t->gpu[i] = o->gpu[i];
    if (TAILQ_EMPTY(&w->tasks) || w->report_us > now_us + o->every_us)
        w->report_us = now_us + o->every_us;
    TAILQ_INSERT_TAIL(&w->tasks, t, next);
    w->n++;
    if (!w->busy)
        loop_timer_arm(w->timer, 0);
}

void use_watch_set_supervisor(struct use_watch *w, const char *container_id, pid_t pid)
{
    struct watched *t = find(w, container_id);
    if (!t)
        return;
    t->supervisor = pid;
    t->hidden = pid <= 0;
}

void use_watch_remove(struct use_watch *w, const char *container_id)
{
    struct watched *t = find(w, container_id);
    if (t)
        free_watched(w, t);
}

void use_watch_free(struct use_watch *w)
{
    if (!w)
        return;
    while (!TAILQ_EMPTY(&w->tasks))
        free_watched(w, TAILQ_FIRST(&w->tasks));
    loop_timer_free(w->timer);
    free(w);
}
