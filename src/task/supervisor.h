/* The supervisor of one task: one thread, one poll loop, no timers but deadlines.
 *
 *   task's pipes ─▶ line framer ─▶ spool (numbered, on disk) ─▶ batches ─▶ agent ─▶ master
 *        ▲                          │ full? stop reading           acknowledgements │
 *        └──────── the task waits ◀─┘◀──────────────────────────────────────────────┘
 *
 * Life:  RUNNING ──entrypoint gone──▶ DRAINING ──pipes empty, no process left──▶ EXITED ──EXIT_ACK──▶ end
 *
 * While draining, processes that the entrypoint left behind may go on writing for a second; then they are killed. What
 * they had written by then is delivered. With no agent connected all of this goes on, until the spool is full. */
#ifndef DET_TASK_SUPERVISOR_H
#define DET_TASK_SUPERVISOR_H

#include <stdbool.h>

#include "common/base/error.h"

struct supervisor;

/* dir: the task's directory (common/task/taskspec.h). With `adopt` nothing is started: what an earlier supervisor left is
 * served, and a task that it did not see the end of is killed and reported as lost. Fails when another supervisor has
 * the directory (ERR_CONFLICT). A program that cannot be executed is no failure here, but the task's exit. */
int supervisor_new(const char *dir, bool adopt, struct supervisor **ret, struct error *err);
/* Whether the task was executed, or, with `adopt`, all is well. false: its exit says why not. */
bool supervisor_has_task(const struct supervisor *s);
int supervisor_run(struct supervisor *s, struct error *err); /* until the exit is acknowledged */
void supervisor_free(struct supervisor *s);

#endif
