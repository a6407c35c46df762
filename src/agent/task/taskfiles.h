/* The files that the agent writes for a task: the JSON files in info/ for our library and the scripts in front of the
 * user's command. What the predecessor did inside the container with a Python start of its own (prep_container) is done
 * here, before the task starts, so that nothing of ours stands between the start and the user's first line. */
#ifndef DET_AGENT_TASKFILES_H
#define DET_AGENT_TASKFILES_H

#include "agent/task/taskdir.h"
#include "agent/task/taskenv.h"
#include "common/base/error.h"
#include "gen/wire.h"

int taskfiles_write_info(const struct taskdir *d, const struct wire_link_start_task *t, const struct taskenv *env,
                         const struct slots *slots, struct error *err);
/* A configuration that is too large for a variable goes into a file, and a variable names the file. After write_info(),
 * which reads the variable. */
int taskfiles_move_large(const struct taskdir *d, struct taskenv *env, struct error *err);
/* One node knows its rendezvous at once (`info` NULL); else it is the master's answer. */
int taskfiles_write_rendezvous(const struct taskdir *d, const struct wire_link_start_task *t,
                               const struct wire_trial_rendezvous_info *info, struct error *err);
int taskfiles_write_given(const struct taskdir *d, const struct wire_link_start_task *t, struct error *err);
/* The scripts; *ret_argv is what to execute: shell, entry script, and the user's command as link.json describes
 * `argv`. */
int taskfiles_write_entrypoint(const struct taskdir *d, const struct wire_link_start_task *t, struct arena *a,
                               char ***ret_argv, struct error *err);
/* Whether a trial's one-word entrypoint names a Trial class: `package.module:Class`. */
bool taskfiles_is_trial_class(const char *entrypoint);

#endif
