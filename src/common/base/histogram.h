/* A histogram of durations, which shows more of latencies than their average. Buckets range from 0.1 ms to 10 s, two or
 * three to a decade; a bucket counts the durations up to its bound that do not fit the bucket before. */
#ifndef DET_COMMON_BASE_HISTOGRAM_H
#define DET_COMMON_BASE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BOUNDS_US {100, 300, 1000, 3000, 10000, 30000, 100000, 300000, 1000000, 3000000, 10000000}
enum { HISTOGRAM_BOUND_N = 11 };

struct histogram {
    uint64_t bucket[HISTOGRAM_BOUND_N + 1]; /* the last bucket counts durations above all bounds */
    uint64_t count;
    int64_t sum_us;
};

static inline void histogram_add(struct histogram *h, int64_t us)
{
    static const int64_t bound[] = HISTOGRAM_BOUNDS_US;
    int i = 0;
    while (i < HISTOGRAM_BOUND_N && us > bound[i])
        i++;
    h->bucket[i]++;
    h->count++;
    h->sum_us += us > 0 ? us : 0;
}

#endif
