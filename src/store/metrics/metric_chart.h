/* Within the store: a few points of a sealed column, for charts of very many points.
 *
 * The points are chosen when the block is sealed: the column's first and last number, and, from each of 32 equal
 * stretches, the least and the greatest finite number, or the first NaN or infinity if the stretch has no finite
 * number. A chart with too many points to unpack them all uses these, and downsample() chooses among them, so that
 * no extreme is lost (as Donckers et al. propose, "MinMaxLTTB", 2023). */
#ifndef DET_STORE_METRICS_METRIC_CHART_H
#define DET_STORE_METRICS_METRIC_CHART_H

#include "store/metrics/metric_block.h"

struct chart_point {
    int64_t id; /* the report's id */
    int32_t steps;
    int64_t time_us;
    bool has_epoch;
    double epoch;              /* the number called "epoch" of the same report */
    struct metric_value value; /* a number, NaN or an infinity */
    double y;
};

/* Reads the number in report i. Returns false if there is none. */
bool chart_point_of(const struct metric_block *b, const struct metric_column *c, const struct metric_column *epoch,
                    size_t i, struct chart_point *ret);
/* Chooses and packs the points; "" for a column without numbers. The block's columns must be loaded. */
void metric_chart_pack(const struct metric_block *b, const struct metric_column *c, struct strbuf *out);
int metric_chart_unpack(const void *data, size_t size, struct arena *a, struct chart_point **ret, size_t *ret_n,
                        struct error *err);

#endif
