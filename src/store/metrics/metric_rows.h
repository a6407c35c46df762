/* Within the store: a row of metric_reports, for the files that write reports and for those that read them. */
#ifndef DET_STORE_METRICS_METRIC_ROWS_H
#define DET_STORE_METRICS_METRIC_ROWS_H

#include "store/row_io.h"

/* Begins a read transaction, unless the caller has begun one (*ret_own says which). Reports move from rows to
 * blocks, so whoever reads both with two statements needs a transaction to see each report exactly once. */
int metric_reading_begin(struct store *st, bool *ret_own, struct error *err);
void metric_reading_end(struct store *st, bool own);

#endif
