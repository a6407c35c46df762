/* How many events does a searcher take in a second, with ten thousand trials at a time? Alone, with what it takes to
 * survive a crash, and with a store behind it. Usage: searches [DIRECTORY] (default /tmp).
 *
 * An event is what a trial reports or does: a validation (its metrics as the JSON of the request) or an operation
 * completed, and the end of a trial. */
#include <time.h>

#include "common/base/rng.h"
#include "core/searcher/searcher.h"
#include "store_bench.h"

enum { CONCURRENT = 10000, EVENTS = 1000000, COMMIT = 100 };

#define COMMON \
    "\"name\": \"async_halving\", \"metric\": \"loss\", \"num_rungs\": 5, \"max_trials\": 400000, \"divisor\": 4, " \
    "\"max_concurrent_trials\": 10000"
#define BY_TIME "{" COMMON ", \"max_time\": 256, \"time_metric\": \"batches\"}"
#define PROMOTE "{" COMMON ", \"max_length\": {\"batches\": 256}}"
#define SPACE \
    "{\"lr\": {\"type\": \"log\", \"base\": 10, \"minval\": -4, \"maxval\": -1}, \"layers\": {\"type\": \"int\", \"minval\": 1, \"maxval\": 9}}"

enum keeping { KEEP_NOTHING, KEEP_TEXT, KEEP_STORED };

struct load {
    struct searcher *searcher;
    struct rng rng;
    size_t *live; /* trials that are running */
    size_t live_n, live_cap;
    int64_t *time; /* time of each trial */
    size_t trial_cap;
    enum keeping keeping;
    struct store *st;
    struct strbuf line, snapshot;
    size_t events, since, in_commit;
};

static void *must_alloc(void *p)
{
    if (!p)
        abort();
    return p;
}

static void begin_work(struct load *l, size_t trial)
{
    if (l->live_n == l->live_cap) {
        l->live_cap = l->live_cap ? 2 * l->live_cap : 1024;
        l->live = must_alloc(realloc(l->live, l->live_cap * sizeof(*l->live)));
    }
    if (trial >= l->trial_cap) {
        size_t cap = trial + 1 > 2 * l->trial_cap ? trial + 1 : 2 * l->trial_cap;
        l->time = must_alloc(realloc(l->time, cap * sizeof(*l->time)));
        memset(l->time + l->trial_cap, 0, (cap - l->trial_cap) * sizeof(*l->time));
        l->trial_cap = cap;
    }
    l->live[l->live_n++] = trial;
}

/* Keeps an event as the core and its store do: one row with its line, or a snapshot once there are many rows. */
static void keep_event(struct load *l, const struct searcher_event *ev)
{
    if (l->keeping == KEEP_NOTHING)
        return;
    bool snapshot = ++l->since > 256 + searcher_trial_n(l->searcher);
    strbuf_reset(&l->line);
    searcher_event_print(ev, &l->line);
    if (snapshot) {
        strbuf_reset(&l->snapshot);
        searcher_snapshot(l->searcher, &l->snapshot);
        l->since = 0;
    }
    if (l->keeping != KEEP_STORED)
        return;
    if (snapshot)
        MUST(store_snapshot_set(l->st, 1, l->snapshot.s, &bench_err));
    else
        MUST(store_searcher_events_add(l->st, 1, (int64_t)searcher_event_n(l->searcher), l->line.s, &bench_err));
    if (++l->in_commit == COMMIT) {
        MUST(store_commit(l->st, &bench_err));
        MUST(store_begin(l->st, &bench_err));
        l->in_commit = 0;
    }
}

static void tell_searcher(struct load *l, const struct searcher_event *ev);

static void look_at(struct load *l, struct searcher_actions *actions)
{
    for (size_t i = 0; i < actions->n; i++) {
        const struct searcher_action *a = &actions->item[i];
        if (a->type == SEARCHER_CREATE)
            begin_work(l, a->trial);
        else if (a->type == SEARCHER_VALIDATE_AFTER && l->time[a->trial] > 0)
            begin_work(l, a->trial);
        else if (a->type == SEARCHER_STOP)
            tell_searcher(l, &(struct searcher_event){.type = SEARCHER_EXITED, .trial = a->trial});
    }
    searcher_actions_release(actions);
}

static void tell_searcher(struct load *l, const struct searcher_event *ev)
{
    struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
    MUST(searcher_step(l->searcher, ev, &actions, &bench_err));
    l->events++;
    keep_event(l, ev);
    look_at(l, &actions);
}

/* A trial trains until its time has doubled, and validates. */
static void validate_trial(struct load *l, size_t trial)
{
    char metrics[96];
    struct searcher_event ev = {.trial = trial};
    l->time[trial] = l->time[trial] > 0 ? 2 * l->time[trial] : 1;
    snprintf(metrics, sizeof(metrics), "{\"loss\": %.17g, \"accuracy\": 0.5, \"batches\": %lld}", rng_unit(&l->rng),
             (long long)l->time[trial]);
    MUST(searcher_read_metrics(l->searcher, metrics, &ev, &bench_err) > 0 ? 0 : -1);
    tell_searcher(l, &ev);
}

static void complete_trial(struct load *l, size_t trial)
{
    int64_t length = searcher_operation(l->searcher, trial).length;
    l->time[trial] = length;
    tell_searcher(l, &(struct searcher_event){.type = SEARCHER_OPERATION_COMPLETED,
                                              .trial = trial,
                                              .length = length,
                                              .metric = rng_unit(&l->rng),
                                              .run = 1});
}

/* A random live trial reports; a trial that waits or was stopped is not live any more. */
static void run_turn(struct load *l, bool by_time)
{
    size_t at = (size_t)rng_int(&l->rng, l->live_n), trial = l->live[at];
    l->live[at] = l->live[--l->live_n];
    if (!by_time) {
        complete_trial(l, trial);
        return;
    }
    size_t exits = l->events;
    validate_trial(l, trial);
    if (l->events == exits + 1) /* the trial was not stopped */
        begin_work(l, trial);
}

/* CPU time of this process: nothing here waits for anything but the CPU, which other processes use as well. */
static int64_t cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void run_search(const char *what, bool by_time, enum keeping keeping, struct store *st, int events)
{
    struct load l = {.keeping = keeping, .st = st};
    MUST(searcher_new(by_time ? BY_TIME : PROMOTE, SPACE, 1, &l.searcher, &bench_err));
    rng_init(&l.rng, 1);
    tell_searcher(&l, &(struct searcher_event){.type = SEARCHER_STARTED});
    if (keeping == KEEP_STORED)
        MUST(store_begin(st, &bench_err));
    l.events = 0;
    int64_t start = cpu_us();
    while (l.events < (size_t)events && l.live_n > 0)
        run_turn(&l, by_time);
    if (keeping == KEEP_STORED)
        MUST(store_commit(st, &bench_err));
    printf("%-58s %10.0f /s\n", what, (double)l.events * 1e6 / (double)(cpu_us() - start));
    free(l.live);
    free(l.time);
    strbuf_release(&l.line);
    strbuf_release(&l.snapshot);
    searcher_free(l.searcher);
}

/* Measures what a starting master does for a search with ten thousand running trials. */
static void measure_restore(void)
{
    struct searcher *s, *again;
    struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    MUST(searcher_new(BY_TIME, SPACE, 1, &s, &bench_err));
    MUST(searcher_step(s, &(struct searcher_event){.type = SEARCHER_STARTED}, &actions, &bench_err) > 0 ? 0 : -1);
    searcher_actions_release(&actions);
    searcher_snapshot(s, &text);
    int64_t start = clock_monotonic_us();
    MUST(searcher_new(BY_TIME, SPACE, 1, &again, &bench_err));
    MUST(searcher_restore(again, text.s, NULL, &bench_err));
    printf("%-58s %10.1f ms\n", "restore 10,000 trials", (double)(clock_monotonic_us() - start) / 1000);
    searcher_free(s);
    searcher_free(again);
}

int main(int argc, char **argv)
{
    struct store *st;
    int64_t epoch;
    run_search("events, stopping", true, KEEP_NOTHING, NULL, EVENTS);
    run_search("events, promoting", false, KEEP_NOTHING, NULL, EVENTS);
    run_search("events, stopping, with lines and snapshots", true, KEEP_TEXT, NULL, EVENTS);
    measure_restore();
    bench_make_dir(argc > 1 ? argv[1] : "/tmp");
    MUST(store_open(bench_path, STORE_DURABLE_FULL, &st, &bench_err));
    MUST(store_next_epoch(st, &epoch, &bench_err));
    MUST(store_begin(st, &bench_err));
    bench_user(st);
    bench_experiment(st, 1, "{}", 10);
    MUST(store_commit(st, &bench_err));
    run_search("events, stopping, each in a row, 100 a commit", true, KEEP_STORED, st, EVENTS / 10);
    store_close(st);
    bench_remove_dir();
    return 0;
}
