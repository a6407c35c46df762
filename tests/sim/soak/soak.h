/* The soak: the whole core of the master under virtual time, for as long as one likes. Users submit, change, pause and
 * kill; agents come, go, hang, break, are drained and come back; the master crashes at any point of a step, and returns
 * with another configuration. Everything follows from one seed.
 *
 *     users.c, machines.c  what people and machines do      world.c  agents and tasks, and the time they take
 *     provider.c           the machines of an elastic pool
 *     store.c              rows, as PUT effects leave them   check.c  what must hold after an event, and at any time
 *     fairness.c           against the obvious scheduler, and against weighted max-min fairness
 *     reasons.c            what is said of jobs that wait
 *
 * sim.h's cluster is for stories that people read; this one is for size: rows are found by hash, time is a heap, and an
 * event costs what it changes. */
#ifndef DET_TESTS_SIM_SOAK_SOAK_H
#define DET_TESTS_SIM_SOAK_SOAK_H

#include <bsd/sys/queue.h>

#include "common/base/arena.h"
#include "common/base/hash.h"
#include "common/base/must.h"
#include "common/base/rng.h"
#include "common/base/strbuf.h"
#include "core/core.h"
#include "core/state/timers.h"
#include "plain_sched.h"

#define MS INT64_C(1000)
#define SECOND INT64_C(1000000)
#define START_US INT64_C(1767225600000000) /* 2026-01-01 */

struct soak;
struct tick {
    struct timer timer;
    void (*fire)(struct soak *s, struct tick *t);
};

/* ---- rows -------------------------------------------------------------------------------------------------------- */

struct stored_container {
    struct container_row row;
    struct stored_allocation *allocation;
    struct agent *agent;
    LIST_ENTRY(stored_container) in_agent, in_allocation; /* in_agent: set while the container has not ended */
    UT_hash_handle hh;
};

/* A task of its own. It is freed with its only allocation. */
struct stored_task {
    struct task_row row;
    struct launched_row launched; /* set if a user has launched it; its description is a constant */
    UT_hash_handle hh;
};

struct stored_allocation {
    struct allocation_row row;
    struct stored_trial *trial; /* NULL: the allocation belongs … */
    struct stored_task *task;   /* … to this task, until the task is over */
    LIST_HEAD(, stored_container) containers;
    UT_hash_handle hh;
};

struct stored_trial {
    struct trial_row row; /* the texts in it are copies */
    struct stored_experiment *experiment;
    struct stored_allocation *open;
    enum exit_kind last_exit; /* of the newest allocation that has ended */
    int promised;             /* the steps of the newest checkpoint that the trial was told is stored */
    LIST_ENTRY(stored_trial) in_experiment;
    UT_hash_handle hh;
};

/* How the trials of an experiment behave. */
struct behaviour {
    int64_t step_us;
    int steps;
    bool searched;   /* the trial validates after each step, and carries out operations */
    bool deaf;       /* the trial never preempts */
    bool impossible; /* the trial needs slots as no agents of its pool have them */
    int fails_in;    /* each step fails with a chance of one in so many; 0: never */
    int launch_fails_in;
    bool invalid_hp;
};

struct stored_experiment {
    struct experiment_row row;
    struct core_experiment_spec spec; /* the texts in it are copies or literals */
    struct behaviour behaviour;
    char *searcher /* that spec points to */, *snapshot;
    struct strbuf events;
    int64_t events_from;
    LIST_HEAD(, stored_trial) trials;
    size_t place; /* the experiment's index in soak.open or soak.over */
    bool over;
    UT_hash_handle hh;
};

/* ---- machines ---------------------------------------------------------------------------------------------------- */

enum phase { LAUNCH, WORK, REPORT, OPERATION, PREEMPT, EXIT, ENDED };

/* The process of one task on an agent. */
struct worker {
    char id[CORE_UUID_MAX], allocation_id[CORE_ALLOCATION_ID_MAX];
    struct agent *agent;
    int experiment_id, trial_id, run_id, rank;
    int32_t device[CORE_DEVICES_MAX];
    int device_n, steps;
    struct behaviour behaviour;
    enum phase phase;
    enum container_state state;
    enum exit_kind exit_kind;
    int exit_code;
    bool heard;  /* the agent has read the start message, and does not hang any more */
    bool untold; /* the master has not been told of the last change of state */
    bool kill_waits;
    struct tick tick;
    LIST_ENTRY(worker) in_agent;
    UT_hash_handle hh;
};

/* The state of a machine that a provider has launched. */
enum machine { MACHINE_NONE, MACHINE_PENDING, MACHINE_RUNS, MACHINE_STOPPED };

struct agent {
    char id[40];
    enum machine machine;
    /* idle_since_us: as far as the master can know, it has been idle for at least so long */
    int64_t launch_us, idle_since_us;
    int index, pool;
    int slots, slots_next;  /* slots_next: the slots when it connects again */
    struct sched_needs has; /* nothing: it is of a version that does not tell */
    bool connected;         /* as the core has been told */
    bool stored;
    int64_t hangs_until_us;
    struct agent_row row;
    struct stored_container *holder[CORE_DEVICES_MAX]; /* by the rows */
    LIST_HEAD(, stored_container) held;
    LIST_HEAD(, worker) tasks;
    struct tick tick; /* the agent connects again, or stops hanging */
};

/* ---- the whole --------------------------------------------------------------------------------------------------- */

enum { STATIC_POOLS = 4, POOLS, POOL_NAME_MAX = 16, EVEN_SLOTS = 8, MACHINES_MAX = 100 };

struct provider {
    int pool;  /* -1: no pool is elastic */
    int slots; /* the slots of each machine */
    struct sched_needs has;
    uint64_t order; /* the number of the last order; the next line has what is not carried out yet */
    int launch, terminate[MACHINES_MAX], terminate_n;
    struct tick tick;
    long launched, lists, checks;
};

/* The run times of allocations that ended by themselves, the newest last. */
struct run_times {
    int64_t *us;
    size_t n, cap;
};
enum crash { CRASH_NEVER, CRASH_BEFORE_COMMIT, CRASH_AFTER_COMMIT, CRASH_AFTER_EFFECTS, CRASH_NR };

struct soak_size {
    int agents, jobs;
    long events;
    int full_check_every, plain_check_every; /* 0: never */
};

struct soak {
    uint64_t seed;
    struct soak_size size;
    struct rng rng;
    struct core *core; /* NULL while the master is down */
    int epoch;
    int64_t now_us;
    struct timers timers;
    struct tick master_timer, master_back, users, machines;
    struct core_pool_opts pool[POOLS];
    bool narrow[POOLS];   /* the pool has only jobs of one slot */
    bool even[POOLS];     /* the pool's agents have EVEN_SLOTS slots, and its jobs share these evenly */
    int pool_n, static_n; /* static_n: the pools that have agents of their own */
    struct provider provider;
    struct run_times run_times[POOLS];
    struct agent *agent; /* the agents that are always there, followed by the places for machines */
    int agent_n;
    struct worker *tasks;
    struct stored_experiment *experiments;
    struct stored_trial *trials;
    struct stored_task *own_tasks;
    struct stored_allocation *allocations;
    struct stored_container *containers;
    struct stored_experiment **open, **over; /* over: a ring of the latest ones */
    size_t open_n, over_n;
    size_t allocation_n;
    int32_t last_experiment_id, last_trial_id;
    int crash_in; /* the number of steps until the crash; 0: none is planned */
    enum crash crash_mode;
    bool winding_down, tells, full_check_due, plain_check_due;
    long events, placed, gangs, preempted, refused, crashes, full_checks, plain_checks, fairness_checks, gang_shares,
        own_tasks_n, reason_checks, estimates, needy_starts;
};

/* Checks a condition. If it does not hold, the macro says where, and how to see it again, and ends the program. */
#define CHECK(s, condition, ...) \
    do { \
        if (!(condition)) \
            soak_failed((s), __FILE__, __LINE__, #condition, __VA_ARGS__); \
    } while (0)
void soak_failed(const struct soak *s, const char *file, int line, const char *condition, const char *fmt, ...)
    __attribute__((format(printf, 5, 6), noreturn));

int one_of(struct soak *s, int n);
bool once_in(struct soak *s, int n);
int64_t about(struct soak *s, int64_t mean_us); /* an exponentially distributed time */
void tick_in(struct soak *s, struct tick *t, int64_t us);
void tick_clear(struct soak *s, struct tick *t);

/* world.c */
bool soak_step(struct soak *s, const struct core_event *ev); /* false: the event was refused, or no answer came */
void soak_create(struct soak *s, const struct core_experiment_spec *spec, const struct behaviour *behaviour);
void soak_crash(struct soak *s);
void master_start(struct soak *s);
void agent_connect(struct soak *s, struct agent *a);
void agent_disconnect(struct soak *s, struct agent *a, int64_t back_in_us);
void agent_power_cut(struct soak *s, struct agent *a);
void agent_hang(struct soak *s, struct agent *a, int64_t us);
void agent_tick(struct soak *s, struct tick *t);

/* tasks.c */
void worker_start(struct soak *s, struct agent *a, const struct core_start *start);
void worker_kill(struct soak *s, struct worker *k);
void worker_drop(struct soak *s, struct worker *k);
void worker_awake(struct soak *s, struct worker *k);   /* the worker's agent does not hang any more */
void worker_preempt(struct soak *s, struct worker *k); /* asks the worker to preempt, which it does unless it is deaf */
struct worker *worker_find(const struct soak *s, const char *id);
struct core_container_report worker_report(const struct worker *k);

/* store.c */
void store_apply(struct soak *s, const struct core_effects *effects);
void store_check_effects(struct soak *s, const struct core_effects *effects);
struct core_rows store_read(struct soak *s, struct arena *a);
struct stored_experiment *store_experiment(const struct soak *s, int32_t id);
struct stored_trial *store_trial(const struct soak *s, int32_t id);
struct stored_allocation *store_allocation(const struct soak *s, const char *id);
void store_forget_ended(struct soak *s, const struct core_effects *effects);
void store_free(struct soak *s);
struct agent *agent_named(const struct soak *s, const char *id);

/* users.c */
void users_tick(struct soak *s, struct tick *t);
void users_finish(struct soak *s); /* activates what is paused, and kills what is impossible */

/* machines.c */
void choose_pools(struct soak *s);
const char *soak_pool_name(const struct soak *s, const char *name); /* a copy of the name that is not freed */
void machines_tick(struct soak *s, struct tick *t);
void machines_mend(struct soak *s); /* brings all agents back, and enables them */

/* provider.c */
void provider_choose(struct soak *s, bool first); /* chooses the size of the elastic pool */
void provider_order(struct soak *s, const struct core_effect *order);
void provider_master_down(struct soak *s);
void provider_master_up(struct soak *s);
int provider_machines(const struct soak *s);
void provider_check(struct soak *s);
void provider_check_rest(struct soak *s);
/* Returns as many agents as the pool may have at most. */
size_t provider_might_have(const struct soak *s, struct arena *arena, struct plain_agent **ret);

/* check.c */
void check_everything(struct soak *s);
void check_nothing_is_left(struct soak *s);

/* reasons.c */
void run_times_keep(struct soak *s, const struct allocation_row *row); /* the allocation of the row has ended */
void run_times_read(const struct soak *s, struct arena *arena, struct core_rows *ret);
void check_reasons(struct soak *s);

/* fairness.c */
void check_against_plain(struct soak *s);
void check_fairness(struct soak *s);
/* Kills the experiments that could not be placed even if nothing else ran, or whose requests are larger than
 * max_slots. */
void kill_what_has_no_place(struct soak *s);

#endif
