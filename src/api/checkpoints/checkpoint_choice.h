/* Which checkpoints of an experiment its policy does not keep: applies the rule of core/experiments/gc.h to rows of
 * the store. */
#ifndef DET_API_CHECKPOINTS_CHECKPOINT_CHOICE_H
#define DET_API_CHECKPOINTS_CHECKPOINT_CHOICE_H

#include "core/experiments/gc.h"
#include "store/experiments/checkpoints.h"

/* The checkpoints that may be removed. Among them is neither a checkpoint from which another trial started, nor one
 * from which its own trial would go on. */
int checkpoints_to_remove(struct store *db, int32_t experiment_id, const struct gc_policy *policy, struct arena *a,
                          struct store_texts *ret_uuids, struct error *err);
/* The policy in the experiment's configuration. */
int checkpoint_policy(struct store *db, int32_t experiment_id, struct gc_policy *ret, struct error *err);

#endif
