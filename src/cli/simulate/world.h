/* A cluster under virtual time: the master's own core, agents that never fail, and tasks that take as long as the
 * trace says. */
#ifndef DET_CLI_SIMULATE_WORLD_H
#define DET_CLI_SIMULATE_WORLD_H

#include "cli/simulate/trace.h"

struct sim_job_result {
    bool started, ended;
    int pool;
    int64_t wait_us; /* from the job's submission until any of its tasks ran */
    int64_t end_us;
    int preemptions;
};

struct sim_result {
    const char *pool; /* "": all pools together */
    size_t jobs, unstarted, preemptions;
    int slots;
    double utilization; /* of the pool's slots, from the first submission to the last end */
    double wait_mean_s, wait_p50_s, wait_p99_s, makespan_s;
    double fairness; /* 1: all jobs always had their fair share (Jain's index); -1: jobs never competed */
};

/* Runs the simulation. Results: one for each pool, and one for all pools together: pool_n + 1. The array is in the
 * arena. */
int sim_world_run(const struct sim_cluster *cluster, const struct sim_trace *trace, struct arena *a,
                  struct sim_result **ret, struct error *err);

#endif
