#include "cmocka_setup.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/number.h"
#include "common/base/rng.h"

static void assert_double(double v, const char *expected)
{
    char text[NUMBER_TEXT_MAX];
    assert_int_equal(number_put_double(v, text), strlen(expected));
    assert_string_equal(text, expected);
}

static void test_number__doubles_print_in_the_shortest_form(void **state)
{
    assert_double(0, "0");
    assert_double(-0.0, "-0");
    assert_double(1, "1");
    assert_double(-1200, "-1200");
    assert_double(0.1, "0.1");
    assert_double(0.1 + 0.2, "0.30000000000000004");
    assert_double(1.0 / 3, "0.3333333333333333");
    assert_double(0.000001, "0.000001");
    assert_double(0.0000001, "1e-7");
    assert_double(1.5e-9, "1.5e-9");
    assert_double(123456789012345680000.0, "123456789012345680000");
    assert_double(1e20, "100000000000000000000");
    assert_double(1e21, "1e+21");
    assert_double(9007199254740993.0, "9007199254740992");
    assert_double(DBL_MAX, "1.7976931348623157e+308");
    assert_double(DBL_MIN, "2.2250738585072014e-308");
    assert_double(5e-324, "5e-324");
    assert_double(INFINITY, "Infinity");
    assert_double(-INFINITY, "-Infinity");
    assert_double(NAN, "NaN");
}

static void assert_float(float v, const char *expected)
{
    char text[NUMBER_TEXT_MAX];
    number_put_float(v, text);
    assert_string_equal(text, expected);
}

static void test_number__floats_need_fewer_digits(void **state)
{
    assert_float(0.1f, "0.1");
    assert_float(16777216, "16777216");
    assert_float(3.4028235e38f, "3.4028235e+38");
    assert_float(1e-45f, "1e-45");
    assert_float(0.33333334f, "0.33333334");
}

/* Any bit pattern reads back as itself, and with one digit less it would not. */
static void test_number__random_doubles_read_back(void **state)
{
    struct rng r;
    rng_init(&r, 2026);
    for (int i = 0; i < 50000; i++) {
        uint64_t bits = rng_bits64(&r);
        double v, back;
        memcpy(&v, &bits, sizeof(v));
        if (i % 2) /* and numbers as they occur */
            v = rng_uniform(&r, -1000, 1000);
        if (!isfinite(v))
            continue;
        char text[NUMBER_TEXT_MAX], one_less[NUMBER_TEXT_MAX];
        size_t n = number_put_double(v, text);
        assert_int_equal(number_scan(text, n), n);
        assert_int_equal(number_to_double(text, n, &back), 0);
        assert_memory_equal(&back, &v, sizeof(v));
        int digits = 0;
        for (char *p = text; *p != '\0' && *p != 'e'; p++)
            digits += *p >= '1' && *p <= '9' ? 1 : *p == '0' && digits > 0;
        if (digits < 2 || !strchr(text, '.'))
            continue;
        snprintf(one_less, sizeof(one_less), "%.*e", digits - 2, v);
        assert_true(strtod(one_less, NULL) != v);
    }
}

#define NOUGHTS "00000000000000000000000000000000000000000000000000"

static void test_number__reading_agrees_with_the_c_library(void **state)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "1",
        "10",
        "0.1",
        "1e22",
        "1e23",
        "123456789e-30",
        "9007199254740993",
        "2.2250738585072011e-308",
        "4.9e-324",
        "1e-400",
        "0.00000000000000000000000000000000000000001e41",
        "179769313486231570793e288",
        "1" NOUGHTS NOUGHTS NOUGHTS NOUGHTS "e-200",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        double v;
        size_t n = strlen(texts[i]);
        assert_int_equal(number_scan(texts[i], n), n);
        assert_int_equal(number_to_double(texts[i], n, &v), 0);
        assert_true(v == strtod(texts[i], NULL));
    }
    double v = 7;
    assert_int_equal(number_to_double("1e309", 5, &v), -1);
    assert_int_equal(number_to_double("1e99999999999", 13, &v), -1);
    assert_true(v == 7);
    float f;
    assert_int_equal(number_to_float("3.5e38", 6, &f), -1);
    assert_int_equal(number_to_float("0.1", 3, &f), 0);
    assert_true(f == 0.1f);
}

static void test_number__scan_follows_the_grammar(void **state)
{
    static const struct {
        const char *text;
        size_t n;
    } cases[] = {
        {"12,", 2}, {"-", 0},  {"-1", 2},  {"+1", 0},     {"01", 0}, {"-01", 0}, {"0.5", 3},   {"0.", 0},   {".5", 0},
        {"1e5", 3}, {"1e", 0}, {"1e+", 0}, {"1E-07x", 5}, {"", 0},   {"a", 0},   {"1.5.5", 3}, {"0x10", 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(number_scan(cases[i].text, strlen(cases[i].text)), cases[i].n);
}

static int to_int64(const char *s, int64_t *ret)
{
    return number_to_int64(s, strlen(s), ret);
}

static void test_number__integers_are_exact_or_refused(void **state)
{
    static const struct {
        const char *text;
        int64_t v;
    } good[] = {
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"1.50e1", 15},
        {"120e-1", 12},
        {"-0", 0},
        {"0e999", 0},
        {"0.000", 0},
        {"1000000000000000000000e-20", 10},
        {"1.0000000000000000000000000", 1},
        {"9e18", 9000000000000000000},
    };
    int64_t v;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_int_equal(to_int64(good[i].text, &v), 0);
        assert_true(v == good[i].v);
    }
    static const char *const bad[] = {
        "9223372036854775808",  "-9223372036854775809",          "1.5", "1e-1", "1e19", "1e99999999999",
        "18446744073709551616", "10000000000000000000000001e-25"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(to_int64(bad[i], &v), -1);
    uint64_t u;
    assert_int_equal(number_to_uint64("18446744073709551615", 20, &u), 0);
    assert_true(u == UINT64_MAX);
    assert_int_equal(number_to_uint64("18446744073709551616", 20, &u), -1);
    assert_int_equal(number_to_uint64("-1", 2, &u), -1);
}

static void test_number__any_base_is_gos_base_0(void **state)
{
    static const struct {
        const char *text;
        int64_t v;
    } good[] = {
        {"0", 0},     {"-7", -7},  {"+7", 7},    {"0x1F", 31}, {"-0X1f", -31},
        {"0o17", 15}, {"017", 15}, {"0b101", 5}, {"00", 0},    {"-9223372036854775808", INT64_MIN},
    };
    int64_t v;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_int_equal(number_parse_any_base(good[i].text, INT64_MIN, INT64_MAX, &v), 0);
        assert_true(v == good[i].v);
    }
    static const char *const bad[] = {"",
                                      "-",
                                      "+",
                                      " 1",
                                      "1 ",
                                      "0x",
                                      "0x-1",
                                      "0b2",
                                      "08",
                                      "1e3",
                                      "1.0",
                                      "--1",
                                      "0x0x1",
                                      "abc",
                                      "9223372036854775808",
                                      "99999999999999999999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (number_parse_any_base(bad[i], INT64_MIN, INT64_MAX, &v) == 0)
            fail_msg("accepted \"%s\"", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number__doubles_print_in_the_shortest_form),
        cmocka_unit_test(test_number__floats_need_fewer_digits),
        cmocka_unit_test(test_number__random_doubles_read_back),
        cmocka_unit_test(test_number__reading_agrees_with_the_c_library),
        cmocka_unit_test(test_number__scan_follows_the_grammar),
        cmocka_unit_test(test_number__integers_are_exact_or_refused),
        cmocka_unit_test(test_number__any_base_is_gos_base_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
