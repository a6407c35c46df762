/* Tells the core that somebody uses a task, so that it is not idle (idle_timeout). */
#ifndef DET_API_TASKS_TASK_USE_H
#define DET_API_TASKS_TASK_USE_H

struct api;
struct core;

/* Call it on the loop, not more often than once a second for each connection. Nothing happens if there is no such task,
 * or if it is not watched. */
void api_task_used(struct api *a, struct core *core, const char *task_id);

#endif
