/* soak [--seed N] [--seconds N] [--story]: one run of a seed, or runs of the seeds from it on for so much CPU time. The
 * seed alone decides everything, also how large the cluster is. With --story each step is printed. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "soak.h"

static const struct soak_size sizes[] = {
    {.agents = 6, .jobs = 20, .events = 20000, .full_check_every = 20, .plain_check_every = 5},
    {.agents = 30, .jobs = 100, .events = 40000, .full_check_every = 100, .plain_check_every = 100},
    {.agents = 150, .jobs = 1500, .events = 60000, .full_check_every = 1000},
    {.agents = 1000, .jobs = 10000, .events = 100000, .full_check_every = 1000},
};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

void soak_failed(const struct soak *s, const char *file, int line, const char *condition, const char *fmt, ...)
{
    va_list ap;
    fflush(stdout);
    fprintf(stderr, "%s:%d: not so: %s\n  ", file, line, condition);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n  at event %ld, %.3f s; again with: soak --seed %llu\n", s->events,
            (double)(s->now_us - START_US) / SECOND, (unsigned long long)s->seed);
    exit(1);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The time at which runs end. A run that has begun is ended then without being complete, because one of the largest
 * size may take minutes. */
static double time_is_over_at = HUGE_VAL;

static bool is_late(void)
{
    static unsigned calls;
    static bool late;
    if (++calls % 64 == 0)
        late = cpu_seconds() >= time_is_over_at;
    return late;
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

static void begin_soak(struct soak *s, uint64_t seed, bool tells)
{
    *s = (struct soak){.seed = seed, .tells = tells, .size = sizes[seed % SIZES], .now_us = START_US};
    rng_init(&s->rng, (uint32_t)seed);
    int places = 5 + s->size.agents / 4;
    s->agent_n = s->size.agents + (places < MACHINES_MAX ? places : MACHINES_MAX);
    s->agent = must(calloc((size_t)s->agent_n, sizeof(*s->agent)));
    choose_pools(s);
    for (int i = 0; i < s->agent_n; i++) {
        s->agent[i].index = i;
        s->agent[i].tick.fire = agent_tick;
        LIST_INIT(&s->agent[i].held);
        LIST_INIT(&s->agent[i].tasks);
    }
    master_start(s);
    for (int i = 0; i < s->size.agents; i++) {
        struct agent *a = &s->agent[i];
        snprintf(a->id, sizeof(a->id), "agent-%d", i);
        a->pool = i == 0 ? 0 : one_of(s, s->static_n);
        a->slots = a->slots_next = !s->even[a->pool] && once_in(s, 10) ? one_of(s, 17) : EVEN_SLOTS;
        if (i == 0 || !once_in(s, 6))
            a->has = needs_of(4 + one_of(s, 29), 16 + one_of(s, 49));
        agent_connect(s, a);
    }
    s->users.fire = users_tick;
    s->machines.fire = machines_tick;
    tick_in(s, &s->users, 1);
    tick_in(s, &s->machines, 1);
}

static bool is_crossed(long before, long now, int every)
{
    return every > 0 && before / every != now / every;
}

/* Returns whether the core wants to do something at this very moment, which has to be done before checks. */
static bool is_under_way(const struct soak *s)
{
    const struct timer *t = &s->master_timer.timer;
    return s->core && t->place != 0 && t->due_us <= s->now_us;
}

static void let_pass(struct soak *s)
{
    struct timer *t;
    s->now_us = timers_next_us(&s->timers);
    while ((t = timers_take_due(&s->timers, s->now_us))) {
        struct tick *tick = (struct tick *)((char *)t - offsetof(struct tick, timer));
        long before = s->events;
        tick->fire(s, tick);
        s->full_check_due = s->full_check_due || is_crossed(before, s->events, s->size.full_check_every);
        s->plain_check_due = s->plain_check_due || is_crossed(before, s->events, s->size.plain_check_every);
        if (is_under_way(s))
            continue;
        if (s->full_check_due)
            check_everything(s);
        if (s->plain_check_due)
            check_against_plain(s);
        s->full_check_due = s->plain_check_due = false;
    }
}

static void run_for(struct soak *s, int64_t us)
{
    int64_t until_us = s->now_us + us;
    while (s->open_n > 0 && timers_next_us(&s->timers) <= until_us && !is_late())
        let_pass(s);
    if (s->open_n > 0)
        s->now_us = until_us;
}

/* Lets time pass, so that machines become idle, and machines whose agents come too late are replaced. */
static void settle_soak(struct soak *s)
{
    int64_t until_us = s->now_us + (s->provider.pool < 0 ? 0 : 3600 * SECOND);
    while (timers_next_us(&s->timers) <= until_us && !is_late())
        let_pass(s);
}

/* Ends the run: all agents come back, and all experiments end by themselves, except those that have no place. Returns
 * false if there was no time for it. */
static bool wind_down(struct soak *s)
{
    s->winding_down = true;
    s->crash_in = 0;
    run_for(s, 600 * SECOND);
    if (is_late())
        return false;
    CHECK(s, s->core != NULL, "%s", "the master is not back");
    machines_mend(s);
    users_finish(s);
    for (size_t n; (n = s->open_n) > 0;) {
        run_for(s, 48 * 3600 * SECOND);
        if (is_late())
            return false;
        kill_what_has_no_place(s);
        run_for(s, 600 * SECOND);
        if (is_late())
            return false;
        CHECK(s, s->open_n < n, "%zu experiments do not end: one of them is %d", n, s->open[0]->row.id);
    }
    settle_soak(s);
    while (s->tasks && timers_next_us(&s->timers) < s->now_us + 600 * SECOND && !is_late())
        let_pass(s);
    if (is_late())
        return false;
    check_nothing_is_left(s);
    return true;
}

static void end_soak(struct soak *s)
{
    struct worker *k, *next;
    HASH_ITER(hh, s->tasks, k, next)
        worker_drop(s, k);
    store_free(s);
    core_free(s->core);
    timers_release(&s->timers);
    free(s->agent);
}

static long run_soak(uint64_t seed, bool tells)
{
    static struct soak s;
    double start = cpu_seconds();
    begin_soak(&s, seed, tells);
    while (s.events < s.size.events && !is_late())
        let_pass(&s);
    double loaded = cpu_seconds() - start;
    bool ended = wind_down(&s);
    double seconds = cpu_seconds() - start;
    printf(
        "seed %llu%s: %d agents, %d jobs in %d pools, %ld events in %.1f s (the first %ld in %.1f s), %.1f hours: %ld placed, "
        "%ld gangs, %ld preempted, %ld refused, %ld crashes; %ld full checks, %ld of fairness, %ld of these between gangs, "
        "%ld with the obvious scheduler; %ld tasks, %ld reasons, %ld with a time; %ld starts beside requests for cores or "
        "memory; %ld machines, %ld looks at them\n",
        (unsigned long long)seed, ended ? "" : " (unfinished)", s.size.agents, s.size.jobs, s.pool_n, s.events, seconds,
        s.size.events, loaded, (double)(s.now_us - START_US) / (3600 * SECOND), s.placed, s.gangs, s.preempted,
        s.refused, s.crashes, s.full_checks, s.fairness_checks, s.gang_shares, s.plain_checks, s.own_tasks_n,
        s.reason_checks, s.estimates, s.needy_starts, s.provider.launched, s.provider.checks);
    fflush(stdout);
    long events = s.events;
    end_soak(&s);
    return events;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static unsigned long long parse_number(const char *text)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text) {
        fprintf(stderr, "soak: \"%s\" is not a number\n", text);
        exit(2);
    }
    return n;
}

static int print_usage(bool asked_for)
{
    fprintf(
        asked_for ? stdout : stderr,
        "Usage: soak [--seed N] [--seconds N] [--story]\n"
        "  --seed N     the run of this seed (1), which decides everything; N modulo 4 is the size: 6, 30, 150 or 1,000 agents\n"
        "  --seconds N  runs of this seed and those after it, for so much CPU time (one run)\n"
        "  --story      prints each step\n");
    return asked_for ? 0 : 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"seed", required_argument, NULL, 's'},
                                            {"seconds", required_argument, NULL, 't'},
                                            {"story", no_argument, NULL, 'v'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    uint64_t seed = 1;
    double seconds = 0;
    long events = 0, runs = 0;
    bool tells = false;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 's')
            seed = parse_number(optarg) % UINT32_MAX;
        else if (c == 't')
            time_is_over_at = seconds = (double)parse_number(optarg);
        else if (c == 'v')
            tells = true;
        else
            return print_usage(c == 'h');
    }
    do {
        events += run_soak(seed++, tells);
        runs++;
    } while (cpu_seconds() < seconds);
    printf("soak: %ld runs, %ld events in %.0f CPU seconds, %.3g an hour\n", runs, events, cpu_seconds(),
           (double)events / cpu_seconds() * 3600);
    return 0;
}
