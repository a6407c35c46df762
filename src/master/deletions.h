/* Experiments that are being deleted, one after the other: first the files of their checkpoints and of TensorBoard, then
 * their rows, a part at a time, so that others get to write between them. One whose files a task has to remove steps aside
 * until that has ended. Whatever goes wrong leaves the experiment DELETE_FAILED, with the
 * reason in the log, and its owner may ask again; so does a master that ends meanwhile (store_experiments_fail_deletions
 * at the next start). Loop only. */
#ifndef DET_MASTER_DELETIONS_H
#define DET_MASTER_DELETIONS_H

#include <stdint.h>

struct deletions;
struct master;

struct deletions *deletions_new(struct master *m);
void deletions_free(struct deletions *d); /* NULL is fine; the writer has nothing of it any more */
void deletions_look_again(struct deletions *d); /* a task that removes files has ended; NULL is fine */
void deletions_add(struct deletions *d, int32_t experiment_id);

#endif
