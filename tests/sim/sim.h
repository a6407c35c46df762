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

enum { SIM_AGENTS = 16, SIM_CONTAINERS = 64, SIM_EXPERIMENTS = 128, SIM_TRIALS = 512 };

/* What an experiment asks for, and how its trials behave. */
struct sim_experiment {
    int slots, priority /* 0: 42 */, max_restarts, preemption_timeout_s /* 0: 3600 */;
    const char *searcher; /* NULL: single */
    bool paused;
    int steps;      /* of training until it is done */
    int fail_runs;  /* the first n runs … */
    int fail_step;  /* … fail with exit code 1 after this many steps of theirs */
    int fail_trial; /* only this one does; 0: all */
    bool searched;  /* validates after each step, does what operations ask for, and its loss follows from its id */
    bool deaf;      /* never preempts; of a task on its behalf: hangs */
    bool invalid_hp;
    bool cannot_start;      /* the agent fails to launch it, in the first fail_runs runs */
    bool cannot_be_started; /* so does every agent: what was submitted is wrong */
    bool runs_first;        /* of the two above: the agent calls it RUNNING before it knows */
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
    int32_t device_id[CORE_DEVICES_MAX];
    int device_n;
    enum sim_task_phase phase;
    enum container_state state;
    enum exit_kind exit_kind;
    int exit_code;
    int64_t tick_us;
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
    bool connected;
    enum sim_machine machine;
    int64_t launch_us;
    int64_t back_us; /* when it connects again; 0: nothing is planned */
    const char *pool;
    struct sim_container container[SIM_CONTAINERS];
};

/* Of an elastic pool (machines.c). */
struct sim_provider {
    int slots; /* of each machine; 0: the pool is not elastic */
    int launched;
    int64_t due_us;
    uint64_t order; /* to be carried out, or the last one that was */
    int launch, terminate_n;
    char terminate[SIM_AGENTS][16];
    /* what goes wrong */
    const char *error; /* launches fail */
    bool mute;         /* agents never connect */
    bool stillborn;    /* machines stop at once */
    bool cannot_end;   /* nothing ends */
    bool dies_late;    /* the master does, between the launch and its news */
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
    int promised[SIM_TRIALS]; /* steps of the newest checkpoint that was acknowledged to a trial */
    struct sim_provider provider;
    struct core_pool_opts pool, other_pool;
    struct sim_store *store;
    struct strbuf story;
    struct strbuf last_log; /* the newest line that the core wrote into a task's log */
    struct strbuf logs;     /* all of them */
    int steps;              /* of the core, in all its lives */
    int crash_at;           /* crash in this step */
    enum sim_crash crash_mode;
    bool quiet; /* tells no story */
};

void sim_init(struct sim *sim, uint64_t seed);
void sim_release(struct sim *sim);

/* From now on the pool launches its agents, as `scale` says. Before anything else. */
void sim_make_elastic(struct sim *sim, const struct scale_opts *scale);
void sim_add_other_pool(struct sim *sim); /* called "other". Before anything else */
void sim_tell(struct sim *sim, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* a line of the story */
void sim_set_sched(struct sim *sim, const struct sched_opts *opts); /* before anything else happens */
void sim_add_agent(struct sim *sim, const char *id, int slots);
void sim_add_other_agent(struct sim *sim, const char *id, int slots);  /* of the other pool */
void sim_agent_away(struct sim *sim, const char *id, int64_t ms);      /* the line is cut; tasks run on */
void sim_agent_power_cut(struct sim *sim, const char *id, int64_t ms); /* and so ends what ran there */
int sim_create(struct sim *sim, const struct sim_experiment *x);       /* its id */
bool sim_create_task(struct sim *sim,
                     int experiment_id); /* one of its own: works for 100 ms. False: nobody promised anything */
int sim_request(struct sim *sim, enum core_event_type request, int experiment_id); /* 0, or -1 when refused */
int sim_continue(struct sim *sim, int experiment_id);                              /* 0, or -1 when refused */
int sim_log_matched(struct sim *sim, int trial_id, const char *agent_id, enum log_policy_action action);
/* false: no answer came, or it was refused */
bool sim_step(struct sim *sim, const struct core_event *ev, struct error *err);
void sim_crash_master(struct sim *sim, int64_t ms);
void sim_forget_searcher(struct sim *sim, int experiment_id); /* damages the store */
void sim_run(struct sim *sim, int64_t ms);                    /* lets time pass */

void sim_expect(struct sim *sim, const char *story); /* since the last call; prints a diff and fails when it differs */
enum run_state sim_experiment_state(const struct sim *sim, int id); /* in the store */
enum run_state sim_trial_state(const struct sim *sim, int id);
const struct trial_row *sim_trial(const struct sim *sim, int id);
int sim_open_allocations(const struct sim *sim);

#endif
