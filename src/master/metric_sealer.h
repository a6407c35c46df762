/* When reports of metrics are sealed (store/metric_seal.h): as soon as a trial has some thousand of them in rows, and what is
 * left when none has come for a minute. */
#ifndef DET_MASTER_METRIC_SEALER_H
#define DET_MASTER_METRIC_SEALER_H

#include "master/sealer.h"

extern const struct sealer_type metric_sealer; /* its subjects are trials, by their numbers, its rows reports */

void metric_sealer_reported(struct sealer *s, int32_t trial_id); /* one more report is in the store */

#endif
