#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/strbuf.h"

static void test_strbuf__is_always_terminated(void **state)
{
    struct strbuf b cleanup_strbuf = STRBUF_INIT;
    assert_string_equal(strbuf_str(&b), "");
    for (int i = 0; i < 1000; i++) {
        strbuf_addc(&b, 'x');
        assert_int_equal(strlen(b.s), b.n);
    }
    strbuf_truncate(&b, 3);
    assert_string_equal(b.s, "xxx");
    strbuf_truncate(&b, 10);
    assert_int_equal(b.n, 3);
}

static void test_strbuf__formats_what_does_not_fit_at_first(void **state)
{
    struct strbuf b cleanup_strbuf = STRBUF_INIT;
    for (int width = 0; width < 700; width += 9) {
        strbuf_reset(&b);
        strbuf_addf(&b, "%*d|", width, 7);
        assert_int_equal(b.n, (width > 1 ? width : 1) + 1);
        assert_int_equal(b.s[b.n - 1], '|');
    }
}

static void test_strbuf__consumes_from_the_front(void **state)
{
    struct strbuf b cleanup_strbuf = STRBUF_INIT;
    strbuf_consume(&b, 5);
    strbuf_adds(&b, "one two");
    strbuf_consume(&b, 4);
    assert_string_equal(b.s, "two");
    strbuf_consume(&b, 99);
    assert_string_equal(b.s, "");
}

static void test_strbuf__detaches_a_string_that_may_be_empty(void **state)
{
    struct strbuf b = STRBUF_INIT;
    char *s = strbuf_detach(&b);
    assert_string_equal(s, "");
    assert_null(b.s);
    free(s);
}

static void assert_json(const char *in, size_t n, const char *expected)
{
    struct strbuf b cleanup_strbuf = STRBUF_INIT;
    strbuf_add_json(&b, in, n);
    assert_string_equal(strbuf_str(&b), expected);
}

static void test_strbuf__json_escapes_what_the_contract_escapes(void **state)
{
    assert_json("", 0, "\"\"");
    assert_json("plain text/", 11, "\"plain text/\"");
    assert_json("\"\\\b\f\n\r\t", 7, "\"\\\"\\\\\\b\\f\\n\\r\\t\"");
    assert_json("\0\x1f\x7f", 3, "\"\\u0000\\u001f\x7f\"");
    assert_json("<a>&", 4, "\"\\u003ca\\u003e\\u0026\"");
    assert_json("\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9", 9, "\"\xe2\x80\xa7\\u2028\\u2029\"");
    assert_json("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80", 11, "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\"");
}

static void test_strbuf__json_replaces_bad_utf8_byte_by_byte(void **state)
{
    assert_json("a\xff"
                "b",
                3,
                "\"a\xef\xbf\xbd"
                "b\"");
    assert_json("\xc3", 1, "\"\xef\xbf\xbd\"");
    assert_json("\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    assert_json("\xc0\x80", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void test_strbuf__json_of_logs_has_u0000(void **state)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    strbuf_add_json_with_nul(&b,
                             "a\xc0\x80<\xc0"
                             "b\xc0\x80",
                             8);
    assert_string_equal(strbuf_str(&b), "\"a\\u0000\\u003c\xef\xbf\xbd"
                                        "b\\u0000\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strbuf__is_always_terminated),
        cmocka_unit_test(test_strbuf__formats_what_does_not_fit_at_first),
        cmocka_unit_test(test_strbuf__consumes_from_the_front),
        cmocka_unit_test(test_strbuf__detaches_a_string_that_may_be_empty),
        cmocka_unit_test(test_strbuf__json_escapes_what_the_contract_escapes),
        cmocka_unit_test(test_strbuf__json_replaces_bad_utf8_byte_by_byte),
        cmocka_unit_test(test_strbuf__json_of_logs_has_u0000),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
