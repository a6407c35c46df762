/* Sealing: rows of reports to which nothing was added for a while become blocks of columns.
 *
 * It is done in two halves, so that the writer packs nothing and a reader writes nothing.
 *  - store_seal_prepare(), on any connection, takes the first rows of one group, and packs them. It packs small blocks
 * beside them once more, those that are no larger than what has come together so far; so a report is packed a few
 * times, not once for every thousand that follow.
 *  - store_seal_commit(), within the writer's transaction, puts the new blocks in the place of those rows and blocks,
 * if they are still what they were. Otherwise it changes nothing, and says so. One unit of work is bounded:
 * STORE_SEAL_REPORTS rows, and as much as one block holds.
 *
 * If a sealed report has to change, its block is unsealed: it becomes rows again, under the same ids. Validations are
 * never sealed: checkpoints and trials refer to their rows, and there are few. */
#ifndef DET_STORE_METRICS_METRIC_SEAL_H
#define DET_STORE_METRICS_METRIC_SEAL_H

#include "store/functions.h"
#include "store/metrics/metric_rows.h"
#include "store/store.h"

enum { STORE_SEAL_REPORTS = 2048 };

struct metric_seal;
/* *ret stays NULL when no group of the trial has at least that many rows. */
int store_seal_prepare(struct store *st, int32_t trial_id, int at_least, struct metric_seal **ret, struct error *err);
/* *ret_done false: something was reported in between; the next look will see it. */
int store_seal_commit(struct store *st, const struct metric_seal *s, bool *ret_done, struct error *err);
void store_seal_free(struct metric_seal *s);            /* NULL is fine */
size_t store_seal_reports(const struct metric_seal *s); /* rows that it takes */

/* ---- within the store -------------------------------------------------------------------------------------------- */

/* 1 with the sealed report of that step, 0 when there is none. */
int metric_sealed_at(struct store *st, int32_t trial_id, const char *group, int32_t steps, struct arena *a,
                     struct report_row *ret, struct error *err);
/* 1 when the block that holds that step became rows, 0 when there is none. */
int metric_unseal_at(struct store *st, int32_t trial_id, const char *group, int32_t steps, struct error *err);
/* Hides the blocks that are all of earlier runs than run_id and beyond `steps`; those that are so in part become rows.
 */
int metric_blocks_archive(struct store *st, int32_t trial_id, int32_t run_id, int32_t steps, int64_t *ret_changed,
                          struct error *err);

#endif
