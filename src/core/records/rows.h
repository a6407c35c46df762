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

/* Sizes include the final NUL. Longer names are refused where they enter. */
enum {
    CORE_UUID_MAX = 37,
    CORE_TASK_ID_MAX = 64,       /* EXPERIMENT.UUID or EXPERIMENT.UUID-M */
    CORE_ALLOCATION_ID_MAX = 80, /* TASK_ID.N */
    CORE_AGENT_ID_MAX = 128,
    CORE_POOL_MAX = 64,
    CORE_DISABLED_REASON_MAX = 256,
    CORE_ADDRESS_MAX = 128,
    CORE_DEVICES_MAX = 64, /* per agent */
};

struct experiment_row {
    int32_t id;
    char job_id[CORE_UUID_MAX];
    enum run_state state;
    double progress;
    int64_t start_us, end_us;
    int64_t queue_position; /* in its pool; lower is earlier; submission time in µs unless moved */
    int32_t owner_id;
    const char *failure; /* why it ends in ERROR; NULL: it does not, or what was kept of it holds; borrowed */
};

/* Changes of the columns that never change after insert (experiment_id, request_id, seed) need not be written; nor of
 * hparams when it is NULL. */
struct trial_row {
    int32_t id, experiment_id;
    char request_id[CORE_UUID_MAX];
    char task_id[CORE_TASK_ID_MAX]; /* of its current task */
    enum run_state state;
    int64_t start_us, end_us;
    uint32_t seed;
    const char *hparams;      /* JSON object; borrowed */
    int32_t run_id;           /* grows with each allocation; DET_TRIAL_RUN_ID */
    int32_t runs_before_task; /* run_id when its current task began: the task's allocations are numbered from there */
    int32_t restarts;         /* failures that count against max_restarts */
    int32_t launch_failures;  /* in a row: that no agent could start it */
    int32_t steps_completed;  /* of latest_checkpoint */
    char latest_checkpoint[CORE_UUID_MAX];     /* its own; empty: none */
    char warm_start_checkpoint[CORE_UUID_MAX]; /* somebody else's; empty: none */
    enum early_exit early_exit;
    bool stopped_by_searcher;
    bool has_log_retention;
    int32_t log_retention_days;  /* of a new row; afterwards the store's own */
    bool retries_canceled;       /* by a log policy: its next failure is the last */
    const char *excluded_agents; /* by log policies: it never runs there again; one a line, NULL for none; borrowed */
};

struct task_row {
    char id[CORE_TASK_ID_MAX];
    char job_id[CORE_UUID_MAX];
    int32_t trial_id;                /* 0: a task of its own … */
    int32_t owner_id, experiment_id; /* … of this user, on behalf of this experiment */
    int64_t start_us, end_us;
    bool has_log_retention;
    int32_t log_retention_days; /* of a new row; afterwards the store's own */
};

enum { CORE_PORTS = 4 };
/* DTRAIN_SSH_PORT, INTER_TRAIN_PROCESS_COMM_PORT_1, …_2, C10D_PORT */
extern const char *const core_port_names[CORE_PORTS];

struct allocation_row {
    char id[CORE_ALLOCATION_ID_MAX];
    char task_id[CORE_TASK_ID_MAX];
    char pool[CORE_POOL_MAX];
    int32_t trial_id; /* 0: of a task of its own */
    int32_t run_id;   /* the trial's run_id that this allocation is */
    int32_t slots;
    enum allocation_state state;
    bool ready;
    int64_t request_us, start_us, end_us;
    int64_t preempt_deadline_us; /* preemption was asked for; killed after this */
    bool preempt_acked, preempt_pending;
    bool killed; /* by the master: what its containers exit with no longer matters */
    int32_t port[CORE_PORTS];
    enum exit_kind exit_kind;
    int32_t exit_code;
};

/* One container, "resources" in the API: an allocation has one on each of its agents. */
struct container_row {
    char id[CORE_UUID_MAX]; /* container id and resources id */
    char allocation_id[CORE_ALLOCATION_ID_MAX];
    char agent_id[CORE_AGENT_ID_MAX];
    int32_t rank;
    int32_t device_id[CORE_DEVICES_MAX];
    int32_t device_n;
    enum container_state state;
    bool daemon;
    char address[CORE_ADDRESS_MAX];
    enum exit_kind exit_kind;
    int32_t exit_code;
};

struct agent_row {
    char id[CORE_AGENT_ID_MAX];
    char pool[CORE_POOL_MAX];
    bool instance;                           /* its pool's provider has launched it: it goes when the machine goes */
    bool enabled, draining;                  /* as the user wants it */
    int32_t disabled_slot[CORE_DEVICES_MAX]; /* device ids */
    bool slot_draining[CORE_DEVICES_MAX];    /* of the slot at the same index of disabled_slot */
    int32_t disabled_slot_n;
    /* It has connected since masters note that: it is waited for at each start, and on the list until it is taken off.
     * Versions before that have left rows of every agent that they ever knew. */
    bool listed;
    char disabled_reason[CORE_DISABLED_REASON_MAX]; /* in somebody's words; "" while it is enabled, or if nobody said */
    int64_t lost_us; /* since then it is not waited for any more; 0: it is there, or may come back */
};

#endif
