/* What a task that a user has launched runs: the part of a StartTask message that depends on the kind of task
 * (docs/spec/task-environment.md#programs-of-tasks-that-are-no-trials). What all tasks have in common is in
 * master/start_task.c.
 *
 *     command, generic task   the user's entrypoint
 *     notebook, TensorBoard   a program of our library, in a Python environment that has what it needs (`extras`)
 *     shell                   OpenSSH's server; the agent has its scripts (agent/task/shell_server.h) */
#ifndef DET_MASTER_PROGRAMS_TASK_PROGRAM_H
#define DET_MASTER_PROGRAMS_TASK_PROGRAM_H

#include "core/config/taskconf.h"
#include "gen/wire.h"
#include "store/store.h"

/* An experiment that a TensorBoard shows. */
struct task_program_source {
    int32_t experiment_id;
    const int32_t *trial_id; /* only these of its trials; none: the whole experiment */
    size_t trial_n;
    const char *storage; /* the experiment's effective checkpoint_storage, as JSON */
};

struct task_program {
    const struct taskconf *config;
    int32_t port;               /* of the task's own service; 0: it has none */
    const char *listen_address; /* where the service listens; NULL: at 127.0.0.1, where only its agent reaches it */
    const char *public_key;     /* of a shell: the line of authorized_keys of the key that may log in */
    const char *service_token;  /* of a notebook: what opens it, besides a login to the platform */
    const struct task_program_source *source; /* of a TensorBoard, sorted by experiment */
    size_t source_n;
};

/* The most entries that task_program_fill() appends to each list of the message, besides one mount for each source. */
enum { TASK_PROGRAM_FILES = 4, TASK_PROGRAM_VARIABLES = 16, TASK_PROGRAM_MOUNTS = 1 };

/* Sets argv, workDir, patterns, proxyPorts and extras of the message, and appends files, variables and mounts, for
 * which the lists must have room. Texts are in the arena or borrowed from *p. */
void task_program_fill(const struct task_program *p, struct wire_link_start_task *t, struct arena *a);

/* Reads what a TensorBoard of these experiments and trials shows; each list of ids is JSON, or NULL. */
int task_program_sources(struct store *db, const char *experiment_ids, const char *trial_ids, struct arena *a,
                         struct task_program_source **ret, size_t *ret_n, struct error *err);

#endif
