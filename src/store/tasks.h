/* Tasks (what somebody asked to run), their allocations (one run each, on slots) and the containers of an allocation. */
#ifndef DET_STORE_TASKS_H
#define DET_STORE_TASKS_H

#include "store/store.h"

struct store_task {
    const char *id;   /* trials: EXPERIMENT.REQUEST_ID */
    const char *type; /* TRIAL, NOTEBOOK, SHELL, COMMAND, TENSORBOARD, CHECKPOINT_GC, GENERIC */
    const char *job_id;
    bool has_trial; int32_t trial_id; /* the trial whose task this is */
    int64_t start_us, end_us;
    bool has_log_retention; int32_t log_retention_days;
    const char *state;     /* generic tasks: ACTIVE, PAUSED …; else NULL */
    const char *config;    /* what a task without an experiment was made from, JSON or YAML; NULL: none */
    const char *parent_id; /* generic tasks */
    const char *forked_from;
    bool no_pause;
    const char *snapshot;  /* the core's own state of it, JSON; NULL: none */
};

int store_task_insert(struct store *st, const struct store_task *t, struct error *err);
int store_task_get(struct store *st, const char *id, struct arena *a, struct store_task *ret, struct error *err);
int store_task_set_end(struct store *st, const char *id, int64_t end_us, struct error *err);
int store_task_set_state(struct store *st, const char *id, const char *state, struct error *err);
int store_task_set_snapshot(struct store *st, const char *id, const char *snapshot, struct error *err);
/* Those without an end, oldest first. */
int store_tasks_open(struct store *st, struct arena *a, struct store_task **ret, size_t *ret_n, struct error *err);
/* The context directory of a task without an experiment: a gzipped tar. *ret is NULL if there is none. */
int store_task_set_context(struct store *st, const char *id, const void *tgz, size_t n, struct error *err);
int store_task_context(struct store *st, const char *id, struct arena *a, const void **ret, size_t *ret_n, struct error *err);

struct store_allocation {
    const char *id; /* TASK_ID.N */
    const char *task_id;
    const char *state; /* PENDING, ASSIGNED, PULLING, STARTING, RUNNING, WAITING, TERMINATING, TERMINATED */
    const char *resource_pool, *agent_id; /* agent_id: of the first container; NULL before placement */
    int32_t slots;
    bool is_ready;
    int64_t requested_us, start_us, end_us; /* start: resources assigned */
    const char *exit_reason; /* NULL while open; "" after a clean exit */
    const char *exit_error;
    bool has_status_code; int32_t status_code;
    const char *ports; /* JSON object name → port; NULL: none */
    const char *proxy; /* JSON: what it serves through the proxy; NULL: nothing */
};

int store_allocation_insert(struct store *st, const struct store_allocation *x, struct error *err);
/* Writes every column but id and task_id. */
int store_allocation_update(struct store *st, const struct store_allocation *x, struct error *err);
int store_allocation_set_state(struct store *st, const char *id, const char *state, struct error *err);
int store_allocation_set_ready(struct store *st, const char *id, struct error *err);
int store_allocation_end(struct store *st, const char *id, int64_t end_us, const char *exit_reason, const char *exit_error,
                         bool has_status_code, int32_t status_code, struct error *err);
int store_allocation_get(struct store *st, const char *id, struct arena *a, struct store_allocation *ret, struct error *err);
int store_allocations_of_task(struct store *st, const char *task_id, struct arena *a, struct store_allocation **ret,
                              size_t *ret_n, struct error *err);
int store_allocations_open(struct store *st, struct arena *a, struct store_allocation **ret, size_t *ret_n,
                           struct error *err);
/* Ends every open allocation and task not named in `keep` (a restarted master's dangling ones); gives how many. */
int store_allocations_end_dangling(struct store *st, struct store_texts keep, int64_t end_us, int64_t *ret_n,
                                   struct error *err);

struct store_container {
    const char *id, *allocation_id, *agent_id;
    const char *state; /* ASSIGNED, PULLING, STARTING, RUNNING, TERMINATED */
    const char *device_ids; /* JSON list of the agent's device numbers */
    int32_t rank;           /* position within the allocation */
    bool daemon;
    const char *addresses;  /* JSON or NULL */
    int64_t start_us, end_us;
    const char *exit;       /* JSON {kind, code, signal, text}; NULL while it runs */
    int64_t logs_seq;       /* read only: the last log line stored (task_logs.h) */
};

int store_container_insert(struct store *st, const struct store_container *c, struct error *err);
int store_container_update(struct store *st, const struct store_container *c, struct error *err); /* all but id, allocation */
int store_containers_of_allocation(struct store *st, const char *allocation_id, struct arena *a,
                                   struct store_container **ret, size_t *ret_n, struct error *err);
/* Not TERMINATED, or of an open allocation: what a restarted master expects its agents to say. */
int store_containers_open(struct store *st, struct arena *a, struct store_container **ret, size_t *ret_n,
                          struct error *err);

struct store_accelerator {
    const char *container_id, *allocation_id, *node_name, *accelerator_type;
    const char *uuids;                   /* JSON list */
    const char *task_id, *resource_pool; /* read only */
};
int store_accelerator_set(struct store *st, const struct store_accelerator *x, struct error *err);
int store_accelerators_of_task(struct store *st, const char *task_id, struct arena *a, struct store_accelerator **ret,
                               size_t *ret_n, struct error *err);

#endif
