/* Within the store: the running summary of a trial's metrics in one group.
 *
 * A summary is stored as JSON {name: [type, count, sum, min, max, last, last step]}, and shown as the client expects
 * it: {name: {"count":…, "sum":…, "min":…, "max":…, "mean":…, "last":…, "type":"number"}}. Only numbers have a sum,
 * a least and a greatest value, and a mean. A name that was reported with different types counts as "string", as in
 * the predecessor. */
#ifndef DET_STORE_METRICS_METRIC_SUMMARY_H
#define DET_STORE_METRICS_METRIC_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "store/metrics/metric_value.h"

enum metric_type {
    METRIC_TYPE_NUMBER,
    METRIC_TYPE_STRING,
    METRIC_TYPE_DATE,
    METRIC_TYPE_BOOLEAN,
    METRIC_TYPE_OBJECT,
    METRIC_TYPE_ARRAY,
    METRIC_TYPE_NULL,
    METRIC_TYPE_NR,
};

struct metric_summary_entry {
    const char *name;
    enum metric_type type;
    int64_t count;
    double sum, min, max; /* min and max are NaN only if nothing else was reported */
    struct metric_value last;
    int64_t last_step;
};

/* A summary copies what it is given. */
struct metric_summary;
struct metric_summary *metric_summary_new(void);
void metric_summary_free(struct metric_summary *s); /* NULL is allowed */

void metric_summary_add(struct metric_summary *s, const char *name, const struct metric_value *v, int64_t step);

/* adds the stored summary to this one */
int metric_summary_read(struct metric_summary *s, const char *json, struct error *err);
/* in the form in which it is stored */
void metric_summary_print(const struct metric_summary *s, struct strbuf *out);
/* in the form that the client expects */
void metric_summary_show(const struct metric_summary *s, struct strbuf *out);

#endif
