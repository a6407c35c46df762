/* The states of the domain, each list written once: the C constants, the names in the store and the tables of legal
 * moves.
 *
 * An experiment and its trials ("runs") share one list of states; which moves are legal differs,
 * hence two tables. States whose name begins with STOPPING have decided how they will end and wait for what still
 * runs. */
#ifndef DET_CORE_RECORDS_STATES_H
#define DET_CORE_RECORDS_STATES_H

#include <stdbool.h>

#include "common/base/sm.h"

enum run_state {
    RUN_ACTIVE,
    RUN_PAUSED,
    RUN_STOPPING_CANCELED,
    RUN_STOPPING_KILLED,
    RUN_STOPPING_COMPLETED,
    RUN_STOPPING_ERROR,
    RUN_CANCELED,
    RUN_COMPLETED,
    RUN_ERROR,
    RUN_DELETING,
    RUN_DELETED,
    RUN_DELETE_FAILED, /* experiments only */
    RUN_STATE_NR,
};

/* The order matters: an allocation has the state of its most advanced container, and never goes back. */
enum allocation_state {
    ALLOCATION_PENDING,
    ALLOCATION_ASSIGNED,
    ALLOCATION_PULLING,
    ALLOCATION_STARTING,
    ALLOCATION_RUNNING,
    ALLOCATION_WAITING,
    ALLOCATION_TERMINATING,
    ALLOCATION_TERMINATED,
    ALLOCATION_STATE_NR,
};

enum container_state {
    CONTAINER_ASSIGNED,
    CONTAINER_PULLING,
    CONTAINER_STARTING,
    CONTAINER_RUNNING,
    CONTAINER_TERMINATED,
    CONTAINER_STATE_NR,
};

/* The kinds of tasks of their own. A collection removes checkpoints, and the platform starts it; tasks of all other
 * kinds are launched by users. The first word is in the store and in DET_TASK_TYPE, the second one is for people.
 * `ready` says when such a task is ready: as soon as its container runs, or when the task's output says so
 * (StartTask.readyPattern of contract/link.json). */
enum task_ready { TASK_READY_WHEN_RUNNING, TASK_READY_WHEN_TOLD };
#define TASK_KINDS(X) \
    X(COLLECTION, "CHECKPOINT_GC", "collection", TASK_READY_WHEN_RUNNING) \
    X(COMMAND, "COMMAND", "command", TASK_READY_WHEN_RUNNING) \
    X(NOTEBOOK, "NOTEBOOK", "notebook", TASK_READY_WHEN_TOLD) \
    X(SHELL, "SHELL", "shell", TASK_READY_WHEN_TOLD) \
    X(TENSORBOARD, "TENSORBOARD", "tensorboard", TASK_READY_WHEN_TOLD) \
    X(GENERIC, "GENERIC", "task", TASK_READY_WHEN_RUNNING)

enum task_kind {
#define X(kind, name, word, ready) TASK_KIND_##kind,
    TASK_KINDS(X)
#undef X
        TASK_KIND_NR,
};

/* Why a container or a whole allocation ended. docs/spec/lifecycle.md#end-of-a-trials-allocation says what each kind
 * means for a trial. Only FAILED, TASK_ERROR and TASK_REFUSED count against max_restarts. People and tools search logs
 * for the texts, so the texts must not change. */
#define EXIT_KINDS(X) \
    X(NONE, "") /* not ended */ \
    X(OK, "allocation exited successfully") \
    X(FAILED, "container failed with non-zero exit code") \
    X(TASK_ERROR, "task failed without an associated exit code") \
    X(TASK_REFUSED, "the task cannot be started as it was submitted") \
    X(KILLED, "task was killed by the master") \
    X(ABORTED, "task was aborted before the task was started") \
    X(CONTAINER_ABORTED, "container was aborted before it started") \
    X(AGENT_FAILED, "agent failed while the container was running") \
    X(AGENT_ERROR, "agent failed to launch the container") \
    X(RESTORE_ERROR, "container failed to restore after agent failure") \
    X(UNKNOWN_CONTAINER, "request for action on unknown container")

enum exit_kind {
#define X(kind, text) EXIT_##kind,
    EXIT_KINDS(X)
#undef X
        EXIT_KIND_NR,
};

/* The states of a generic task. Other launched tasks have no such state: they wait, run, and are over.
 *
 *     ACTIVE            it waits for slots, or runs
 *     STOPPING_PAUSED   it was paused, and has its preemption_timeout to save its state and exit
 *     PAUSED            it has no allocation, and goes on when it is unpaused
 *     STOPPING_CANCELED it was killed, and its allocation has not ended yet
 *
 * The other STOPPING states are passed within one step. */
enum generic_state {
    GENERIC_ACTIVE,
    GENERIC_PAUSED,
    GENERIC_STOPPING_PAUSED,
    GENERIC_STOPPING_CANCELED,
    GENERIC_STOPPING_COMPLETED,
    GENERIC_STOPPING_ERROR,
    GENERIC_CANCELED,
    GENERIC_COMPLETED,
    GENERIC_ERROR,
    GENERIC_STATE_NR,
};

/* What a trial said about its own end before its container exited. */
enum early_exit {
    EARLY_EXIT_NONE,
    EARLY_EXIT_USER_REQUESTED_STOP,
    EARLY_EXIT_INVALID_HP,
    EARLY_EXIT_INIT_INVALID_HP,
    EARLY_EXIT_NR,
};

/* The limit of its configuration for which the master stops a run for good. */
enum run_limit { RUN_LIMIT_NONE, RUN_LIMIT_MAX_TIME, RUN_LIMIT_MAX_IDLE_TIME, RUN_LIMIT_NR };

/* What a log policy does when a line of the task's output matches its pattern. */
enum log_policy_action { LOG_POLICY_NONE, LOG_POLICY_CANCEL_RETRIES, LOG_POLICY_EXCLUDE_NODE, LOG_POLICY_ACTION_NR };

extern const struct sm_type experiment_sm, trial_sm, allocation_sm, container_sm, generic_sm;

bool run_state_is_terminal(enum run_state s); /* CANCELED, COMPLETED, ERROR and what comes after them */
bool run_state_is_over(enum run_state s);     /* CANCELED, COMPLETED, ERROR: ended, and not being deleted */
bool run_state_is_stopping(enum run_state s);
enum run_state run_state_terminal_for(enum run_state stopping); /* what a stopping state ends in */
const char *run_state_name(enum run_state s);                   /* "STOPPING_KILLED", as stored */
int run_state_parse(const char *name, enum run_state *ret);     /* -1 if there is no such state */

const char *allocation_state_name(enum allocation_state s);
int allocation_state_parse(const char *name, enum allocation_state *ret);
const char *container_state_name(enum container_state s);
int container_state_parse(const char *name, enum container_state *ret);

const char *generic_state_name(enum generic_state s); /* "STOPPING_PAUSED", as stored */
int generic_state_parse(const char *name, enum generic_state *ret);

const char *task_kind_name(enum task_kind k); /* "NOTEBOOK", as stored */
const char *task_kind_word(enum task_kind k); /* "notebook", for people */
int task_kind_parse(const char *name, enum task_kind *ret);
enum task_ready task_kind_ready(enum task_kind k);
static inline bool task_kind_is_launched(enum task_kind k) /* a user has launched it */
{
    return k != TASK_KIND_COLLECTION;
}

const char *exit_kind_name(enum exit_kind k); /* "AGENT_FAILED", as stored */
const char *exit_kind_text(enum exit_kind k); /* the sentence for people */
int exit_kind_parse(const char *name, enum exit_kind *ret);
/* True: the cause is the machine or the platform, not the task. The trial asks for another allocation, which does not
 * count against max_restarts. */
bool exit_kind_is_transient(enum exit_kind k);

/* True: the agent was lost or could not launch the container. The log says so, and the failure never counts. */
bool exit_kind_is_node_fault(enum exit_kind k);

const char *early_exit_name(enum early_exit e);
int early_exit_parse(const char *name, enum early_exit *ret);

const char *run_limit_name(enum run_limit l); /* "MAX_IDLE_TIME", as stored */
int run_limit_parse(const char *name, enum run_limit *ret);

/* An unmanaged experiment, which runs elsewhere, takes the state of its most progressed trial, by PAUSED < ERROR <
 * COMPLETED < RUNNING (which is RUN_ACTIVE here); other states do not count. */
enum run_state unmanaged_experiment_state(const enum run_state *trial, int trial_n);

#endif
