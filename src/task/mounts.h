/* The task's own view of the file system: a private mount namespace with the mounts that the order names
 * (common/task/taskspec.h).
 *
 * Nothing stays on the machine afterwards. A mount point that does not exist is not created in its directory.
 * Instead, an empty directory of ours covers that directory for this task alone; everything that was there is shown
 * in it again, and the mount point is created in it. This happens to `/` for /determined_shared_fs, and to /run for
 * /run/determined. A directory that the task may write to is never covered, because what the task wrote there would
 * be lost.
 *
 * The steps are taken in this order, each by descriptors:
 * 1. what the order hides is covered;
 * 2. /proc is mounted so that it shows only processes of the task's user;
 * 3. the sources of the order's mounts are opened with the task's rights, so that no mount leads where the task
 *     could not go;
 * 4. /tmp, /dev/shm and /dev/pts become the task's own (mounts_tmp.c, mounts_pts.c);
 * 5. the mounts are made.
 * A path that the task's user may change is looked up once, with that user's rights, and used by descriptor from
 *     then on. Nothing is looked up through /proc, since a mount of the order may cover it.
 *
 * A supervisor that is root needs nothing else. Any other supervisor also makes a user namespace, in which its user
 * stays the same. */
#ifndef DET_TASK_MOUNTS_H
#define DET_TASK_MOUNTS_H

#include "common/base/error.h"
#include "common/task/taskspec.h"

/* Called in the child before it becomes the task's user. Returns -1 when the machine refuses: the view is then
 * incomplete, this process must not go on, and the caller starts another one without mounts. A single mount that is
 * refused is only reported on stderr, which is the task's log. For a task that is to be isolated, keeping the machine's
 * /proc or /tmp counts as a refusal, too. *ret_own_tmp tells whether /tmp is the task's own. */
int mounts_enter(const struct taskspec *spec, bool *ret_own_tmp, struct error *err);

#endif
