/* The files that the agent writes for a task: the JSON files in info/ for our library, and the scripts that run before
 * the user's command. The predecessor made them inside the container with a Python program (prep_container). Here they
 * are made before the task starts, so that nothing of ours runs between the start and the user's first line. */
#ifndef DET_AGENT_TASK_TASKFILES_H
#define DET_AGENT_TASK_TASKFILES_H

#include "agent/task/taskdir.h"
#include "agent/task/taskenv.h"
#include "common/base/error.h"
#include "gen/wire.h"

int taskfiles_write_info(const struct taskdir *d, const struct wire_link_start_task *t, const struct taskenv *env,
                         const struct slots *slots, struct error *err);
/* Moves a configuration that is too large for an environment variable into a file, and names the file in another
 * variable. Call it after taskfiles_write_info(), which reads the variable. */
int taskfiles_move_large(const struct taskdir *d, struct taskenv *env, struct error *err);
/* Writes the rendezvous information. `info` is the master's answer; it is NULL for a task on one machine, whose
 * information needs no answer. */
int taskfiles_write_rendezvous(const struct taskdir *d, const struct wire_link_start_task *t,
                               const struct wire_trial_rendezvous_info *info, struct error *err);
int taskfiles_write_given(const struct taskdir *d, const struct wire_link_start_task *t, struct error *err);
/* Writes the scripts. *ret_argv is what to execute: a shell, the entry script, and the user's command in the form that
 * link.json describes for `argv`. */
int taskfiles_write_entrypoint(const struct taskdir *d, const struct wire_link_start_task *t, struct arena *a,
                               char ***ret_argv, struct error *err);
/* Whether a trial's one-word entrypoint names a Trial class: `package.module:Class`. */
bool taskfiles_is_trial_class(const char *entrypoint);

#endif
