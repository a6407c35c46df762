/* Fetches a task's context directory from the master: GET /api/v1/tasks/{id}/context_directory with the token of the
 * task's own session. */
#ifndef DET_AGENT_TASK_CONTEXT_H
#define DET_AGENT_TASK_CONTEXT_H

#include "agent/task/runtime.h"

/* Unpacks the context into the work directory, and for trials also into train/model. An empty context is no error.
 * Blocks; tries again for about a minute while the master does not answer. */
int context_fetch(const struct runtime_task *t, struct error *err);

#endif
