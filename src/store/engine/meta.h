/* What the cluster knows about itself: its id, the agents' token, small values by key, the heartbeat. */
#ifndef DET_STORE_ENGINE_META_H
#define DET_STORE_ENGINE_META_H

#include "store/functions.h"

/* One small read, to see whether reads go through. */
int store_can_be_read(struct store *st, struct error *err);

/* The cluster's id; `proposal` (a UUID) becomes it if there is none yet. */
int store_cluster_id(struct store *st, const char *proposal, struct arena *a, const char **ret, struct error *err);

/* When the master was last known to be there: "heartbeat_us" of the small values. */
int store_heartbeat_set(struct store *st, int64_t now_us, struct error *err);

#endif
