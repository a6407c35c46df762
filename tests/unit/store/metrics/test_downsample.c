/* Tests the thinning of lines for charts: the algorithm of the paper, and what the header promises beyond it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/rng.h"
#include "store/metrics/downsample.h"

/* ---- what the header promises ------------------------------------------------------------------------------------ */

static void check_thin(const double *x, const double *y, size_t n, size_t max)
{
    size_t *kept = calloc(max + 1, sizeof(*kept));
    kept[max] = 12345; /* must not be overwritten */
    size_t found = downsample(x, y, n, max, kept);
    assert_true(found <= max && (n < max ? found == n : found > 0 || max == 0));
    assert_int_equal(kept[max], 12345);
    double least = INFINITY, most = -INFINITY, kept_least = INFINITY, kept_most = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        least = isfinite(y[i]) && y[i] < least ? y[i] : least;
        most = isfinite(y[i]) && y[i] > most ? y[i] : most;
    }
    for (size_t i = 0; i < found; i++) {
        assert_true(kept[i] < n && (i == 0 || kept[i] > kept[i - 1]));
        kept_least = isfinite(y[kept[i]]) && y[kept[i]] < kept_least ? y[kept[i]] : kept_least;
        kept_most = isfinite(y[kept[i]]) && y[kept[i]] > kept_most ? y[kept[i]] : kept_most;
    }
    if (max >= 2 && n >= 2)
        assert_true(kept[0] == 0 && kept[found - 1] == n - 1);
    if (max >= 5)
        assert_true(least == kept_least && most == kept_most);
    free(kept);
}

/* For every line the points must be in order and no more than asked for, and contain both ends, the least and the
 * greatest value. */
static void test_downsample__keeps_its_promises_on_random_lines(void **state)
{
    static double x[400], y[400];
    struct rng rng;
    (void)state;
    rng_init(&rng, 6);
    for (int round = 0; round < 3000; round++) {
        size_t n = 1 + rng_int(&rng, 399), max = 1 + rng_int(&rng, 60);
        double at = 0;
        for (size_t i = 0; i < n; i++) {
            at += (double)rng_int(&rng, 3);
            x[i] = at;
            uint64_t odd = rng_int(&rng, 20);
            y[i] = odd == 0 ? NAN : odd == 1 ? INFINITY : odd == 2 ? -INFINITY : rng_unit(&rng) * 100;
        }
        check_thin(x, y, n, max);
    }
}

/* Thins a sine with one spike. The shape of the line must be kept, and so must the spike. */
static void test_downsample__chooses_what_the_eye_would(void **state)
{
    static double x[10000], y[10000];
    size_t kept[50], spike = 0;
    (void)state;
    for (int i = 0; i < 10000; i++) {
        x[i] = i;
        y[i] = sin(i / 800.0);
    }
    y[5555] = 1.5;
    size_t n = downsample(x, y, 10000, 50, kept);
    for (size_t i = 0; i < n; i++)
        spike += kept[i] == 5555;
    assert_int_equal(spike, 1);
    /* Every point must be near the line between its kept neighbours. */
    double worst = 0;
    for (size_t k = 0; k + 1 < n; k++) {
        for (size_t i = kept[k]; i < kept[k + 1]; i++) {
            double t = (x[i] - x[kept[k]]) / (x[kept[k + 1]] - x[kept[k]]);
            double off = fabs(y[kept[k]] + t * (y[kept[k + 1]] - y[kept[k]]) - y[i]);
            if (kept[k] != 5555 && kept[k + 1] != 5555 && off > worst)
                worst = off;
        }
    }
    assert_true(worst < 0.15);
}

/* ---- comparison with the paper ----------------------------------------------------------------------------------- */

/* Steinarsson's algorithm, written in the simplest way: the first point, one of each bucket, the last point. Bucket
 * b of those between holds the points [floor(b (n - 2) / (max - 2)) + 1, floor((b + 1) (n - 2) / (max - 2)) + 1). */
static size_t bucket_begin(size_t b, size_t n, size_t max)
{
    return b * (n - 2) / (max - 2) + 1;
}

static double triangle(double ax, double ay, double bx, double by, double cx, double cy)
{
    return fabs((ax - cx) * (by - ay) - (ax - bx) * (cy - ay)) / 2;
}

static void choose_by_the_paper(const double *x, const double *y, size_t n, size_t max, bool *chosen)
{
    size_t before = 0;
    memset(chosen, 0, n * sizeof(*chosen));
    chosen[0] = chosen[n - 1] = true;
    for (size_t b = 0; b < max - 2; b++) {
        size_t next = bucket_begin(b + 1, n, max), next_end = b + 1 == max - 2 ? n : bucket_begin(b + 2, n, max),
               best = 0;
        double mean_x = 0, mean_y = 0, largest = -1;
        for (size_t i = next; i < next_end; i++) {
            mean_x += x[i] / (double)(next_end - next);
            mean_y += y[i] / (double)(next_end - next);
        }
        for (size_t i = bucket_begin(b, n, max); i < next; i++) {
            double area = triangle(x[before], y[before], x[i], y[i], mean_x, mean_y);
            if (area > largest) {
                largest = area;
                best = i;
            }
        }
        chosen[before = best] = true;
    }
}

static size_t count(const bool *chosen, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += chosen[i];
    return found;
}

/* What the header adds to the paper: the extremes are among the points, and fewer other points are chosen for that. */
static void choose(const double *x, const double *y, size_t n, size_t max, bool *chosen)
{
    size_t least = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        least = y[i] < y[least] ? i : least;
        most = y[i] > y[most] ? i : most;
    }
    for (size_t by_the_paper = max; by_the_paper >= 3; by_the_paper--) {
        choose_by_the_paper(x, y, n, by_the_paper, chosen);
        if (max >= 5)
            chosen[least] = chosen[most] = true;
        if (count(chosen, n) <= max)
            return;
    }
}

static void test_downsample__chooses_what_the_paper_does(void **state)
{
    static double x[400], y[400];
    static bool chosen[400];
    struct rng rng;
    (void)state;
    rng_init(&rng, 7);
    for (int round = 0; round < 5000; round++) {
        size_t max = 3 + rng_int(&rng, 60), n = max + 1 + rng_int(&rng, 300), kept[64];
        double at = 0, level = 0;
        for (size_t i = 0; i < n; i++) {
            x[i] = at += rng_unit(&rng);
            level += rng_unit(&rng) - 0.5;
            y[i] = round % 2 ? level : rng_unit(&rng); /* a random walk, or noise */
        }
        choose(x, y, n, max, chosen);
        size_t found = downsample(x, y, n, max, kept);
        assert_int_equal(found, count(chosen, n));
        for (size_t i = 0; i < found; i++)
            if (!chosen[kept[i]])
                fail_msg("round %d: %zu of %zu points, and point %zu is none of the paper's", round, max, n, kept[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_downsample__chooses_what_the_paper_does),
        cmocka_unit_test(test_downsample__keeps_its_promises_on_random_lines),
        cmocka_unit_test(test_downsample__chooses_what_the_eye_would),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
