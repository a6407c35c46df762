/* Checkpoints, and the storage backends they lie in. */
#ifndef DET_STORE_EXPERIMENTS_CHECKPOINTS_H
#define DET_STORE_EXPERIMENTS_CHECKPOINTS_H

#include "store/functions.h"
#include "store/lists/page.h"

int store_checkpoint_owner(struct store *st, const char *uuid, struct arena *a, struct store_checkpoint_owner *ret,
                           bool *ret_found, struct error *err);
/* ERR_CONFLICT if it is another trial's. One that nobody has reported may be anybody's. */
int store_checkpoint_check_trial(struct store *st, const char *uuid, int32_t trial_id, struct error *err);

/* Keeps the counters of trial and experiment. When its own trial reports it again (a retried report), the row is
 * replaced; of another trial it is a conflict, and nothing changes. */
int store_checkpoint_put(struct store *st, const struct store_checkpoint *c, struct error *err);
int store_checkpoint_get(struct store *st, const char *uuid, struct arena *a, struct store_checkpoint *ret,
                         struct error *err);
/* The whole uuid of the one checkpoint that begins so, at least 4 characters of it; a whole uuid is itself. */
int store_checkpoint_find(struct store *st, const char *beginning, struct arena *a, const char **ret,
                          struct error *err);
/* The files that are left after a deletion: none gives DELETED, fewer than before PARTIALLY_DELETED. */
int store_checkpoint_set_resources(struct store *st, const char *uuid, const char *resources, struct error *err);

int store_checkpoint_list(struct store *st, const struct store_checkpoint_filter *f, struct arena *a,
                          struct store_checkpoint_list *ret, struct error *err);
/* The checkpoints with these uuids, in the order given. Unknown uuids are left out. */
int store_checkpoints_by_uuid(struct store *st, struct store_texts uuids, struct arena *a,
                              struct store_checkpoint **ret, size_t *ret_n, struct error *err);

/* The id of a storage configuration (canonical JSON); the same text always has the same id. */
int store_storage_backend_id(struct store *st, const char *config, int32_t *ret, struct error *err);

#endif
