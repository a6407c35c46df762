/* What the route table cannot say about who may report a checkpoint and tell what is left of it (docs/security.md, "Checkpoints and
 * storage"). On a thread with the store. */
#ifndef DET_API_CHECKPOINT_ACCESS_H
#define DET_API_CHECKPOINT_ACCESS_H

#include "api/pipeline/access.h"

/* The route table lets in the trial's own task, the owner and admins. A trial that the cluster runs is its task's, though: an
 * owner reports only for one that runs elsewhere. */
int checkpoint_check_report(struct req *r, struct store *db, int32_t trial_id, struct error *err);

/* The owner and admins tell what is left of it, as does the task of its trial and one that collects checkpoints of its
 * experiment. */
int checkpoint_check_removed(struct req *r, struct store *db, const char *uuid, struct error *err);

/* The task that asks, by its session; "" for a person. */
const char *checkpoint_asking_task(struct req *r);

#endif
