/* How long allocations of a pool have taken lately: the median of those that ended by themselves. Estimates of start
 * times rest on it (docs/spec/scheduling.md#why-a-job-waits). */
#ifndef DET_CORE_STATE_RUN_TIMES_H
#define DET_CORE_STATE_RUN_TIMES_H

#include "core/core.h"

enum { RUN_TIMES_MAX = CORE_RUN_TIMES_MAX, RUN_TIMES_MIN = 10 };

struct run_times {
    int64_t us[RUN_TIMES_MAX]; /* a ring buffer */
    size_t n, next;
    int64_t median_us; /* 0: the median has to be computed again */
};

void run_times_add(struct run_times *t, int64_t us); /* us must be above 0 */
/* Returns 0 if there are fewer than RUN_TIMES_MIN run times. */
int64_t run_times_median(struct run_times *t);

#endif
