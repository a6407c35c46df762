/* Files of checkpoints that are to be removed, and experiments whose checkpoints are to be collected
 * (docs/decisions/0004).
 *
 * A removal has two phases. First a mark says which files are to be removed (store_removal_add()). Then the files are
 * removed, and one transaction notes what is left of the checkpoint and takes the mark away (store_removal_done()). If
 * a crash interrupts this, the removal is done again.
 *
 * The master removes the files itself. If it cannot open the storage, a task on an agent does it: the mark is handed
 * over, and the transaction that asks for the task claims the mark for that task. If the task ends without having
 * reported what is left, the claim ends, and the removal is tried again. */
#ifndef DET_STORE_EXPERIMENTS_REMOVALS_H
#define DET_STORE_EXPERIMENTS_REMOVALS_H

#include <stdint.h>

#include "store/functions.h"

/* Notes that a collection is done. *ret_done is false if another collection was asked for since `c` was read, for
 * example by a new policy: then nothing is changed, and `c` is out of date. */
int store_collection_done(struct store *st, const struct store_collection *c, bool *ret_done, struct error *err);

/* `resources` is what is left of the checkpoint (store_checkpoint_set_resources()). */
int store_removal_done(struct store *st, const char *uuid, const char *globs, const char *resources, struct error *err);
/* ---- removals by tasks ------------------------------------------------------------------------------------------- */

/* Finds a group of removals that are due and that no task has claimed. *ret_found says whether there is one. */
int store_removal_group_next(struct store *st, int64_t now_us, struct arena *a, struct store_removal_group *ret,
                             bool *ret_found, struct error *err);
int store_removal_group_claim(struct store *st, const struct store_removal_group *g, const char *task_id,
                              int64_t now_us, struct error *err);
/* Stores a task's report of what is left of a checkpoint (store_checkpoint_set_resources()). task_id is the task
 * that reports, or "" if the report is not from a task that removes checkpoints. */
int store_removal_reported(struct store *st, const char *uuid, const char *resources, const char *task_id,
                           struct error *err);
/* Ends the task's claims. A removal that the task has not reported is tried again later. */
int store_removals_task_ended(struct store *st, const char *task_id, bool well, int64_t now_us, const char *reason,
                              struct error *err);

/* ---- TensorBoard's files of an experiment that is being deleted -------------------------------------------------- */

/* Finds a removal that is due and that the master carries out itself. ret->experiment_id is 0 if there is none. */
int store_tensorboard_removal_due(struct store *st, int64_t now_us, struct arena *a,
                                  struct store_tensorboard_removal *ret, struct error *err);

/* ------------------------------------------------------------------------------------------------------------------ */

/* Returns how long to wait before something that has failed `tries` times is tried again: from one minute up to one
 * hour. */
int64_t store_removal_pause_us(int32_t tries);

#endif
