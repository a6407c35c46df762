/* The directories below which the master itself reads and removes files, because an admin has named them: checkpoint_storage
 * of the cluster, what an admin has set as checkpoint_storage of a workspace, and security.checkpoint_roots. Whoever configures
 * an experiment may name any other directory; what lies there is left to tasks with the rights of the experiment's owner.
 *
 * A root may be a link, since an admin has named it; no link below a root is followed. The machine's root directory is never
 * a root, and the master's data directory is never opened, even if it lies below one. */
#ifndef DET_API_STORAGE_ROOTS_H
#define DET_API_STORAGE_ROOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"

struct config;
struct storage_roots;

/* Made once, when the master starts; any thread may read it. */
struct storage_roots *storage_roots_new(const struct config *c, const char *data_dir);
void storage_roots_free(struct storage_roots *r); /* NULL is fine */

/* The descriptor of the directory `place`, for reading; -1 if it is not for the master to open, and then *ret_why is a
 * sentence. admin_storage: checkpoint_storage (JSON) that an admin has set for the workspace at hand, or NULL. */
int storage_roots_open(const struct storage_roots *r, const char *admin_storage, const char *place, struct arena *a,
                       const char **ret_why);
/* Whether the directory is the master's data directory. */
bool storage_roots_is_own(const struct storage_roots *r, int dir);
/* Whether tasks of another user have made it, as far as their uid tells (task_uids of agents). */
bool storage_roots_is_anothers(const struct storage_roots *r, int dir, int32_t user_id);

/* An absolute path without "." and doubled or trailing slashes; NULL if it is relative or has "..". */
const char *storage_path_normal(const char *path, struct arena *a);

#endif
