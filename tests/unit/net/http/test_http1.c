/* Heads of answers. Heads of requests are tested with the server (test_http.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/strbuf.h"
#include "net/http/http1.h"

static int parse(const char *text, struct strbuf *copy, struct http1_answer *a, struct error *err)
{
    strbuf_adds(copy, text);
    return http1_parse_answer(copy->s, copy->n, a, err);
}

static void test_http1_parse_answer__reads_status_headers_and_framing(void **state)
{
    static const struct {
        const char *text;
        int status, minor;
        bool chunked, has_length;
        unsigned length, headers;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", 200, 1, false, true, 12, 1},
        {"HTTP/1.0 404 Not Found\r\n\r\n", 404, 0, false, false, 0, 0},
        {"HTTP/1.1 299\r\n\r\n", 299, 1, false, false, 0, 0},
        {"HTTP/1.1 299 \r\nX:y\r\n\r\n", 299, 1, false, false, 0, 1},
        {"HTTP/1.9 500 a  b\r\ntransfer-encoding: CHUNKED\r\n\r\n", 500, 1, true, false, 0, 1},
        {"HTTP/1.1 200 \xc3\xa9\r\nX: \xff\r\n\r\n", 200, 1, false, false, 0, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        cleanup_strbuf struct strbuf copy = STRBUF_INIT;
        cleanup_error struct error err = ERROR_INIT;
        struct http1_answer a;
        if (parse(rows[i].text, &copy, &a, &err) < 0)
            fail_msg("%s: %s", rows[i].text, error_msg(&err));
        assert_int_equal(a.status, rows[i].status);
        assert_int_equal(a.minor_version, rows[i].minor);
        assert_int_equal(a.chunked, rows[i].chunked);
        assert_int_equal(a.has_length, rows[i].has_length);
        assert_int_equal(a.length, rows[i].length);
        assert_int_equal(a.header_n, rows[i].headers);
    }
}

static void test_http1_parse_answer__refuses_what_two_readers_could_read_in_two_ways(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "more than one"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n", "not a number"},
        {"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", "not a number"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "not allowed"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "not allowed"},
        {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "not allowed"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n", "other than chunked"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n", "Name: value"},
        {"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", "Name: value"},
        {"HTTP/1.1 200 OK\r\nX: a\nY: b\r\n\r\n", "CR LF"},
        {"HTTP/1.1 200 OK\r\nX: a\rY: b\r\n\r\n", "control character"},
        {"HTTP/1.1 200 OK\r\nX: a\x01\r\n\r\n", "control character"},
        {"HTTP/1.1 099 OK\r\n\r\n", "status"},
        {"HTTP/1.1 600 OK\r\n\r\n", "status"},
        {"HTTP/1.1 20 OK\r\n\r\n", "first line"},
        {"HTTP/1.1 2000 OK\r\n\r\n", "first line"},
        {"HTTP/2 200\r\n\r\n", "first line"},
        {"GET / HTTP/1.1\r\n\r\n", "first line"},
        {"\r\n\r\n", "first line"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        cleanup_strbuf struct strbuf copy = STRBUF_INIT;
        cleanup_error struct error err = ERROR_INIT;
        struct http1_answer a;
        if (parse(rows[i].text, &copy, &a, &err) == 0)
            fail_msg("%s is accepted", rows[i].text);
        if (!strstr(error_msg(&err), rows[i].why))
            fail_msg("%s: %s", rows[i].text, error_msg(&err));
    }
}

static void test_http1_parse_answer__bounds_the_number_of_headers(void **state)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT, copy = STRBUF_INIT;
    cleanup_error struct error err = ERROR_INIT;
    struct http1_answer a;
    strbuf_adds(&text, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i <= HTTP1_HEADERS_MAX; i++)
        strbuf_adds(&text, "X: y\r\n");
    strbuf_adds(&text, "\r\n");
    assert_int_equal(parse(text.s, &copy, &a, &err), -1);
    assert_string_equal(error_msg(&err), "more than 100 headers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http1_parse_answer__reads_status_headers_and_framing),
        cmocka_unit_test(test_http1_parse_answer__refuses_what_two_readers_could_read_in_two_ways),
        cmocka_unit_test(test_http1_parse_answer__bounds_the_number_of_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
