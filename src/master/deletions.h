/* Experiments that are being deleted, one after the other: first the files of their checkpoints, then their rows, a part
 * at a time, so that others get to write between them. Whatever goes wrong leaves the experiment DELETE_FAILED, with the
 * reason in the log, and its owner may ask again; so does a master that ends meanwhile (store_experiments_fail_deletions
 * at the next start). Loop only. */
#ifndef DET_MASTER_DELETIONS_H
#define DET_MASTER_DELETIONS_H

#include <stdint.h>

struct deletions;
struct master;

struct deletions *deletions_new(struct master *m);
void deletions_free(struct deletions *d); /* NULL is fine; the writer has nothing of it any more */
void deletions_add(struct deletions *d, int32_t experiment_id);

#endif
