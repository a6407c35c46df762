/* Experiments, and single trials, that are being deleted, one after the other: first the files of their checkpoints and of TensorBoard, then
 * their rows, a part at a time, so that others get to write between them. One whose files a task has to remove steps aside
 * until that has ended. Whatever goes wrong leaves the experiment DELETE_FAILED, with the
 * reason in the log, and its owner may ask again; so does a master that ends meanwhile (store_experiments_fail_deletions
 * at the next start). Of a trial on its own the reason stands with it (run_deletions), and the next master goes on. Loop
 * only. */
#ifndef DET_MASTER_DELETIONS_H
#define DET_MASTER_DELETIONS_H

#include <stdbool.h>
#include <stdint.h>

struct deletions;
struct master;

struct deletions *deletions_new(struct master *m);
void deletions_free(struct deletions *d); /* NULL is fine; the writer has nothing of it any more */
void deletions_look_again(struct deletions *d); /* a task that removes files has ended; NULL is fine */
void deletions_add(struct deletions *d, int32_t experiment_id, int32_t trial_id /* 0: all of it */);
/* Whether the deletion of any single trial of it has begun since the master started. */
bool deletions_had_trials_of(const struct deletions *d, int32_t experiment_id);

#endif
