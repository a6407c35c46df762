/* Sealing: rows of reports to which nothing was added for a while become blocks of columns.
 *
 * It is done in two halves, so that the writer packs nothing and a reader writes nothing.
 *  - store_seal_prepare(), on any connection, takes the first rows of one group, and packs them. Small blocks beside
 * them are packed again with them, if they are no larger than what is taken already. So a report is packed a few times,
 * not once for every thousand reports that follow.
 *  - store_seal_commit(), within the writer's transaction, puts the new blocks in the place of those rows and blocks,
 * if these are unchanged. Otherwise it changes nothing, and says so.
 *
 * One unit of work is bounded: at most STORE_SEAL_REPORTS rows, and at most as much as one block holds.
 *
 * If a sealed report has to change, its block is unsealed: it becomes rows again, with the same ids. Validations are
 * never sealed: checkpoints and trials refer to their rows, and there are few of them. */
#ifndef DET_STORE_METRICS_METRIC_SEAL_H
#define DET_STORE_METRICS_METRIC_SEAL_H

#include "store/functions.h"
#include "store/metrics/metric_rows.h"
#include "store/store.h"

enum { STORE_SEAL_REPORTS = 2048 };

struct metric_seal;
/* *ret stays NULL if no group of the trial has at least that many rows. */
int store_seal_prepare(struct store *st, int32_t trial_id, int at_least, struct metric_seal **ret, struct error *err);
/* *ret_done is false if something was reported since the preparation; the next preparation will include it. */
int store_seal_commit(struct store *st, const struct metric_seal *s, bool *ret_done, struct error *err);
void store_seal_free(struct metric_seal *s);            /* NULL is allowed */
size_t store_seal_reports(const struct metric_seal *s); /* how many rows it takes */

/* ---- within the store -------------------------------------------------------------------------------------------- */

/* Returns 1 with the sealed report of that step, 0 if there is none. */
int metric_sealed_at(struct store *st, int32_t trial_id, const char *group, int32_t steps, struct arena *a,
                     struct report_row *ret, struct error *err);
/* Returns 1 if the block that holds that step became rows, 0 if there is none. */
int metric_unseal_at(struct store *st, int32_t trial_id, const char *group, int32_t steps, struct error *err);
/* Hides the blocks whose reports are all of runs before run_id and beyond `steps`. Blocks of which only a part is
 * become rows. */
int metric_blocks_archive(struct store *st, int32_t trial_id, int32_t run_id, int32_t steps, int64_t *ret_changed,
                          struct error *err);

#endif
