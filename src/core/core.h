/* The core: everything the cluster knows and decides, as one step function. An event goes in, effects come out.
 *
 * Pure: no clock, no socket, no SQL; time comes with each event, randomness from a generator seeded at the start. The
 * same events give the same effects. One thread drives it. A step either succeeds, or fails (-1) and has changed
 * nothing.
 *
 * The driver's promises:
 *  - the PUT_… effects and TASK_LOG of a step become durable in one transaction, steps in the order in which they were
 * made;
 *  - all other effects, and the reply to whoever caused the event, wait until that transaction is committed;
 *  - it keeps one timer for effects.next_timer_us and sends CORE_TIMER when it is due (too early or too late does no
 * harm);
 *  - after a crash it reads the rows back, calls core_restore() before the first step, and lets the agents connect
 * again. Effects after the commit that a crash swallowed (a start, a kill, an acknowledgement) need no care: when its
 * agent connects again, the core finds out what is missing and asks for it again.
 *
 * Experiments that are over, and their trials, are not in the core: requests for them are ERR_NOT_FOUND here and are
 * answered from the store; reports (metrics, progress, checkpoints …) about them do nothing and succeed. */
#ifndef DET_CORE_CORE_H
#define DET_CORE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "core/records/rows.h"
#include "core/records/states.h"
#include "core/resources/scale.h"
#include "core/sched/opts.h"
#include "gen/config_numbers.h"

/* ---- making one -------------------------------------------------------------------------------------------------- */

struct core_pool_opts {
    const char *name;
    int max_aux_containers_per_agent; /* tasks without slots; a key of the master's configuration */
    struct sched_opts sched;
    int64_t agent_reconnect_wait_us; /* 0: that of core_opts */
    bool elastic;                    /* it has a provider that launches agents as they are needed */
    struct scale_opts scale;         /* of an elastic one */
};

struct core_opts {
    const struct core_pool_opts *pool;
    size_t pool_n;
    int64_t agent_reconnect_wait_us; /* 25 s */
    /* 60 s: how long after a start the agents of restored containers may take to come */
    int64_t restore_wait_us;
    const int32_t *reserved_port; /* never handed out to trials */
    size_t reserved_port_n;
    uint64_t seed; /* for container and job ids; another one at each start */
};
#define CORE_AGENT_RECONNECT_WAIT_US MASTER_CONFIG_RESOURCE_POOLS_AGENT_RECONNECT_WAIT_US_DEFAULT
#define CORE_RESTORE_WAIT_US 60000000

/* What the core needs to know of an experiment's configuration. The texts are borrowed for the call. */
struct core_experiment_spec {
    int32_t owner_id;
    const char *pool;
    int32_t slots_per_trial; /* 0: an auxiliary task without a slot */
    bool single_node;        /* never spread one trial over several agents */
    int32_t priority;        /* 1 … 99, lower goes first */
    double weight;
    int32_t max_slots; /* -1: no limit */
    int32_t max_restarts;
    int32_t preemption_timeout_s;
    uint32_t seed; /* experiment_seed */
    bool has_log_retention;
    int32_t log_retention_days;        /* -1: for ever */
    const char *searcher;              /* JSON object: the configuration's `searcher`, with its defaults */
    const char *hyperparameters;       /* JSON object: the configuration's `hyperparameters` */
    const char *warm_start_checkpoint; /* uuid or NULL */
    const char *const
        *warning; /* sentences for the log of the first trial; only read while the experiment is created */
    size_t warning_n;
};

struct agent;
struct core;
struct core *core_new(const struct core_opts *opts); /* never NULL */
void core_free(struct core *c);

/* A task of its own, which belongs to no trial: it has no slots, and is run once. What it executes is read from the
 * store when it starts. */
struct core_task_spec {
    int32_t owner_id, experiment_id; /* on behalf of which it runs */
    const char *pool;                /* "" or NULL: the first one */
};

/* Everything read back from the store: experiments that are not over with all their trials, tasks of their own that are
 * not over, allocations without end and their containers, all agents. The last ids given out, also to what is over. */
struct core_restored_experiment {
    struct experiment_row row;
    struct core_experiment_spec spec; /* from its stored configuration */
    const char *searcher_snapshot;    /* NULL: none was kept */
    const char *searcher_events;      /* since then, in order, as they were given to be kept; NULL: none */
};
/* How long an allocation took that came to its own end. */
struct core_run_time {
    const char *pool;
    int64_t us;
};
enum { CORE_RUN_TIMES_MAX = 101 }; /* more of one pool are of no use */
struct core_rows {
    const struct core_restored_experiment *experiment;
    size_t experiment_n;
    const struct trial_row *trial;
    size_t trial_n;
    const struct task_row *task;
    size_t task_n;
    const struct allocation_row *allocation;
    size_t allocation_n;
    const struct container_row *container;
    size_t container_n;
    const struct agent_row *agent;
    size_t agent_n;
    int32_t last_experiment_id, last_trial_id;
    const struct core_run_time *run_time; /* the latest of each pool, the newest last */
    size_t run_time_n;
};
struct core_effects;
/* Once, before the first step. Experiments that cannot be restored end in ERROR, with the reason in a task log. */
int core_restore(struct core *c, const struct core_rows *rows, int64_t now_us, struct core_effects *ret,
                 struct error *err);

/* Somebody has set the clock forward by `by_us` (negative: back). All deadlines move with it, so that nothing waits
 * longer or shorter. To be called before the next step; that step's effects.next_timer_us is by the new clock. */
void core_clock_set(struct core *c, int64_t by_us);

/* ---- events ------------------------------------------------------------------------------------------------------ */

enum core_event_type {
    /* requests of users */
    CORE_EXPERIMENT_CREATE,
    CORE_EXPERIMENT_CONTINUE,
    CORE_EXPERIMENT_ACTIVATE,
    CORE_EXPERIMENT_PAUSE,
    CORE_EXPERIMENT_CANCEL,
    CORE_EXPERIMENT_KILL,
    CORE_EXPERIMENT_RESOURCES,
    CORE_TRIAL_KILL,
    CORE_QUEUE_CHANGE,
    CORE_TASK_CREATE,
    CORE_AGENT_ENABLE,
    CORE_SLOT_ENABLE,
    CORE_AGENT_REMOVE,
    /* agents */
    CORE_AGENT_CONNECTED,
    CORE_AGENT_DISCONNECTED,
    CORE_AGENT_DEVICES,
    CORE_CONTAINER_CHANGED,
    CORE_INSTANCES_LISTED,
    /* what tasks say */
    CORE_ALLOCATION_READY,
    CORE_ALLOCATION_WAITING,
    CORE_PREEMPTION_ACKED,
    CORE_PREEMPTION_PENDING,
    CORE_CONTAINER_DAEMON,
    CORE_ALL_GATHER,
    CORE_TRIAL_PROGRESS,
    CORE_TRIAL_VALIDATED,
    CORE_TRIAL_OPERATION_COMPLETED,
    CORE_TRIAL_EARLY_EXIT,
    CORE_TRIAL_CHECKPOINTED,
    CORE_TRIAL_LOG_MATCHED,
    /* experiments that run elsewhere: the core gives them the next numbers, and knows nothing else of them */
    CORE_NEW_EXPERIMENT_ID,
    CORE_NEW_TRIAL_ID,
    /* time */
    CORE_TIMER,
    CORE_EVENT_NR,
};

struct core_device {
    int32_t id;
    int32_t type; /* device.v1.Type */
    const char *brand, *uuid;
    bool lost; /* it does not answer: nothing is placed there until it does */
};

/* What an agent says about one container. */
struct core_container_report {
    const char *container_id;
    enum container_state state;
    const char *address;      /* with RUNNING; may be NULL */
    enum exit_kind exit_kind; /* with TERMINATED */
    int32_t exit_code;
    const char *exit_text; /* the agent's words, for the task's log; may be NULL */
};

/* Changes of a running experiment's share of the cluster. The experiment's row in the core has none of these values:
 * the caller stores them, in the experiment's configuration. */
struct core_resources_patch {
    bool set_max_slots, set_weight, set_priority;
    int32_t max_slots; /* -1: no limit */
    double weight;
    int32_t priority;
};

/* One change of the job queue (docs/spec/scheduling.md#the-job-queue). A change of priority or weight keeps the job's
 * place among jobs of equal priority. A job that is moved takes over the priority of its anchor. In another pool it
 * stands by its submission. */
enum core_queue_what { QUEUE_PRIORITY, QUEUE_WEIGHT, QUEUE_AHEAD_OF, QUEUE_BEHIND_OF, QUEUE_POOL };
struct core_queue_change {
    const char *job_id; /* or a beginning that only it has */
    enum core_queue_what what;
    int32_t priority;
    double weight;
    const char *anchor; /* the job that it goes ahead of or behind; as job_id */
    const char *pool;
};

/* A machine that the provider of an elastic pool lists. The agent on it has its id. */
enum core_instance_state { INSTANCE_PENDING /* asked for */, INSTANCE_RUNNING, INSTANCE_STOPPED };
struct core_instance {
    const char *id;
    enum core_instance_state state;
    int64_t launch_us;
    const char *detail; /* of a stopped one: the last line of its log; may be NULL */
};

/* The user who asks for a change. Logs of the step name the user; no decision depends on it. */
struct core_actor {
    int32_t user_id;  /* 0: nobody; the platform itself, an agent or a task */
    const char *name; /* borrowed for the call; NULL: nobody */
};

struct core_event {
    enum core_event_type type;
    int64_t now_us;
    struct core_actor by;
    union {
        struct {
            const struct core_experiment_spec *spec;
            bool activate; /* else it is left PAUSED */
        } create;          /* CORE_EXPERIMENT_CREATE; effects.experiment_id, .job_id answer */
        /* CORE_EXPERIMENT_CONTINUE: one that is over, with all its trials, and the configuration that holds from now
         * on. Trials that had completed are left alone, but for the only one of a single-trial experiment; all others
         * run again from their latest checkpoints when the searcher comes to them. */
        struct {
            const struct core_restored_experiment *experiment; /* a snapshot is not looked at */
            const struct trial_row *trial;
            size_t trial_n;
            bool rerun_completed;
        } resume;
        int32_t experiment_id; /* CORE_EXPERIMENT_ACTIVATE, PAUSE, CANCEL, KILL */
        struct {
            int32_t experiment_id;
            const struct core_resources_patch *patch;
        } resources;      /* CORE_EXPERIMENT_RESOURCES */
        int32_t trial_id; /* CORE_TRIAL_KILL */
        struct {
            const struct core_queue_change *change;
            size_t n;
            bool refuse_misfits;           /* a pool whose agents cannot hold the job's trials */
        } queue;                           /* CORE_QUEUE_CHANGE: all or nothing */
        const struct core_task_spec *task; /* CORE_TASK_CREATE; effects.task_id answers */
        const char *remove_agent;          /* CORE_AGENT_REMOVE: its id; it must be lost */
        struct {
            const char *agent_id;
            int32_t slot; /* device id; CORE_SLOT_ENABLE only */
            bool enable, drain;
            const char *reason; /* CORE_AGENT_ENABLE: why it is disabled, shorter than CORE_DISABLED_REASON_MAX; NULL:
                                   nothing is said */
        } enable;               /* CORE_AGENT_ENABLE, CORE_SLOT_ENABLE */
        struct {
            const char *agent_id, *pool /* "" or NULL: the first pool */, *version, *hostname;
            const char *isolation_gap; /* why tasks of different users are not kept apart there; "": they are; NULL:
                                          nobody knows */
            const struct core_device *device;
            size_t device_n;
            const struct core_container_report *container; /* all that it still knows of, also those that exited */
            size_t container_n;
        } agent; /* CORE_AGENT_CONNECTED; CORE_AGENT_DISCONNECTED looks at agent_id only */
        struct {
            const char *agent_id;
            const int32_t *lost_id; /* all devices that are lost; the others answer */
            size_t lost_n;
        } devices; /* CORE_AGENT_DEVICES */
        struct {
            const char *agent_id;
            struct core_container_report report;
        } container; /* CORE_CONTAINER_CHANGED */
        /* The machines of the pool, listed after `order` had been carried out as far as possible. `order` is the number
         * of the last order for the pool; 0: there was none since the core was made. */
        struct {
            const char *pool;
            const struct core_instance *instance;
            size_t n;
            uint64_t order;
            const char *launch_error; /* why not all were launched; NULL: they were */
        } listed;                     /* CORE_INSTANCES_LISTED */
        struct {
            const char *allocation_id;
            const char *container_id; /* CORE_CONTAINER_DAEMON only */
        } allocation;                 /* CORE_ALLOCATION_READY, …WAITING, CORE_PREEMPTION_…, CORE_CONTAINER_DAEMON */
        struct {
            const char *allocation_id, *request_uuid;
            int32_t num_peers;
            const char *data; /* JSON */
        } gather;             /* CORE_ALL_GATHER */
        struct {
            int32_t trial_id;
            double progress; /* 0 … 1 */
        } progress;          /* CORE_TRIAL_PROGRESS */
        struct {
            int32_t trial_id;
            const char *metrics; /* JSON object: the report's avg_metrics */
        } validated;             /* CORE_TRIAL_VALIDATED */
        struct {
            int32_t trial_id;
            int64_t length; /* that it was asked to train until */
            double metric;
        } operation; /* CORE_TRIAL_OPERATION_COMPLETED */
        struct {
            int32_t trial_id;
            enum early_exit reason;
        } early_exit; /* CORE_TRIAL_EARLY_EXIT */
        struct {
            int32_t trial_id;
            const char *uuid;
            int32_t steps_completed;
        } checkpoint; /* CORE_TRIAL_CHECKPOINTED; the newest by steps is kept */
        struct {
            int32_t trial_id;
            const char *policy;   /* its name or pattern, for the trial's log */
            const char *agent_id; /* where the line came from; may be NULL */
            enum log_policy_action action;
        } log_matched; /* CORE_TRIAL_LOG_MATCHED; the same again does nothing */
    };
};

/* ---- effects ----------------------------------------------------------------------------------------------------- */

enum core_effect_type {
    /* Durable, in the step's transaction. Rows come first, parents before children. `insert` is set if the row is
     * written for the first time. An object has at most one row effect in a step, with its last values. */
    CORE_PUT_EXPERIMENT,
    CORE_PUT_TRIAL,
    CORE_PUT_TASK,
    CORE_PUT_ALLOCATION,
    CORE_PUT_CONTAINER,
    CORE_PUT_AGENT,
    CORE_PUT_SEARCHER,
    CORE_ADD_SEARCHER_EVENTS,
    CORE_PUT_RESOURCES,
    CORE_DELETE_AGENT,
    CORE_TASK_LOG,
    /* after the commit */
    CORE_START_CONTAINER,
    CORE_SIGNAL_CONTAINER,
    CORE_ACK_CONTAINER,
    CORE_WELCOME_AGENT,
    CORE_WAKE,
    CORE_END_SESSIONS,
    CORE_EXPERIMENT_STATE,
    CORE_EXPERIMENT_ENDED,
    CORE_TASK_ENDED,
    CORE_ORDER_INSTANCES,
    CORE_EFFECT_NR,
};

/* What the core knows about the start of a container; configuration, model definition, environment and user come from
 * the store. The core may ask for a start of the same container again, if the agent never heard of the first one: it
 * needs new session tokens. */
struct core_start {
    const char *agent_id, *container_id, *allocation_id, *task_id, *pool;
    const char *description; /* exp-E-trial-T-attempt-RUN; gc-E */
    int32_t experiment_id, trial_id /* 0: a task of its own, for which the fields about trials are not set */, run_id,
        owner_id;
    int32_t rank, container_n; /* of this allocation */
    const int32_t *device_id;
    size_t device_n;
    uint32_t trial_seed;
    const char *hparams;           /* JSON object */
    int32_t steps_completed;       /* 0 after a warm start */
    const char *latest_checkpoint; /* own, else the warm start; NULL: none */
    int32_t port[CORE_PORTS];
    int32_t preemption_timeout_s;
    int32_t slots; /* of the whole allocation */
};

enum core_wake {
    CORE_WAKE_PREEMPTION, /* ask core_preemption() again */
    CORE_WAKE_RENDEZVOUS, /* core_rendezvous() */
    CORE_WAKE_ALL_GATHER, /* core_all_gather() */
};

struct core_termination {
    const char *id, *reason; /* `idle for 20m0s`, for the log */
};

struct core_effect {
    enum core_effect_type type;
    bool insert;
    union {
        const struct experiment_row *experiment;
        const struct trial_row *trial;
        const struct task_row *task;
        const struct allocation_row *allocation;
        const struct container_row *container;
        const struct agent_row *agent;
        /* takes the place of the snapshot and of all events until now; NULL: delete them */
        struct {
            int32_t experiment_id;
            const char *snapshot;
        } searcher;
        /* lines of text to be kept in the order of `from`, which grows */
        struct {
            int32_t experiment_id;
            int64_t from;
            const char *lines;
        } searcher_events;
        /* values that the experiment's stored configuration has from now on */
        struct {
            int32_t experiment_id, priority;
            double weight;
            const char *pool;
        } resources;
        struct {
            const char *task_id, *allocation_id, *text;
            bool error;
        } log; /* source master; ends with \n */
        struct core_start start;
        struct {
            const char *agent_id, *container_id;
            int signal;
        } signal;
        struct {
            const char *agent_id, *container_id;
            enum container_state state;
        } ack; /* the agent may forget it */
        /* what should run there */
        struct {
            const char *agent_id;
            const char *const *container_id;
            size_t container_n;
        } welcome;
        struct {
            enum core_wake what;
            const char *allocation_id;
        } wake;
        const char *allocation_id; /* CORE_END_SESSIONS */
        const char *agent_id;      /* CORE_DELETE_AGENT: its machine is gone for good */
        /* To the provider of a pool; a CORE_INSTANCES_LISTED with this number has to follow. It may be lost in a crash.
         */
        struct {
            const char *pool;
            uint64_t number;
            int launch;
            const struct core_termination *terminate;
            size_t terminate_n;
        } order; /* CORE_ORDER_INSTANCES */
        /* each move of an experiment, for web hooks and for requests that wait for it. `by`: the user whose request led
         * to it */
        struct {
            int32_t experiment_id;
            enum run_state from, to;
            struct core_actor by;
        } state;
        /* CORE_EXPERIMENT_ENDED: its checkpoints may be collected, and so on */
        int32_t experiment_id;
        const char *task_id; /* CORE_TASK_ENDED: a task of its own has ended; the row of its allocation says how */
    };
};

/* The caller's: valid until released, whatever the core does next. */
struct core_effects {
    struct arena arena;
    struct core_effect *item;
    size_t n, cap;
    int64_t next_timer_us; /* send CORE_TIMER then; 0: nothing to wait for. Set by every step */
    int32_t experiment_id; /* CORE_EXPERIMENT_CREATE, CORE_NEW_EXPERIMENT_ID */
    const char *job_id;    /* of these */
    const char *task_id;   /* CORE_TASK_CREATE */
    int32_t trial_id;      /* CORE_NEW_TRIAL_ID */
    /* CORE_TRIAL_VALIDATED: the searcher could not use the metrics, the experiment stops in error */
    const char *searcher_error;
};
#define CORE_EFFECTS_INIT {0}
void core_effects_release(struct core_effects *e);
#define cleanup_effects __attribute__((cleanup(core_effects_release)))

/* *ret is empty or released. Errors: ERR_NOT_FOUND, ERR_PRECONDITION (`experiment in terminal state` …), ERR_INVALID,
 * ERR_CONFLICT (an agent of that id is connected already). */
int core_step(struct core *c, const struct core_event *ev, struct core_effects *ret, struct error *err);

/* ---- reading, for the API's live views --------------------------------------------------------------------------- */

/* The state that people are shown: ACTIVE ones by their most advanced allocation. */
enum display_state { DISPLAY_STORED, DISPLAY_QUEUED, DISPLAY_PULLING, DISPLAY_STARTING, DISPLAY_RUNNING };

struct core_experiment_view {
    const struct experiment_row *row;
    enum display_state display; /* DISPLAY_STORED: show row->state */
    int trial_n;
    int32_t priority;
};
struct core_trial_view {
    const struct trial_row *row;
    enum display_state display;
    const char *allocation_id; /* the open one; NULL: none */
};
struct core_slot_view {
    const struct core_device *device;
    bool enabled, draining;   /* enabled: can be used, agent's own state included */
    const char *container_id; /* NULL: free */
    const char *allocation_id, *task_id;
    const struct container_row *container; /* the same */
};
/* The operation of a trial, in searches that have operations (docs/spec/searchers.md#operations). */
struct core_operation_view {
    int64_t length; /* train until this much in all, in the units of searcher.max_length; 0: no operations here */
    bool completed; /* and there is no other one, at least for now */
};
struct core_agent_view {
    const char *id, *pool, *version, *hostname;
    const char *isolation_gap; /* as its last hello had it */
    int64_t connected_us;      /* since when; 0 while it is away or lost */
    int64_t lost_us;           /* since when it is given up; 0: it is not */
    bool enabled, draining;
    const char *disabled_reason; /* "": none is known */
    size_t slot_n, container_n;
    int slots_used, aux_used;
    uint64_t revision; /* as long as it is the same, so is everything about the agent, its slots and containers */
};
struct core_job_view {
    const char *job_id;
    int32_t experiment_id, priority;
    double weight;
    bool scheduled; /* any of its allocations has its slots */
    bool leaving;   /* it has gone to another pool, and what ran in this one has not ended yet */
    int32_t requested_slots, allocated_slots;
    int32_t jobs_ahead; /* -1: by fair share there is no order */
    int64_t queue_position;
};
/* What the first of a job's allocations that wait is waiting for. */
struct core_wait_view {
    const char *reason;         /* one line; from the arena */
    int64_t estimated_start_us; /* from the median run time of what ended in its pool; 0: nobody knows */
};
struct core_pool_view {
    const char *name;
    int agent_n, slots, slots_used, aux_capacity, aux_used;
    /* of an elastic one */
    bool elastic;
    const struct scale_opts *scale;
    int instance_n, starting_n; /* starting: their agents may still come */
    const char *problem;        /* why the last launch failed; NULL: it did not */
    int64_t retry_us;           /* with a problem: nothing is launched before */
};

/* All return false, or 0, when there is no such thing. Strings and rows live until the next step. */
bool core_experiment(const struct core *c, int32_t id, struct core_experiment_view *ret);
bool core_trial(const struct core *c, int32_t id, struct core_trial_view *ret);
bool core_trial_operation(const struct core *c, int32_t id, struct core_operation_view *ret);
const struct allocation_row *core_allocation(const struct core *c, const char *allocation_id);
/* All open allocations, pool by pool in the order in which they were asked for. Array from the arena. */
size_t core_allocations(const struct core *c, struct arena *a, const struct allocation_row *const **ret);
const struct container_row *core_container(const struct core *c, const char *container_id);
/* The containers of an allocation in the order of their ranks: calls until index is too large. */
const struct container_row *core_allocation_container(const struct core *c, const char *allocation_id, size_t index);

size_t core_agent_n(const struct core *c);
/* One after the other, ordered by id: for (const struct agent *at = NULL; core_agent_next(c, &at, &view);). Without
 * `ret`, which costs a walk over the agent's containers, core_agent_view() shows those that somebody wants to see. */
bool core_agent_next(const struct core *c, const struct agent **at, struct core_agent_view *ret);
void core_agent_view(const struct agent *at, struct core_agent_view *ret);
uint64_t core_agent_revision(const struct agent *at); /* core_agent_view.revision */
bool core_agent_by_id(const struct core *c, const char *agent_id, struct core_agent_view *ret);
/* ordered by device id */
bool core_slot(const struct core *c, const char *agent_id, size_t index, struct core_slot_view *ret);
/* All of an agent's; returns how many. */
size_t core_slots(const struct core *c, const char *agent_id, struct core_slot_view ret[CORE_DEVICES_MAX]);
const struct container_row *core_agent_container(const struct core *c, const char *agent_id, size_t index);

size_t core_pool_n(const struct core *c);
bool core_pool(const struct core *c, size_t index, struct core_pool_view *ret);
/* The place of an experiment in its pool's queue. Also false when the experiment neither waits for slots nor holds any.
 */
bool core_job(const struct core *c, int32_t experiment_id, struct core_job_view *ret);
/* The experiment of a job, by its id or a beginning of it that only it has. */
int core_job_find(const struct core *c, const char *job_id, int32_t *ret_experiment_id, struct error *err);
/* Why the experiment waits, as of the last step. False: none of its allocations waits. */
bool core_wait(const struct core *c, int32_t experiment_id, int64_t now_us, struct arena *a,
               struct core_wait_view *ret);
/* The same for many experiments, one call for each. The caller zeroes *notes before the first call. What need be found
 * once for a pool is kept in *notes for the next calls. *notes must not be used any more after the next step. */
struct core_wait_notes {
    struct core_pool_notes {
        const char *name;
        bool counted;
        const struct agent_size *sizes;
        const char *states;
    } pool;
};
bool core_wait_noted(const struct core *c, int32_t experiment_id, int64_t now_us, struct arena *a,
                     struct core_wait_notes *notes, struct core_wait_view *ret);
/* Why no set of the pool's agents could hold such an allocation, were all of them there and idle; NULL: one could. */
const char *core_misfit(const struct core *c, const char *pool, int32_t slots, bool single_node, struct arena *a);
/* The jobs of a pool in the order in which they will be served. Array from the arena. */
size_t core_queue(const struct core *c, const char *pool, struct arena *a, struct core_job_view **ret);

/* Long polls ask, wait for CORE_WAKE, and ask again. */
enum core_answer { CORE_ANSWER_WAIT, CORE_ANSWER_YES, CORE_ANSWER_GONE /* no such allocation, or it has ended */ };
enum core_answer core_preemption(const struct core *c, const char *allocation_id);
struct core_peer {
    const char *container_id, *address;
    int32_t rank, slots;
};
/* YES once all containers run: *ret (from the arena) by rank. */
enum core_answer core_rendezvous(const struct core *c, const char *allocation_id, struct arena *a,
                                 struct core_peer **ret, size_t *ret_n);
/* YES once all peers gave their data: *ret (from the arena) in the order of arrival. */
enum core_answer core_all_gather(const struct core *c, const char *allocation_id, const char *request_uuid,
                                 struct arena *a, const char *const **ret, size_t *ret_n);

#endif
