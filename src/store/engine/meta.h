/* What the cluster stores about itself: its id, the agents' token, small values by key, the heartbeat. */
#ifndef DET_STORE_ENGINE_META_H
#define DET_STORE_ENGINE_META_H

#include "store/functions.h"

/* Reads one small value, to find out whether the store can be read. */
int store_can_be_read(struct store *st, struct error *err);

/* Returns the cluster's id. If there is none yet, `proposal` (a UUID) becomes the id. */
int store_cluster_id(struct store *st, const char *proposal, struct arena *a, const char **ret, struct error *err);

/* Stores when the master was last known to run, as "heartbeat_us" of the small values. */
int store_heartbeat_set(struct store *st, int64_t now_us, struct error *err);

#endif
