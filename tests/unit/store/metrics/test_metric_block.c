/* Tests packed numbers, values, blocks and charts: what is unpacked must equal what was packed, and damage must be
 * noticed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/rng.h"
#include "store/metrics/metric_block.h"
#include "store/metrics/metric_chart.h"

static struct packer *packer;

static int setup(void **state)
{
    struct error err = ERROR_INIT;
    (void)state;
    return packer_new(&packer, &err);
}

static int teardown(void **state)
{
    (void)state;
    packer_free(packer);
    return 0;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static size_t packed_ints(const int64_t *v, size_t n)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    int64_t *back = calloc(n + 1, sizeof(*back));
    pack_ints(packer, v, n, &b);
    struct unpack u = {(uint8_t *)b.s, (uint8_t *)b.s + b.n};
    assert_int_equal(unpack_ints(packer, &u, back, n), 0);
    assert_ptr_equal(u.p, u.end);
    assert_memory_equal(back, v, n * sizeof(*v));
    free(back);
    return b.n;
}

static size_t packed_doubles(const double *v, size_t n)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    double *back = calloc(n + 1, sizeof(*back));
    pack_doubles(packer, v, n, &b);
    struct unpack u = {(uint8_t *)b.s, (uint8_t *)b.s + b.n};
    assert_int_equal(unpack_doubles(packer, &u, back, n), 0);
    assert_ptr_equal(u.p, u.end);
    assert_memory_equal(back, v, n * sizeof(*v)); /* compared bit by bit, for -0.0 and NaN, too */
    free(back);
    return b.n;
}

static void test_integers__come_back_and_steady_ones_cost_nothing(void **state)
{
    static int64_t v[10000];
    struct rng rng;
    (void)state;
    rng_init(&rng, 1);
    const int64_t odd[] = {INT64_MIN, INT64_MAX, 0, -1, INT64_MAX, INT64_MIN, 1};
    for (size_t n = 1; n <= 7; n++)
        packed_ints(odd, n);
    for (int i = 0; i < 10000; i++)
        v[i] = 100 * i;
    assert_true(packed_ints(v, 10000) < 16);
    for (int i = 0; i < 10000; i++)
        v[i] = 1700000000000000 + 100000LL * i + (int64_t)rng_int(&rng, 2000); /* a clock with jitter of 2 ms */
    assert_true(packed_ints(v, 10000) < 10000 * 3 / 2 + 100);
    for (int i = 0; i < 10000; i++)
        v[i] = (int64_t)rng_bits64(&rng);
    packed_ints(v, 10000);
}

static void test_doubles__come_back_bit_by_bit(void **state)
{
    static double v[5000];
    struct rng rng;
    (void)state;
    rng_init(&rng, 2);
    const double odd[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 5e-324, -1.7976931348623157e308, 0.1, 1e15, 1e16};
    for (size_t n = 1; n <= 10; n++)
        for (size_t from = 0; from + n <= 10; from++)
            packed_doubles(odd + from, n);
    for (int i = 0; i < 5000; i++) {
        uint64_t bits = rng_bits64(&rng);
        memcpy(&v[i], &bits, sizeof(bits));
    }
    packed_doubles(v, 5000);
}

static void test_doubles__find_the_form_that_suits_them(void **state)
{
    static double v[16384];
    const size_t n = 16384;
    struct rng rng;
    (void)state;
    rng_init(&rng, 3);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)(0.5 + 0.01 * rng_unit(&rng));
    assert_true(packed_doubles(v, n) < n * 11 / 4); /* values of float32 with 1 % of noise */
    for (size_t i = 0; i < n; i++)
        v[i] = (double)rng_int(&rng, 65) / 64;
    assert_true(packed_doubles(v, n) < n); /* the accuracies of batches of 64 examples */
    for (size_t i = 0; i < n; i++)
        v[i] = (double)(int64_t)(rng_unit(&rng) * 10000) / 10000;
    assert_true(packed_doubles(v, n) < n * 2); /* values that are rounded to four decimals */
    for (size_t i = 0; i < n; i++)
        v[i] = 0.001 * 0.5 * (1 + cos(3.14159 * (double)i / 1e6));
    assert_true(packed_doubles(v, n) < n * 3); /* a schedule, packed as doubles with differences of order 2 */
    for (size_t i = 0; i < n; i++)
        v[i] = 0.001;
    assert_true(packed_doubles(v, n) < 32);
}

static void test_damaged_numbers__are_refused_or_wrong_but_never_read_too_far(void **state)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    double v[300], back[300];
    struct rng rng;
    (void)state;
    rng_init(&rng, 4);
    for (int i = 0; i < 300; i++)
        v[i] = (float)rng_unit(&rng);
    pack_doubles(packer, v, 300, &b);
    for (size_t n = 0; n < b.n; n++) {
        uint8_t *cut = malloc(n + 1); /* a block of memory of its own, so that a sanitizer sees reads beyond its end */
        memcpy(cut, b.s, n);
        struct unpack u = {cut, cut + n};
        assert_int_equal(unpack_doubles(packer, &u, back, 300), -1);
        free(cut);
    }
    for (int round = 0; round < 2000; round++) {
        uint8_t *bad = malloc(b.n);
        memcpy(bad, b.s, b.n);
        bad[rng_int(&rng, b.n)] ^= (uint8_t)(1 + rng_int(&rng, 255));
        struct unpack u = {bad, bad + b.n};
        (void)unpack_doubles(packer, &u, back, 300);
        free(bad);
    }
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void test_values__come_back_as_they_were_written(void **state)
{
    static const char *const text[] = {
        "0",
        "-1",
        "9007199254740993",
        "9223372036854775807",
        "18446744073709551616",
        "-0",
        "0.0",
        "-0.0",
        "1.0",
        "0.1",
        "1.50",
        "1e5",
        "1E5",
        "1e+16",
        "1e-05",
        "1e-5",
        "0.0001",
        "123456789012345680.0",
        "1.2345678901234567e+16",
        "5e-324",
        "1e999",
        "\"NaN\"",
        "\"Infinity\"",
        "\"-Infinity\"",
        "\"nan\"",
        "true",
        "null",
        "\"\\u00e9\\n\"",
        "{\"a\":[1,{\"b\":\"}\"}]}",
        "[]",
        "0.30000000000000004",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++) {
        cleanup_arena struct arena a = ARENA_INIT;
        cleanup_strbuf struct strbuf out = STRBUF_INIT;
        struct metric_value v = metric_value_of(text[i], strlen(text[i]), &a);
        metric_value_print(&v, &out);
        assert_string_equal(strbuf_str(&out), text[i]);
    }
}

static void test_members__are_cut_where_json_says(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    (void)state;
    struct metric_members m = metric_members_of(
        " { \"a\\\"b\" : [1, {\"x\":\"],}\"}] ,\"\\u0062\":1.5 , \"c\":\"\" } ");
    while (metric_members_next(&m, &a))
        strbuf_addf(&out, "<%s=%.*s>", m.name, (int)m.value_n, m.value);
    assert_string_equal(strbuf_str(&out), "<a\"b=[1, {\"x\":\"],}\"}]><b=1.5><c=\"\">");
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static struct report_row row(int64_t id, const char *avg)
{
    return (struct report_row){.id = id,
                               .run_id = 1,
                               .group = "training",
                               .steps = (int32_t)id * 10,
                               .report_us = 1700000000000000 + id * 1000,
                               .avg_metrics = avg};
}

/* Adds the block to a builder, packs the new block and unpacks it again. */
static void rebuilt(struct metric_builder *b, struct arena *a, struct metric_block *ret)
{
    struct metric_block block;
    struct error err = ERROR_INIT;
    cleanup_strbuf struct strbuf reports = STRBUF_INIT, batches = STRBUF_INIT;
    metric_builder_finish(b, &block);
    metric_block_pack_reports(packer, &block, &reports);
    metric_block_pack_batches(packer, &block, &batches);
    assert_int_equal(metric_block_unpack_reports(packer, reports.s, reports.n, a, ret, &err), 0);
    assert_int_equal(metric_block_unpack_batches(packer, batches.s, batches.n, a, ret, &err), 0);
    assert_int_equal(ret->column_n, block.column_n);
    for (size_t c = 0; c < block.column_n; c++) {
        cleanup_strbuf struct strbuf column = STRBUF_INIT;
        metric_column_pack(packer, &block.column[c], block.n, &column);
        assert_string_equal(ret->column[c].name, block.column[c].name);
        assert_int_equal(metric_column_unpack(packer, column.s, column.n, ret->n, a, &ret->column[c], &err), 0);
    }
}

static void test_block__gives_every_report_back(void **state)
{
    static const char *const avg[] = {
        "{\"loss\":0.5,\"acc\":0}",
        "{\"loss\":\"NaN\",\"acc\":1}",
        "{\"acc\":0.25,\"loss\":1}",
        "{}",
        "{\"loss\":\"text\",\"extra\":{\"deep\":[1,2]}}",
        "{\"loss\":12345678901234567890}",
        "{\"loss\":-0.0}",
        "{\"z\":9007199254740993,\"loss\":true}",
        "{\"quote\\\"d\":1}",
    };
    enum { N = sizeof(avg) / sizeof(*avg) };
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_builder *b = metric_builder_new(&a);
    struct metric_block block;
    (void)state;
    for (int i = 0; i < N; i++) {
        struct report_row r = row(i + 1, avg[i]);
        r.batch_metrics = i == 2 ? "[{\"loss\":1}]" : NULL;
        r.stepless = i == 3;
        assert_true(metric_builder_add(b, &r));
    }
    rebuilt(b, &a, &block);
    assert_int_equal(block.n, N);
    for (size_t i = 0; i < N; i++) {
        cleanup_strbuf struct strbuf out = STRBUF_INIT;
        metric_block_print(&block, i, &out);
        assert_string_equal(out.s, avg[i]);
        assert_int_equal(block.report[i].steps, (i + 1) * 10);
        assert_int_equal(block.report[i].stepless, i == 3);
        assert_true((block.report[i].batch_metrics != NULL) == (i == 2));
    }
    assert_int_equal(metric_block_column(&block, "loss") >= 0, 1);
    assert_int_equal(metric_block_column(&block, "none"), -1);
    metric_builder_free(b);
}

static void test_block__of_others_is_the_same(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_builder *first = metric_builder_new(&a), *second = metric_builder_new(&a);
    struct metric_block one, two;
    (void)state;
    for (int i = 1; i <= 100; i++) {
        char avg[64];
        snprintf(avg, sizeof(avg), i % 3 ? "{\"a\":%d,\"b\":0.%d}" : "{\"b\":0.%d,\"a\":%d}", i, i);
        struct report_row r = row(i, avg);
        assert_true(metric_builder_add(first, &r));
    }
    metric_builder_finish(first, &one);
    for (size_t i = 0; i < one.n; i++)
        assert_true(metric_builder_copy(second, &one, i));
    rebuilt(second, &a, &two);
    for (size_t i = 0; i < one.n; i++) {
        cleanup_strbuf struct strbuf x = STRBUF_INIT, y = STRBUF_INIT;
        metric_block_print(&one, i, &x);
        metric_block_print(&two, i, &y);
        assert_string_equal(x.s, y.s);
        assert_int_equal(one.report[i].report_us, two.report[i].report_us);
    }
    metric_builder_free(first);
    metric_builder_free(second);
}

static void test_builder__is_full_before_its_cells_are_too_many(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_builder *b = metric_builder_new(&a);
    struct metric_block block;
    int i = 0;
    (void)state;
    for (;; i++) { /* every report brings new names */
        char avg[64];
        snprintf(avg, sizeof(avg), "{\"same\":1,\"name-%d\":1}", i);
        struct report_row r = row(i + 1, avg);
        if (!metric_builder_add(b, &r))
            break;
    }
    assert_in_range(i, 100, 2000);
    metric_builder_finish(b, &block);
    assert_int_equal(block.n, i);
    assert_true(block.n * block.column_n <= METRIC_BLOCK_CELLS);
    /* the last report, which was refused, had this name, too */
    assert_int_equal(metric_block_column(&block, "same") >= 0, 1);
    metric_builder_free(b);
}

static void test_damaged_blocks__are_refused(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    struct metric_builder *b = metric_builder_new(&a);
    struct metric_block block, back;
    struct rng rng;
    (void)state;
    rng_init(&rng, 5);
    for (int i = 1; i <= 50; i++) {
        struct report_row r = row(i, i % 2 ? "{\"a\":1.5,\"b\":\"x\"}" : "{\"a\":2}");
        metric_builder_add(b, &r);
    }
    metric_builder_finish(b, &block);
    metric_block_pack_reports(packer, &block, &out);
    for (int round = 0; round < 3000; round++) {
        cleanup_arena struct arena each = ARENA_INIT;
        struct error err = ERROR_INIT;
        size_t n = round < 500 ? rng_int(&rng, out.n) : out.n;
        uint8_t *bad = malloc(n + 1);
        memcpy(bad, out.s, n);
        if (n == out.n)
            bad[rng_int(&rng, n)] ^= (uint8_t)(1 + rng_int(&rng, 255));
        if (metric_block_unpack_reports(packer, bad, n, &each, &back, &err) < 0) {
            assert_int_equal(err.kind, ERR_IO);
            error_release(&err);
        }
        free(bad);
    }
    metric_builder_free(b);
}

/* ---- charts ------------------------------------------------------------------------------------------------------ */

static void test_chart__keeps_the_ends_and_the_extremes_of_a_block(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    struct metric_builder *b = metric_builder_new(&a);
    struct metric_block block;
    struct chart_point *p;
    struct error err = ERROR_INIT;
    size_t n, peaks = 0;
    (void)state;
    for (int i = 1; i <= 5000; i++) {
        char avg[64];
        snprintf(avg, sizeof(avg), "{\"y\":%d,\"epoch\":%d}", i == 777 ? 1000 : i == 4001 ? -1000 : i % 7, i / 100);
        struct report_row r = row(i, avg);
        metric_builder_add(b, &r);
    }
    metric_builder_finish(b, &block);
    metric_chart_pack(&block, &block.column[metric_block_column(&block, "y")], &out);
    assert_int_equal(metric_chart_unpack(out.s, out.n, &a, &p, &n, &err), 0);
    assert_in_range(n, 32, 66);
    assert_int_equal(p[0].id, 1);
    assert_int_equal(p[n - 1].id, 5000);
    for (size_t i = 0; i < n; i++) {
        peaks += (p[i].id == 777 && p[i].y == 1000) || (p[i].id == 4001 && p[i].y == -1000);
        assert_true(p[i].has_epoch && p[i].epoch == (double)(p[i].id / 100));
    }
    assert_int_equal(peaks, 2);
    metric_builder_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers__come_back_and_steady_ones_cost_nothing),
        cmocka_unit_test(test_doubles__come_back_bit_by_bit),
        cmocka_unit_test(test_doubles__find_the_form_that_suits_them),
        cmocka_unit_test(test_damaged_numbers__are_refused_or_wrong_but_never_read_too_far),
        cmocka_unit_test(test_values__come_back_as_they_were_written),
        cmocka_unit_test(test_members__are_cut_where_json_says),
        cmocka_unit_test(test_block__gives_every_report_back),
        cmocka_unit_test(test_block__of_others_is_the_same),
        cmocka_unit_test(test_builder__is_full_before_its_cells_are_too_many),
        cmocka_unit_test(test_damaged_blocks__are_refused),
        cmocka_unit_test(test_chart__keeps_the_ends_and_the_extremes_of_a_block),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
