#include "net/served.h"

#include "net/certificate.h"
#include "net/client/http_client.h"

static struct served *served;

/* ---- the server's side ------------------------------------------------------------------------------------------- */

#define BLOCKS 10 /* of one stream */

static void stream_letters(struct http_request *r, void *ctx)
{
    static char block[10000];
    int *left = ctx;
    memset(block, 'x', sizeof(block));
    if ((*left)-- > 0) {
        http_stream_write(r, block, sizeof(block));
    } else {
        http_request_set_ctx(r, NULL, NULL);
        free(left);
        http_stream_end(r);
    }
}

static void forget_stream(struct http_request *r, void *ctx)
{
    free(ctx);
}

/* Each stream counts for itself: a client may leave in the middle of one. */
static void start_stream(struct http_request *r)
{
    int *left = malloc(sizeof(*left));
    *left = BLOCKS;
    http_request_set_ctx(r, left, forget_stream);
    http_stream_start(r, 200, "text/plain", stream_letters);
}

static void on_held_closed(struct http_request *r, void *ctx)
{
    served_count(served, &served->closed, 1);
}

static void describe_request(struct http_request *r)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    size_t n;
    const char *body = http_request_body(r, &n), *type = http_request_header(r, "Content-Type");
    const char *auth = http_request_header(r, "Authorization");
    strbuf_addf(&text, "%s %s type=%s auth=%s n=%zu body=%.*s connections=%d", http_method_name(http_request_method(r)),
                http_request_path(r), type ? type : "-", auth ? auth : "-", n, n < 20 ? (int)n : 20, body,
                http_server_connections(served->server));
    http_reply(r, strcmp(http_request_path(r), "/missing") == 0 ? 404 : 200, "text/x-test", text.s, text.n);
}

static void on_request(struct http_request *r, void *ctx)
{
    const char *path = http_request_path(r);
    if (strcmp(path, "/redirect") == 0) {
        http_add_header(r, "Location", "/target");
        http_reply(r, 307, NULL, NULL, 0);
    } else if (strcmp(path, "/stream") == 0) {
        start_stream(r);
    } else if (strcmp(path, "/hold") == 0) {
        served_count(served, &served->held, 1);
        http_request_set_ctx(r, NULL, on_held_closed);
    } else {
        describe_request(r);
    }
}

static void start_server(struct served *s, size_t body_max, SSL_CTX *tls)
{
    served = s;
    served_start(s, &(struct http_server_options){.on_request = on_request, .limits.body_max = body_max, .tls = tls});
}

static const char *url_of(const struct served *s, const char *scheme, const char *path)
{
    static char url[4][256];
    static int next;
    next = (next + 1) % 4;
    snprintf(url[next], sizeof(url[next]), "%s://127.0.0.1:%d%s", scheme, s->port, path);
    return url[next];
}

static void expect_fetched(struct http_client *c, const struct http_fetch *f, int status, const char *in_body)
{
    struct http_fetch_reply reply;
    cleanup_error struct error err = ERROR_INIT;
    if (http_fetch(c, f, &reply, &err) < 0)
        fail_msg("%s %s: %s", f->method, f->url, error_msg(&err));
    assert_int_equal(reply.status, status);
    if (!strstr(strbuf_str(&reply.body), in_body))
        fail_msg("\"%s\" is not in: %s", in_body, strbuf_str(&reply.body));
    http_fetch_reply_release(&reply);
}

static void expect_failure(struct http_client *c, const struct http_fetch *f, enum error_kind kind,
                           const char *in_message)
{
    struct http_fetch_reply reply;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(http_fetch(c, f, &reply, &err), -1);
    if (!strstr(error_msg(&err), in_message))
        fail_msg("\"%s\" is not in: %s", in_message, error_msg(&err));
    assert_int_equal(err.kind, kind);
}

/* ---- blocking ---------------------------------------------------------------------------------------------------- */

static void test_http_fetch__sends_method_headers_and_body_over_one_connection(void **state)
{
    struct served s;
    start_server(&s, 0, NULL);
    struct http_client *c = http_client_new();
    const char *const header[] = {"Authorization: Bearer t", "Content-Type: application/json", NULL};
    const char *url = url_of(&s, "http", "/p");
    expect_fetched(c, &(struct http_fetch){.method = "GET", .url = url}, 200,
                   "GET /p type=- auth=- n=0 body= connections=1");
    expect_fetched(c, &(struct http_fetch){.method = "POST", .url = url, .header = header, .body = "{}", .body_n = 2},
                   200, "POST /p type=application/json auth=Bearer t n=2 body={} connections=1");
    expect_fetched(c, &(struct http_fetch){.method = "POST", .url = url}, 200, "POST /p type=- auth=- n=0");
    expect_fetched(c, &(struct http_fetch){.method = "PUT", .url = url, .body = "x", .body_n = 1}, 200,
                   "PUT /p type=- auth=- n=1");
    expect_fetched(c, &(struct http_fetch){.method = "PATCH", .url = url, .body = "x", .body_n = 1}, 200, "PATCH /p");
    expect_fetched(c, &(struct http_fetch){.method = "DELETE", .url = url}, 200, "DELETE /p");
    expect_fetched(c, &(struct http_fetch){.method = "HEAD", .url = url}, 200, "");
    expect_fetched(c, &(struct http_fetch){.method = "GET", .url = url_of(&s, "http", "/missing")}, 404,
                   "connections=1");
    http_client_free(c);
    served_stop(&s);
}

static void test_http_fetch__tells_the_content_type(void **state)
{
    struct served s;
    struct http_fetch_reply reply;
    start_server(&s, 0, NULL);
    struct http_client *c = http_client_new();
    assert_int_equal(http_fetch(c, &(struct http_fetch){.method = "GET", .url = url_of(&s, "http", "/")}, &reply, NULL),
                     0);
    assert_string_equal(reply.content_type, "text/x-test");
    http_fetch_reply_release(&reply);
    http_client_free(c);
    served_stop(&s);
}

static void test_http_fetch__follows_redirects_of_get_only(void **state)
{
    struct served s;
    start_server(&s, 0, NULL);
    struct http_client *c = http_client_new();
    expect_fetched(c, &(struct http_fetch){.method = "GET", .url = url_of(&s, "http", "/redirect")}, 200,
                   "GET /target");
    expect_fetched(c, &(struct http_fetch){.method = "POST", .url = url_of(&s, "http", "/redirect")}, 307, "");
    http_client_free(c);
    served_stop(&s);
}

struct gathered {
    size_t n, stop_at;
    size_t uploaded, upload_total;
};

static int gather_data(const void *data, size_t n, void *ctx)
{
    struct gathered *g = ctx;
    g->n += n;
    return g->stop_at && g->n >= g->stop_at ? -1 : 0;
}

static void note_upload(size_t sent, size_t total, void *ctx)
{
    struct gathered *g = ctx;
    assert_true(sent >= g->uploaded);
    g->uploaded = sent;
    g->upload_total = total;
}

static void test_http_fetch__hands_the_body_over_as_it_arrives(void **state)
{
    struct served s;
    start_server(&s, 0, NULL);
    struct http_client *c = http_client_new();
    struct gathered all = {0}, part = {.stop_at = 1}, none = {0};
    expect_fetched(c,
                   &(struct http_fetch){
                       .method = "GET", .url = url_of(&s, "http", "/stream"), .on_data = gather_data, .ctx = &all},
                   200, "");
    assert_int_equal(all.n, 100000);
    expect_failure(c,
                   &(struct http_fetch){
                       .method = "GET", .url = url_of(&s, "http", "/stream"), .on_data = gather_data, .ctx = &part},
                   ERR_CANCELED, "stopped reading from http://127.0.0.1");
    expect_fetched(c,
                   &(struct http_fetch){
                       .method = "GET", .url = url_of(&s, "http", "/missing"), .on_data = gather_data, .ctx = &none},
                   404, "GET /missing");
    assert_int_equal(none.n, 0);
    http_client_free(c);
    served_stop(&s);
}

static void test_http_fetch__uploads_big_bodies_and_tells_the_progress(void **state)
{
    struct served s;
    size_t n = 12 * 1024 * 1024;
    char *body = malloc(n);
    memset(body, 'u', n);
    struct gathered g = {0};
    start_server(&s, 0, NULL);
    struct http_client *c = http_client_new();
    struct http_fetch f = {.method = "POST",
                           .url = url_of(&s, "http", "/"),
                           .body = body,
                           .body_n = n,
                           .on_upload = note_upload,
                           .ctx = &g};
    expect_fetched(c, &f, 200, "n=12582912 body=uuuu");
    assert_int_equal(g.uploaded, n);
    assert_int_equal(g.upload_total, n);
    http_client_free(c);
    served_stop(&s);
    free(body);
}

static void test_http_fetch__an_upload_refused_early_gives_the_status(void **state)
{
    struct served s;
    size_t n = 12 * 1024 * 1024;
    char *body = calloc(1, n);
    start_server(&s, 1000, NULL);
    struct http_client *c = http_client_new();
    expect_fetched(c, &(struct http_fetch){.method = "POST", .url = url_of(&s, "http", "/"), .body = body, .body_n = n},
                   413, "at most 1000 are allowed");
    http_client_free(c);
    served_stop(&s);
    free(body);
}

static void test_http_fetch__says_what_went_wrong_to_a_person(void **state)
{
    struct served s;
    start_server(&s, 0, NULL);
    struct http_client *c = http_client_new();
    char wanted[256];
    expect_failure(c, &(struct http_fetch){.method = "GET", .url = url_of(&s, "http", "/hold"), .timeout_s = 1},
                   ERR_UNAVAILABLE, "no complete answer within 1 s");
    served_await(&s, &s.closed, 1);
    expect_failure(c, &(struct http_fetch){.method = "GET", .url = url_of(&s, "http", "/stream"), .reply_max = 50000},
                   ERR_TOO_LARGE, "is over 50000 bytes");
    expect_failure(c, &(struct http_fetch){.method = "GET", .url = "localhost:8080/x"}, ERR_INVALID,
                   "http://host:port/path");
    expect_failure(c, &(struct http_fetch){.method = "GET", .url = "file:///etc/passwd"}, ERR_INVALID,
                   "http://host:port/path");
    expect_failure(c, &(struct http_fetch){.method = "GET", .url = url_of(&s, "https", "/")}, ERR_UNAVAILABLE,
                   "can't reach https://127.0.0.1");
    const char *url = url_of(&s, "http", "/secret?token=t");
    snprintf(wanted, sizeof(wanted),
             "can't reach http://127.0.0.1:%d: connection refused; is the master running there?", s.port);
    served_stop(&s);
    expect_failure(c, &(struct http_fetch){.method = "GET", .url = url}, ERR_UNAVAILABLE, wanted);
    http_client_free(c);
}

static void test_http_fetch__verifies_the_servers_certificate(void **state)
{
    struct served s;
    struct certificate cert;
    certificate_make(&cert, "DNS:master.test,IP:127.0.0.1");
    start_server(&s, 0, cert.server);
    struct http_client *c = http_client_new();
    const char *url = url_of(&s, "https", "/p");
    struct http_fetch f = {.method = "GET", .url = url};
    expect_failure(c, &f, ERR_UNAVAILABLE, "its certificate is not trusted");
    f.ca_file = cert.file;
    expect_fetched(c, &f, 200, "GET /p");
    struct gathered all = {0};
    expect_fetched(c,
                   &(struct http_fetch){.method = "GET",
                                        .url = url_of(&s, "https", "/stream"),
                                        .ca_file = cert.file,
                                        .on_data = gather_data,
                                        .ctx = &all},
                   200, "");
    assert_int_equal(all.n, 100000);
    f.tls_name = "master.test";
    expect_fetched(c, &f, 200, "GET /p");
    f.tls_name = "other.test";
    expect_failure(c, &f, ERR_UNAVAILABLE, "its certificate is not for the name 'other.test'");
    f.tls_skip_verify = true;
    expect_fetched(c, &f, 200, "GET /p");
    http_client_free(c);
    served_stop(&s);
    certificate_release(&cert);
}

/* ---- on a loop --------------------------------------------------------------------------------------------------- */

struct async {
    struct loop *loop;
    struct served *s;
    struct http_fetch_handle *handle;
    int done, stop_after;
    char text[256];
    enum error_kind kind;
};

static void on_done(void *ctx, struct http_fetch_reply *reply, const struct error *err)
{
    struct async *a = ctx;
    snprintf(a->text, sizeof(a->text), "%s", reply ? strbuf_str(&reply->body) : error_msg(err));
    a->kind = err->kind;
    if (++a->done == a->stop_after)
        loop_stop(a->loop);
}

static struct async async_new(struct served *s, int stop_after)
{
    struct async a = {.s = s, .stop_after = stop_after};
    assert_int_equal(loop_new(&a.loop, NULL), 0);
    return a;
}

static void test_http_fetch_start__runs_many_at_once(void **state)
{
    struct served s;
    start_server(&s, 0, NULL);
    struct async a = async_new(&s, 20);
    for (int i = 0; i < 20; i++) {
        char url[256], body[16];
        snprintf(url, sizeof(url), "%s", url_of(&s, "http", "/p"));
        snprintf(body, sizeof(body), "b%d", i);
        http_fetch_start(a.loop,
                         &(struct http_fetch){.method = "POST", .url = url, .body = body, .body_n = strlen(body)},
                         on_done, &a);
        memset(url, 0, sizeof(url)); /* http_fetch_start() has copied the address and the body */
        memset(body, 0, sizeof(body));
    }
    assert_int_equal(a.done, 0);
    assert_int_equal(loop_run(a.loop, NULL), 0);
    assert_non_null(strstr(a.text, "POST /p type=- auth=- n="));
    assert_null(strstr(a.text, "body= "));
    loop_free(a.loop);
    served_stop(&s);
}

static void test_http_fetch_start__reports_failures_through_done(void **state)
{
    struct served s;
    start_server(&s, 0, NULL);
    struct async a = async_new(&s, 1);
    http_fetch_start(a.loop, &(struct http_fetch){.method = "GET", .url = "nonsense"}, on_done, &a);
    loop_run(a.loop, NULL);
    assert_int_equal(a.kind, ERR_INVALID);
    const char *url = url_of(&s, "http", "/");
    served_stop(&s);
    a.done = 0;
    http_fetch_start(a.loop, &(struct http_fetch){.method = "GET", .url = url}, on_done, &a);
    loop_run(a.loop, NULL);
    assert_int_equal(a.kind, ERR_UNAVAILABLE);
    assert_non_null(strstr(a.text, "connection refused"));
    loop_free(a.loop);
}

static void cancel_when_held(void *ctx)
{
    struct async *a = ctx;
    http_fetch_cancel(a->handle);
    loop_stop(a->loop);
}

static void *await_held(void *ctx)
{
    struct async *a = ctx;
    served_await(a->s, &a->s->held, 1);
    loop_post(a->loop, cancel_when_held, a);
    return NULL;
}

static void test_http_fetch_cancel__is_silent_before_and_during_the_exchange(void **state)
{
    struct served s;
    start_server(&s, 0, NULL);
    struct async a = async_new(&s, 1);
    pthread_t thread;
    http_fetch_cancel(
        http_fetch_start(a.loop, &(struct http_fetch){.method = "GET", .url = url_of(&s, "http", "/")}, on_done, &a));
    a.handle = http_fetch_start(a.loop, &(struct http_fetch){.method = "GET", .url = url_of(&s, "http", "/hold")},
                                on_done, &a);
    assert_int_equal(pthread_create(&thread, NULL, await_held, &a), 0);
    loop_run(a.loop, NULL);
    pthread_join(thread, NULL);
    served_await(&s, &s.closed, 1); /* the connection went with it */
    assert_int_equal(a.done, 0);
    loop_free(a.loop);
    served_stop(&s);
}

static int cancel_itself_start_another(const void *data, size_t n, void *ctx)
{
    struct async *a = ctx;
    http_fetch_cancel(a->handle);
    http_fetch_start(a->loop, &(struct http_fetch){.method = "GET", .url = url_of(a->s, "http", "/next")}, on_done, a);
    return 0;
}

static void test_http_fetch_cancel__works_from_within_on_data(void **state)
{
    struct served s;
    start_server(&s, 0, NULL);
    struct async a = async_new(&s, 1);
    a.handle = http_fetch_start(a.loop,
                                &(struct http_fetch){.method = "GET",
                                                     .url = url_of(&s, "http", "/stream"),
                                                     .on_data = cancel_itself_start_another,
                                                     .ctx = &a},
                                on_done, &a);
    loop_run(a.loop, NULL);
    assert_int_equal(a.done, 1);
    assert_non_null(strstr(a.text, "GET /next"));
    loop_free(a.loop);
    served_stop(&s);
}

static void test_loop_free__drops_what_is_being_fetched(void **state)
{
    struct served s;
    start_server(&s, 0, NULL);
    struct async a = async_new(&s, 1);
    http_fetch_start(a.loop, &(struct http_fetch){.method = "GET", .url = url_of(&s, "http", "/")}, on_done, &a);
    http_fetch_start(a.loop, &(struct http_fetch){.method = "GET", .url = url_of(&s, "http", "/hold")}, on_done, &a);
    loop_run(a.loop, NULL);
    http_fetch_start(a.loop, &(struct http_fetch){.method = "GET", .url = url_of(&s, "http", "/")}, on_done, &a);
    loop_free(a.loop);
    assert_int_equal(a.done, 1);
    served_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_fetch__sends_method_headers_and_body_over_one_connection),
        cmocka_unit_test(test_http_fetch__tells_the_content_type),
        cmocka_unit_test(test_http_fetch__follows_redirects_of_get_only),
        cmocka_unit_test(test_http_fetch__hands_the_body_over_as_it_arrives),
        cmocka_unit_test(test_http_fetch__uploads_big_bodies_and_tells_the_progress),
        cmocka_unit_test(test_http_fetch__an_upload_refused_early_gives_the_status),
        cmocka_unit_test(test_http_fetch__says_what_went_wrong_to_a_person),
        cmocka_unit_test(test_http_fetch__verifies_the_servers_certificate),
        cmocka_unit_test(test_http_fetch_start__runs_many_at_once),
        cmocka_unit_test(test_http_fetch_start__reports_failures_through_done),
        cmocka_unit_test(test_http_fetch_cancel__is_silent_before_and_during_the_exchange),
        cmocka_unit_test(test_http_fetch_cancel__works_from_within_on_data),
        cmocka_unit_test(test_loop_free__drops_what_is_being_fetched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
