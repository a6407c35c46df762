/* Within the store: the running summary of a trial's metrics in one group.
 *
 * Kept as JSON {name: [type, count, sum, min, max, last, last step]}; shown as the client expects it:
 * {name: {"count":…, "sum":…, "min":…, "max":…, "mean":…, "last":…, "type":"number"}}. Only numbers have a sum, an
 * extent and a mean. A name that was reported with different types counts as "string", as in the predecessor. */
#ifndef DET_STORE_METRIC_SUMMARY_H
#define DET_STORE_METRIC_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/json.h"

void metric_summary_add(struct json_object *summary, struct json_object *metrics, int64_t step);
struct json_object *metric_summary_show(struct json_object *summary); /* caller puts it */

/* A number, or one of the strings "NaN", "Infinity", "-Infinity". False for anything else. */
bool metric_number(struct json_object *v, double *ret);

#endif
