/* The directories of a task.
 *
 *   <run_root>/<container id>/        the agent's, others may pass through
 *     supervisor/                     the agent's alone: order, socket, spool, exit report (common/task/taskspec.h)
 *     run/                            the task's alone; DET_RUN_DIR (docs/spec/task-environment.md#files)
 *       info/ pythonuserbase/ workdir/ task-setup.sh …   train/{model,logs,entrypoint.sh} and profiling/ for trials
 *     tmp/                            the task's alone; what it sees as /tmp, or TMPDIR where it has no mounts
 *
 * Several parts, so that a task can neither forge its exit nor lose its own logs by tidying up.
 *
 * run/ and tmp/ are closed to everybody but the agent while the agent fills them, and are given to the task's user last, by
 * descriptor (taskdir_give()): until then nobody can change a path in them. From then on the agent, which may be root, enters
 * them with common/system/beneath.h only. */
#ifndef DET_AGENT_TASKDIR_H
#define DET_AGENT_TASKDIR_H

#include <stdbool.h>

#include "agent/machine/account.h"
#include "common/base/arena.h"
#include "common/base/error.h"

struct taskdir {
    const char *path, *supervisor, *run, *tmp;
    const struct account *owner;
};

void taskdir_init(struct taskdir *d, const char *run_root, const char *container_id, struct arena *a);
int taskdir_make(const struct taskdir *d, bool trial, struct error *err);
/* All is in place: from now on it is the task's. */
int taskdir_give(const struct taskdir *d, struct error *err);
/* The descriptor of run/, for common/system/beneath.h. */
int taskdir_open_run(const struct taskdir *d, struct error *err);
/* Below run/, a file that is not there yet; its directory is. Owned by the task's user. Before taskdir_give(). */
int taskdir_put_file(const struct taskdir *d, const char *name, const void *data, size_t n, mode_t mode,
                     struct error *err);
/* At an absolute path below run/, with the directories in between. A path outside is ERR_INVALID. */
int taskdir_put_path(const struct taskdir *d, const char *path, const void *data, size_t n, mode_t mode,
                     struct error *err);

#endif
