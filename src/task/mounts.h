/* The task's own view of the file system: a private mount namespace with the order's mounts in it (common/task/taskspec.h).
 *
 * Nothing is left on the machine. A mount point that does not exist is not made in its directory: the directory is
 * covered, for this task alone, with an empty one of our own, in which everything that was there shows again and the
 * mount point has room (`/` for /determined_shared_fs, /run for /run/determined). A directory that the task may write to
 * is never covered, since what it wrote there would vanish with it.
 *
 * In this order, and each step by descriptors: what the order hides is covered; /proc shows the task's own user's processes
 * alone; the sources of the order's mounts are taken, as this machine has them, with the task's own rights, so that a mount
 * leads nowhere the task could not go by itself; /tmp becomes the task's own (mounts_tmp.c); the mounts are made. A path
 * that the task's user may change is looked up once, with that user's rights, and used by descriptor from then on; nothing
 * is looked up through /proc, which a mount of the order's may cover.
 *
 * A supervisor of root needs nothing else; any other one makes a user namespace, too, in which it stays who it is. */
#ifndef DET_TASK_MOUNTS_H
#define DET_TASK_MOUNTS_H

#include "common/base/error.h"
#include "common/task/taskspec.h"

/* In the child, before it takes the task's user. -1: the machine refuses, and this process is of no use any more (half a
 * view is none); start again without mounts. A single mount that cannot be had is told on stderr, the task's log. For a task
 * that is to be isolated, /proc or /tmp of the machine is no view either.
 * *ret_own_tmp: /tmp is the task's own. */
int mounts_enter(const struct taskspec *spec, bool *ret_own_tmp, struct error *err);

#endif
