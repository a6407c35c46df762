#include "store/metrics/downsample.h"

#include <math.h>
#include <stdbool.h>

struct line {
    const double *x, *y;
    size_t n;
};

struct mean {
    double x, y;
};

/* Returns the mean of the finite points of a bucket. If there are none, it is a point in the middle of the bucket
 * with the y of point `from`. */
static struct mean mean_of(const struct line *l, size_t begin, size_t end, size_t from)
{
    struct mean m = {0};
    size_t n = 0;
    for (size_t i = begin; i < end; i++) {
        if (!isfinite(l->y[i]))
            continue;
        m.x += l->x[i];
        m.y += l->y[i];
        n++;
    }
    if (n == 0)
        return (struct mean){l->x[(begin + end - 1) / 2], isfinite(l->y[from]) ? l->y[from] : 0};
    m.x /= (double)n;
    m.y /= (double)n;
    return m;
}

static size_t largest_triangle(const struct line *l, size_t begin, size_t end, size_t kept, struct mean next)
{
    double base = isfinite(l->y[kept]) ? l->y[kept] : next.y, largest = -1;
    size_t best = begin;
    for (size_t i = begin; i < end; i++) {
        if (!isfinite(l->y[i]))
            continue;
        double area = fabs((l->x[kept] - next.x) * (l->y[i] - base) - (l->x[kept] - l->x[i]) * (next.y - base));
        if (area > largest) {
            largest = area;
            best = i;
        }
    }
    return best;
}

/* Returns where bucket b begins. It is computed in whole numbers, so that no rounding moves a point from one bucket
 * to another. */
static size_t begin_of(size_t b, size_t n, size_t max)
{
    return b * (n - 2) / (max - 2) + 1;
}

/* Runs Steinarsson's algorithm, for three points or more. */
static void three_buckets(const struct line *l, size_t max, size_t *kept)
{
    kept[0] = 0;
    for (size_t b = 0; b < max - 2; b++) {
        size_t begin = begin_of(b, l->n, max), end = begin_of(b + 1, l->n, max);
        size_t next_end = b + 3 < max ? begin_of(b + 2, l->n, max) : l->n;
        kept[b + 1] = largest_triangle(l, begin, end, kept[b], mean_of(l, end, next_end, kept[b]));
    }
    kept[max - 1] = l->n - 1;
}

/* Returns the places of the least and the greatest value, and how many there are; there are none if all values are
 * NaN. */
static size_t find_extremes(const struct line *l, size_t ret[2])
{
    size_t least = l->n, most = l->n;
    for (size_t i = 0; i < l->n; i++) {
        if (!isfinite(l->y[i]))
            continue;
        if (least == l->n || l->y[i] < l->y[least])
            least = i;
        if (most == l->n || l->y[i] > l->y[most])
            most = i;
    }
    ret[0] = least;
    ret[1] = most;
    return least == l->n ? 0 : 2;
}

static bool line_reaches(const struct line *l, const size_t *kept, size_t n, double y)
{
    for (size_t i = 0; i < n; i++)
        if (l->y[kept[i]] == y)
            return true;
    return false;
}

static void insert_kept(size_t *kept, size_t n, size_t i)
{
    for (; n > 0 && kept[n - 1] > i; n--)
        kept[n] = kept[n - 1];
    kept[n] = i;
}

/* Chooses points with room left for the extremes, if these would not be chosen anyway, and adds them. */
static size_t with_extremes(const struct line *l, size_t max, size_t *kept)
{
    size_t extreme[2], extreme_n = find_extremes(l, extreme), missing[2], missing_n, n = max;
    for (;; n--) {
        three_buckets(l, n, kept);
        missing_n = 0;
        for (size_t i = 0; i < extreme_n; i++)
            if (!line_reaches(l, kept, n, l->y[extreme[i]]))
                missing[missing_n++] = extreme[i];
        if (n + missing_n <= max)
            break;
    }
    for (size_t i = 0; i < missing_n; i++)
        insert_kept(kept, n++, missing[i]);
    return n;
}

size_t downsample(const double *x, const double *y, size_t n, size_t max, size_t *kept)
{
    const struct line l = {x, y, n};
    if (n <= max) {
        for (size_t i = 0; i < n; i++)
            kept[i] = i;
        return n;
    }
    if (max >= 5)
        return with_extremes(&l, max, kept);
    if (max >= 3)
        three_buckets(&l, max, kept);
    else if (max > 0) {
        kept[0] = max == 1 ? n - 1 : 0;
        kept[max - 1] = n - 1;
    }
    return max;
}
