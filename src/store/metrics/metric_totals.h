/* Within the store: what is kept beside the reports of a trial: summaries by group, best and latest validation. */
#ifndef DET_STORE_METRICS_METRIC_TOTALS_H
#define DET_STORE_METRICS_METRIC_TOTALS_H

#include "store/metrics/metric_rows.h"
#include "store/metrics/metrics.h"
#include "store/row_io.h"

/* One more report, of which `fresh` (a JSON object) is new. */
int metric_totals_add(struct store *st, const struct store_report *r, const struct metric_trial *t, const char *fresh,
                      struct error *err);
/* A validation was stored, or merged into: `metrics` are all it has now. */
int metric_totals_validated(struct store *st, const struct store_report *r, const struct metric_trial *t, int64_t id,
                            const char *metrics, bool *ret_best, struct error *err);
/* From what is left, after some reports were archived. */
int metric_totals_rebuild(struct store *st, int32_t trial_id, const struct metric_trial *t, struct error *err);

static inline bool metric_group_is_validation(const char *group)
{
    return strcmp(group, "validation") == 0;
}

#endif
