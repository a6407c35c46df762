/* What the parts of a simulated world share: world.c (time, submissions, the core), world_tasks.c (what runs), world_sums.c (what it
 * comes to). */
#ifndef DET_CLI_SIMULATE_WORLD_INTERNAL_H
#define DET_CLI_SIMULATE_WORLD_INTERNAL_H

#include "cli/simulate/world.h"
#include "common/base/hash.h"
#include "core/state/timers.h"

#define SIM_START_US INT64_C(1767225600000000)
enum { SIM_STEPS = 16 /* validations of a trial that is searched */ };

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

/* world.c: one event through the core, at this moment. */
void world_step(struct world *w, const struct core_event *ev);

/* world_tasks.c. Nothing is said to the core from within a step: what follows from it becomes a thing. */
void world_start_task(struct world *w, const struct core_start *e);
void world_must_stop(struct world *w, const struct core_effect *e);
void world_say_things(struct world *w);
void world_run_tasks(struct world *w); /* those whose work is done by now */
void world_release_tasks(struct world *w);

/* world_sums.c */
void world_look_at_fairness(struct world *w, size_t pool);
void world_sum_up(const struct world *w, int pool /* -1: all */, struct arena *a, struct sim_result *ret);

#endif
