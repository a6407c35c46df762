/* What survives a restart of the master: the rows that the core asks the store to keep, and reads back with
 * core_restore().
 *
 * Rows are plain values. Their only pointers are texts whose comment says that they are borrowed. The core decides what
 * these fields mean; the store may have further columns beside them (configuration, notes, metrics …) that the core
 * never sees. Times are µs UTC, 0 is "not yet". */
#ifndef DET_CORE_RECORDS_ROWS_H
#define DET_CORE_RECORDS_ROWS_H

#include <stdint.h>

#include "core/records/states.h"

/* Sizes include the final NUL. Longer names are refused where they come in. */
enum {
    CORE_UUID_MAX = 37,
    CORE_TASK_ID_MAX = 64,       /* the form is EXPERIMENT.UUID or EXPERIMENT.UUID-M */
    CORE_ALLOCATION_ID_MAX = 80, /* the form is TASK_ID.N */
    CORE_AGENT_ID_MAX = 128,
    CORE_POOL_MAX = 64,
    CORE_DISABLED_REASON_MAX = 256,
    CORE_LABEL_MAX = 64,
    CORE_HOST_FAULTS_MAX = 3, /* so many failures within an hour put an agent into quarantine */
    CORE_SLOT_REASON_MAX = 160,
    CORE_TROUBLES_MAX = 16, /* so many slots of one agent may be disabled with a reason of their own */
    CORE_ADDRESS_MAX = 128,
    CORE_RUNTIME_ID_MAX = 65, /* a SHA-256 as hexadecimal digits */
    CORE_ACCOUNT_MAX = 33,    /* a login name has 32 bytes at most */
    CORE_DEVICES_MAX = 64,    /* the most devices of one agent */
};

struct experiment_row {
    int32_t id;
    char job_id[CORE_UUID_MAX];
    enum run_state state;
    double progress;
    int64_t start_us, end_us;
    /* the job's place in its pool's queue, a lower number first; the time of submission in µs unless the job was
     * moved */
    int64_t queue_position;
    int32_t owner_id;
    const char *failure; /* why the experiment ends in ERROR; NULL: it does not, or the stored reason stays; borrowed */
};

/* A trial. experiment_id, request_id and seed never change after the row was inserted, so they need not be written
 * again. hparams need not be written again if it is NULL. */
struct trial_row {
    int32_t id, experiment_id;
    char request_id[CORE_UUID_MAX];
    char task_id[CORE_TASK_ID_MAX]; /* the id of its current task */
    enum run_state state;
    int64_t start_us, end_us;
    uint32_t seed;
    const char *hparams;      /* JSON object; borrowed */
    int32_t run_id;           /* grows by one with each allocation; tasks see it as DET_TRIAL_RUN_ID */
    int32_t runs_before_task; /* run_id when the current task began; the task's allocations are numbered from there */
    int32_t restarts;         /* the number of failures that count against max_restarts */
    int32_t launch_failures;  /* how often in a row no agent could launch the trial */
    int32_t steps_completed;  /* the steps of latest_checkpoint */
    char latest_checkpoint[CORE_UUID_MAX];     /* a checkpoint of the trial itself; empty: none */
    char warm_start_checkpoint[CORE_UUID_MAX]; /* a checkpoint of another trial; empty: none */
    enum early_exit early_exit;
    bool stopped_by_searcher;
    bool has_log_retention;
    int32_t log_retention_days; /* counts when the row is inserted; the store may change its own value afterwards */
    bool retries_canceled;      /* a log policy has canceled further attempts, so the next failure is the last */
    /* the agents on which log policies do not let the trial run again, one a line; NULL: none; borrowed */
    const char *excluded_agents;
};

struct task_row {
    char id[CORE_TASK_ID_MAX];
    char job_id[CORE_UUID_MAX];
    int32_t trial_id;                /* 0: the task is a task of its own … */
    enum task_kind kind;             /* … of this kind … */
    int32_t owner_id, experiment_id; /* … of this user, and if it removes checkpoints on behalf of this experiment */
    int64_t start_us, end_us;
    bool has_log_retention;
    int32_t log_retention_days; /* counts when the row is inserted; the store may change its own value afterwards */
};

/* What the core keeps of a task that a user has launched, beside its task_row. The job of such a task is its own. */
struct launched_row {
    int32_t workspace_id;
    char task_id[CORE_TASK_ID_MAX];
    char pool[CORE_POOL_MAX];
    int32_t slots;
    int64_t millicores, memory_bytes; /* as those of an allocation_row */
    int32_t priority;                 /* 1 … 99; a lower number goes first */
    int32_t max_slots;                /* -1: no limit */
    double weight;
    int64_t queue_position; /* as that of an experiment_row */
    int32_t run_id;         /* grows by one with each allocation */
    /* the task ends when it was not used for so long; 0: it is not watched */
    int64_t idle_timeout_us;
    int64_t max_time_us;     /* how long it may run at a time; 0: for ever */
    int64_t max_idle_us;     /* how long its slots may go unused; 0: for ever */
    const char *description; /* never changes after the row was inserted; borrowed */
    /* The members from here on belong to a generic task. */
    enum generic_state state;
    bool no_pause;                    /* the task cannot be paused … */
    int32_t preemption_timeout_s;     /* … or may take so long to save its state when it is */
    char parent_id[CORE_TASK_ID_MAX]; /* what happens to this task by a user's wish happens to it, too; "": none */
};

enum { CORE_PORTS = 4 };
/* The names are DTRAIN_SSH_PORT, INTER_TRAIN_PROCESS_COMM_PORT_1, INTER_TRAIN_PROCESS_COMM_PORT_2 and C10D_PORT. */
extern const char *const core_port_names[CORE_PORTS];

struct allocation_row {
    char id[CORE_ALLOCATION_ID_MAX];
    char task_id[CORE_TASK_ID_MAX];
    char pool[CORE_POOL_MAX];
    int32_t trial_id; /* 0: the allocation belongs to a task of its own */
    int32_t run_id;   /* the run_id that the trial has in this allocation */
    int32_t slots;
    /* what each of its containers asks for: thousandths of a core, and memory; 0: nothing */
    int64_t millicores, memory_bytes;
    enum allocation_state state;
    bool ready;
    int64_t request_us, start_us, end_us;
    int64_t pulled_us;           /* when the images and environments of all containers were there; 0: not yet */
    int64_t preempt_deadline_us; /* set when preemption was asked for; the allocation is killed after this time */
    bool preempt_acked, preempt_pending;
    bool killed; /* the master has killed it, so the exit codes of its containers do not matter any more */
    enum run_limit over_limit; /* the allocation is being stopped for good because the task has gone over this limit */
    bool warned_of_idleness;   /* the last word of the log about the slots is that nobody uses them */
    int32_t port[CORE_PORTS];
    enum exit_kind exit_kind;
    int32_t exit_code;
};

/* One container, which the API calls "resources". An allocation has one container on each of its agents. */
struct container_row {
    char id[CORE_UUID_MAX]; /* the id of the container, and of the resources in the API */
    char allocation_id[CORE_ALLOCATION_ID_MAX];
    char agent_id[CORE_AGENT_ID_MAX];
    int32_t rank;
    int32_t device_id[CORE_DEVICES_MAX];
    int32_t device_n;
    enum container_state state;
    bool daemon;
    char address[CORE_ADDRESS_MAX];
    char account[CORE_ACCOUNT_MAX]; /* the login name that the task runs as; "" if the agent has not told it */
    /* What the container's engine calls it; "" of a process, or if the agent has not told it. An agent that was started
     * again does not know it any more. */
    char runtime_id[CORE_RUNTIME_ID_MAX];
    enum exit_kind exit_kind;
    int32_t exit_code;
};

struct agent_row {
    char id[CORE_AGENT_ID_MAX];
    char pool[CORE_POOL_MAX];
    /* the pool's provider has launched the agent's machine; the row is deleted when the machine is gone */
    bool instance;
    bool enabled, draining;                  /* as a user has set it */
    int32_t disabled_slot[CORE_DEVICES_MAX]; /* ids of devices */
    bool slot_draining[CORE_DEVICES_MAX];    /* slot_draining[i] belongs to disabled_slot[i] */
    int32_t disabled_slot_n;
    /* Reasons of slots that failed a check of their health: of those that are disabled for it, the newest. */
    struct slot_trouble {
        int32_t device_id;
        char reason[CORE_SLOT_REASON_MAX];
    } trouble[CORE_TROUBLES_MAX];
    int32_t trouble_n;
    int64_t trouble_us; /* when the newest failure that the core has acted on was found, by the agent's clock */
    /* The last failures of tasks here for reasons of the host, the oldest first (core/resources/quarantine.h). */
    struct host_fault {
        int64_t at_us;
        char task_id[CORE_TASK_ID_MAX];
    } fault[CORE_HOST_FAULTS_MAX];
    int32_t fault_n;
    /* The agent is on the list: it is waited for at each start of the master, until somebody takes it off the list. It
     * was put there when it connected. Rows of versions without this list are of every agent that ever connected, and
     * are not on it. */
    bool listed;
    /* the reason that a user gave, or that of its quarantine; "": the agent is enabled, or no reason was given */
    char disabled_reason[CORE_DISABLED_REASON_MAX];
    int64_t lost_us;            /* the time since which the agent is given up; 0: it is there, or may come back */
    char label[CORE_LABEL_MAX]; /* a name for people, which an administrator has given it; "": none */
};

#endif
