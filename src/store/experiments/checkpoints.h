/* Checkpoints, and the storage backends that hold their files. */
#ifndef DET_STORE_EXPERIMENTS_CHECKPOINTS_H
#define DET_STORE_EXPERIMENTS_CHECKPOINTS_H

#include "store/functions.h"
#include "store/lists/page.h"

int store_checkpoint_owner(struct store *st, const char *uuid, struct arena *a, struct store_checkpoint_owner *ret,
                           bool *ret_found, struct error *err);
/* Fails with ERR_CONFLICT if the checkpoint is another trial's. A checkpoint that nobody has reported yet may become
 * any trial's. */
int store_checkpoint_check_trial(struct store *st, const char *uuid, int32_t trial_id, struct error *err);

/* Stores a checkpoint, and keeps the counters of its trial and experiment correct. If its own trial reports it again
 * (a retried report), the row is replaced. If another trial has reported it, the call fails with a conflict, and
 * nothing changes. */
int store_checkpoint_put(struct store *st, const struct store_checkpoint *c, struct error *err);
int store_checkpoint_get(struct store *st, const char *uuid, struct arena *a, struct store_checkpoint *ret,
                         struct error *err);
/* Finds the whole UUID of the one checkpoint that begins with the text, which has at least 4 characters. A whole
 * UUID is returned as it is. */
int store_checkpoint_find(struct store *st, const char *beginning, struct arena *a, const char **ret,
                          struct error *err);
/* Stores which files are left after a removal: if there are none the checkpoint becomes DELETED, and if there are
 * fewer than before it becomes PARTIALLY_DELETED. */
int store_checkpoint_set_resources(struct store *st, const char *uuid, const char *resources, struct error *err);

int store_checkpoint_list(struct store *st, const struct store_checkpoint_filter *f, struct arena *a,
                          struct store_checkpoint_list *ret, struct error *err);
/* Reads the checkpoints with these UUIDs, in the order given. Unknown UUIDs are left out. */
int store_checkpoints_by_uuid(struct store *st, struct store_texts uuids, struct arena *a,
                              struct store_checkpoint **ret, size_t *ret_n, struct error *err);

/* Returns the id of a storage configuration (canonical JSON). The same text always has the same id. */
int store_storage_backend_id(struct store *st, const char *config, int32_t *ret, struct error *err);

#endif
