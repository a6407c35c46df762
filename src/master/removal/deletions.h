/* Deletes experiments and single trials, one after the other (docs/spec/lifecycle.md#deleting-an-experiment): first the
 * files of their checkpoints and of TensorBoard, then their rows, some at a time, so that other jobs of the writer come
 * in between.
 *
 * While a task removes the files of one, the next one is deleted. If something fails, the experiment is DELETE_FAILED,
 * the log has the reason, and its owner may ask again. The same holds when the master ends meanwhile
 * (store_experiments_fail_deletions() at the next start). The deletion of a single trial is a row (run_deletions),
 * which keeps the reason, and the next master goes on with it. An experiment that is continued at the same moment is
 * not deleted.
 *
 * These functions are for the loop only. */
#ifndef DET_MASTER_REMOVAL_DELETIONS_H
#define DET_MASTER_REMOVAL_DELETIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct deletions;
struct master;

struct deletions *deletions_new(struct master *m);
void deletions_free(struct deletions *d); /* d may be NULL; to be called when the writer has no job of it any more */
/* To be called when a task that removes files has ended; d may be NULL. */
void deletions_look_again(struct deletions *d);
/* Adds a deletion. It fails if the experiment has been continued since the writer saw that it was over; the experiment
 * is then kept. After a success the experiment cannot be continued any more (deletions_of()). */
int deletions_add(struct deletions *d, int32_t experiment_id, int32_t trial_id /* 0: all of it */, struct error *err);
/* Says which deletion of the experiment has begun since the master started. The code that continues an experiment has
 * to ask this on the loop, in the same turn as its step, because the reader that looked at the store before may not
 * have seen the deletion yet. */
enum deletion_of { DELETION_OF_NOTHING, DELETION_OF_TRIALS, DELETION_OF_ALL };
enum deletion_of deletions_of(const struct deletions *d, int32_t experiment_id);

#endif
