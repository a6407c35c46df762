/* Within the store: what is kept besides the reports of a trial: summaries by group, and the best and the latest
 * validation. */
#ifndef DET_STORE_METRICS_METRIC_TOTALS_H
#define DET_STORE_METRICS_METRIC_TOTALS_H

#include "store/metrics/metric_rows.h"
#include "store/metrics/metrics.h"
#include "store/row_io.h"

/* Adds a report to the totals. `fresh` (a JSON object) holds the metrics of it that are new. */
int metric_totals_add(struct store *st, const struct store_report *r, const struct metric_trial *t, const char *fresh,
                      struct error *err);
/* Is called after a validation was stored, or merged into another. `metrics` are all metrics that it has now. */
int metric_totals_validated(struct store *st, const struct store_report *r, const struct metric_trial *t, int64_t id,
                            const char *metrics, bool *ret_best, struct error *err);
/* Computes the totals from the reports that are left, after some were archived. */
int metric_totals_rebuild(struct store *st, int32_t trial_id, const struct metric_trial *t, struct error *err);

static inline bool metric_group_is_validation(const char *group)
{
    return strcmp(group, "validation") == 0;
}

#endif
