/* The sealer for metrics (store/metrics/metric_seal.h): reports of a trial are packed into blocks as soon as some
 * thousand of them are in rows, and all that are left when none has come for a minute. */
#ifndef DET_MASTER_WRITER_METRIC_SEALER_H
#define DET_MASTER_WRITER_METRIC_SEALER_H

#include "master/writer/sealer.h"

/* The subjects of this sealer are trials, named by their numbers, and its rows are reports. */
extern const struct sealer_type metric_sealer;

void metric_sealer_reported(struct sealer *s, int32_t trial_id); /* to be called when one more report has been stored */

#endif
