#include "cmocka_setup.h"

#include <string.h>

#include "common/utf8.h"

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
        "0123456789\x80", "0123456789\xc0\x80", "0123456789\xc1\xbf", "0123456789\xe0\x9f\xbf", "0123456789\xed\xa0\x80",
        "0123456789\xf0\x8f\xbf\xbf", "0123456789\xf4\x90\x80\x80", "0123456789\xf5\x80\x80\x80", "0123456789\xe2\x82",
        "0123456789\xff",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(utf8_check(bad[i], strlen(bad[i])), 10);
    const char *good = "0123456\xc3\xbc 89abcd \xf4\x8f\xbf\xbf \xef\xbf\xbf";
    assert_int_equal(utf8_check(good, strlen(good)), strlen(good));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8__every_code_point_comes_back_as_one_sequence),
        cmocka_unit_test(test_utf8__finds_the_first_bad_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
