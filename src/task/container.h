/* A supervisor that is the first process of a container (determined-task --container). The image need have nothing of
 * ours. What the engine has mounted is this program, the supervisor's directory and the task's directory. */
#ifndef DET_TASK_CONTAINER_H
#define DET_TASK_CONTAINER_H

#include "common/base/error.h"
#include "common/task/taskspec.h"

#define CONTAINER_RUN_DIR "/run/determined" /* where the engine has mounted the task's directory */

/* Completes an order by what only somebody within the container can know: its shell, and the files of its control
 * groups. Refuses a container whose mounts are not those that the agent has checked. */
int container_prepare(struct taskspec *spec, struct error *err);
/* The part of it for a supervisor that is outside: the shell and the mounts. */
int container_check(struct taskspec *spec, struct error *err);

/* Tells the agent how the start went (TASKSPEC_PIPE). Nothing happens if no agent waits. */
void container_tell(const char *dir, int what, const char *text);

#endif
