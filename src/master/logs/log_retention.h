/* Deletes logs of tasks that need not be kept any longer: at the times of retention_policy.schedule (unset: never by
 * itself), and when an admin asks. There is one sweep at a time. Each job of the writer deletes a few hundred blocks,
 * so that other jobs come in between.
 *
 * How many days a log is kept after its task's end: what was set for the task's trial, else in its experiment's
 * configuration, else in retention_policy.log_retention_days. -1, or nothing anywhere, means for ever. These functions
 * are for the loop only. */
#ifndef DET_MASTER_LOGS_LOG_RETENTION_H
#define DET_MASTER_LOGS_LOG_RETENTION_H

#include <stdint.h>

#include "common/base/error.h"

struct log_retention;
struct master;

struct log_retention *log_retention_new(struct master *m);
void log_retention_free(struct log_retention *r); /* r may be NULL; the writer must have no job of it any more */

/* Called once, when the sweep has ended. removed: the number of removed lines. err is NULL on success. */
typedef void log_sweep_done_fn(void *ctx, int64_t removed, const struct error *err);
/* Begins a sweep. ERR_ABORTED if one runs already. */
int log_retention_sweep(struct log_retention *r, log_sweep_done_fn *done, void *ctx, struct error *err);

#endif
