#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "api/proxy/proxy_headers.h"

#define N(list) (sizeof(list) / sizeof(*(list)))

/* ---- to the task ------------------------------------------------------------------------------------------------- */

static void expect_head(const struct proxy_visit *given, const char *wanted)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    struct proxy_visit v = *given;
    v.method = v.method ? v.method : "GET";
    v.path = v.path ? v.path : "/proxy/t/";
    v.query = v.query ? v.query : "";
    v.client = "10.0.0.7";
    proxy_request_head(&v, &out);
    assert_string_equal(out.s, wanted);
}

#define OURS "X-Real-IP: 10.0.0.7\r\nX-Forwarded-For: 10.0.0.7\r\nX-Forwarded-Proto: http\r\n"
#define LAST "Connection: close\r\n\r\n"

static void test_proxy_request_head__keeps_method_path_query_and_own_headers(void **state)
{
    static const struct http1_header h[] = {{"Host", "det:8080"}, {"Range", "bytes=1-"}, {"range", "x"}};
    expect_head(&(struct proxy_visit){.method = "PUT",
                                      .query = "a=%20b",
                                      .header = h,
                                      .header_n = N(h),
                                      .framing = HTTP_SIZED,
                                      .length = 9},
                "PUT /proxy/t/?a=%20b HTTP/1.1\r\nHost: det:8080\r\nRange: bytes=1-\r\nrange: x\r\n" OURS
                "Content-Length: 9\r\n" LAST);
}

static void test_proxy_request_head__leaves_credentials_of_the_platform_out(void **state)
{
    static const struct http1_header h[] = {
        {"Host", "h"},
        {"Authorization", "Bearer det1.x"},
        {"grpc-metadata-x-user-token", "Bearer det1.x"},
        {"Grpc_Metadata_X_Allocation_Token", "det1.x"},
        {"Cookie", "auth=secret; own=1;AUTH=secret;  auth =secret"},
        {"cookie", "\"auth\"=secret; x=y, auth=secret; det_task_token=secret; last"},
    };
    expect_head(&(struct proxy_visit){.header = h, .header_n = N(h)},
                "GET /proxy/t/ HTTP/1.1\r\nHost: h\r\nCookie: own=1; last\r\n" OURS LAST);
}

static void test_proxy_request_head__writes_who_asks_itself(void **state)
{
    static const struct http1_header h[] = {{"Host", "h"},
                                            {"X-Forwarded-For", "6.6.6.6"},
                                            {"X_Real_IP", "6.6.6.6"},
                                            {"Forwarded", "for=6"},
                                            {"X-FORWARDED-PROTO", "https"}};
    expect_head(&(struct proxy_visit){.header = h, .header_n = N(h)},
                "GET /proxy/t/ HTTP/1.1\r\nHost: h\r\n" OURS LAST);
}

static void test_proxy_request_head__leaves_headers_of_the_connection_out(void **state)
{
    static const struct http1_header h[] = {
        {"Host", "h"},      {"Connection", "keep-alive, X-Hop, Host, Content-Length"},
        {"X-Hop", "1"},     {"Keep-Alive", "timeout=5"},
        {"TE", "trailers"}, {"Transfer-Encoding", "chunked"},
        {"Upgrade", "h2c"}, {"Proxy-Authorization", "x"}};
    expect_head(&(struct proxy_visit){.method = "POST", .header = h, .header_n = N(h), .framing = HTTP_CHUNKED},
                "POST /proxy/t/ HTTP/1.1\r\nHost: h\r\n" OURS "Transfer-Encoding: chunked\r\n" LAST);
}

static void test_proxy_request_head__asks_for_a_websocket(void **state)
{
    static const struct http1_header h[] = {{"Host", "h"},
                                            {"Upgrade", "websocket"},
                                            {"Connection", "Upgrade"},
                                            {"Sec-WebSocket-Key", "k"}};
    expect_head(&(struct proxy_visit){.header = h, .header_n = N(h), .upgrade = true},
                "GET /proxy/t/ HTTP/1.1\r\nHost: h\r\nSec-WebSocket-Key: k\r\n" OURS
                "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

static void test_proxy_request_head__names_a_host_and_says_that_a_body_is_empty(void **state)
{
    expect_head(&(struct proxy_visit){.method = "POST"},
                "POST /proxy/t/ HTTP/1.1\r\nHost: task\r\n" OURS "Content-Length: 0\r\n" LAST);
}

/* ---- cookies ----------------------------------------------------------------------------------------------------- */

static void test_proxy_set_cookie__keeps_the_cookie_to_the_service(void **state)
{
    static const struct {
        const char *given, *wanted; /* NULL: must not be set */
    } rows[] = {
        {"a=b", "a=b; Path=/proxy/t/"},
        {"a=b; Path=/", "a=b; Path=/proxy/t/"},
        {"a=b; path = /proxy/t/lab ; HttpOnly", "a=b; HttpOnly; Path=/proxy/t/lab"},
        {"a=b; Path=/proxy/t", "a=b; Path=/proxy/t/"},
        {"a=b; Path=/proxy/other/; Path=/api", "a=b; Path=/proxy/t/"},
        {"a=b; Domain=example.org; Secure;;SameSite=None", "a=b; Secure; SameSite=None; Path=/proxy/t/"},
        {"a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/proxy/t/"},
        {"auth=x; Path=/proxy/t/", NULL},
        {" AUTH =x", NULL},
        {"det_task_token=x", NULL},
        {"=auth=x", NULL},
        {"auth", NULL},
        {"x", NULL},
        {"", NULL},
        {"a=b, auth=x", NULL},
    };
    for (size_t i = 0; i < N(rows); i++) {
        cleanup_strbuf struct strbuf out = STRBUF_INIT;
        bool set = proxy_set_cookie(rows[i].given, "/proxy/t/", &out);
        assert_int_equal(set, rows[i].wanted != NULL);
        if (set)
            assert_string_equal(out.s, rows[i].wanted);
    }
}

/* ---- to the visitor ---------------------------------------------------------------------------------------------- */

static void list_header(void *ctx, const char *name, const char *value)
{
    strbuf_addf(ctx, "%s: %s\n", name, value);
}

static void expect_answer(const struct http1_header *h, size_t n, struct proxy_answer to, const char *wanted)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    to.path = "/proxy/t/";
    proxy_answer_headers(h, n, &to, list_header, &out);
    assert_string_equal(strbuf_str(&out), wanted);
}

static void test_proxy_answer_headers__leave_out_what_speaks_for_the_whole_origin(void **state)
{
    static const char *const names[] = {"Strict-Transport-Security",
                                        "strict_transport_security",
                                        "Service-Worker-Allowed",
                                        "Clear-Site-Data",
                                        "Alt-Svc",
                                        "NEL",
                                        "Report-To",
                                        "Reporting-Endpoints",
                                        "Access-Control-Allow-Origin",
                                        "Access-Control-Allow-Credentials",
                                        "Set-Cookie2",
                                        "WWW-Authenticate",
                                        "X-Accel-Redirect",
                                        "X-Sendfile",
                                        "Public-Key-Pins-Report-Only",
                                        "Accept-CH",
                                        "Connection",
                                        "Keep-Alive",
                                        "Transfer-Encoding",
                                        "Content-Length",
                                        "Trailer",
                                        "Upgrade",
                                        "X-Frame-Options"};
    for (size_t i = 0; i < N(names); i++) {
        struct http1_header h[] = {{"ETag", "1"}, {names[i], "x"}};
        expect_answer(h, N(h), (struct proxy_answer){0}, "ETag: 1\n");
    }
    static const struct http1_header own[] = {{"Content-Type", "text/html"},
                                              {"Location", "/proxy/t/lab"},
                                              {"Set-Cookie", "a=b; Path=/"},
                                              {"Set-Cookie", "auth=x"},
                                              {"Content-Security-Policy", "frame-ancestors 'self'"},
                                              {"Connection", "X-Hop"},
                                              {"X-Hop", "1"}};
    expect_answer(own, N(own), (struct proxy_answer){0},
                  "Content-Type: text/html\nLocation: /proxy/t/lab\nSet-Cookie: a=b; Path=/proxy/t/\n"
                  "Content-Security-Policy: frame-ancestors 'self'\n");
}

static void test_proxy_answer_headers__of_open_ports_may_speak_to_other_origins(void **state)
{
    static const struct http1_header h[] = {{"Access-Control-Allow-Origin", "*"},
                                            {"WWW-Authenticate", "Basic"},
                                            {"Alt-Svc", "x"}};
    expect_answer(h, N(h), (struct proxy_answer){.open = true},
                  "Access-Control-Allow-Origin: *\nWWW-Authenticate: Basic\n");
}

static void test_proxy_answer_headers__keep_pages_of_others_apart(void **state)
{
    static const char *const policy =
        "Content-Security-Policy: sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads\n";
    cleanup_strbuf struct strbuf open = STRBUF_INIT;
    strbuf_addf(&open, "%sAccess-Control-Allow-Origin: null\n", policy);
    expect_answer(NULL, 0, (struct proxy_answer){.sandbox = true}, policy);
    expect_answer(NULL, 0, (struct proxy_answer){.sandbox = true, .is_opaque = true}, policy);
    expect_answer(NULL, 0, (struct proxy_answer){.sandbox = true, .is_opaque = true, .open = true}, open.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proxy_request_head__keeps_method_path_query_and_own_headers),
        cmocka_unit_test(test_proxy_request_head__leaves_credentials_of_the_platform_out),
        cmocka_unit_test(test_proxy_request_head__writes_who_asks_itself),
        cmocka_unit_test(test_proxy_request_head__leaves_headers_of_the_connection_out),
        cmocka_unit_test(test_proxy_request_head__asks_for_a_websocket),
        cmocka_unit_test(test_proxy_request_head__names_a_host_and_says_that_a_body_is_empty),
        cmocka_unit_test(test_proxy_set_cookie__keeps_the_cookie_to_the_service),
        cmocka_unit_test(test_proxy_answer_headers__leave_out_what_speaks_for_the_whole_origin),
        cmocka_unit_test(test_proxy_answer_headers__of_open_ports_may_speak_to_other_origins),
        cmocka_unit_test(test_proxy_answer_headers__keep_pages_of_others_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
