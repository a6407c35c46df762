#include "net/served.h"

#include <sys/resource.h>

#define STREAM_BYTES (8 * 1024 * 1024)
#define STREAM_STEP (64 * 1024)

/* ---- the handlers ------------------------------------------------------------------------------------------------ */

struct hold { /* a request that waits for hold_release_all() */
    struct http_request *request;
    struct hold *next, **link;
};
static struct hold *holds; /* of the loop's thread */

static void hold_free(struct hold *h)
{
    *h->link = h->next;
    if (h->next)
        h->next->link = h->link;
    free(h);
}

static struct served *served; /* the running fixture */

static void on_hold_closed(struct http_request *r, void *ctx)
{
    hold_free(ctx);
    served_count(served, &served->held, -1);
    served_count(served, &served->closed, 1);
}

static void hold_request(struct http_request *r)
{
    struct hold *h = calloc(1, sizeof(*h));
    h->request = r;
    h->next = holds;
    h->link = &holds;
    if (holds)
        holds->link = &h->next;
    holds = h;
    http_request_set_ctx(r, h, on_hold_closed);
    served_count(served, &served->held, 1);
}

static void hold_release_all(void *ctx)
{
    while (holds) {
        struct http_request *r = holds->request;
        hold_free(holds);
        http_reply(r, 200, "text/plain", "released", 8);
        served_count(served, &served->held, -1);
    }
}

static size_t stream_sent, stream_max_pending; /* of the one stream of a test */

static void stream_more(struct http_request *r, void *ctx)
{
    static char block[STREAM_STEP];
    if (stream_sent == STREAM_BYTES) {
        served_count(served, &served->ended, 1);
        http_stream_end(r);
        return;
    }
    memset(block, 'a' + (char)(stream_sent / STREAM_STEP % 26), sizeof(block));
    http_stream_write(r, block, sizeof(block));
    stream_sent += sizeof(block);
    if (http_stream_pending(r) > stream_max_pending)
        stream_max_pending = http_stream_pending(r);
}

static void on_stream_closed(struct http_request *r, void *ctx)
{
    served_count(served, &served->closed, 1);
}

static void one_line_then_silence(struct http_request *r, void *ctx)
{
    if (stream_sent++ == 0) {
        http_stream_write(r, "first\n", 6);
        served_count(served, &served->opened, 1);
    }
}

static void three_lines(struct http_request *r, void *ctx)
{
    if (stream_sent++ < 3)
        http_stream_write(r, "line\n", 5);
    else
        http_stream_end(r);
}

static void start_stream(struct http_request *r, void (*on_drained)(struct http_request *r, void *ctx))
{
    stream_sent = stream_max_pending = 0;
    http_request_set_ctx(r, NULL, on_stream_closed);
    http_stream_start(r, 200, "text/plain", on_drained);
}

static void describe_request(struct http_request *r)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    size_t n;
    const void *body = http_request_body(r, &n);
    const char *cookie = http_request_cookie(r, "auth"), *header = http_request_header(r, "x-TEST");
    strbuf_addf(&text, "%s %s ?%s auth=%s x-test=%s body=%.*s from %s", http_method_name(http_request_method(r)),
                http_request_path(r), http_request_query(r), cookie ? cookie : "(none)", header ? header : "(none)",
                (int)n, (const char *)body, http_request_peer(r));
    http_add_header(r, "X-Frame-Options", "SAMEORIGIN");
    http_add_header(r, "X-Evil", "a\r\nSet-Cookie: b");
    http_reply(r, 200, "text/plain", text.s, text.n);
}

static void reply_length(struct http_request *r)
{
    char text[64];
    size_t n;
    unsigned char *body = http_request_take_body(r, &n);
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++)
        sum = sum * 31 + body[i];
    assert_int_equal(body[n], 0);
    free(body);
    http_reply(r, 200, "text/plain", text, (size_t)snprintf(text, sizeof(text), "%zu %u", n, sum));
}

static void reply_big(struct http_request *r)
{
    char *body = malloc(200000);
    memset(body, 'b', 200000);
    http_reply_take(r, 200, "text/plain", body, 200000);
}

static void on_request(struct http_request *r, void *ctx)
{
    const char *path = http_request_path(r);
    served_count(served, &served->handled, 1);
    if (strcmp(path, "/hold") == 0)
        hold_request(r);
    else if (strcmp(path, "/stream") == 0)
        start_stream(r, stream_more);
    else if (strcmp(path, "/silence") == 0)
        start_stream(r, one_line_then_silence);
    else if (strcmp(path, "/lines") == 0)
        start_stream(r, three_lines);
    else if (strcmp(path, "/length") == 0)
        reply_length(r);
    else if (strcmp(path, "/big") == 0)
        reply_big(r);
    else if (strcmp(path, "/gone") == 0)
        http_reply(r, 204, NULL, NULL, 0);
    else
        describe_request(r);
}

static bool has_token(struct http_request *r, void *ctx)
{
    const char *auth = http_request_header(r, "Authorization");
    return auth && strcmp(auth, "Bearer good") == 0;
}

static void start_server(struct served *s, struct http_limits limits)
{
    served = s;
    served_start(s, &(struct http_server_options){.limits = limits,
                                                  .on_request = on_request,
                                                  .has_credentials = has_token});
}

static const struct http_limits no_limits = {0};

/* Sends `text` on a new connection and expects `status`, `in_body` in the body and, with `close_follows`, the end. */
static void expect_reply(struct served *s, const char *text, int status, const char *in_body, bool close_follows)
{
    static struct raw_reply reply;
    int fd = raw_connect(s->port);
    raw_send(fd, text);
    raw_read_reply(fd, &reply);
    if (reply.status != status || !strstr(reply.body, in_body))
        fail_msg("%s\nwas answered %s%s\nnot %d with %s", text, reply.head, reply.body, status, in_body);
    if (close_follows) {
        assert_non_null(strstr(reply.head, "Connection: close"));
        assert_true(raw_at_end(fd));
    }
    close(fd);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

/* ---- requests and replies ---------------------------------------------------------------------------------------- */

static void test_http__hands_over_every_part_of_a_request(void **state)
{
    struct served s;
    start_server(&s, no_limits);
    expect_reply(&s,
                 "POST /a%20b/c?x=1&y=%41 HTTP/1.1\r\nhost: h\r\nX-Test:  two words \t\r\ncookie: a=b; auth=tok; c=\r\n"
                 "Content-Length: 5\r\n\r\nhello",
                 200, "POST /a%20b/c ?x=1&y=%41 auth=tok x-test=two words body=hello from 127.0.0.1", false);
    expect_reply(&s, "PATCH http://master:8080/p HTTP/1.1\r\nHost: h\r\n\r\n", 200, "PATCH /p ? auth=(none)", false);
    expect_reply(&s, "\r\nDELETE /p?q HTTP/1.1\r\nHost: h\r\n\r\n", 200, "DELETE /p ?q", false);
    served_stop(&s);
}

static void test_http__replies_keep_the_connection_and_have_the_headers_added(void **state)
{
    struct served s;
    static struct raw_reply reply;
    start_server(&s, no_limits);
    int fd = raw_connect(s.port);
    for (int i = 0; i < 3; i++) {
        raw_send(fd, GET("/x"));
        raw_read_reply(fd, &reply);
        assert_int_equal(reply.status, 200);
        assert_non_null(strstr(reply.head, "\r\nDate: "));
        assert_non_null(strstr(reply.head, "\r\nX-Frame-Options: SAMEORIGIN\r\n"));
        assert_non_null(strstr(reply.head, "\r\nX-Evil: a  Set-Cookie: b\r\n")); /* no header of its own */
        assert_null(strstr(reply.head, "Connection:"));
    }
    close(fd);
    served_stop(&s);
    assert_int_equal(s.handled, 3);
}

static void test_http__head_and_204_have_no_body(void **state)
{
    struct served s;
    static struct raw_reply reply;
    start_server(&s, no_limits);
    int fd = raw_connect(s.port);
    raw_send(fd, "HEAD /big HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_read_reply_to(fd, /* no_body= */ true, &reply);
    assert_non_null(strstr(reply.head, "Content-Length: 200000\r\n"));
    raw_send(fd, "HEAD /lines HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_read_reply_to(fd, /* no_body= */ true, &reply);
    assert_int_equal(reply.status, 200);
    raw_send(fd, GET("/gone"));
    raw_read_reply(fd, &reply);
    assert_int_equal(reply.status, 204);
    assert_null(strstr(reply.head, "Content-Length"));
    raw_send(fd, GET("/big"));
    raw_read_reply(fd, &reply);
    assert_int_equal(reply.body_n, 200000);
    close(fd);
    served_stop(&s);
}

static void test_http__answers_pipelined_requests_in_order(void **state)
{
    struct served s;
    static struct raw_reply reply;
    cleanup_strbuf struct strbuf many = STRBUF_INIT;
    start_server(&s, no_limits);
    int fd = raw_connect(s.port);
    for (int i = 0; i < 1000; i++)
        strbuf_addf(&many, "GET /%03d HTTP/1.1\r\nHost: h\r\n\r\n", i);
    raw_send(fd, many.s);
    for (int i = 0; i < 1000; i++) {
        char wanted[32];
        snprintf(wanted, sizeof(wanted), "GET /%03d ?", i);
        raw_read_reply(fd, &reply);
        assert_non_null(strstr(reply.body, wanted));
    }
    close(fd);
    served_stop(&s);
}

static void test_http__a_request_behind_a_long_poll_waits_for_its_answer(void **state)
{
    struct served s;
    static struct raw_reply reply;
    start_server(&s, no_limits);
    int fd = raw_connect(s.port);
    raw_send(fd, GET("/hold") GET("/next"));
    served_await(&s, &s.held, 1);
    assert_int_equal(s.handled, 1);
    loop_post(s.loop, hold_release_all, NULL);
    raw_read_reply(fd, &reply);
    assert_string_equal(reply.body, "released");
    raw_read_reply(fd, &reply);
    assert_non_null(strstr(reply.body, "/next"));
    close(fd);
    served_stop(&s);
}

static void test_http__closes_when_the_client_says_so(void **state)
{
    struct served s;
    static struct raw_reply reply;
    start_server(&s, no_limits);
    expect_reply(&s, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 200, "GET /", true);
    expect_reply(&s, "GET / HTTP/1.0\r\n\r\n", 200, "GET /", true);
    int fd = raw_connect(s.port);
    raw_send(fd, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    raw_read_reply(fd, &reply);
    assert_non_null(strstr(reply.head, "Connection: keep-alive"));
    raw_send(fd, GET("/again"));
    raw_read_reply(fd, &reply);
    assert_non_null(strstr(reply.body, "/again"));
    close(fd);
    served_stop(&s);
}

static void test_http__answers_a_client_that_closed_its_sending_side(void **state)
{
    struct served s;
    static struct raw_reply reply;
    start_server(&s, no_limits);
    int fd = raw_connect(s.port);
    raw_send(fd, GET("/big"));
    shutdown(fd, SHUT_WR);
    raw_read_reply(fd, &reply);
    assert_int_equal(reply.body_n, 200000);
    assert_true(raw_at_end(fd));
    close(fd);
    served_stop(&s);
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

static void test_http__reads_bodies_of_every_framing_and_cut(void **state)
{
    struct served s;
    static struct raw_reply reply;
    const char *request = "POST /e HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "5;ext=1\r\nhello\r\n1\r\n \r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";
    start_server(&s, no_limits);
    int fd = raw_connect(s.port);
    for (size_t cut = 1; cut < strlen(request); cut++) { /* in two parts, cut at each byte */
        raw_send_bytes(fd, request, cut);
        usleep(0); /* gives the server the chance to see the part alone; the test holds either way */
        raw_send(fd, request + cut);
        raw_read_reply(fd, &reply);
        assert_non_null(strstr(reply.body, "body=hello 0123456789 from"));
    }
    close(fd);
    served_stop(&s);
}

static void test_http__reads_a_big_body_and_keeps_the_connection(void **state)
{
    struct served s;
    static struct raw_reply reply;
    size_t n = 20 * 1024 * 1024;
    char *body = malloc(n), head[128], wanted[64];
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) {
        body[i] = (char)(i * 7 + i / 4096);
        sum = sum * 31 + (unsigned char)body[i];
    }
    start_server(&s, no_limits);
    int fd = raw_connect(s.port);
    for (int i = 0; i < 2; i++) {
        snprintf(head, sizeof(head),
                 "POST /length HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer good\r\nContent-Length: %zu\r\n\r\n", n);
        raw_send(fd, head);
        raw_send_bytes(fd, body, n);
        raw_read_reply(fd, &reply);
        snprintf(wanted, sizeof(wanted), "%zu %u", n, sum);
        assert_string_equal(reply.body, wanted);
    }
    close(fd);
    free(body);
    served_stop(&s);
}

static void test_http__expect_100_continue_asks_for_the_body(void **state)
{
    struct served s;
    static struct raw_reply reply;
    start_server(&s, no_limits);
    int fd = raw_connect(s.port);
    raw_send(fd, "POST /e HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    raw_read_head(fd, &reply);
    assert_int_equal(reply.status, 100);
    raw_send(fd, "ok");
    raw_read_reply(fd, &reply);
    assert_non_null(strstr(reply.body, "body=ok"));
    close(fd);
    served_stop(&s);
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static void test_http__a_body_over_the_limit_is_413_before_it_is_read(void **state)
{
    struct served s;
    start_server(&s, (struct http_limits){.body_max = 1000, .anonymous_body_max = 10});
    expect_reply(
        &s, "POST / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer good\r\nContent-Length: 1001\r\n\r\n", 413,
        "{\"error\":{\"code\":8,\"reason\":\"ResourceExhausted\",\"error\":\"the request's body of 1001 bytes is too big, "
        "at most 1000 are allowed\"}}\n",
        true);
    expect_reply(&s, "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n", 413,
                 "at most 10 are allowed without credentials", true);
    expect_reply(&s, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789", 200, "body=0123456789",
                 false);
    expect_reply(&s,
                 "POST / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer good\r\nContent-Length: 11\r\n\r\n0123456789A",
                 200, "body=0123456789A", false);
    expect_reply(&s, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", 400,
                 "Content-Length", true);
    expect_reply(&s, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999999999999\r\n\r\n", 413, "too big", true);
    served_stop(&s);
    assert_int_equal(s.handled, 2);
}

static void test_http__a_chunked_body_is_413_as_soon_as_it_is_over(void **state)
{
    struct served s;
    start_server(&s, (struct http_limits){.anonymous_body_max = 10});
    expect_reply(&s, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n6\r\n567890\r\n",
                 413, "at most 10 are allowed", true);
    expect_reply(&s, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n0123456789ABCDEF", 413,
                 "at most 10 are allowed", true);
    served_stop(&s);
    assert_int_equal(s.handled, 0);
}

static void test_http__the_client_of_a_413_gets_to_read_it_while_still_sending(void **state)
{
    struct served s;
    static struct raw_reply reply;
    static char junk[65536];
    start_server(&s, (struct http_limits){.anonymous_body_max = 10});
    int fd = raw_connect(s.port);
    raw_send(fd, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4194304\r\n\r\n");
    for (int i = 0; i < 64; i++)
        raw_send_bytes(fd, junk, sizeof(junk));
    raw_read_reply(fd, &reply);
    assert_int_equal(reply.status, 413);
    assert_true(raw_at_end(fd));
    close(fd);
    served_stop(&s);
}

static void test_http__bodies_in_flight_are_bounded_and_given_back(void **state)
{
    struct served s;
    static struct raw_reply reply;
    start_server(&s, (struct http_limits){.bodies_max = 100, .anonymous_bodies_max = 50, .anonymous_body_max = 40});
    int first = raw_connect(s.port);
    raw_send(first,
             "POST /hold HTTP/1.1\r\nHost: h\r\nContent-Length: 40\r\n\r\n0123456789012345678901234567890123456789");
    served_await(&s, &s.held, 1);

    expect_reply(&s, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n", 503, "try again in a moment", true);
    expect_reply(&s, "POST / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer good\r\nContent-Length: 61\r\n\r\n", 503,
                 "Unavailable", true);
    expect_reply(&s, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nB\r\n0123456789A\r\n", 503,
                 "Unavailable", true);
    loop_post(s.loop, hold_release_all, NULL);
    raw_read_reply(first, &reply);
    expect_reply(&s, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n0123456789A", 200, "body=0123456789A",
                 false);

    for (int i = 0; i < 3; i++) { /* a client that leaves half-way gives its share back, too */
        int fd = raw_connect(s.port);
        raw_send(fd, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 40\r\n\r\nabc");
        shutdown(fd, SHUT_WR);
        assert_true(raw_at_end(fd));
        close(fd);
    }
    close(first);
    served_stop(&s);
}

static void test_http__heads_that_never_end_are_bounded_together_and_given_back(void **state)
{
    struct served s;
    static struct raw_reply reply;
    start_server(&s, (struct http_limits){.anonymous_bodies_max = 200});
    for (int round = 0; round < 2; round++) {
        int some = raw_connect(s.port), more = raw_connect(s.port);
        raw_send(some, "GET / HTTP/1.1\r\nHost: h\r\nX: 0123456789012345678901234567890123456789"); /* 68 bytes */
        expect_reply(&s, GET("/other"), 200, "",
                     false); /* whole at once, it needs no room; and the first has been read by then */
        raw_send(more, "GET / HTTP/1.1\r\nHost: h\r\nX: 0123456789012345678901234567890123456789");
        raw_read_reply(more, &reply);
        assert_int_equal(reply.status, 503);
        assert_non_null(strstr(reply.body, "too many requests"));
        assert_true(raw_at_end(more));
        raw_send(some, "\r\n\r\n");
        raw_read_reply(some, &reply);
        assert_int_equal(reply.status, 200);
        close(some);
        close(more);
    }
    served_stop(&s);
}

static void test_http__a_client_that_sends_ahead_is_let_go_when_there_is_no_room(void **state)
{
    struct served s;
    start_server(&s, (struct http_limits){.anonymous_bodies_max = 100});
    int fd = raw_connect(s.port);
    raw_send(fd, GET("/hold"));
    served_await(&s, &s.held, 1);
    raw_send(fd, GET("/next") GET("/next") GET("/next") GET("/next")); /* in one go: it may be the last */
    served_await(&s, &s.closed, 1);
    expect_reply(&s, GET("/other"), 200, "", false);
    close(fd);
    served_stop(&s);
}

static void test_http__heads_over_the_limit_are_431(void **state)
{
    struct served s;
    start_server(&s, no_limits);
    cleanup_strbuf struct strbuf request = STRBUF_INIT;
    strbuf_addf(&request, "GET / HTTP/1.1\r\nHost: h\r\nX: %070000d\r\n\r\n", 0);
    expect_reply(
        &s, request.s, 431,
        "{\"error\":{\"code\":8,\"reason\":\"ResourceExhausted\",\"error\":\"the request's headers are over 64 KiB\"}}",
        true);

    strbuf_reset(&request);
    strbuf_adds(&request, "GET / HTTP/1.1\r\nHost: h\r\n");
    for (int i = 0; i < 100; i++)
        strbuf_addf(&request, "X-%d: x\r\n", i);
    strbuf_adds(&request, "\r\n");
    expect_reply(&s, request.s, 431, "more than 100 headers", true);

    strbuf_reset(&request); /* a long address is fine */
    strbuf_addf(&request, "GET /?%060000d HTTP/1.1\r\nHost: h\r\n\r\n", 0);
    expect_reply(&s, request.s, 200, "GET / ?000", false);
    served_stop(&s);
}

static void test_http__malformed_requests_are_answered_and_closed(void **state)
{
    static const struct {
        const char *request;
        int status;
        const char *why;
    } cases[] = {
        {"GET /\r\n\r\n", 400, "METHOD /path"},
        {"GET / HTTP/2.0\r\n\r\n", 505, "HTTP/2.0 is not supported"},
        {"GET / FTP/1.1\r\n\r\n", 400, "HTTP/1.1"},
        {"BREW / HTTP/1.1\r\nHost: h\r\n\r\n", 501, "the method BREW is not supported"},
        {"get / HTTP/1.1\r\n", 400, "does not start with a method"},
        {"GET nowhere HTTP/1.1\r\nHost: h\r\n\r\n", 400, "does not start with /"},
        {"GET http://host HTTP/1.1\r\nHost: h\r\n\r\n", 400, "no path"},
        {"GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", 400, "control character"},
        {"GET / HTTP/1.1\r\n\r\n", 400, "exactly one Host"},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "exactly one Host"},
        {"GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400, "Name: value"},
        {"GET / HTTP/1.1\r\nHost: h\r\nFolded: a\r\n b\r\n\r\n", 400, "Name: value"},
        {"GET / HTTP/1.1\nHost: h\r\n\r\n", 400, "CR LF"},
        {"GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n", 400, "control character"},
        {"GET / HTTP/1.1\r\nHost: h\r\nX: \x01\r\n\r\n", 400, "control character"},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400,
         "more than one Content-Length"},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
         "Transfer-Encoding"},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "Transfer-Encoding"},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501, "gzip, chunked"},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", 400, "not a number"},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1 1\r\n\r\n", 400, "not a number"},
        {"POST / HTTP/1.1\r\nHost: h\r\nExpect: magic\r\n\r\n", 417, "magic"},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400, "framing"},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400, "framing"},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400, "framing"},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 400, "framing"},
        {"\x16\x03\x01\x02", 400, "plain HTTP, not TLS"},
    };
    struct served s;
    start_server(&s, no_limits);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect_reply(&s, cases[i].request, cases[i].status, cases[i].why, true);
    served_stop(&s);
    assert_int_equal(s.handled, 0);
}

static void own_error_body(int status, const struct error *e, struct strbuf *out, void *ctx)
{
    strbuf_addf(out, "own %d %s", status, error_rpc_name(e->kind));
}

static void test_http__fault_bodies_can_be_the_users(void **state)
{
    struct served s;
    served = &s;
    served_start(&s, &(struct http_server_options){.on_request = on_request, .error_body = own_error_body});
    expect_reply(&s, "GET / HTTP/1.1\r\n\r\n", 400, "own 400 InvalidArgument", true);
    served_stop(&s);
}

static void test_http__one_connection_too_many_is_503_and_room_comes_back(void **state)
{
    struct served s;
    static struct raw_reply reply;
    start_server(&s, (struct http_limits){.connections_max = 2});
    int a = raw_connect(s.port), b = raw_connect(s.port);
    raw_send(a, GET("/a"));
    raw_read_reply(a, &reply);
    raw_send(b, GET("/b"));
    raw_read_reply(b, &reply);
    assert_int_equal(reply.status, 200);
    expect_reply(&s, GET("/c"), 503, "too many connections", true);
    shutdown(a, SHUT_WR);
    assert_true(raw_at_end(a)); /* the server has let go of it */
    close(a);
    int c = raw_connect(s.port);
    raw_send(c, GET("/c"));
    raw_read_reply(c, &reply);
    assert_int_equal(reply.status, 200);
    close(b);
    close(c);
    served_stop(&s);
}

static void test_http__slow_and_idle_clients_are_let_go(void **state)
{
    struct served s;
    static struct raw_reply reply;
    start_server(&s, (struct http_limits){.idle_timeout_s = 1, .read_timeout_s = 1});
    int idle = raw_connect(s.port), head = raw_connect(s.port), body = raw_connect(s.port), held = raw_connect(s.port);
    raw_send(held, GET("/hold"));
    raw_send(head, "GET / HT");
    raw_send(body, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n01");
    raw_read_reply(body, &reply);
    assert_int_equal(reply.status, 408);
    assert_non_null(strstr(reply.body, "too slowly"));
    assert_true(raw_at_end(idle));
    raw_read_reply(head, &reply);
    assert_int_equal(reply.status, 408);
    assert_non_null(strstr(reply.body, "headers came too slowly"));
    assert_int_equal(s.closed, 0); /* a long poll is not idle */
    loop_post(s.loop, hold_release_all, NULL);
    raw_read_reply(held, &reply);
    assert_int_equal(reply.status, 200);
    close(idle);
    close(head);
    close(body);
    close(held);
    served_stop(&s);
}

/* Sends `tick` again and again until the server says that it is enough. */
static void send_in_pieces(int fd, const char *tick)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    for (int i = 0; poll(&p, 1, 50) == 0; i++) {
        assert_true(i < PATIENCE_S * 20);
        send(fd, tick, strlen(tick), MSG_NOSIGNAL);
    }
}

static void test_http__a_byte_now_and_then_does_not_keep_a_request_alive(void **state)
{
    struct served s;
    static struct raw_reply reply;
    static const char *const begin[][2] = {
        {"GET / HTTP/1.1\r\n", "X: y\r\n"},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n", "x"},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"},
    };
    start_server(&s, (struct http_limits){.read_timeout_s = 1});
    for (size_t i = 0; i < sizeof(begin) / sizeof(*begin); i++) {
        int fd = raw_connect(s.port);
        raw_send(fd, begin[i][0]);
        send_in_pieces(fd, begin[i][1]);
        raw_read_reply(fd, &reply);
        assert_int_equal(reply.status, 408);
        close(fd);
    }
    served_stop(&s);
    assert_int_equal(s.handled, 0);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static void test_http_stream__arrives_whole_and_keeps_the_connection(void **state)
{
    struct served s;
    static struct raw_reply reply;
    start_server(&s, no_limits);
    int fd = raw_connect(s.port);
    for (int i = 0; i < 2; i++) {
        raw_send(fd, GET("/lines"));
        raw_read_reply(fd, &reply);
        assert_string_equal(reply.body, "line\nline\nline\n");
    }
    close(fd);
    expect_reply(&s, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n", 200, "GET /x", false);
    served_stop(&s);
}

static void test_http_stream__http_1_0_gets_it_unchunked(void **state)
{
    struct served s;
    char text[1024];
    start_server(&s, no_limits);
    int fd = raw_connect(s.port);
    raw_send(fd, "GET /lines HTTP/1.0\r\n\r\n");
    size_t n = 0;
    ssize_t got;
    while ((got = recv(fd, text + n, sizeof(text) - 1 - n, 0)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    assert_non_null(strstr(text, "\r\n\r\nline\nline\nline\n"));
    assert_null(strstr(text, "chunked"));
    close(fd);
    served_stop(&s);
}

static void test_http_stream__a_slow_reader_costs_no_more_than_128_kib(void **state)
{
    struct served s;
    static char block[4096];
    start_server(&s, no_limits);
    int fd = raw_connect(s.port);
    raw_send(fd, GET("/stream"));
    raw_read_exactly(fd, block, 100); /* the stream has begun; now the reader takes small sips */
    size_t total = 100;
    ssize_t got;
    while (total < STREAM_BYTES && (got = recv(fd, block, sizeof(block), 0)) > 0)
        total += (size_t)got;
    assert_true(total >= STREAM_BYTES);
    served_await(&s, &s.ended, 1);
    close(fd);
    served_stop(&s);
    assert_in_range(stream_max_pending, 0, 128 * 1024);
}

/* ---- clients that leave, at each stage --------------------------------------------------------------------------- */

static void close_client(int fd, bool reset)
{
    if (reset)
        raw_reset(fd);
    else
        close(fd);
}

/* The server is well and has let go of every connection but the one that asks. */
static void expect_well_and_alone(struct served *s)
{
    expect_reply(s, GET("/well"), 200, "GET /well", false);
    served_stop(s);
}

static void leave_before_the_handler(bool reset)
{
    static const char *const parts[] = {"", "G", "GET / HTTP/1.1\r\nHost:",
                                        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab",
                                        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"};
    struct served s;
    start_server(&s, no_limits);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        int fd = raw_connect(s.port);
        raw_send(fd, parts[i]);
        close_client(fd, reset);
    }
    expect_well_and_alone(&s);
    assert_int_equal(s.handled, 1);
}

static void test_http__client_leaves_before_the_handler(void **state)
{
    leave_before_the_handler(false);
    leave_before_the_handler(true);
}

static void test_http__client_leaves_during_a_long_poll(void **state)
{
    struct served s;
    start_server(&s, no_limits);
    for (int reset = 0; reset < 2; reset++) {
        int fd = raw_connect(s.port);
        raw_send(fd, GET("/hold"));
        served_await(&s, &s.held, 1);
        close_client(fd, reset);
        served_await(&s, &s.closed, reset + 1);
        assert_int_equal(s.held, 0);
    }
    expect_well_and_alone(&s);
}

static void test_http__client_leaves_amid_a_stream(void **state)
{
    struct served s;
    static char some[100000];
    start_server(&s, no_limits);
    for (int reset = 0; reset < 2; reset++) {
        int fd = raw_connect(s.port);
        raw_send(fd, GET("/stream"));
        raw_read_exactly(fd, some, sizeof(some));
        close_client(fd, reset);
        served_await(&s, &s.closed, reset + 1);
    }
    assert_int_equal(s.ended, 0);
    expect_well_and_alone(&s);
}

static void test_http__client_leaves_a_silent_stream(void **state)
{
    struct served s;
    start_server(&s, no_limits);
    for (int reset = 0; reset < 2; reset++) {
        int fd = raw_connect(s.port);
        raw_send(fd, GET("/silence"));
        served_await(&s, &s.opened, reset + 1);
        close_client(fd, reset);
        served_await(&s, &s.closed, reset + 1);
    }
    expect_well_and_alone(&s);
}

static void test_http__client_leaves_without_reading_its_answer(void **state)
{
    struct served s;
    start_server(&s, no_limits);
    for (int i = 0; i < 20; i++) {
        int fd = raw_connect(s.port);
        raw_send(fd, GET("/big") GET("/big") GET("/big") GET("/lines"));
        close_client(fd, i % 2);
    }
    expect_well_and_alone(&s);
}

static void test_http_server_free__ends_everything_that_is_under_way(void **state)
{
    struct served s;
    start_server(&s, no_limits);
    int held = raw_connect(s.port), streaming = raw_connect(s.port), reading = raw_connect(s.port);
    raw_send(held, GET("/hold"));
    raw_send(streaming, GET("/silence"));
    raw_send(reading, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab");
    served_await(&s, &s.held, 1);
    served_await(&s, &s.opened, 1);
    served_stop(&s);
    assert_int_equal(s.closed, 2);
    assert_true(raw_at_end(held));
    close(held);
    close(streaming);
    close(reading);
}

static void stop_accepting(void *ctx)
{
    struct served *s = ctx;
    http_server_stop_accepting(s->server);
    served_count(s, &s->opened, 1);
}

static void test_http_server_stop_accepting__frees_the_port_and_finishes_what_it_has(void **state)
{
    struct served s;
    static struct raw_reply reply;
    start_server(&s, no_limits);
    int fd = raw_connect(s.port);
    raw_send(fd, GET("/a"));
    raw_read_reply(fd, &reply);
    loop_post(s.loop, stop_accepting, &s);
    served_await(&s, &s.opened, 1);
    raw_send(fd, GET("/b"));
    raw_read_reply(fd, &reply);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.head, "Connection: close"));
    assert_true(raw_at_end(fd));
    close(fd);

    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)s.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int refused = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(refused, (struct sockaddr *)&to, sizeof(to)), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(refused);
    served_stop(&s);
}

static void test_http_server_new__says_which_port_is_taken(void **state)
{
    struct served s;
    start_server(&s, no_limits);
    struct loop *l;
    struct http_server *second;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(loop_new(&l, NULL), 0);
    struct http_server_options o = {.bind_host = "127.0.0.1", .port = s.port, .on_request = on_request};
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "127.0.0.1 port %d", s.port);
    assert_int_equal(http_server_new(l, &o, &second, &err), -1);
    assert_non_null(strstr(error_msg(&err), wanted));
    assert_non_null(strstr(error_msg(&err), "in use"));
    loop_free(l);
    served_stop(&s);
}

/* ---- many at once ------------------------------------------------------------------------------------------------ */

static void test_http__a_thousand_connections_with_hundreds_of_long_polls(void **state)
{
    enum { CONNECTIONS = 1000, POLLS = 400 };
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_max < 2 * CONNECTIONS + 100)
        skip();
    struct served s;
    static struct raw_reply reply;
    static int fd[CONNECTIONS];
    start_server(&s, no_limits);
    for (int i = 0; i < CONNECTIONS; i++)
        fd[i] = raw_connect(s.port);
    for (int i = 0; i < POLLS; i++)
        raw_send(fd[i], GET("/hold"));
    served_await(&s, &s.held, POLLS);
    for (int i = POLLS; i < CONNECTIONS; i++) { /* the polls hinder nobody */
        raw_send(fd[i], GET("/x"));
        raw_read_reply(fd[i], &reply);
        assert_int_equal(reply.status, 200);
    }
    for (int i = 0; i < POLLS / 2; i++) /* half of them leave, the others are answered */
        close(fd[i]);
    served_await(&s, &s.closed, POLLS / 2);
    loop_post(s.loop, hold_release_all, NULL);
    for (int i = POLLS / 2; i < POLLS; i++) {
        raw_read_reply(fd[i], &reply);
        assert_string_equal(reply.body, "released");
    }
    for (int i = POLLS / 2; i < CONNECTIONS; i++)
        close(fd[i]);
    served_stop(&s);
    assert_int_equal(s.held, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http__hands_over_every_part_of_a_request),
        cmocka_unit_test(test_http__replies_keep_the_connection_and_have_the_headers_added),
        cmocka_unit_test(test_http__head_and_204_have_no_body),
        cmocka_unit_test(test_http__answers_pipelined_requests_in_order),
        cmocka_unit_test(test_http__a_request_behind_a_long_poll_waits_for_its_answer),
        cmocka_unit_test(test_http__closes_when_the_client_says_so),
        cmocka_unit_test(test_http__answers_a_client_that_closed_its_sending_side),
        cmocka_unit_test(test_http__reads_bodies_of_every_framing_and_cut),
        cmocka_unit_test(test_http__reads_a_big_body_and_keeps_the_connection),
        cmocka_unit_test(test_http__expect_100_continue_asks_for_the_body),
        cmocka_unit_test(test_http__a_body_over_the_limit_is_413_before_it_is_read),
        cmocka_unit_test(test_http__a_chunked_body_is_413_as_soon_as_it_is_over),
        cmocka_unit_test(test_http__the_client_of_a_413_gets_to_read_it_while_still_sending),
        cmocka_unit_test(test_http__bodies_in_flight_are_bounded_and_given_back),
        cmocka_unit_test(test_http__heads_that_never_end_are_bounded_together_and_given_back),
        cmocka_unit_test(test_http__a_client_that_sends_ahead_is_let_go_when_there_is_no_room),
        cmocka_unit_test(test_http__heads_over_the_limit_are_431),
        cmocka_unit_test(test_http__malformed_requests_are_answered_and_closed),
        cmocka_unit_test(test_http__fault_bodies_can_be_the_users),
        cmocka_unit_test(test_http__one_connection_too_many_is_503_and_room_comes_back),
        cmocka_unit_test(test_http__slow_and_idle_clients_are_let_go),
        cmocka_unit_test(test_http__a_byte_now_and_then_does_not_keep_a_request_alive),
        cmocka_unit_test(test_http_stream__arrives_whole_and_keeps_the_connection),
        cmocka_unit_test(test_http_stream__http_1_0_gets_it_unchunked),
        cmocka_unit_test(test_http_stream__a_slow_reader_costs_no_more_than_128_kib),
        cmocka_unit_test(test_http__client_leaves_before_the_handler),
        cmocka_unit_test(test_http__client_leaves_during_a_long_poll),
        cmocka_unit_test(test_http__client_leaves_amid_a_stream),
        cmocka_unit_test(test_http__client_leaves_a_silent_stream),
        cmocka_unit_test(test_http__client_leaves_without_reading_its_answer),
        cmocka_unit_test(test_http_server_free__ends_everything_that_is_under_way),
        cmocka_unit_test(test_http_server_stop_accepting__frees_the_port_and_finishes_what_it_has),
        cmocka_unit_test(test_http_server_new__says_which_port_is_taken),
        cmocka_unit_test(test_http__a_thousand_connections_with_hundreds_of_long_polls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
