/* For the benches of lists and searches: very many experiments that differ in everything that these look at, and what
 * each question cost. */
#ifndef DET_BENCH_STORE_MANY_H
#define DET_BENCH_STORE_MANY_H

#include <time.h>

#include "store/metrics/metrics.h"
#include "store_bench.h"

enum { MANY_USERS = 50 };

static inline void bench_many_experiment(struct store *st, int32_t id, const char *config)
{
    static const char *const states[] = {"COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED",
                                         "COMPLETED", "ERROR",     "CANCELED",  "PAUSED"};
    static const char *const models[] = {"mnist", "cifar10", "bert", "resnet50", "gpt2"};
    uint32_t r = (uint32_t)id * 2654435761u;
    char job[40], name[64], description[96], labels[64];
    snprintf(job, sizeof(job), "job-%d", id);
    snprintf(name, sizeof(name), "%s_search_%u", models[r % 5], r % 7919);
    snprintf(description, sizeof(description), "what was tried in week %u of %s", r % 53, models[r % 5]);
    snprintf(labels, sizeof(labels), "[\"all\",\"team-%u\",\"run-%u\"]", r % 20, r % 5000);
    const struct store_experiment x = {
        .id = id,
        .job_id = job,
        .state = states[r % 8],
        .user_id = 1 + (int32_t)(r % MANY_USERS),
        .project_id = 1,
        .name = name,
        .description = description,
        .notes = "",
        .labels = labels,
        .archived = r % 10 == 0,
        .has_parent = r % 4 == 0,
        .parent_id = (int32_t)(r % 1000),
        .has_progress = true,
        .progress = r % 1000 / 1000.0,
        .start_us = 1700000000000000 + (int64_t)id * 1000000,
        .end_us = 1700000000000000 + (int64_t)(id + r % 9999) * 1000000,
        .searcher_type = "single",
        .searcher_metric = "loss",
        .smaller_is_better = true,
        .resource_pool = "default",
        .config = config,
        .original_config = "name: mnist\n",
    };
    MUST(store_experiment_insert(st, &x, "x", 1, &bench_err));
}

static inline void bench_many_report(struct store *st, int32_t trial_id, const char *group, const char *metrics)
{
    struct store_report_result result;
    const struct store_report r = {.trial_id = trial_id,
                                   .run_id = 1,
                                   .group = group,
                                   .has_steps = true,
                                   .steps = 100,
                                   .report_us = 1,
                                   .avg_metrics = metrics};
    MUST(store_report_add(st, &r, &result, &bench_err));
}

static inline void bench_many_run(struct store *st, int32_t id, int32_t experiment_id)
{
    uint32_t r = (uint32_t)id * 2246822519u;
    char hparams[128], metrics[128], metadata[64];
    snprintf(hparams, sizeof(hparams), "{\"lr\": %g, \"layers\": %u, \"optimizer\": {\"name\": \"%s\", \"decay\": %g}}",
             r % 100003 / 100003.0, r % 7, r % 3 ? "adam" : "sgd", r % 17 / 17.0);
    struct trial_row t = {.id = id,
                          .experiment_id = experiment_id,
                          .run_id = 1,
                          .state = RUN_ACTIVE,
                          .start_us = 1700000000000000 + (int64_t)id * 1000000,
                          .hparams = hparams};
    snprintf(t.request_id, sizeof(t.request_id), "r%d", id);
    snprintf(t.task_id, sizeof(t.task_id), "%d.r", id);
    MUST(store_trial_put(st, &t, true, &bench_err));
    snprintf(metrics, sizeof(metrics), "{\"loss\": %g, \"accuracy\": %g}", r % 99991 / 9999.0, r % 1009 / 1009.0);
    bench_many_report(st, id, "training", metrics);
    bench_many_report(st, id, "validation", metrics);
    t.state = RUN_COMPLETED;
    t.end_us = t.start_us + (int64_t)(r % 7777) * 1000000;
    MUST(store_trial_put(st, &t, false, &bench_err));
    snprintf(metadata, sizeof(metadata), "{\"owner\": \"person-%u\", \"data\": {\"rows\": %u}}", r % 40, r % 5003);
    if (r % 2)
        MUST(store_trial_set_metadata(st, id, metadata, &bench_err));
}

static inline void bench_many(struct store *st, int32_t experiments, int32_t runs_each)
{
    static char config[900];
    int32_t run = 0;
    snprintf(config, sizeof(config), "{\"name\":\"%0800d\"}", 0);
    MUST(store_begin(st, &bench_err));
    for (int32_t id = 1; id <= MANY_USERS; id++) {
        char name[32];
        snprintf(name, sizeof(name), "user%d", id * 7919 % 1000);
        MUST(store_user_insert(st, &(struct store_user){.id = id, .username = name, .active = true, .modified_us = 1},
                               &bench_err));
    }
    for (int32_t id = 1; id <= experiments; id++) {
        bench_many_experiment(st, id, config);
        for (int32_t k = 0; k < runs_each; k++) {
            bench_many_run(st, ++run, id);
            if (run % 2000 == 0) {
                MUST(store_commit(st, &bench_err));
                MUST(store_begin(st, &bench_err));
            }
        }
    }
    MUST(store_commit(st, &bench_err));
}

/* ---- what it cost ------------------------------------------------------------------------------------------------ */

/* CPU time of the thread. On a busy machine the difference to the clock is the time of other processes. */
static inline int64_t bench_cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

enum { MANY_QUESTIONS = 1000 };
static struct {
    char what[160];
    double p99;
} bench_asked[MANY_QUESTIONS];
static int bench_asked_n;

static inline int bench_by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Times by the clock and in CPU time: a call that is slow only by the clock has waited for the machine. */
struct bench_times {
    int64_t start_us, cpu_start_us;
    int n;
    int64_t took[1000], cpu[1000];
};

static inline void bench_start(struct bench_times *t)
{
    t->start_us = clock_monotonic_us();
    t->cpu_start_us = bench_cpu_us();
}

static inline void bench_stop(struct bench_times *t)
{
    t->cpu[t->n] = bench_cpu_us() - t->cpu_start_us;
    t->took[t->n++] = clock_monotonic_us() - t->start_us;
}

static inline double bench_ms_at(const int64_t *sorted, int n, int percent)
{
    return (double)sorted[(n * percent + 99) / 100 - 1] / 1000;
}

static inline void bench_took(const char *what, int matching, struct bench_times *t)
{
    qsort(t->took, (size_t)t->n, sizeof(*t->took), bench_by_time);
    qsort(t->cpu, (size_t)t->n, sizeof(*t->cpu), bench_by_time);
    double p99 = bench_ms_at(t->took, t->n, 99);
    printf("%-60s (%6d match) cpu %6.2f, p99 %6.2f  median %6.2f  p99 %8.2f ms\n", what, matching,
           bench_ms_at(t->cpu, t->n, 50), bench_ms_at(t->cpu, t->n, 99), bench_ms_at(t->took, t->n, 50), p99);
    fflush(stdout);
    if (bench_asked_n == MANY_QUESTIONS)
        abort();
    snprintf(bench_asked[bench_asked_n].what, sizeof(bench_asked->what), "%s", what);
    bench_asked[bench_asked_n++].p99 = p99;
}

static inline int bench_by_p99(const void *a, const void *b)
{
    const double *x = &((__typeof__(bench_asked[0]) *)a)->p99, *y = &((__typeof__(bench_asked[0]) *)b)->p99;
    return *x < *y ? 1 : *x > *y ? -1 : 0;
}

static inline void bench_slowest(void)
{
    qsort(bench_asked, (size_t)bench_asked_n, sizeof(*bench_asked), bench_by_p99);
    for (int i = 0; i < 10 && i < bench_asked_n; i++)
        printf("slowest %2d of %d: %-60s %8.2f ms\n", i + 1, bench_asked_n, bench_asked[i].what, bench_asked[i].p99);
    bench_asked_n = 0;
}

#endif
