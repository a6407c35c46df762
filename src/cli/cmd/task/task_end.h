/* How a task has ended: after its log was followed. */
#ifndef DET_CLI_CMD_TASK_TASK_END_H
#define DET_CLI_CMD_TASK_TASK_END_H

#include "cli/connection/api.h"

/* Follows the task's log to its end. `stop` is the command line that ends the task. */
int task_follow(struct cli *cli, const char *task_id, const char *stop, struct error *err);
/* Fetches the task when it has ended. The log's end may come a little before that; after some seconds the task is
 * returned as it is. */
int task_fetch_ended(struct cli *cli, const char *task_id, const struct wire_task **ret, struct error *err);
/* The allocation that began last; NULL: there was none. */
const struct wire_task_allocation *task_last_allocation(const struct wire_task *t);

#endif
