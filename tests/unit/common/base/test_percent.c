#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/base/percent.h"

static void assert_written(const char *text, const char *plain, const char *expected)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    strbuf_add_percent(&out, text, plain);
    assert_string_equal(strbuf_str(&out), expected);
}

static void test_add_percent__leaves_letters_digits_and_what_it_is_told(void **state)
{
    (void)state;
    assert_written("aZ09-_.~", PERCENT_UNRESERVED, "aZ09-_.~");
    assert_written("a/b c", PERCENT_UNRESERVED, "a%2Fb%20c");
    assert_written("a/b c", PERCENT_UNRESERVED "/", "a/b%20c");
    assert_written("a.b", "", "a%2Eb");
}

static void test_add_percent__writes_every_other_byte(void **state)
{
    (void)state;
    assert_written("\x01[`{@\x7f\xc3\xa4\xff", PERCENT_UNRESERVED, "%01%5B%60%7B%40%7F%C3%A4%FF");
    assert_written("", PERCENT_UNRESERVED, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_percent__leaves_letters_digits_and_what_it_is_told),
        cmocka_unit_test(test_add_percent__writes_every_other_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
