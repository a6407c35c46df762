/* Reads the input of a simulation: a cluster (YAML) and the jobs that are submitted to it (CSV). */
#ifndef DET_CLI_SIMULATE_TRACE_H
#define DET_CLI_SIMULATE_TRACE_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "core/core.h"

struct sim_agents {
    int count, slots;
};

struct sim_cluster {
    const char *file;
    struct core_pool_opts *pool;
    struct sim_agents **agents; /* for each pool; the last entry has count 0 */
    size_t pool_n;
};

/* Pools are written as in master.yaml, with an additional list `agents` of {count, slots}. */
int sim_cluster_read(const char *path, struct arena *a, struct sim_cluster *ret, struct error *err);

struct sim_job {
    int64_t submit_us, duration_us; /* duration: of each trial, if it is not interrupted */
    int slots, priority, max_slots, trials, concurrent;
    double weight;
    const char *name, *pool, *searcher; /* pool "": the first pool */
    size_t row;
};

struct sim_trace {
    struct sim_job *job; /* in the order of submission */
    size_t n;
};

/* The first row names the columns, which examples/traces/README.md lists. Errors name file, row and column. */
int sim_trace_read(const char *path, struct arena *a, struct sim_trace *ret, struct error *err);

#endif
