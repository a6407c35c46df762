#include "core/state/run_times.h"

#include <stdlib.h>
#include <string.h>

void run_times_add(struct run_times *t, int64_t us)
{
    t->us[t->next] = us;
    t->next = (t->next + 1) % RUN_TIMES_MAX;
    t->n += t->n < RUN_TIMES_MAX;
    t->median_us = 0;
}

static int by_length(const void *pa, const void *pb)
{
    const int64_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

int64_t run_times_median(struct run_times *t)
{
    int64_t sorted[RUN_TIMES_MAX];
    if (t->n < RUN_TIMES_MIN)
        return 0;
    if (t->median_us == 0) {
        memcpy(sorted, t->us, t->n * sizeof(sorted[0]));
        qsort(sorted, t->n, sizeof(sorted[0]), by_length);
        t->median_us = sorted[t->n / 2];
    }
    return t->median_us;
}
