/* Experiments, and single trials, that are being deleted, one after the other: first the files of their checkpoints and of TensorBoard, then
 * their rows, a part at a time, so that others get to write between them. One whose files a task has to remove steps aside
 * until that has ended. Whatever goes wrong leaves the experiment DELETE_FAILED, with the
 * reason in the log, and its owner may ask again; so does a master that ends meanwhile (store_experiments_fail_deletions
 * at the next start). An experiment that was continued at the same moment keeps what it has. Of a trial on its own the reason stands with it (run_deletions), and the next master goes on. Loop
 * only. */
#ifndef DET_MASTER_DELETIONS_H
#define DET_MASTER_DELETIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

struct deletions;
struct master;

struct deletions *deletions_new(struct master *m);
void deletions_free(struct deletions *d); /* NULL is fine; the writer has nothing of it any more */
void deletions_look_again(struct deletions *d); /* a task that removes files has ended; NULL is fine */
/* Fails when the experiment was continued since the writer judged that it is over; then it stays. From here on it cannot be
 * continued (deletions_of). */
int deletions_add(struct deletions *d, int32_t experiment_id, int32_t trial_id /* 0: all of it */, struct error *err);
/* What has begun since the master started. Who continues an experiment asks on the loop, in the turn of its step: the reader
 * that looked before may not have seen it yet. */
enum deletion_of { DELETION_OF_NOTHING, DELETION_OF_TRIALS, DELETION_OF_ALL };
enum deletion_of deletions_of(const struct deletions *d, int32_t experiment_id);

#endif
