/* What the master does every five minutes (HOUSEKEEPING_PERIOD_US): it stores the time (the cluster's heartbeat),
 * forgets sessions that have expired, in the store and in memory, removes records of the audit log that are too old,
 * writes the hash of its last record to the log, and ends trials that run elsewhere and have been silent for too long.
 */
#ifndef DET_MASTER_WRITER_HOUSEKEEPING_H
#define DET_MASTER_WRITER_HOUSEKEEPING_H

#include <stdint.h>

#include "common/base/error.h"

struct housekeeping;
struct identities;
struct loop;
struct writer;

#define HOUSEKEEPING_PERIOD_US 300000000

/* audit_days: how long records of the audit log are kept; -1: for ever. */
int housekeeping_new(struct loop *l, struct writer *w, struct identities *ids, int64_t period_us, int64_t audit_days,
                     struct housekeeping **ret, struct error *err);
void housekeeping_free(struct housekeeping *h); /* to be called before the writer is freed; h may be NULL */

#endif
