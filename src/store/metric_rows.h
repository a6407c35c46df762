/* Within the store: a row of metric_reports, for the files that write reports and for those that read them. */
#ifndef DET_STORE_METRIC_ROWS_H
#define DET_STORE_METRIC_ROWS_H

#include "store/query.h"

struct report_row {
    int64_t id;
    int32_t trial_id, run_id;
    const char *group;
    int32_t steps;
    int64_t report_us;
    bool stepless, archived;
    const char *avg_metrics, *batch_metrics; /* batch_metrics NULL: none */
};

void read_report(struct query *q, struct arena *a, void *row); /* columns {report_columns} */

/* Reports move from rows to blocks between two statements, not within a transaction: whoever reads both begins one,
 * unless the caller has (*ret_own tells). */
int metric_reading_begin(struct store *st, bool *ret_own, struct error *err);
void metric_reading_end(struct store *st, bool own);

#endif
