#include "core/records/states.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/records/rows.h"

#define ANY_STOPPING \
    (SM_TO(RUN_STOPPING_CANCELED) | SM_TO(RUN_STOPPING_KILLED) | SM_TO(RUN_STOPPING_COMPLETED) | \
     SM_TO(RUN_STOPPING_ERROR))
#define FAILING (SM_TO(RUN_STOPPING_ERROR) | SM_TO(RUN_ERROR))

static const struct sm_state experiment_states[RUN_STATE_NR] = {
    [RUN_ACTIVE] = {"ACTIVE", SM_TO(RUN_PAUSED) | ANY_STOPPING | SM_TO(RUN_ERROR), 0},
    [RUN_PAUSED] = {"PAUSED", SM_TO(RUN_ACTIVE) | ANY_STOPPING | SM_TO(RUN_ERROR), SM_INITIAL},
    [RUN_STOPPING_CANCELED] = {"STOPPING_CANCELED", SM_TO(RUN_CANCELED) | SM_TO(RUN_STOPPING_KILLED) | FAILING, 0},
    [RUN_STOPPING_KILLED] = {"STOPPING_KILLED", SM_TO(RUN_CANCELED) | FAILING, 0},
    [RUN_STOPPING_COMPLETED] = {"STOPPING_COMPLETED", SM_TO(RUN_COMPLETED) | FAILING, 0},
    [RUN_STOPPING_ERROR] = {"STOPPING_ERROR", SM_TO(RUN_ACTIVE) | SM_TO(RUN_ERROR), 0},
    [RUN_CANCELED] = {"CANCELED", SM_TO(RUN_DELETING), 0},
    [RUN_COMPLETED] = {"COMPLETED", SM_TO(RUN_DELETING), 0},
    [RUN_ERROR] = {"ERROR", SM_TO(RUN_DELETING), 0},
    [RUN_DELETING] = {"DELETING", SM_TO(RUN_DELETED) | SM_TO(RUN_DELETE_FAILED), 0},
    [RUN_DELETED] = {"DELETED", 0, SM_FINAL},
    [RUN_DELETE_FAILED] = {"DELETE_FAILED", SM_TO(RUN_DELETING), 0},
};
const struct sm_type experiment_sm = {"experiment", experiment_states, RUN_STATE_NR};

/* A trial that has ended can become ACTIVE again, when its experiment is continued. */
static const struct sm_state trial_states[RUN_ERROR + 1] = {
    [RUN_ACTIVE] = {"ACTIVE", SM_TO(RUN_PAUSED) | ANY_STOPPING | SM_TO(RUN_ERROR) | SM_TO(RUN_COMPLETED), 0},
    [RUN_PAUSED] = {"PAUSED", SM_TO(RUN_ACTIVE) | ANY_STOPPING | SM_TO(RUN_ERROR), SM_INITIAL},
    [RUN_STOPPING_CANCELED] = {"STOPPING_CANCELED", SM_TO(RUN_CANCELED) | SM_TO(RUN_STOPPING_KILLED) | FAILING, 0},
    [RUN_STOPPING_KILLED] = {"STOPPING_KILLED", SM_TO(RUN_CANCELED) | FAILING, 0},
    [RUN_STOPPING_COMPLETED] = {"STOPPING_COMPLETED",
                                SM_TO(RUN_COMPLETED) | SM_TO(RUN_STOPPING_CANCELED) | SM_TO(RUN_STOPPING_KILLED) |
                                    FAILING,
                                0},
    [RUN_STOPPING_ERROR] = {"STOPPING_ERROR", SM_TO(RUN_ACTIVE) | SM_TO(RUN_ERROR), 0},
    [RUN_CANCELED] = {"CANCELED", SM_TO(RUN_ACTIVE), 0},
    [RUN_COMPLETED] = {"COMPLETED", SM_TO(RUN_ACTIVE), 0},
    [RUN_ERROR] = {"ERROR", SM_TO(RUN_ACTIVE), 0},
};
const struct sm_type trial_sm = {"trial", trial_states, RUN_ERROR + 1};

/* These states are passed in their order, and any of them may be left out. */
#define ABOVE(state, nr) ((SM_TO(nr) - 1) & ~(SM_TO((state) + 1) - 1))

static const struct sm_state allocation_states[ALLOCATION_STATE_NR] = {
    [ALLOCATION_PENDING] = {"PENDING", ABOVE(ALLOCATION_PENDING, ALLOCATION_STATE_NR), SM_INITIAL},
    [ALLOCATION_ASSIGNED] = {"ASSIGNED", ABOVE(ALLOCATION_ASSIGNED, ALLOCATION_STATE_NR), 0},
    [ALLOCATION_PULLING] = {"PULLING", ABOVE(ALLOCATION_PULLING, ALLOCATION_STATE_NR), 0},
    [ALLOCATION_STARTING] = {"STARTING", ABOVE(ALLOCATION_STARTING, ALLOCATION_STATE_NR), 0},
    [ALLOCATION_RUNNING] = {"RUNNING", ABOVE(ALLOCATION_RUNNING, ALLOCATION_STATE_NR), 0},
    [ALLOCATION_WAITING] = {"WAITING", ABOVE(ALLOCATION_WAITING, ALLOCATION_STATE_NR), 0},
    [ALLOCATION_TERMINATING] = {"TERMINATING", ABOVE(ALLOCATION_TERMINATING, ALLOCATION_STATE_NR), 0},
    [ALLOCATION_TERMINATED] = {"TERMINATED", 0, SM_FINAL},
};
const struct sm_type allocation_sm = {"allocation", allocation_states, ALLOCATION_STATE_NR};

static const struct sm_state container_states[CONTAINER_STATE_NR] = {
    [CONTAINER_ASSIGNED] = {"ASSIGNED", ABOVE(CONTAINER_ASSIGNED, CONTAINER_STATE_NR), SM_INITIAL},
    [CONTAINER_PULLING] = {"PULLING", ABOVE(CONTAINER_PULLING, CONTAINER_STATE_NR), 0},
    [CONTAINER_STARTING] = {"STARTING", ABOVE(CONTAINER_STARTING, CONTAINER_STATE_NR), 0},
    [CONTAINER_RUNNING] = {"RUNNING", ABOVE(CONTAINER_RUNNING, CONTAINER_STATE_NR), 0},
    [CONTAINER_TERMINATED] = {"TERMINATED", 0, SM_FINAL},
};
const struct sm_type container_sm = {"container", container_states, CONTAINER_STATE_NR};

static const struct sm_state generic_states[GENERIC_STATE_NR] = {
    [GENERIC_ACTIVE] = {"ACTIVE",
                        SM_TO(GENERIC_STOPPING_PAUSED) | SM_TO(GENERIC_STOPPING_CANCELED) |
                            SM_TO(GENERIC_STOPPING_COMPLETED) | SM_TO(GENERIC_STOPPING_ERROR),
                        SM_INITIAL},
    [GENERIC_PAUSED] = {"PAUSED", SM_TO(GENERIC_ACTIVE) | SM_TO(GENERIC_STOPPING_CANCELED), 0},
    [GENERIC_STOPPING_PAUSED] = {"STOPPING_PAUSED",
                                 SM_TO(GENERIC_ACTIVE) | SM_TO(GENERIC_PAUSED) | SM_TO(GENERIC_STOPPING_CANCELED) |
                                     SM_TO(GENERIC_STOPPING_COMPLETED) | SM_TO(GENERIC_STOPPING_ERROR),
                                 0},
    [GENERIC_STOPPING_CANCELED] = {"STOPPING_CANCELED", SM_TO(GENERIC_CANCELED), 0},
    [GENERIC_STOPPING_COMPLETED] = {"STOPPING_COMPLETED", SM_TO(GENERIC_COMPLETED), 0},
    [GENERIC_STOPPING_ERROR] = {"STOPPING_ERROR", SM_TO(GENERIC_ERROR), 0},
    [GENERIC_CANCELED] = {"CANCELED", 0, SM_FINAL},
    [GENERIC_COMPLETED] = {"COMPLETED", 0, SM_FINAL},
    [GENERIC_ERROR] = {"ERROR", 0, SM_FINAL},
};
const struct sm_type generic_sm = {"generic task", generic_states, GENERIC_STATE_NR};

const char *const core_port_names[CORE_PORTS] = {
    "DTRAIN_SSH_PORT",
    "INTER_TRAIN_PROCESS_COMM_PORT_1",
    "INTER_TRAIN_PROCESS_COMM_PORT_2",
    "C10D_PORT",
};

bool run_state_is_terminal(enum run_state s)
{
    return s >= RUN_CANCELED;
}

bool run_state_is_over(enum run_state s)
{
    return s >= RUN_CANCELED && s <= RUN_ERROR;
}

bool run_state_is_stopping(enum run_state s)
{
    return s >= RUN_STOPPING_CANCELED && s <= RUN_STOPPING_ERROR;
}

enum run_state run_state_terminal_for(enum run_state stopping)
{
    switch (stopping) {
    case RUN_STOPPING_CANCELED:
    case RUN_STOPPING_KILLED:
        return RUN_CANCELED;
    case RUN_STOPPING_COMPLETED:
        return RUN_COMPLETED;
    case RUN_STOPPING_ERROR:
        return RUN_ERROR;
    case RUN_ACTIVE:
    case RUN_PAUSED:
    case RUN_CANCELED:
    case RUN_COMPLETED:
    case RUN_ERROR:
    case RUN_DELETING:
    case RUN_DELETED:
    case RUN_DELETE_FAILED:
    case RUN_STATE_NR:
        break;
    }
    abort(); /* the state is not one in which something stops */
}

const char *run_state_name(enum run_state s)
{
    return sm_type_name_of(&experiment_sm, s);
}

static int parse_state(const struct sm_type *type, const char *name, int *ret)
{
    return !name ? -1 : sm_type_state_of(type, name, ret);
}

int run_state_parse(const char *name, enum run_state *ret)
{
    int state;
    if (parse_state(&experiment_sm, name, &state) < 0)
        return -1;
    *ret = (enum run_state)state;
    return 0;
}

const char *allocation_state_name(enum allocation_state s)
{
    return sm_type_name_of(&allocation_sm, s);
}

int allocation_state_parse(const char *name, enum allocation_state *ret)
{
    int state;
    if (parse_state(&allocation_sm, name, &state) < 0)
        return -1;
    *ret = (enum allocation_state)state;
    return 0;
}

const char *container_state_name(enum container_state s)
{
    return sm_type_name_of(&container_sm, s);
}

int container_state_parse(const char *name, enum container_state *ret)
{
    int state;
    if (parse_state(&container_sm, name, &state) < 0)
        return -1;
    *ret = (enum container_state)state;
    return 0;
}

const char *generic_state_name(enum generic_state s)
{
    return sm_type_name_of(&generic_sm, s);
}

int generic_state_parse(const char *name, enum generic_state *ret)
{
    int state;
    if (parse_state(&generic_sm, name, &state) < 0)
        return -1;
    *ret = (enum generic_state)state;
    return 0;
}

static const struct {
    const char *name, *word;
    enum task_ready ready;
} task_kinds[TASK_KIND_NR] = {
#define X(kind, name, word, ready) [TASK_KIND_##kind] = {name, word, ready},
    TASK_KINDS(X)
#undef X
};

const char *task_kind_name(enum task_kind k)
{
    return k >= 0 && k < TASK_KIND_NR ? task_kinds[k].name : NULL;
}

const char *task_kind_word(enum task_kind k)
{
    return k >= 0 && k < TASK_KIND_NR ? task_kinds[k].word : NULL;
}

int task_kind_parse(const char *name, enum task_kind *ret)
{
    for (int k = 0; name && k < TASK_KIND_NR; k++) {
        if (strcmp(task_kinds[k].name, name) == 0) {
            *ret = (enum task_kind)k;
            return 0;
        }
    }
    return -1;
}

enum task_ready task_kind_ready(enum task_kind k)
{
    return task_kinds[k].ready;
}

static const struct {
    const char *name, *text;
} exit_kinds[EXIT_KIND_NR] = {
#define X(kind, sentence) [EXIT_##kind] = {#kind, sentence},
    EXIT_KINDS(X)
#undef X
};

const char *exit_kind_name(enum exit_kind k)
{
    return k >= 0 && k < EXIT_KIND_NR ? exit_kinds[k].name : NULL;
}

const char *exit_kind_text(enum exit_kind k)
{
    return k >= 0 && k < EXIT_KIND_NR ? exit_kinds[k].text : NULL;
}

int exit_kind_parse(const char *name, enum exit_kind *ret)
{
    for (int k = 0; name && k < EXIT_KIND_NR; k++) {
        if (strcmp(exit_kinds[k].name, name) == 0) {
            *ret = (enum exit_kind)k;
            return 0;
        }
    }
    return -1;
}

bool exit_kind_is_transient(enum exit_kind k)
{
    return k >= EXIT_ABORTED;
}

bool exit_kind_is_node_fault(enum exit_kind k)
{
    return k == EXIT_AGENT_FAILED || k == EXIT_AGENT_ERROR || k == EXIT_RESTORE_ERROR;
}

static const char *const early_exits[EARLY_EXIT_NR] = {
    [EARLY_EXIT_NONE] = "NONE",
    [EARLY_EXIT_USER_REQUESTED_STOP] = "USER_REQUESTED_STOP",
    [EARLY_EXIT_INVALID_HP] = "INVALID_HP",
    [EARLY_EXIT_INIT_INVALID_HP] = "INIT_INVALID_HP",
};

const char *early_exit_name(enum early_exit e)
{
    return e >= 0 && e < EARLY_EXIT_NR ? early_exits[e] : NULL;
}

int early_exit_parse(const char *name, enum early_exit *ret)
{
    for (int e = 0; name && e < EARLY_EXIT_NR; e++) {
        if (strcmp(early_exits[e], name) == 0) {
            *ret = (enum early_exit)e;
            return 0;
        }
    }
    return -1;
}

static const char *const run_limits[RUN_LIMIT_NR] = {
    [RUN_LIMIT_NONE] = "NONE",
    [RUN_LIMIT_MAX_TIME] = "MAX_TIME",
    [RUN_LIMIT_MAX_IDLE_TIME] = "MAX_IDLE_TIME",
};

const char *run_limit_name(enum run_limit l)
{
    return l >= 0 && l < RUN_LIMIT_NR ? run_limits[l] : NULL;
}

int run_limit_parse(const char *name, enum run_limit *ret)
{
    for (int l = 0; name && l < RUN_LIMIT_NR; l++) {
        if (strcmp(run_limits[l], name) == 0) {
            *ret = (enum run_limit)l;
            return 0;
        }
    }
    return -1;
}

enum run_state unmanaged_experiment_state(const enum run_state *trial, int trial_n)
{
    static const enum run_state rising[] = {RUN_PAUSED, RUN_ERROR, RUN_COMPLETED, RUN_ACTIVE};
    int most = 0;
    for (int i = 0; i < trial_n; i++)
        for (int rank = most + 1; rank < (int)(sizeof(rising) / sizeof(rising[0])); rank++)
            if (trial[i] == rising[rank])
                most = rank;
    return rising[most];
}
