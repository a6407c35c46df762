/* What all charts share (charts.c, chart_names.c, compare_trials.c): checks of what is asked for, and when there is no more. */
#ifndef DET_API_CHART_H
#define DET_API_CHART_H

#include "api/pipeline/internal.h"
#include "store/metrics/metrics.h"

enum { CHART_POINTS_DEFAULT = 1000, CHART_TRIALS_MAX = 1000 };

/* The group by its name, or by the older kind; NULL if neither says. */
const char *chart_group(const char *group, enum wire_metric_type type);
int chart_check_points(int32_t asked, int32_t *ret, struct error *err);
int chart_check_range(int32_t start, int32_t end, struct error *err);
int chart_check_metric(const char *name, const char *group, struct error *err);
void chart_points_to_wire(const struct store_point *p, size_t n, struct arena *a, struct wire_data_point **ret);
/* Have all of these experiments ended? Asked before the metrics: what an ended one has then is all it will ever have. */
int chart_is_over(struct req *r, struct store *db, const int32_t *ids, size_t n, bool *ret, struct error *err);

#endif
