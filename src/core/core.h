/* The core: everything the cluster knows and decides, as one step function. An event goes in, effects come out.
 *
 * Pure: no clock, no socket, no SQL; time comes with each event, randomness from a generator seeded at the start. The
 * same events give the same effects. One thread drives it. A step either succeeds, or fails (-1) and has changed
 * nothing.
 *
 * The driver's promises:
 *  - the PUT_… effects and TASK_LOG of a step become durable in one transaction, steps in the order in which they were
 *    made;
 *  - all other effects, and the reply to whoever caused the event, wait until that transaction is committed;
 *  - it keeps one timer for effects.next_timer_us and sends CORE_TIMER when it is due (too early or too late does no
 *    harm);
 *  - after a crash it reads the rows back, calls core_restore() before the first step, and lets the agents connect
 *    again. Effects after the commit that a crash swallowed (a start, a kill, an acknowledgement) need no care: when
 *    its agent connects again, the core finds out what is missing and asks for it again.
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
#include "core/sched/needs.h"
#include "core/sched/opts.h"
#include "gen/config_numbers.h"

/* ---- making one -------------------------------------------------------------------------------------------------- */

struct core_pool_opts {
    const char *name;
    /* the most tasks without slots on one agent; a key of the master's configuration */
    int max_aux_containers_per_agent;
    struct sched_opts sched;
    int64_t agent_reconnect_wait_us; /* 0: the value of core_opts counts */
    bool gang_probe;                 /* trials on several agents are probed before they start (gang_probe.h) */
    bool elastic;                    /* the pool has a provider that launches agents as they are needed */
    struct scale_opts scale;         /* set if the pool is elastic */
};

struct core_opts {
    const struct core_pool_opts *pool;
    size_t pool_n;
    int64_t agent_reconnect_wait_us; /* 25 s */
    /* The time after a start within which the agents of restored containers have to come back; 60 s. */
    int64_t restore_wait_us;
    bool quarantine; /* three failures within an hour for reasons of its host keep new tasks from an agent */
    const int32_t *reserved_port; /* these ports are never given to trials */
    size_t reserved_port_n;
    uint64_t seed; /* the seed for the ids of containers and jobs; it differs at each start */
};
#define CORE_AGENT_RECONNECT_WAIT_US MASTER_CONFIG_RESOURCE_POOLS_AGENT_RECONNECT_WAIT_US_DEFAULT
#define CORE_RESTORE_WAIT_US 60000000

/* What the core needs to know of an experiment's configuration. The texts are borrowed for the call. */
struct core_experiment_spec {
    int32_t owner_id, workspace_id; /* workspace_id: for quotas; 0: unknown */
    const char *pool;
    int32_t slots_per_trial;  /* 0: each trial is an auxiliary task without a slot */
    struct sched_needs needs; /* of each container of a trial */
    bool single_node;         /* a trial is never spread over several agents */
    int32_t priority;         /* 1 … 99; a lower number goes first */
    double weight;
    int32_t max_slots; /* -1: no limit */
    int32_t max_restarts;
    int32_t preemption_timeout_s;
    int64_t max_time_us; /* how long one run of a trial may take; 0: no limit */
    int64_t max_idle_us; /* how long the slots of a trial may go unused; 0: no limit */
    uint32_t seed;       /* experiment_seed */
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

/* What the core needs to know of a task of its own. Such a task belongs to no trial, and is run once on one agent. What
 * it executes is read from the store when it starts. */
struct core_task_spec {
    enum task_kind kind;
    int32_t owner_id;      /* the user on whose behalf the task runs */
    int32_t experiment_id; /* the experiment whose checkpoints a collection removes; else 0 */
    const char *pool;      /* "" or NULL: the first pool */
    /* The members from here on belong to tasks that are launched by users. A collection has none of them. */
    int32_t workspace_id;
    const char *description;
    int32_t slots; /* 0: the task is an auxiliary task without a slot */
    struct sched_needs needs;
    int32_t priority;  /* 1 … 99; a lower number goes first */
    int32_t max_slots; /* -1: no limit */
    double weight;
    int64_t idle_timeout_us; /* 0: the task may be idle for ever */
    int64_t max_time_us;     /* 0: the task may run for ever */
    int64_t max_idle_us;     /* how long its slots may go unused; 0: for ever */
    /* The members from here on belong to generic tasks. */
    bool no_pause;
    int32_t preemption_timeout_s;
    const char *parent_id; /* a generic task that is not over; NULL: none */
};

/* What a user may do to generic tasks. */
enum core_generic_what { GENERIC_PAUSE, GENERIC_UNPAUSE, GENERIC_KILL };

/* Everything that the core reads back from the store: the experiments that are not over, with all their trials; the
 * tasks of their own that are not over; the allocations that have not ended, and their containers; all agents; and the
 * last ids that were given out, also those of objects that are over. */
struct core_restored_experiment {
    struct experiment_row row;
    struct core_experiment_spec spec; /* from its stored configuration */
    const char *searcher_snapshot;    /* NULL: none was stored */
    /* the events since the snapshot, in order, in the form in which they were given to be stored; NULL: there are
     * none */
    const char *searcher_events;
};
/* A quota: of a workspace (user_id 0), of a user (workspace_id 0), or of a user within a workspace. */
enum { CORE_QUOTA_WHAT_MAX = 192 };
struct core_quota_change {
    int32_t workspace_id, user_id;
    const char *what;   /* for people: workspace vision */
    int32_t own, limit; /* docs/spec/scheduling.md#quotas */
    bool remove;        /* the quota is removed */
};

/* In which workspace an experiment is. */
struct core_placed {
    int32_t experiment_id, workspace_id;
};

/* How long an allocation took that ended by itself. */
struct core_run_time {
    const char *pool;
    int64_t us;
};
enum { CORE_RUN_TIMES_MAX = 101 }; /* more run times of one pool are not needed */
struct core_rows {
    const struct core_restored_experiment *experiment;
    size_t experiment_n;
    const struct trial_row *trial;
    size_t trial_n;
    const struct task_row *task;
    size_t task_n;
    const struct launched_row *launched; /* for each of `task` that a user has launched */
    size_t launched_n;
    const struct allocation_row *allocation;
    size_t allocation_n;
    const struct container_row *container;
    size_t container_n;
    const struct agent_row *agent;
    size_t agent_n;
    int32_t last_experiment_id, last_trial_id;
    const struct core_quota_change *quota;
    size_t quota_n;
    const struct core_run_time *run_time; /* the latest run times of each pool, the newest last */
    size_t run_time_n;
};
struct core_effects;
/* Takes up what the store holds. It has to be called once, before the first step. Experiments that cannot be restored
 * end in ERROR, and a task log gives the reason. */
int core_restore(struct core *c, const struct core_rows *rows, int64_t now_us, struct core_effects *ret,
                 struct error *err);

/* Has to be called when somebody has set the clock forward by `by_us` (negative: back), before the next step. All
 * deadlines move with the clock, so that nothing waits longer or shorter. The next step's effects.next_timer_us is by
 * the new clock. */
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
    CORE_QUOTA_SET,
    CORE_QUOTA_FOLLOW,
    CORE_TASK_CREATE,
    CORE_TASK_KILL,
    CORE_GENERIC_CHANGE,
    CORE_AGENT_ENABLE,
    CORE_SLOT_ENABLE,
    CORE_AGENT_REMOVE,
    CORE_AGENT_LABEL,
    /* agents */
    CORE_AGENT_CONNECTED,
    CORE_AGENT_DISCONNECTED,
    CORE_AGENT_DEVICES,
    CORE_AGENT_USE,
    CORE_CONTAINER_CHANGED,
    CORE_INSTANCES_LISTED,
    /* what tasks say */
    CORE_ALLOCATION_READY,
    CORE_ALLOCATION_WAITING,
    CORE_PREEMPTION_ACKED,
    CORE_PREEMPTION_PENDING,
    CORE_CONTAINER_DAEMON,
    CORE_ALL_GATHER,
    CORE_GANG_PROBED,
    CORE_TASK_USED,
    CORE_TRIAL_PROGRESS,
    CORE_TRIAL_VALIDATED,
    CORE_TRIAL_OPERATION_COMPLETED,
    CORE_TRIAL_EARLY_EXIT,
    CORE_TRIAL_CHECKPOINTED,
    CORE_TRIAL_LOG_MATCHED,
    /* experiments that run elsewhere: the core gives them the next numbers, and knows nothing else about them */
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
    bool lost; /* the device does not answer: nothing is placed on it until it does */
};

/* A device that has failed a check of its health. */
struct core_device_trouble {
    int32_t id;
    const char *reason;
    int64_t since_us; /* by the agent's clock; later failures have later times */
};

/* The slots of a container are in use while one of its GPUs is as busy as this, or, if its slots are no GPUs, while its
 * processes take as much of one core. */
enum { CORE_USE_PERCENT = 2 };

/* How long the slots of a container have not been in use, as its agent has measured it. */
struct core_slots_use {
    const char *container_id;
    int64_t idle_us;
    const char *problem; /* why the agent cannot measure it; NULL or "": it can */
};

/* What an agent says about one container. */
struct core_container_report {
    const char *container_id;
    enum container_state state;
    const char *address;      /* set if the state is RUNNING; may be NULL */
    const char *account;      /* the login name that the task runs as; NULL or "": unknown */
    const char *runtime_id;   /* what the container's engine calls it; NULL or "": unknown */
    enum exit_kind exit_kind; /* set if the state is TERMINATED */
    int32_t exit_code;
    bool by_master;        /* the master could not send the start, so the agent has no part in the failure */
    const char *exit_text; /* the agent's description of the end, for the task's log; may be NULL */
};

/* Changes of a running experiment's share of the cluster. The experiment's row in the core has none of these values.
 * The caller stores them in the experiment's configuration. */
struct core_resources_patch {
    bool set_max_slots, set_weight, set_priority;
    int32_t max_slots; /* -1: no limit */
    double weight;
    int32_t priority;
};

/* One change of the job queue (docs/spec/scheduling.md#the-job-queue). A change of priority or weight keeps the job's
 * place among jobs of equal priority. A job that is moved takes over the priority of its anchor. In another pool the
 * job's place follows from the time of its submission. */
enum core_queue_what { QUEUE_PRIORITY, QUEUE_WEIGHT, QUEUE_AHEAD_OF, QUEUE_BEHIND_OF, QUEUE_POOL };
struct core_queue_change {
    const char *job_id; /* the job's id, or a beginning that only this id has */
    enum core_queue_what what;
    int32_t priority;
    double weight;
    const char *anchor; /* the job that it goes ahead of or behind; given like job_id */
    const char *pool;
};

/* A machine that the provider of an elastic pool lists. The agent on it has its id. */
enum core_instance_state {
    INSTANCE_PENDING, /* asked for */
    INSTANCE_RUNNING,
    INSTANCE_ENDING, /* the machine runs, but its provider takes it back in a moment */
    INSTANCE_STOPPED,
};
struct core_instance {
    const char *id;
    enum core_instance_state state;
    int64_t launch_us;
    const char *detail; /* why it ends, or the last line of a stopped machine's log; may be NULL */
};

/* The user who asks for a change. Logs of the step name the user; no decision depends on it. */
struct core_actor {
    int32_t user_id;  /* 0: no user, but the platform itself, an agent or a task */
    const char *name; /* borrowed for the call; NULL: no user */
};

struct core_event {
    enum core_event_type type;
    int64_t now_us;
    struct core_actor by;
    union {
        struct {
            const struct core_experiment_spec *spec;
            bool activate; /* true: the experiment becomes ACTIVE; false: it stays PAUSED */
        } create;          /* CORE_EXPERIMENT_CREATE; the answer is in effects.experiment_id and effects.job_id */
        /* CORE_EXPERIMENT_CONTINUE: an experiment that is over, with all its trials, and the configuration that holds
         * from now on. Trials that have completed are not run again, except the only trial of a single-trial
         * experiment. All other trials run again from their latest checkpoints when the searcher asks for them. */
        struct {
            const struct core_restored_experiment *experiment; /* the snapshot in it is not used */
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
            bool refuse_misfits;               /* refuses a pool whose agents cannot hold the job's trials */
        } queue;                               /* CORE_QUEUE_CHANGE: either all changes are carried out or none */
        const struct core_quota_change *quota; /* CORE_QUOTA_SET; the caller stores it */
        struct {                               /* CORE_QUOTA_FOLLOW: what has been moved or renamed in the store */
            const struct core_placed *placed;
            size_t placed_n;
            const struct core_quota_change *named; /* only its workspace_id, user_id and `what` matter */
            size_t named_n;
        } follow;
        /* CORE_TASK_CREATE; the answer is in effects.task_id, and for a launched task in effects.job_id and
         * effects.launched */
        const struct core_task_spec *task;
        /* CORE_GENERIC_CHANGE: the task that the user has named, and those below it. Tasks that are over are skipped,
         * and so is what cannot be done to a task below. The core adds the tasks whose parents are in the list. */
        struct {
            enum core_generic_what what;
            const char *named;
            const char *const *below;
            size_t below_n;
        } generic;
        /* CORE_TASK_KILL: a task that a user has launched, and that is not generic. CORE_TASK_USED: somebody uses it,
         * so it is not idle; nothing happens if there is no such task. */
        const char *task_id;
        const char *remove_agent; /* CORE_AGENT_REMOVE: the agent's id; the agent must be lost */
        struct {
            const char *agent_id;
            const char *text; /* shorter than CORE_LABEL_MAX; "": the agent has none from now on */
        } label;              /* CORE_AGENT_LABEL */
        struct {
            const char *agent_id;
            int32_t slot; /* the device's id; set in CORE_SLOT_ENABLE only */
            bool enable, drain;
            /* CORE_AGENT_ENABLE: why the agent is disabled, shorter than CORE_DISABLED_REASON_MAX; NULL: no reason
             * is given */
            const char *reason;
        } enable; /* CORE_AGENT_ENABLE, CORE_SLOT_ENABLE */
        struct {
            const char *agent_id, *pool /* "" or NULL: the first pool */, *version, *hostname;
            /* why the agent does not keep tasks of different users apart; "": it keeps them apart; NULL: this is not
             * known */
            const char *isolation_gap;
            const struct core_device *device;
            size_t device_n;
            /* the cores and the memory that the agent has for tasks which ask for some; nothing: it does not say */
            struct sched_needs has;
            bool tells_use; /* the agent tells for how long slots are not in use, where it is asked to */
            /* all containers that the agent still knows, also those that have exited */
            const struct core_container_report *container;
            size_t container_n;
            /* all failures that the agent remembers, also those that it has told before */
            const struct core_device_trouble *trouble;
            size_t trouble_n;
        } agent; /* CORE_AGENT_CONNECTED; CORE_AGENT_DISCONNECTED has agent_id only */
        struct {
            const char *agent_id;
            const int32_t *lost_id; /* the ids of all devices that are lost; all other devices answer */
            size_t lost_n;
            const struct core_device_trouble *trouble; /* as in `agent` */
            size_t trouble_n;
        } devices; /* CORE_AGENT_DEVICES */
        struct {
            const char *agent_id;
            const struct core_slots_use *slots;
            size_t n;
        } use; /* CORE_AGENT_USE */
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
            const char *launch_error; /* why not all machines were launched; NULL: all were */
            /* Why the provider could not list its machines; of the other members only `pool` counts then. NULL: this
             * event is the list. */
            const char *list_error;
        } listed; /* CORE_INSTANCES_LISTED */
        struct {
            const char *allocation_id;
            const char *container_id; /* set in CORE_CONTAINER_DAEMON only */
        } allocation;                 /* CORE_ALLOCATION_READY, …WAITING, CORE_PREEMPTION_…, CORE_CONTAINER_DAEMON */
        struct {
            const char *allocation_id, *request_uuid;
            int32_t num_peers;
            const char *data; /* JSON */
        } gather;             /* CORE_ALL_GATHER */
        struct {
            const char *allocation_id;
            bool failed;
            const char *const *bad; /* the agents whose machines are to blame, if that is clear */
            size_t bad_n;
            const char *report; /* one sentence */
        } probe;                /* CORE_GANG_PROBED */
        struct {
            int32_t trial_id;
            double progress; /* 0 … 1 */
        } progress;          /* CORE_TRIAL_PROGRESS */
        struct {
            int32_t trial_id;
            const char *metrics; /* a JSON object: the report's avg_metrics */
        } validated;             /* CORE_TRIAL_VALIDATED */
        struct {
            int32_t trial_id;
            int64_t length; /* the length that the trial was asked to train until */
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
        } checkpoint; /* CORE_TRIAL_CHECKPOINTED; the checkpoint with the most steps is kept */
        struct {
            int32_t trial_id;
            const char *policy;   /* the policy's name or its pattern, for the trial's log */
            const char *agent_id; /* the agent that sent the matching line; may be NULL */
            enum log_policy_action action;
        } log_matched; /* CORE_TRIAL_LOG_MATCHED; another event with the same values changes nothing */
    };
};

/* ---- effects ----------------------------------------------------------------------------------------------------- */

enum core_effect_type {
    /* These effects are stored in the step's transaction. Rows come first, parents before children. `insert` is set if
     * the row is written for the first time. An object has at most one row effect in a step, with its last values. */
    CORE_PUT_EXPERIMENT,
    CORE_PUT_TRIAL,
    CORE_PUT_TASK,
    CORE_PUT_LAUNCHED,
    CORE_PUT_ALLOCATION,
    CORE_PUT_CONTAINER,
    CORE_PUT_AGENT,
    CORE_PUT_SEARCHER,
    CORE_ADD_SEARCHER_EVENTS,
    CORE_PUT_RESOURCES,
    CORE_DELETE_AGENT,
    CORE_TASK_LOG,
    /* These effects are carried out after the commit. */
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

/* What the core knows about the start of a container. The configuration, the model definition, the environment and the
 * user come from the store. If the agent has never heard of a start, the core asks for a start of the same container
 * again; the container then needs new session tokens. */
struct core_start {
    const char *agent_id, *container_id, *allocation_id, *task_id, *pool;
    const char *description; /* exp-E-trial-T-attempt-RUN for a trial, gc-E or KIND-TASK_ID for a task of its own */
    int32_t experiment_id, trial_id /* 0: a task of its own, for which the fields about trials are not set */, run_id,
        owner_id;
    enum task_kind kind;       /* of a task of its own */
    int32_t rank, container_n; /* the container's rank, and the number of containers of the allocation */
    const int32_t *device_id;
    size_t device_n;
    uint32_t trial_seed;
    const char *hparams;     /* JSON object */
    int32_t steps_completed; /* 0 after a warm start from another trial's checkpoint */
    /* the trial's own checkpoint, otherwise that of the warm start; NULL: there is none */
    const char *latest_checkpoint;
    int32_t port[CORE_PORTS];
    int32_t preemption_timeout_s;
    int32_t slots; /* the slots of the whole allocation */
    /* how often the agent is to tell for how long the container's slots have not been in use; 0: never */
    int64_t tell_use_every_us;
};

enum core_wake {
    CORE_WAKE_PREEMPTION, /* core_preemption() has another answer */
    CORE_WAKE_RENDEZVOUS, /* core_rendezvous() has another answer */
    CORE_WAKE_ALL_GATHER, /* core_all_gather() has another answer */
};

struct core_termination {
    const char *id, *reason; /* reason: for the log, such as `idle for 20m0s` */
};

struct core_effect {
    enum core_effect_type type;
    bool insert;
    union {
        const struct experiment_row *experiment;
        const struct trial_row *trial;
        const struct task_row *task;
        const struct launched_row *launched; /* the description is NULL unless the row is inserted */
        const struct allocation_row *allocation;
        const struct container_row *container;
        const struct agent_row *agent;
        /* this snapshot takes the place of the stored one and of all events stored until now; NULL: they are deleted */
        struct {
            int32_t experiment_id;
            const char *snapshot;
        } searcher;
        /* lines of text that are to be stored in the order of `from`, which grows */
        struct {
            int32_t experiment_id;
            int64_t from;
            const char *lines;
        } searcher_events;
        /* the experiment's stored configuration has these values from now on */
        struct {
            int32_t experiment_id, priority;
            double weight;
            const char *pool;
        } resources;
        struct {
            const char *task_id, *allocation_id, *text;
            bool error;
        } log; /* a line of the task's log whose source is the master; ends with \n */
        struct core_start start;
        struct {
            const char *agent_id, *container_id;
            int signal;
        } signal;
        struct {
            const char *agent_id, *container_id;
            enum container_state state;
        } ack; /* the agent may forget this container */
        /* the containers that should run on the agent */
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
        const char *agent_id;      /* CORE_DELETE_AGENT: the agent's machine is gone for good */
        /* An order to the provider of a pool. A CORE_INSTANCES_LISTED with this number has to follow. The order may be
         * lost in a crash. */
        struct {
            const char *pool;
            uint64_t number;
            int launch;
            const struct core_termination *terminate;
            size_t terminate_n;
        } order; /* CORE_ORDER_INSTANCES */
        /* a move of an experiment from one state to another, for web hooks and for requests that wait for it; `by` is
         * the user whose request led to the move */
        struct {
            int32_t experiment_id;
            enum run_state from, to;
            struct core_actor by;
        } state;
        /* CORE_EXPERIMENT_ENDED: what follows the end of an experiment can begin, such as a collection of its
         * checkpoints */
        int32_t experiment_id;
        const char *task_id; /* CORE_TASK_ENDED: a collection has ended; the row of its allocation says how */
    };
};

/* What a step asks the caller to do. It belongs to the caller and stays valid until it is released, whatever the core
 * does next. */
struct core_effects {
    struct arena arena;
    struct core_effect *item;
    size_t n, cap;
    /* the time at which the caller has to send CORE_TIMER; 0: no timer is set. Set by every step */
    int64_t next_timer_us;
    int32_t experiment_id;               /* set by CORE_EXPERIMENT_CREATE and CORE_NEW_EXPERIMENT_ID */
    const char *job_id;                  /* the job of that experiment, or of the task that was launched */
    const char *task_id;                 /* set by CORE_TASK_CREATE */
    const struct launched_row *launched; /* set by CORE_TASK_CREATE if a user launches the task */
    int32_t trial_id;                    /* set by CORE_NEW_TRIAL_ID */
    /* Set by CORE_TRIAL_VALIDATED if the searcher cannot use the metrics; the experiment stops in error. */
    const char *searcher_error;
};
#define CORE_EFFECTS_INIT {0}
void core_effects_release(struct core_effects *e);
#define cleanup_effects __attribute__((cleanup(core_effects_release)))

/* Carries out one event. *ret must be empty or released. Errors: ERR_NOT_FOUND; ERR_PRECONDITION (such as `experiment
 * in terminal state`); ERR_INVALID; ERR_CONFLICT (an agent with that id is connected already). */
int core_step(struct core *c, const struct core_event *ev, struct core_effects *ret, struct error *err);

/* ---- reading, for the API's live views --------------------------------------------------------------------------- */

/* The state that users are shown. An ACTIVE experiment or trial is shown with the state of its most advanced
 * allocation. */
enum display_state { DISPLAY_STORED, DISPLAY_QUEUED, DISPLAY_PULLING, DISPLAY_STARTING, DISPLAY_RUNNING };

struct core_experiment_view {
    const struct experiment_row *row;
    enum display_state display; /* DISPLAY_STORED: row->state is shown */
    int trial_n;
    int32_t priority;
};
struct core_trial_view {
    const struct trial_row *row;
    enum display_state display;
    const char *allocation_id; /* the id of the open allocation; NULL: there is none */
};
/* A task that a user has launched, and that is not over. */
struct core_task_view {
    const struct task_row *row;
    const struct launched_row *launched;
    const struct allocation_row *allocation; /* NULL: it has none at the moment */
};
struct core_slot_view {
    const struct core_device *device;
    bool enabled, draining; /* enabled: the slot can be used, so neither the slot nor its agent is disabled */
    /* why the slot is disabled, if its device has failed or is lost; "": for no such reason */
    const char *reason;
    const char *container_id; /* the container that holds the slot; NULL: the slot is free */
    const char *allocation_id, *task_id;
    const struct container_row *container; /* the row of that container */
};
/* The operation of a trial, in searches that have operations (docs/spec/searchers.md#operations). */
struct core_operation_view {
    /* the trial trains until this much in all, in the units of searcher.max_length; 0: the search has no operations */
    int64_t length;
    bool completed; /* the operation is completed, and the trial has got no other one yet */
};
struct core_agent_view {
    const char *id, *pool, *version, *hostname;
    const char *isolation_gap; /* as the agent's last hello had it */
    int64_t connected_us;      /* the time since which it is connected; 0 while it is away or lost */
    int64_t lost_us;           /* the time since which it is given up; 0: it is not given up */
    bool enabled, draining;
    const char *disabled_reason; /* "": no reason is known */
    const char *label;           /* "": it has none */
    size_t slot_n, container_n;
    int slots_used, aux_used;
    /* the cores and the memory for tasks that ask for some, and what such tasks hold of them; nothing in both: the
     * agent does not say what it has */
    struct sched_needs has, held;
    /* as long as this number is the same, the agent, its slots and its containers have not changed */
    uint64_t revision;
};
/* What has a job in the queue: an experiment, or a task that a user has launched. */
struct core_job_owner {
    int32_t experiment_id; /* 0: the job is that of the task */
    const char *task_id;   /* NULL: the job is that of the experiment */
};
struct core_job_view {
    const char *job_id;
    struct core_job_owner owner;
    int32_t priority;
    double weight;
    bool scheduled; /* at least one of the job's allocations has its slots */
    bool leaving;   /* the job has gone to another pool, and what ran in this one has not ended yet */
    int32_t requested_slots, allocated_slots;
    int32_t jobs_ahead; /* -1: in a pool with fair share, jobs have no order */
    int64_t queue_position, submitted_us;
};
/* What the job waits for: of its allocations that wait, the first one counts. */
struct core_wait_view {
    const char *reason; /* one line; from the arena */
    /* computed from the median run time of allocations that ended in the pool; 0: no estimate can be made */
    int64_t estimated_start_us;
};
struct core_pool_view {
    const char *name;
    int agent_n, slots, slots_used, aux_capacity, aux_used;
    /* the members from here on belong to an elastic pool */
    bool elastic;
    const struct scale_opts *scale;
    /* starting_n: the machines that were launched lately, so that their agents may still come */
    int instance_n, starting_n;
    /* Why the provider cannot list its machines, or why the last launch failed; NULL: neither has failed. */
    const char *problem;
    int64_t retry_us; /* set if the last launch failed: nothing is launched before this time */
};

/* Each of these functions returns false, or 0, when there is no such object. Strings and rows are valid until the next
 * step. */
bool core_experiment(const struct core *c, int32_t id, struct core_experiment_view *ret);
bool core_trial(const struct core *c, int32_t id, struct core_trial_view *ret);
bool core_task(const struct core *c, const char *task_id, struct core_task_view *ret);
/* Counts the tasks of one kind that are not over. */
int core_task_count(const struct core *c, enum task_kind kind);
bool core_trial_operation(const struct core *c, int32_t id, struct core_operation_view *ret);
const struct allocation_row *core_allocation(const struct core *c, const char *allocation_id);
/* Lists all open allocations, pool by pool, in the order in which they were asked for. The array is in the arena. */
size_t core_allocations(const struct core *c, struct arena *a, const struct allocation_row *const **ret);
const struct container_row *core_container(const struct core *c, const char *container_id);
/* Returns a container of an allocation; indexes follow the ranks. NULL: the index is too large. */
const struct container_row *core_allocation_container(const struct core *c, const char *allocation_id, size_t index);

size_t core_agent_n(const struct core *c);
/* Walks over all agents, ordered by id: for (const struct agent *at = NULL; core_agent_next(c, &at, &view);). A walk
 * over an agent's containers is costly, so `ret` may be NULL; core_agent_view() then shows those agents that are
 * needed. */
bool core_agent_next(const struct core *c, const struct agent **at, struct core_agent_view *ret);
void core_agent_view(const struct agent *at, struct core_agent_view *ret);
/* The members core_agent_view.revision and .id of this agent. */
uint64_t core_agent_revision(const struct agent *at);
const char *core_agent_id(const struct agent *at);
bool core_agent_by_id(const struct core *c, const char *agent_id, struct core_agent_view *ret);
/* Returns a slot of an agent; the slots are ordered by device id. */
bool core_slot(const struct core *c, const char *agent_id, size_t index, struct core_slot_view *ret);
/* Returns all slots of an agent, and their number. */
size_t core_slots(const struct core *c, const char *agent_id, struct core_slot_view ret[CORE_DEVICES_MAX]);
const struct container_row *core_agent_container(const struct core *c, const char *agent_id, size_t index);

/* What a quota is of, for people. A name that is NULL does not matter. */
const char *core_quota_what(const char *workspace_name, const char *username, struct arena *a);
struct core_quota_view {
    int32_t workspace_id, user_id;
    const char *what;
    int32_t own, limit, held, borrowed; /* slots */
};
const struct core_quota_view *core_quotas(const struct core *c, struct arena *a, size_t *ret_n);
size_t core_pool_n(const struct core *c);
bool core_pool(const struct core *c, size_t index, struct core_pool_view *ret);
/* The place of an experiment in its pool's queue. Also false when the experiment neither waits for slots nor holds any.
 */
bool core_job(const struct core *c, int32_t experiment_id, struct core_job_view *ret);
/* Finds what has a job, by the job's id or by a beginning that only this id has. */
int core_job_find(const struct core *c, const char *job_id, struct core_job_owner *ret, struct error *err);
/* Says why the experiment waited at the end of the last step. False: none of its allocations waits. */
bool core_wait(const struct core *c, int32_t experiment_id, int64_t now_us, struct arena *a,
               struct core_wait_view *ret);
/* Does the same for many jobs, with one call for each. The caller sets *notes to zero before the first call.
 * What has to be found only once for a pool is kept in *notes for the next calls. *notes must not be used any more
 * after the next step. */
struct core_wait_notes {
    struct core_pool_notes {
        const char *name;
        bool counted;
        const struct agent_size *sizes;
        const char *states;
    } pool;
};
bool core_wait_noted(const struct core *c, struct core_job_owner owner, int64_t now_us, struct arena *a,
                     struct core_wait_notes *notes, struct core_wait_view *ret);
/* Says why no set of the pool's agents could hold such an allocation, even if all of them were there and idle; NULL:
 * some set could. */
const char *core_misfit(const struct core *c, const char *pool, int32_t slots, bool single_node,
                        const struct sched_needs *needs, struct arena *a);
/* Lists the jobs of a pool in the order in which they will be served. The array is in the arena. */
size_t core_queue(const struct core *c, const char *pool, struct arena *a, struct core_job_view **ret);

/* A long poll asks one of the functions below, waits for CORE_WAKE, and asks again. */
enum core_answer { CORE_ANSWER_WAIT, CORE_ANSWER_YES, CORE_ANSWER_GONE /* no such allocation, or it has ended */ };
enum core_answer core_preemption(const struct core *c, const char *allocation_id);
struct core_peer {
    const char *container_id, *address;
    int32_t rank, slots;
};
/* The answer is YES once all containers run. *ret, in the arena, is ordered by rank. */
enum core_answer core_rendezvous(const struct core *c, const char *allocation_id, struct arena *a,
                                 struct core_peer **ret, size_t *ret_n);
/* The answer is YES once all peers have given their data. *ret, in the arena, has the data in the order in which it
 * came. */
enum core_answer core_all_gather(const struct core *c, const char *allocation_id, const char *request_uuid,
                                 struct arena *a, const char *const **ret, size_t *ret_n);

#endif
