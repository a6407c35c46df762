/* Task logs whose time is over go: at the times of retention_policy.schedule (none: never by itself), or when an admin
 * asks. One sweep at a time, a few hundred blocks a job of the writer, so that others get to write between them. How
 * long a log is kept after its task's end: what was set for the task's trial, else its experiment's configuration, else
 * retention_policy.log_retention_days; -1, or nothing anywhere: for ever. Loop only. */
#ifndef DET_MASTER_LOG_RETENTION_H
#define DET_MASTER_LOG_RETENTION_H

#include <stdint.h>

#include "common/error.h"

struct log_retention;
struct master;

struct log_retention *log_retention_new(struct master *m);
void log_retention_free(struct log_retention *r); /* NULL is fine; the writer has nothing of it any more */

/* removed: lines. err is NULL on success. Called once, later. */
typedef void log_sweep_done_fn(void *ctx, int64_t removed, const struct error *err);
/* ERR_ABORTED when a sweep is under way. */
int log_retention_sweep(struct log_retention *r, log_sweep_done_fn *done, void *ctx, struct error *err);

#endif
