/* What all charts share (charts.c, chart_names.c, compare_trials.c): checks of the request, and the question whether
 * more data can come. */
#ifndef DET_API_METRICS_CHART_H
#define DET_API_METRICS_CHART_H

#include "api/pipeline/internal.h"
#include "store/metrics/metrics.h"

enum { CHART_POINTS_DEFAULT = 1000, CHART_TRIALS_MAX = 1000 };

/* The metric group by its name, or by the older field `type`; NULL if neither is set. */
const char *chart_group(const char *group, enum wire_metric_type type);
int chart_check_points(int32_t asked, int32_t *ret, struct error *err);
int chart_check_range(int32_t start, int32_t end, struct error *err);
int chart_check_metric(const char *name, const char *group, struct error *err);
void chart_points_to_wire(const struct store_point *p, size_t n, struct arena *a, struct wire_data_point **ret);
/* Whether all these experiments have ended. Call it before the metrics are read: an experiment that had ended by
 * then gets no further metrics. */
int chart_is_over(struct req *r, struct store *db, const int32_t *ids, size_t n, bool *ret, struct error *err);

#endif
