#include "cmocka_setup.h"

#include <string.h>

#include "api/models/model_rules.h"

static void test_name__is_refused_if_it_is_blank_a_number_or_not_wholly_visible(void **state)
{
    static const char *const wrong[] = {
        "",
        " ",
        "7",
        "0123456789",
        "a/b",
        "/",
        " a",
        "a ",
        "a  b",
        "a\tb",
        "a\n",
        "a\x7f",
        "\xc2\x85",          /* U+0085, a control character */
        "a\xc2\xa0z",        /* no-break space */
        "a\xc2\xadz",        /* soft hyphen */
        "e\xcc\x81",         /* e and a combining accent */
        "\xe2\x80\x8b",      /* zero width space */
        "a\xe2\x80\xaez",    /* right-to-left override */
        "a\xe3\x80\x80z",    /* ideographic space */
        "\xef\xbb\xbfz",     /* byte order mark */
        "a\xf3\xa0\x80\x81", /* a tag character */
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cleanup_error struct error err = ERROR_INIT;
        assert_int_equal(model_check_name(wrong[i], &err), -1);
        assert_int_equal(err.kind, ERR_INVALID);
    }
    assert_int_equal(model_check_name(NULL, NULL), -1);
}

static void test_name__may_have_letters_of_any_alphabet(void **state)
{
    static const char *const right[] = {
        "a", "7b", "mnist v1.0 (final)", "Stra\xc3\x9fn", "\xe6\x96\x87\xe5\xad\x97", "a\xf0\x9f\x8e\x89", "-1"};
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
        assert_int_equal(model_check_name(right[i], NULL), 0);
}

static void test_name__has_a_limit_in_characters(void **state)
{
    char name[2 * MODEL_NAME_MAX + 3] = "";
    for (int i = 0; i < MODEL_NAME_MAX; i++)
        memcpy(name + 2 * i, "\xc3\xb6", 2);
    assert_int_equal(model_check_name(name, NULL), 0);
    memcpy(name + 2 * MODEL_NAME_MAX, "z", 2);
    assert_int_equal(model_check_name(name, NULL), -1);
}

static void test_alias__cannot_be_taken_for_a_number(void **state)
{
    static const char *const wrong[] = {"",  "1",  "1a",  "-1",  ".a",       "_",
                                        "A", "aB", "a b", "a/b", "\xc3\xa4", "a\xc3\xa4"};
    static const char *const right[] = {"a", "production", "v1.2-rc_3"};
    char longest[MODEL_ALIAS_MAX + 2];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(model_check_alias(wrong[i], NULL), -1);
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
        assert_int_equal(model_check_alias(right[i], NULL), 0);
    memset(longest, 'a', sizeof(longest));
    longest[MODEL_ALIAS_MAX + 1] = 0;
    assert_int_equal(model_check_alias(longest, NULL), -1);
    longest[MODEL_ALIAS_MAX] = 0;
    assert_int_equal(model_check_alias(longest, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name__is_refused_if_it_is_blank_a_number_or_not_wholly_visible),
        cmocka_unit_test(test_name__may_have_letters_of_any_alphabet),
        cmocka_unit_test(test_name__has_a_limit_in_characters),
        cmocka_unit_test(test_alias__cannot_be_taken_for_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
