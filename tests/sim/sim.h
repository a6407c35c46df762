/* A cluster in a box: the core with a virtual clock, agents, tasks, and a store, all made up. A year takes a
 * millisecond.
 *
 * Tests write down what users and machines do, let time pass, and compare the story with the expected one:
 *
 *     sim_add_agent(&sim, "a1", 2);
 *     sim_create(&sim, &(struct sim_experiment){.slots = 1, .steps = 2});
 *     sim_run(&sim, 1000);
 *     sim_expect(&sim, "[     0] exp 1 > PAUSED -> ACTIVE\n" …);
 *
 * The store keeps what the PUT effects say and nothing else, so that a crash of the master, between any two steps,
 * before or after the commit, is: throw the core away, and restore a new one from the store. Tasks train: a step takes
 * 100 ms and ends with a checkpoint; they preempt when asked. What they were promised (an answer came) is remembered
 * and must never be lost. After every step the store is checked against the invariants (store_check() in store.h). */
#ifndef DET_TESTS_SIM_SIM_H
#define DET_TESTS_SIM_SIM_H

#include "common/base/rng.h"
#include "common/base/strbuf.h"
#include "core/core.h"

enum { SIM_AGENTS = 16, SIM_CONTAINERS = 64, SIM_EXPERIMENTS = 128, SIM_TRIALS = 512, SIM_TASKS = 64 };

/* What an experiment asks for, and how its trials behave. */
struct sim_experiment {
    int owner /* 0: 1 */, workspace;
    int slots, priority /* 0: 42 */, max_restarts, preemption_timeout_s /* 0: 3600 */;
    struct sched_needs needs;
    const char *searcher; /* NULL: the searcher is single */
    bool paused;
    int max_time_ms; /* of a run; 0: no limit */
    int max_idle_ms; /* how long its slots may go unused; 0: no limit */
    int rest_after;  /* a run does nothing after so many steps of its own; 0: it always works … */
    int rest_ms;     /* … for so long; 0: for ever */
    int steps;       /* the number of steps until the training is done */
    int fail_runs;   /* the first fail_runs runs of a trial … */
    int fail_step;   /* … fail with exit code 1 after so many steps of that run */
    int fail_trial;  /* only this trial fails; 0: all trials do */
    /* the trial validates after each step, carries out operations, and has a loss that follows from its id */
    bool searched;
    bool deaf; /* the trial never preempts; a task of its own on behalf of the experiment hangs */
    bool invalid_hp;
    bool cannot_start;      /* an agent fails to launch the trial in its first fail_runs runs */
    bool cannot_be_started; /* every agent fails to launch the trial, because what was submitted is wrong */
    bool runs_first;        /* with either of the two above, the agent reports RUNNING before the launch fails */
};

/* A task that a user launches: what it asks for, and how it behaves. Stories call the tasks by their kinds and by the
 * order in which they were launched: command 1, notebook 2. */
struct sim_task {
    enum task_kind kind;
    int workspace, slots, priority /* 0: 42 */, max_slots /* 0: no limit */;
    struct sched_needs needs;
    const char *pool; /* NULL: default */
    int ms;           /* how long it runs; 0: for ever */
    int exit_code;
    int idle_timeout_ms; /* 0: it is not watched */
    int max_time_ms;     /* 0: no limit */
    int max_idle_ms;     /* 0: no limit; its slots are never used */
    bool tells_ready;    /* the task's output says that it is ready as soon as it runs */
    /* of a generic task */
    bool saves; /* the task exits when it is preempted, after it has saved its state */
    bool no_pause;
    int preemption_timeout_s /* 0: 3600 */, parent /* a task's number; 0: none */;
};

enum sim_task_phase {
    TASK_LAUNCH,
    TASK_WORK,
    TASK_CHECKPOINT,
    TASK_REPORT,
    TASK_OPERATION,
    TASK_LOOK,
    TASK_ACK,
    TASK_VALIDATE,
    TASK_INVALID_HP,
    TASK_EXIT
};

struct sim_container {
    bool used;
    char id[CORE_UUID_MAX], allocation_id[CORE_ALLOCATION_ID_MAX];
    int experiment_id, trial_id, run_id, steps, own_steps;
    int launched; /* the number of the task that a user has launched; 0: it is none */
    int32_t device_id[CORE_DEVICES_MAX];
    int device_n;
    enum sim_task_phase phase;
    enum container_state state;
    enum exit_kind exit_kind;
    int exit_code;
    int64_t tick_us;
    int64_t tell_use_every_us; /* 0: never */
    int64_t used_us;           /* when its slots were last used */
};

enum sim_machine {
    MACHINE_NONE /* not the provider's */,
    MACHINE_RUNS,
    MACHINE_STOPPED /* by itself */,
    MACHINE_ENDED
};

struct sim_agent {
    char id[16];
    int slots;
    struct sched_needs has;
    bool connected;
    enum sim_machine machine;
    bool taken_back; /* the provider has given notice */
    int64_t launch_us;
    int64_t back_us;     /* when the agent connects again; 0: it is not planned to */
    bool old;            /* the agent is of a version that does not tell whether slots are used */
    bool blind;          /* the agent cannot tell whether slots are used */
    bool busy;           /* all slots of the agent are used, whatever the tasks do */
    int64_t tell_use_us; /* when the agent tells next whether slots are used; 0: no task needs that */
    const char *pool;
    struct sim_container container[SIM_CONTAINERS];
};

/* The provider of an elastic pool (machines.c). */
struct sim_provider {
    int slots; /* the slots of each machine; 0: the pool is not elastic */
    struct sched_needs has;
    int launched;
    int64_t due_us;
    uint64_t order; /* the number of the order that is to be carried out, or of the last one that was */
    int launch, terminate_n;
    char terminate[SIM_AGENTS][16];
    /* the failures that a test asks for */
    const char *error; /* launches fail with this error */
    bool mute;         /* agents never connect */
    bool stillborn;    /* machines stop as soon as they are launched */
    bool cannot_end;   /* terminations fail */
    bool dies_late;    /* the master dies after a launch and before the list is sent */
};

enum sim_crash { CRASH_NEVER, CRASH_BEFORE_COMMIT, CRASH_AFTER_COMMIT, CRASH_AFTER_EFFECTS };

struct sim_store;
struct sim {
    struct core *core; /* NULL while the master is down */
    int64_t now_us, timer_us, master_back_us;
    uint64_t seed;
    int epoch;
    struct sim_agent agent[SIM_AGENTS];
    int agent_n;
    struct sim_experiment behaviour[SIM_EXPERIMENTS];
    struct sim_task task[SIM_TASKS]; /* by number */
    char task_id[SIM_TASKS][CORE_TASK_ID_MAX];
    int task_n;
    int promised[SIM_TRIALS]; /* by trial: the steps of the newest checkpoint that the trial was told is stored */
    struct sim_provider provider;
    struct core_pool_opts pool, other_pool;
    struct sim_store *store;
    struct strbuf story;
    struct strbuf last_log; /* the newest line that the core has written into a task's log */
    struct strbuf logs;     /* all lines that the core has written into logs of tasks */
    int steps;              /* the steps of the core since the beginning, over all restarts */
    int crash_at;           /* the step in which the master crashes */
    enum sim_crash crash_mode;
    bool quiet; /* no story is written */
    bool quarantine;
};

void sim_init(struct sim *sim, uint64_t seed);
void sim_release(struct sim *sim);

/* Makes the pool elastic: from now on it launches its agents as `scale` says. To be called before anything else. */
void sim_make_elastic(struct sim *sim, const struct scale_opts *scale);
/* Agents whose hosts fail go into quarantine. To be called before anything else. */
void sim_set_quarantine(struct sim *sim);
void sim_set_gang_probe(struct sim *sim); /* to be called before anything else happens */
void sim_add_other_pool(struct sim *sim); /* adds a pool called "other"; to be called before anything else */
/* Adds a line to the story. */
void sim_tell(struct sim *sim, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sim_set_sched(struct sim *sim, const struct sched_opts *opts); /* to be called before anything else happens */
void sim_add_agent(struct sim *sim, const char *id, int slots); /* the agent does not say what else its machine has */
void sim_add_old_agent(struct sim *sim, const char *id, int slots); /* the agent does not tell whether slots are used */
void sim_add_machine(struct sim *sim, const char *id, int slots, int cores, int64_t memory_bytes);
void sim_add_other_agent(struct sim *sim, const char *id, int slots); /* adds an agent to the other pool */
/* The connection breaks for so long; tasks go on running. */
void sim_agent_away(struct sim *sim, const char *id, int64_t ms);
/* The machine is off for so long, and everything that ran on it has ended. */
void sim_agent_power_cut(struct sim *sim, const char *id, int64_t ms);
/* The tasks on the machine are stopped from outside, one after the other, with so many milliseconds between two. */
void sim_agent_loses_tasks(struct sim *sim, const char *id, int64_t ms);
int sim_create(struct sim *sim, const struct sim_experiment *x); /* returns the experiment's id */
bool sim_create_task(struct sim *sim,
                     /* a task of its own, which works for 100 ms; false: the master has given no answer */
                     int experiment_id);
/* Launches a task. Returns its number; 0: it was refused, or the master has given no answer. */
int sim_launch(struct sim *sim, const struct sim_task *t, struct error *err);
/* 0, or -1 if the request was refused. */
int sim_kill_task(struct sim *sim, int number);
/* Pauses, unpauses or kills a generic task and those below it. 0, or -1 if the request was refused. */
int sim_change_task(struct sim *sim, enum core_generic_what what, int number, struct error *err);
void sim_use_task(struct sim *sim, int number);
/* 0, or -1 if the request was refused. */
/* Sets a quota. Stories call its workspace or user by the numbers. own -1: the quota is removed. */
void sim_set_quota(struct sim *sim, int workspace, int user, int own, int limit);
const struct core_quota_view *sim_quota(struct sim *sim, int workspace, int user); /* valid until the next call */
int sim_request(struct sim *sim, enum core_event_type request, int experiment_id);
int sim_continue(struct sim *sim, int experiment_id); /* 0, or -1 if the request was refused */
int sim_log_matched(struct sim *sim, int trial_id, const char *agent_id, enum log_policy_action action);
/* Gives an event to the core. Returns false if no answer came, or if the event was refused. */
bool sim_step(struct sim *sim, const struct core_event *ev, struct error *err);
void sim_crash_master(struct sim *sim, int64_t ms);
/* Damages the store: what is stored of the searcher is removed. */
void sim_forget_searcher(struct sim *sim, int experiment_id);
void sim_run(struct sim *sim, int64_t ms); /* lets time pass */

/* Compares the story since the last call; prints a diff and fails if it differs. */
void sim_expect(struct sim *sim, const char *story);
/* Checks why a job waits, or the trial of an experiment. */
void sim_expect_wait(struct sim *sim, struct core_job_owner owner, const char *reason);
void sim_expect_trial_wait(struct sim *sim, int experiment_id, const char *reason);
enum run_state sim_experiment_state(const struct sim *sim, int id); /* the state in the store */
enum run_state sim_trial_state(const struct sim *sim, int id);
const struct trial_row *sim_trial(const struct sim *sim, int id);
int sim_open_allocations(const struct sim *sim);

#endif
