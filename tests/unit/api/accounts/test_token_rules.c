#include "cmocka_setup.h"

#include <string.h>

#include "api/accounts/token_rules.h"

#define HOUR_US (INT64_C(3600) * 1000000)

/* The lifespan in hours; -1: it is refused. */
static int64_t hours(const char *given, struct token_days days)
{
    int64_t us = 0;
    return token_lifespan(given, &days, &us, NULL) < 0 ? -1 : us / HOUR_US;
}

static const struct token_days usual = {.max = 30};

static void test_lifespan__that_is_not_given_is_the_configured_one_or_the_longest(void **state)
{
    assert_int_equal(hours(NULL, usual), 720);
    assert_int_equal(hours("", usual), 720);
    assert_int_equal(hours(NULL, (struct token_days){.max = 7}), 168);
    assert_int_equal(hours(NULL, (struct token_days){.max = -1}), 720);
    assert_int_equal(hours(NULL, (struct token_days){.has_default = true, .by_default = 2, .max = 30}), 48);
    assert_int_equal(hours(NULL, (struct token_days){.has_default = true, .by_default = -1, .max = -1}), 106751 * 24);
}

static void test_lifespan__is_bounded_by_the_configuration(void **state)
{
    assert_int_equal(hours("720h", usual), 720);
    assert_int_equal(hours("720h0m1s", usual), -1);
    assert_int_equal(hours("-1", usual), -1);
    assert_int_equal(hours("-1", (struct token_days){.max = -1}), 106751 * 24);
    assert_int_equal(hours("2500000h", (struct token_days){.max = -1}), 2500000);
}

static void test_lifespan__that_is_none_is_refused(void **state)
{
    static const char *const wrong[] = {"x", "12", "0h", "-1h", "-2", "h", "1e3h", "99999999999999h", "1h;", " 1h"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(hours(wrong[i], usual), -1);
    char large[1000];
    memset(large, '1', sizeof(large));
    large[sizeof(large) - 1] = 0;
    assert_int_equal(hours(large, usual), -1);
}

static void test_description__is_one_line_of_text_of_bounded_length(void **state)
{
    char text[TOKEN_DESCRIPTION_MAX + 2];
    memset(text, 'x', sizeof(text));
    text[TOKEN_DESCRIPTION_MAX] = 0;
    assert_int_equal(token_description_check(text, NULL), 0);
    text[TOKEN_DESCRIPTION_MAX] = 'x';
    text[TOKEN_DESCRIPTION_MAX + 1] = 0;
    assert_int_equal(token_description_check(text, NULL), -1);
    assert_int_equal(token_description_check(NULL, NULL), 0);
    assert_int_equal(token_description_check("f\u00fcr die N\u00e4chte", NULL), 0);
    assert_int_equal(token_description_check("two\nlines", NULL), -1);
    assert_int_equal(token_description_check("\x1b[2J", NULL), -1);
    assert_int_equal(token_description_check("\x7f", NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lifespan__that_is_not_given_is_the_configured_one_or_the_longest),
        cmocka_unit_test(test_lifespan__is_bounded_by_the_configuration),
        cmocka_unit_test(test_lifespan__that_is_none_is_refused),
        cmocka_unit_test(test_description__is_one_line_of_text_of_bounded_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
