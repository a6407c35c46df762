#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"

static void test_utf8__every_code_point_comes_back_as_one_sequence(void **state)
{
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        char text[4];
        size_t n = utf8_put(code, text);
        assert_int_equal(utf8_sequence(text, n), n);
        if (n > 1)
            assert_int_equal(utf8_sequence(text, n - 1), 0);
        if (code >= 0xd800 && code < 0xe000)
            assert_memory_equal(text, UTF8_REPLACEMENT, 3);
    }
}

static void test_utf8__finds_the_first_bad_byte(void **state)
{
    static const char *const bad[] = {
        "0123456789\x80",
        "0123456789\xc0\x80",
        "0123456789\xc1\xbf",
        "0123456789\xe0\x9f\xbf",
        "0123456789\xed\xa0\x80",
        "0123456789\xf0\x8f\xbf\xbf",
        "0123456789\xf4\x90\x80\x80",
        "0123456789\xf5\x80\x80\x80",
        "0123456789\xe2\x82",
        "0123456789\xff",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(utf8_check(bad[i], strlen(bad[i])), 10);
    const char *good = "0123456\xc3\xbc 89abcd \xf4\x8f\xbf\xbf \xef\xbf\xbf";
    assert_int_equal(utf8_check(good, strlen(good)), strlen(good));
}

static void expect_zeros(const char *text, size_t n, const char *wanted, size_t wanted_n)
{
    size_t got_n = 12345;
    char *got = utf8_with_zeros(text, n, &got_n);
    assert_non_null(got);
    assert_int_equal(got_n, wanted_n);
    assert_memory_equal(got, wanted, wanted_n);
    free(got);
}

static void test_utf8__the_form_of_u0000_becomes_a_zero_byte(void **state)
{
    size_t n = 7;
    assert_null(utf8_with_zeros("", 0, &n));
    assert_null(utf8_with_zeros("plain \xc3\xbc", 8, &n));
    assert_null(utf8_with_zeros("\xc0", 1, &n)); /* half of it */
    assert_int_equal(n, 7);
    expect_zeros("\xc0\x80", 2, "", 1);
    expect_zeros("a\xc0\x80"
                 "b\xc0\x80\xc0\x80"
                 "c",
                 9, "a\0b\0\0c", 6);
    expect_zeros("\xc0"
                 "x\xc0\x80",
                 4,
                 "\xc0"
                 "x\0",
                 3);
}

static void test_utf8__counts_characters_and_not_bytes(void **state)
{
    assert_int_equal(utf8_count(""), 0);
    assert_int_equal(utf8_count("abc"), 3);
    assert_int_equal(utf8_count("\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80"), 5);
}

static void test_utf8__a_text_is_cut_between_two_characters(void **state)
{
    static const char text[] = "a\xe2\x82\xac\xf0\x9f\x98\x80"; /* of 1, 3 and 4 bytes */
    static const size_t kept[] = {0, 1, 1, 1, 4, 4, 4, 4, 8, 8};
    for (size_t max = 0; max < sizeof(kept) / sizeof(*kept); max++)
        assert_int_equal(utf8_cut(text, strlen(text), max), kept[max]);
    assert_int_equal(utf8_cut("\xc3\xbc", 2, 1), 0);
    assert_int_equal(utf8_cut("", 0, 0), 0);
}

static void test_find_control__finds_the_first_one(void **state)
{
    const char *text = "a\tb\n", *del = "ab\x7f";
    (void)state;
    assert_ptr_equal(text_find_control(text), text + 1);
    assert_ptr_equal(text_find_control(del), del + 2);
    assert_null(text_find_control("plain text, \xc3\xa4"));
    assert_null(text_find_control(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8__every_code_point_comes_back_as_one_sequence),
        cmocka_unit_test(test_utf8__finds_the_first_bad_byte),
        cmocka_unit_test(test_utf8__the_form_of_u0000_becomes_a_zero_byte),
        cmocka_unit_test(test_utf8__counts_characters_and_not_bytes),
        cmocka_unit_test(test_utf8__a_text_is_cut_between_two_characters),
        cmocka_unit_test(test_find_control__finds_the_first_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
