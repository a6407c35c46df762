#include "cmocka_setup.h"

#include <string.h>

#include "common/base/clock.h"

static void assert_round_trip(const char *text, int64_t us)
{
    char buf[CLOCK_TEXT_MAX];
    int64_t parsed = -1;
    assert_int_equal(clock_parse(text, strlen(text), &parsed), 0);
    assert_true(parsed == us);
    assert_int_equal(clock_format(us, buf), strlen(text));
    assert_string_equal(buf, text);
}

static void test_clock__writes_the_shortest_of_0_3_and_6_digits(void **state)
{
    assert_round_trip("1970-01-01T00:00:00Z", 0);
    assert_round_trip("2026-11-21T07:12:01.123456Z", 1795245121123456);
    assert_round_trip("2026-11-21T07:12:01.120Z", 1795245121120000);
    assert_round_trip("2000-02-29T23:59:59Z", 951868799000000);
    assert_round_trip("1969-12-31T23:59:59.999999Z", -1);
    assert_round_trip("0001-01-01T00:00:00Z", -62135596800000000);
    assert_round_trip("9999-12-31T23:59:59.999999Z", 253402300799999999);
}

static void test_clock__agrees_with_the_c_library_on_many_days(void **state)
{
    for (int64_t day = -700000; day < 2900000; day += 97) {
        time_t t = (time_t)(day * 86400 + 4711);
        struct tm tm;
        char expected[64], got[CLOCK_TEXT_MAX];
        gmtime_r(&t, &tm);
        snprintf(expected, sizeof(expected), "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900, tm.tm_mon + 1,
                 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        clock_format((int64_t)t * 1000000, got);
        assert_string_equal(got, expected);
        int64_t us;
        assert_int_equal(clock_parse(got, strlen(got), &us), 0);
        assert_true(us == (int64_t)t * 1000000);
    }
}

static void test_clock__reads_any_offset_and_cuts_to_microseconds(void **state)
{
    int64_t us;
    const char *text = "2026-11-21T09:12:01.1234567899+02:00";
    assert_int_equal(clock_parse(text, strlen(text), &us), 0);
    assert_true(us == 1795245121123456);
    text = "2026-11-20t23:42:01.1-07:30";
    assert_int_equal(clock_parse(text, strlen(text), &us), 0);
    assert_true(us == 1795245121100000);
}

static void test_clock__refuses_what_is_no_time(void **state)
{
    static const char *const bad[] = {
        "",
        "2026",
        "2026-11-21",
        "2026-11-21T07:12:01",
        "2026-11-21 07:12:01Z",
        "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-11-21T24:00:00Z",
        "2026-11-21T07:60:00Z",
        "2026-11-21T07:12:60Z",
        "2026-11-21T07:12:01.Z",
        "2026-11-21T07:12:01+0200",
        "2026-11-21T07:12:01+24:00",
        "2026-11-21T07:12:01ZZ",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "+026-11-21T07:12:01Z",
        "2026-11-2xT07:12:01Z",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        int64_t us = 42;
        if (clock_parse(bad[i], strlen(bad[i]), &us) == 0)
            fail_msg("accepted \"%s\"", bad[i]);
        assert_int_equal(us, 42);
    }
}

static void test_clock__keeps_the_years_that_can_be_written(void **state)
{
    char buf[CLOCK_TEXT_MAX];
    clock_format(INT64_MAX, buf);
    assert_string_equal(buf, "9999-12-31T23:59:59.999999Z");
    clock_format(INT64_MIN, buf);
    assert_string_equal(buf, "0001-01-01T00:00:00Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock__writes_the_shortest_of_0_3_and_6_digits),
        cmocka_unit_test(test_clock__agrees_with_the_c_library_on_many_days),
        cmocka_unit_test(test_clock__reads_any_offset_and_cuts_to_microseconds),
        cmocka_unit_test(test_clock__refuses_what_is_no_time),
        cmocka_unit_test(test_clock__keeps_the_years_that_can_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
