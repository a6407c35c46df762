/* What the files of a simulated world share: world.c (time, submissions, the core), world_tasks.c (what runs),
 * world_sums.c (the results). */
#ifndef DET_CLI_SIMULATE_WORLD_INTERNAL_H
#define DET_CLI_SIMULATE_WORLD_INTERNAL_H

#include "cli/simulate/world.h"
#include "common/base/hash.h"
#include "core/state/timers.h"

#define SIM_START_US INT64_C(1767225600000000)
enum { SIM_STEPS = 16 /* validations of a trial in a search */ };

struct task {
    char id[CORE_UUID_MAX], agent_id[32];
    struct run *run;
    struct task *next; /* the next task of the same run */
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

enum consequence_kind { AFTER_RUNNING, AFTER_PREEMPT, AFTER_KILLED };
struct consequence { /* What follows from a step of the core, and is reported to the core after the step. */
    enum consequence_kind kind;
    char id[CORE_ALLOCATION_ID_MAX];
};

struct share {                         /* of a pool */
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
    struct sim_job_result *job; /* by index of the job in the trace */
    size_t *job_of;             /* by experiment id */
    size_t experiment_n, next_job;
    struct consequence *consequence;
    size_t consequence_n, consequence_cap;
    struct share *share;
};

/* world.c: gives one event to the core, at the present virtual time. */
void world_step(struct world *w, const struct core_event *ev);

/* world_tasks.c. The core is given no event within a step: what follows from a step is kept as a consequence. */
void world_start_task(struct world *w, const struct core_start *e);
void world_must_stop(struct world *w, const struct core_effect *e);
void world_report_consequences(struct world *w);
void world_run_tasks(struct world *w); /* the tasks whose work is done by now */
void world_release_tasks(struct world *w);

/* world_sums.c */
void world_measure_fairness(struct world *w, size_t pool);
void world_sum_up(const struct world *w, int pool /* -1: all */, struct arena *a, struct sim_result *ret);

#endif
