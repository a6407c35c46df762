#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "net/http/http.h"

static void expect_decoded(const char *s, bool plus_is_blank, const char *wanted, size_t wanted_n)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    assert_int_equal(http_percent_decode(s, strlen(s), plus_is_blank, &out), 0);
    assert_int_equal(out.n, wanted_n);
    assert_memory_equal(strbuf_str(&out), wanted, wanted_n);
}

static void test_http_percent_decode__decodes_escapes_and_blanks(void **state)
{
    expect_decoded("", false, "", 0);
    expect_decoded("a%20b+c", false, "a b+c", 5);
    expect_decoded("a%20b+c", true, "a b c", 5);
    expect_decoded("%c3%A9%00%2f", false, "\xc3\xa9\0/", 4);
}

static void test_http_percent_decode__refuses_bad_escapes(void **state)
{
    static const char *const bad[] = {"%", "%4", "%g0", "%0g", "a%", "%%41"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        cleanup_strbuf struct strbuf out = STRBUF_INIT;
        assert_int_equal(http_percent_decode(bad[i], strlen(bad[i]), false, &out), -1);
    }
}

static int list_pair(const char *name, const char *value, void *ctx, struct error *err)
{
    strbuf_addf(ctx, "[%s=%s]", name, value);
    return strcmp(name, "stop") == 0 ? error_set(err, ERR_INVALID, "stopped") : 0;
}

static void test_http_query_each__gives_decoded_pairs_in_order(void **state)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    assert_int_equal(http_query_each("a=1&b%5B%5D=x+y&&flag&empty=&c=1=2&a=2&", list_pair, &out, NULL), 0);
    assert_string_equal(out.s, "[a=1][b[]=x y][flag=][empty=][c=1=2][a=2]");
    strbuf_reset(&out);
    assert_int_equal(http_query_each("", list_pair, &out, NULL), 0);
    assert_int_equal(out.n, 0);
}

static void expect_query_error(const char *query, const char *wanted)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(http_query_each(query, list_pair, &out, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_non_null(strstr(error_msg(&err), wanted));
}

static void test_http_query_each__names_what_it_cannot_decode_and_passes_errors_on(void **state)
{
    expect_query_error("a=1&b=%zz", "value \"%zz\"");
    expect_query_error("a%=1", "name \"a%\"");
    expect_query_error("a=x%00y", "NUL");
    expect_query_error("stop=1&a=2", "stopped");
}

static void test_a_coding__is_accepted_by_its_name_unless_its_weight_is_zero(void **state)
{
    assert_true(http_accepts_coding("gzip, deflate, br", "br"));
    assert_true(http_accepts_coding("gzip;q=0.5", "gzip"));
    assert_true(http_accepts_coding("identity , GZIP ;q=1", "gzip"));
    assert_true(http_accepts_coding("gzip;q=0.001", "gzip"));
    assert_false(http_accepts_coding(NULL, "gzip"));
    assert_false(http_accepts_coding("", "gzip"));
    assert_false(http_accepts_coding("x-gzip, gzips", "gzip"));
    assert_false(http_accepts_coding("gzip;q=0", "gzip"));
    assert_false(http_accepts_coding("br, gzip; q=0.000, deflate", "gzip"));
    assert_false(http_accepts_coding("deflate;x=gzip", "gzip"));
}

static void test_a_tag__matches_weakly_and_among_others(void **state)
{
    assert_true(http_tag_matches("\"a\"", "\"a\""));
    assert_true(http_tag_matches("W/\"a\"", "\"a\""));
    assert_true(http_tag_matches("\"b\", W/\"c\" ,\"a\"", "\"a\""));
    assert_true(http_tag_matches("*", "\"a\""));
    assert_false(http_tag_matches(NULL, "\"a\""));
    assert_false(http_tag_matches("", "\"a\""));
    assert_false(http_tag_matches("a", "\"a\""));
    assert_false(http_tag_matches("\"ab\"", "\"a\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_percent_decode__decodes_escapes_and_blanks),
        cmocka_unit_test(test_http_percent_decode__refuses_bad_escapes),
        cmocka_unit_test(test_http_query_each__gives_decoded_pairs_in_order),
        cmocka_unit_test(test_http_query_each__names_what_it_cannot_decode_and_passes_errors_on),
        cmocka_unit_test(test_a_coding__is_accepted_by_its_name_unless_its_weight_is_zero),
        cmocka_unit_test(test_a_tag__matches_weakly_and_among_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
