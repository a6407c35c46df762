/* Which checkpoints of an experiment its policy lets go: the rows of the store under the rule of core/experiments/gc.h. */
#ifndef DET_API_CHECKPOINT_CHOICE_H
#define DET_API_CHECKPOINT_CHOICE_H

#include "core/experiments/gc.h"
#include "store/experiments/checkpoints.h"

/* Neither a checkpoint from which another trial started is among them, nor one from which its own trial goes on. */
int checkpoints_to_remove(struct store *db, int32_t experiment_id, const struct gc_policy *policy, struct arena *a,
                          struct store_texts *ret_uuids, struct error *err);
/* As the experiment is configured. */
int checkpoint_policy(struct store *db, int32_t experiment_id, struct gc_policy *ret, struct error *err);

#endif
