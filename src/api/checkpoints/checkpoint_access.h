/* Rules that the route table cannot express: who may report a checkpoint, and who may report what is left of it
 * (docs/security.md, "Checkpoints and storage"). Call these on a thread that has the store. */
#ifndef DET_API_CHECKPOINTS_CHECKPOINT_ACCESS_H
#define DET_API_CHECKPOINTS_CHECKPOINT_ACCESS_H

#include "api/pipeline/access.h"

/* The route table admits the trial's own task, the owner and admins. But for a trial that the cluster runs only its
 * task may report: an owner may report only for an unmanaged trial. */
int checkpoint_check_report(struct req *r, struct store *db, int32_t trial_id, struct error *err);

/* The owner, admins, the task of the checkpoint's trial, and a task that collects checkpoints of its experiment may
 * report what is left of the checkpoint. */
int checkpoint_check_removed(struct req *r, struct store *db, const char *uuid, struct error *err);

/* The id of the task that asks, by its session; "" if a person asks. */
const char *checkpoint_asking_task(struct req *r);

#endif
