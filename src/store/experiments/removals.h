/* Files of checkpoints that are to be removed, and experiments whose checkpoints are to be collected
 * (docs/decisions/0004).
 *
 * A removal has two phases. First a mark says which files are to be removed (store_removal_add()). Then the files are
 * removed, and one transaction notes what is left of the checkpoint and takes the mark away (store_removal_done()).
 * Whatever a crash cuts short in between is done again.
 *
 * The master removes the files, or, where it cannot open the storage, a task on an agent. For that the mark is handed
 * over; the transaction that asks for the task claims the mark for it; and if the task ends without having reported
 * what is left, the mark is free again. */
#ifndef DET_STORE_EXPERIMENTS_REMOVALS_H
#define DET_STORE_EXPERIMENTS_REMOVALS_H

#include <stdint.h>

#include "store/functions.h"

/* *ret_done is false if another collection was asked for since `c` was read, for example by a new policy: then nothing
 * is done, and `c` is out of date. */
int store_collection_done(struct store *st, const struct store_collection *c, bool *ret_done, struct error *err);

/* resources: what is left (store_checkpoint_set_resources). */
int store_removal_done(struct store *st, const char *uuid, const char *globs, const char *resources, struct error *err);
/* ---- by tasks ---------------------------------------------------------------------------------------------------- */

/* A group of removals that are due and that no task has claimed. *ret_found: there is one. */
int store_removal_group_next(struct store *st, int64_t now_us, struct arena *a, struct store_removal_group *ret,
                             bool *ret_found, struct error *err);
int store_removal_group_claim(struct store *st, const struct store_removal_group *g, const char *task_id,
                              int64_t now_us, struct error *err);
/* A report of what is left (store_checkpoint_set_resources()). task_id: the task that reports; "" when it is no task
 * that removes checkpoints. */
int store_removal_reported(struct store *st, const char *uuid, const char *resources, const char *task_id,
                           struct error *err);
/* What the task has not reported is tried again later. */
int store_removals_task_ended(struct store *st, const char *task_id, bool well, int64_t now_us, const char *reason,
                              struct error *err);

/* ---- TensorBoard's files of an experiment that is being deleted -------------------------------------------------- */

/* A removal that is due and that the master makes itself. ret->experiment_id is 0 when there is none. */
int store_tensorboard_removal_due(struct store *st, int64_t now_us, struct arena *a,
                                  struct store_tensorboard_removal *ret, struct error *err);

/* ------------------------------------------------------------------------------------------------------------------ */

/* When something that failed so often is tried again: after a minute, up to an hour. */
int64_t store_removal_pause_us(int32_t tries);

#endif
