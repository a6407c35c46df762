/* Parts that the runtimes of containers share; for src/agent/task/runtime_container*.c, runtime_apptainer.c and
 * container_leftovers.c, whose functions the rest of the agent calls, too. */
#ifndef DET_AGENT_TASK_RUNTIME_CONTAINER_H
#define DET_AGENT_TASK_RUNTIME_CONTAINER_H

#include "agent/engine/container.h"
#include "agent/task/runtime.h"

/* Where a container sees what is mounted for its task, beside TASKENV_RUN_DIR and RUNTIME_LIBRARY_DIR. */
#define CONTAINER_PROGRAM "/run/determined.task"
#define CONTAINER_SUPERVISOR "/run/determined.supervisor"

/* What a runtime keeps while it asks an engine; each runtime's own fields come after it. */
struct runtime_ask {
    struct runtime_task *task;
    struct runtime_ask_handler handler;
    void (*cancel)(struct runtime_ask *ask);
};

const char *container_name(const char *container_id, struct arena *a); /* of the engine's container */

/* Checks what the order asks of a container, before an engine is asked: each mount's source is there, and the task's
 * account may reach it; devices are there; /dev/shm fits into the memory. Notes what each source is (t->place). Runs on
 * a worker thread. */
int container_check_order(struct runtime_task *t, struct error *err);
/* A path that tasks must not see, if the container would show it with `source`, a path without symbolic links; NULL if
 * not. */
const char *container_secret_in(const struct runtime_task *t, const char *source);
/* Where the container sees a mount: a relative path begins at the working directory. */
const char *container_mount_target(const struct runtime_task *t, const struct wire_link_bind_mount *m);

/* `prepare` and `start` of every runtime of containers. */
int runtime_container_prepare(struct runtime_task *t, struct error *err);
int runtime_container_start(struct runtime_task *t, struct error *err);
void container_list_gpus(struct runtime_task *t, struct container_order *o);
void container_list_mounts(struct runtime_task *t, struct container_order *o);

/* What there is of Apptainer's containers: a process of one, or a file of an image whose pull has not finished. */
struct apptainer_leftover {
    const char *task; /* that it was begun for; NULL: an old file of another agent */
    pid_t pid;
    unsigned long long start; /* of the process (common/system/process.h) */
    const char *unfinished;   /* the file; NULL: it is a process */
};
/* Lists the processes of tasks below this agent's run_root, this agent's own unfinished pulls, and those of other
 * agents to which nothing has been written for a day. On a worker's thread. Everything lives in the arena. */
size_t runtime_apptainer_list_leftovers(const struct agent_config *c, struct arena *a, struct apptainer_leftover **ret);
/* Ends or removes what was listed just now, unless `is_known` says true of its task. */
void runtime_apptainer_end_leftovers(const struct agent_config *c, const struct apptainer_leftover *list, size_t n,
                                     bool (*is_known)(void *ctx, const char *container_id), void *ctx);

/* ---- leftovers --------------------------------------------------------------------------------------------------- */

/* Containers that nobody takes care of any more: those of tasks that this agent does not know, because it was killed
 * between two steps, or because the engine was away when they were to be removed. They are recognised by their labels:
 * only those of this agent's own run_root are touched. They are looked for when the agent starts and after a removal
 * that has failed; and again, at growing intervals, for as long as an engine does not answer or something stays. */
struct agent;
struct container_leftovers;
struct container_leftovers *container_leftovers_new(struct agent *a);
void container_leftovers_look_again(struct container_leftovers *l);
/* Looks, a few times within a minute, for containers that were begun and never started (engine/container_unborn.h):
 * when the agent starts, and after the removal of a container that was not started. */
void container_leftovers_look_for_unborn(struct container_leftovers *l);
void container_leftovers_free(struct container_leftovers *l);

#endif
