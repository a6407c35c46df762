/* Within the store: a row of metric_reports, for the files that write reports and for those that read them. */
#ifndef DET_STORE_METRICS_METRIC_ROWS_H
#define DET_STORE_METRICS_METRIC_ROWS_H

#include "store/row_io.h"

/* Reports move from rows to blocks between two statements, not within a transaction: whoever reads both begins one,
 * unless the caller has (*ret_own tells). */
int metric_reading_begin(struct store *st, bool *ret_own, struct error *err);
void metric_reading_end(struct store *st, bool own);

#endif
