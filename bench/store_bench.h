/* What the benches of the store share: a database in a directory of its own and a clock for loops. */
#ifndef DET_BENCH_STORE_BENCH_H
#define DET_BENCH_STORE_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "store/cluster/tasks.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"
#include "store/functions.h"
#include "store/store.h"

#define MUST(call) \
    do { \
        if ((call) < 0) { \
            fprintf(stderr, "%s: %s\n", #call, error_msg(&bench_err)); \
            exit(1); \
        } \
    } while (0)

static struct error bench_err;
static char bench_dir[64], bench_path[160];

static inline void bench_make_dir(const char *parent)
{
    snprintf(bench_dir, sizeof(bench_dir), "%.40s/det-bench-XXXXXX", parent);
    if (!mkdtemp(bench_dir)) {
        perror(bench_dir);
        exit(1);
    }
    snprintf(bench_path, sizeof(bench_path), "%s/master.db", bench_dir);
}

static inline void bench_remove_dir(void)
{
    static const char *const suffix[] = {"", "-wal", "-shm"};
    char name[192];
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s%s", bench_path, suffix[i]);
        unlink(name); /* of a server there is none */
    }
    rmdir(bench_dir);
}

static inline void bench_user(struct store *st)
{
    const struct store_user u = {.id = 1, .username = "admin", .active = true, .modified_us = 1};
    MUST(store_user_insert(st, &u, &bench_err));
}

static inline void bench_experiment(struct store *st, int32_t id, const char *config, size_t context_n)
{
    static char context[65536];
    char job[40];
    snprintf(job, sizeof(job), "job-%d", id);
    const struct store_experiment x = {
        .id = id,
        .job_id = job,
        .state = id % 3 ? "COMPLETED" : "PAUSED",
        .user_id = 1,
        .project_id = 1,
        .name = "mnist_pytorch_const",
        .description = "a description",
        .notes = "",
        .labels = "[\"bench\"]",
        .start_us = 1700000000000000 + id,
        .searcher_type = "single",
        .searcher_metric = "validation_loss",
        .smaller_is_better = true,
        .resource_pool = "default",
        .config = config,
        .original_config = "name: mnist\n",
    };
    MUST(store_experiment_insert(st, &x, context, context_n < sizeof(context) ? context_n : sizeof(context),
                                 &bench_err));
}

static inline void bench_report(const char *what, double n, int64_t start_us)
{
    printf("%-58s %10.0f /s\n", what, n * 1e6 / (double)(clock_monotonic_us() - start_us));
}

#endif
