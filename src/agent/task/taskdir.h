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
 * run/ and tmp/ are closed to everybody but the agent while the agent fills them, and are given to the task's user
 * last, by descriptor (taskdir_give()): until then nobody can change a path in them. From then on the agent, which may
 * be root, enters them with common/system/beneath.h only. */
#ifndef DET_AGENT_TASK_TASKDIR_H
#define DET_AGENT_TASK_TASKDIR_H

#include <stdbool.h>

#include "agent/machine/account.h"
#include "common/base/arena.h"
#include "common/base/error.h"

struct taskdir {
    const char *path, *supervisor, *run, *tmp;
    const char *seen; /* run/ as the task sees it */
    bool in_image;    /* the task sees the files of an image, and not those of the machine */
    const struct account *owner;
};

#define TASKDIR_SPOOL_MAX (64 * 1024 * 1024) /* bytes of lines that the master has not stored yet */

void taskdir_init(struct taskdir *d, const char *run_root, const char *container_id, struct arena *a);
int taskdir_make(const struct taskdir *d, bool trial, struct error *err);
/* For a task in a container, whose engine mounts run/ at `seen`. All that is the task's own is then below run/. */
void taskdir_set_in_image(struct taskdir *d, const char *seen, struct arena *a);
/* Makes the task's spool, and the directories above it, before everything else; opens it and returns its descriptor. */
int taskdir_open_spool(const struct taskdir *d, struct error *err);
/* Gives run/ and tmp/ to the task's user, once everything is in place. */
int taskdir_give(const struct taskdir *d, struct error *err);
/* Opens run/ and returns its descriptor, for common/system/beneath.h. */
int taskdir_open_run(const struct taskdir *d, struct error *err);
/* Writes a file below run/ that does not exist yet, in a directory that does. It belongs to the task's user. Must be
 * called before taskdir_give(). */
int taskdir_put_file(const struct taskdir *d, const char *name, const void *data, size_t n, mode_t mode,
                     struct error *err);
/* Writes a file at an absolute path below run/, and makes the directories that are missing. A path outside of run/ is
 * ERR_INVALID. */
int taskdir_put_path(const struct taskdir *d, const char *path, const void *data, size_t n, mode_t mode,
                     struct error *err);

#endif
