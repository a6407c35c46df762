/* Parts of the container runtime; for src/agent/task/runtime_container*.c and container_leftovers.c. */
#ifndef DET_AGENT_TASK_RUNTIME_CONTAINER_H
#define DET_AGENT_TASK_RUNTIME_CONTAINER_H

#include "agent/task/runtime.h"

const char *container_name(const char *container_id, struct arena *a); /* of the engine's container */

/* Checks what the order asks of a container, before an engine is asked: each mount's source is there, and the task's
 * account may reach it; devices are there; /dev/shm fits into the memory. Notes what each source is (t->place). Runs on
 * a worker thread. */
int container_check_order(struct runtime_task *t, struct error *err);
/* Where the container sees a mount: a relative path begins at the working directory. */
const char *container_mount_target(const struct runtime_task *t, const struct wire_link_bind_mount *m);

#endif
