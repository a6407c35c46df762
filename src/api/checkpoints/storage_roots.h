/* The directories below which the master itself reads and removes files, because an admin has named them:
 * checkpoint_storage of the cluster, what an admin has set as checkpoint_storage of a workspace, and
 * security.checkpoint_roots. Whoever configures an experiment may name any other directory; what lies there is left to
 * tasks with the rights of the experiment's owner.
 *
 * A root may be a link, since an admin has named it; no link below a root is followed. The machine's root directory is
 * never a root, and the master's data directory is never opened, even if it lies below one. */
#ifndef DET_API_CHECKPOINTS_STORAGE_ROOTS_H
#define DET_API_CHECKPOINTS_STORAGE_ROOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"

struct config;
struct storage_roots;

/* Made once, when the master starts. Any thread may read it. */
struct storage_roots *storage_roots_new(const struct config *c, const char *data_dir);
void storage_roots_free(struct storage_roots *r); /* NULL is allowed */

/* Opens the directory `place` for reading. -1 if the master may not open it; then *ret_why is a sentence that says
 * why. admin_storage: the checkpoint_storage (JSON) that an admin has set for the workspace, or NULL. */
int storage_roots_open(const struct storage_roots *r, const char *admin_storage, const char *place, struct arena *a,
                       const char **ret_why);
/* Whether the directory is the master's data directory. */
bool storage_roots_is_own(const struct storage_roots *r, int dir);
/* Whether a task of another user has made the directory, as far as its uid tells (task_uids of agents). */
bool storage_roots_is_anothers(const struct storage_roots *r, int dir, int32_t user_id);

/* An absolute path without ".", doubled slashes and trailing slashes; NULL if `path` is relative or has "..". */
const char *storage_path_normal(const char *path, struct arena *a);

#endif
