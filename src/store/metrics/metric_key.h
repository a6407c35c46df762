/* Within the store: the place of a report among those of its trial, and the range that a block of reports spans. */
#ifndef DET_STORE_METRICS_METRIC_KEY_H
#define DET_STORE_METRICS_METRIC_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place among the reports of a trial: they are in order of (step, id). */
struct metric_key {
    int64_t steps, id;
};
static inline int metric_key_compare(struct metric_key a, struct metric_key b)
{
    if (a.steps != b.steps)
        return a.steps < b.steps ? -1 : 1;
    return (a.id > b.id) - (a.id < b.id);
}

/* The reports of a trial and group in a range. */
struct report_range {
    int32_t trial_id;
    bool archived;
    const char *group;
    struct metric_key first, last;
};

/* A row of metric_blocks, without the contents of the block. */
struct metric_block_row {
    int64_t id;
    const char *group;
    size_t n;
    struct metric_key first, last;
    int32_t least_run, greatest_run;
    int64_t least_us, greatest_us;
};

#endif
