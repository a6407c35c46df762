/* Who may report a checkpoint, change what is known of it, and remove its files (docs/security.md, "Checkpoints and storage").
 * On a thread with the store. */
#ifndef DET_API_CHECKPOINT_ACCESS_H
#define DET_API_CHECKPOINT_ACCESS_H

#include "api/api.h"

struct store_checkpoint_owner;

/* A task's session may report for the trial that it runs; a person for a trial that runs outside the cluster, if they may
 * change its experiment; an admin for any. */
int checkpoint_check_report(struct req *r, const char *task_id, int32_t trial_id, struct error *err);

/* The owner of its experiment and admins may change it, and so may the task of its trial. */
int checkpoint_check_change(struct req *r, const char *uuid, struct error *err);
/* The same, and a task that collects checkpoints of its experiment: it tells what is left. */
int checkpoint_check_removed(struct req *r, const char *uuid, struct error *err);

/* The task that asks, by its session; "" for a person. */
const char *checkpoint_asking_task(struct req *r);

#endif
