/* The supervisor of one task: one thread, one poll loop, no timers but deadlines.
 *
 *   task's pipes ─▶ line framer ─▶ spool (numbered, on disk) ─▶ batches ─▶ agent ─▶ master
 *        ▲                          │ full? stop reading           acknowledgements │
 *        └──────── the task waits ◀─┘◀──────────────────────────────────────────────┘
 *
 * Life:  RUNNING ──entrypoint gone──▶ DRAINING ──pipes empty, no process left──▶ EXITED ──EXIT_ACK──▶ end
 * and, where a command makes the task's container, STARTING before that, until the entrypoint runs in it.
 *
 * While draining, processes that the entrypoint left behind may go on writing for a second; then they are killed. What
 * they had written by then is delivered. With no agent connected all of this goes on, until the spool is full. */
#ifndef DET_TASK_SUPERVISOR_H
#define DET_TASK_SUPERVISOR_H

#include <stdbool.h>

#include "common/base/error.h"

struct supervisor;

/* dir: the task's directory (common/task/taskspec.h). With `adopt` no task is started: the supervisor serves what an
 * earlier supervisor has left, and a task whose end the earlier one did not see is killed and reported as lost. The
 * call fails with ERR_CONFLICT when another supervisor has the directory. A program that cannot be executed is no
 * failure of this call; the task's exit report says it. */
int supervisor_new(const char *dir, bool adopt, struct supervisor **ret, struct error *err);
/* Returns when it is known whether the task was executed. */
void supervisor_await_start(struct supervisor *s);
/* Whether the task was executed. After `adopt` it is always true. When it is false, the task's exit report says why. */
bool supervisor_has_task(const struct supervisor *s);
/* The exit status of the task as a shell would tell it: 128 + N for signal N. */
int supervisor_exit_code(const struct supervisor *s);
int supervisor_run(struct supervisor *s, struct error *err); /* runs until the agent has acknowledged the exit report */
void supervisor_free(struct supervisor *s);

#endif
