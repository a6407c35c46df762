/* How long allocations of a pool have taken lately: the median of those that ended by themselves. Estimates of start
 * times rest on it (docs/spec/scheduling.md#why-a-job-waits). */
#ifndef DET_CORE_STATE_RUN_TIMES_H
#define DET_CORE_STATE_RUN_TIMES_H

#include "core/core.h"

enum { RUN_TIMES_MAX = CORE_RUN_TIMES_MAX, RUN_TIMES_MIN = 10 };

struct run_times {
    int64_t us[RUN_TIMES_MAX]; /* a ring */
    size_t n, next;
    int64_t median_us; /* 0: to be found again */
};

void run_times_add(struct run_times *t, int64_t us); /* above 0 */
/* 0: there are fewer than RUN_TIMES_MIN. */
int64_t run_times_median(struct run_times *t);

#endif
