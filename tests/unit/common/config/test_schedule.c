/* Schedules: intervals, and cron's five fields in UTC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/config/schedule.h"

static void expect_next(const char *text, const char *now, const char *expected)
{
    struct schedule s;
    cleanup_error struct error err = ERROR_INIT;
    int64_t now_us;
    char found[CLOCK_TEXT_MAX];
    assert_int_equal(clock_parse(now, strlen(now), &now_us), 0);
    if (schedule_parse(text, &s, &err) < 0)
        fail_msg("%s: %s", text, error_msg(&err));
    clock_format(schedule_next_us(&s, now_us), found);
    assert_string_equal(found, expected);
}

static void test_interval__counts_from_now(void **state)
{
    (void)state;
    expect_next("24h", "2026-11-21T10:00:00.5Z", "2026-11-22T10:00:00.500Z");
    expect_next("90s", "2026-11-21T10:00:00Z", "2026-11-21T10:01:30Z");
}

static void test_cron__next_time_that_fits(void **state)
{
    (void)state;
    expect_next("* * * * *", "2026-11-21T10:00:00Z", "2026-11-21T10:01:00Z");
    expect_next("0 0 * * *", "2026-11-21T10:00:00Z", "2026-11-22T00:00:00Z");
    expect_next("30 3 * * 1-5", "2026-11-20T04:00:00Z", "2026-11-23T03:30:00Z"); /* Friday → Monday */
    expect_next("0 12 * * 7", "2026-11-21T10:00:00Z", "2026-11-22T12:00:00Z");   /* Sunday */
    expect_next("*/20 * * * *", "2026-11-21T10:41:00Z", "2026-11-21T11:00:00Z");
    expect_next("5/30 * * * *", "2026-11-21T10:05:00Z", "2026-11-21T10:35:00Z");
    expect_next("0 0 1 1,7 *", "2026-11-21T10:00:00Z", "2027-01-01T00:00:00Z");
    expect_next("59 23 31 12 *", "2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z");
    expect_next("0 0 29 2 *", "2026-11-21T10:00:00Z", "2028-02-29T00:00:00Z");
}

/* The 13th or a Friday, as cron has it. */
static void test_cron__either_of_two_days(void **state)
{
    (void)state;
    expect_next("0 0 13 * 5", "2026-11-21T10:00:00Z", "2026-11-27T00:00:00Z");
    expect_next("0 0 13 * 5", "2026-12-12T10:00:00Z", "2026-12-13T00:00:00Z");
}

static void test_cron__a_day_that_never_comes(void **state)
{
    (void)state;
    struct schedule s;
    assert_int_equal(schedule_parse("0 0 30 2 *", &s, NULL), 0);
    assert_true(schedule_next_us(&s, 0) == INT64_MAX);
}

static void expect_refused(const char *text, const char *words)
{
    struct schedule s;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(schedule_parse(text, &s, &err), -1);
    if (!strstr(error_msg(&err), words))
        fail_msg("%s: %s", text, error_msg(&err));
}

static void test_parse__says_which_field_is_wrong(void **state)
{
    (void)state;
    expect_refused("60 * * * *", "its minute must be 0 to 59");
    expect_refused("0 24 * * *", "its hour must be");
    expect_refused("0 0 0 * *", "its day of the month must be 1 to 31");
    expect_refused("0 0 * 13 *", "its month");
    expect_refused("0 0 * * 8", "its day of the week");
    expect_refused("5-1 * * * *", "its minute");
    expect_refused("*/0 * * * *", "its minute");
    expect_refused("0 0 * *", "its day of the week");
    expect_refused("0 0 * * * *", "more than the five fields");
    expect_refused("every day", "neither an interval");
    expect_refused("0s", "longer than 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interval__counts_from_now),        cmocka_unit_test(test_cron__next_time_that_fits),
        cmocka_unit_test(test_cron__either_of_two_days),         cmocka_unit_test(test_cron__a_day_that_never_comes),
        cmocka_unit_test(test_parse__says_which_field_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
