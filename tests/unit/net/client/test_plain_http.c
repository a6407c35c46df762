/* What http_fetch() does without libcurl, against a server that sends what a test tells it to. */
#include "net/served.h"

#include <dlfcn.h>

#include "common/base/cleanup.h"
#include "net/client/http_client.h"
#include "net/client/plain_http.h"

/* ---- a server of written answers --------------------------------------------------------------------------------- */

/* Answers connections one after another, each with one text, after which it closes the connection. */
struct script {
    const char *const *answer; /* NULL-terminated; "" closes without an answer */
    int listener, port;
    pthread_t thread;
    bool early;     /* answers before it has read the request */
    char seen[512]; /* the last request */
};

static void answer_one(struct script *s, int fd, const char *answer)
{
    if (!s->early) {
        ssize_t n = recv(fd, s->seen, sizeof(s->seen) - 1, 0);
        s->seen[n > 0 ? n : 0] = '\0';
    }
    raw_send(fd, answer);
    shutdown(fd, SHUT_WR);
    char rest[4096];
    while (recv(fd, rest, sizeof(rest), 0) > 0) {
    }
    close(fd);
}

static void *script_main(void *ctx)
{
    struct script *s = ctx;
    for (const char *const *answer = s->answer; *answer; answer++) {
        int fd = accept(s->listener, NULL, NULL);
        assert_true(fd >= 0);
        answer_one(s, fd, *answer);
    }
    return NULL;
}

static void script_listen(struct script *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(s->listener, 8), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&at, &n), 0);
    s->port = ntohs(at.sin_port);
}

static void script_start(struct script *s, const char *const *answer)
{
    s->answer = answer;
    script_listen(s);
    assert_int_equal(pthread_create(&s->thread, NULL, script_main, s), 0);
}

static void script_stop(struct script *s)
{
    pthread_join(s->thread, NULL);
    close(s->listener);
}

static const char *url_of(const struct script *s, const char *path)
{
    static char url[256];
    snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", s->port, path);
    return url;
}

/* ---- what is expected -------------------------------------------------------------------------------------------- */

static void expect_body(const struct http_fetch *f, int status, const char *body)
{
    struct http_fetch_reply reply;
    cleanup_error struct error err = ERROR_INIT;
    struct http_client *c = http_client_new();
    if (http_fetch(c, f, &reply, &err) < 0)
        fail_msg("%s: %s", f->url, error_msg(&err));
    assert_int_equal(reply.status, status);
    assert_string_equal(strbuf_str(&reply.body), body);
    http_fetch_reply_release(&reply);
    http_client_free(c);
}

static void expect_failure(const struct http_fetch *f, enum error_kind kind, const char *in_message)
{
    struct http_fetch_reply reply;
    cleanup_error struct error err = ERROR_INIT;
    struct http_client *c = http_client_new();
    assert_int_equal(http_fetch(c, f, &reply, &err), -1);
    if (!strstr(error_msg(&err), in_message))
        fail_msg("\"%s\" is not in: %s", in_message, error_msg(&err));
    assert_int_equal(err.kind, kind);
    http_client_free(c);
}

static void expect_answered(const char *answer, int status, const char *body)
{
    struct script s = {0};
    script_start(&s, (const char *const[]){answer, NULL});
    expect_body(&(struct http_fetch){.method = "GET", .url = url_of(&s, "/")}, status, body);
    script_stop(&s);
}

static void expect_refused(const char *answer, const char *in_message)
{
    struct script s = {0};
    script_start(&s, (const char *const[]){answer, NULL});
    expect_failure(&(struct http_fetch){.method = "GET", .url = url_of(&s, "/")}, ERR_UNAVAILABLE, in_message);
    script_stop(&s);
}

static bool has_libcurl(void)
{
    void *library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        dlclose(library);
    return library != NULL;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void test_plain__reads_answers_in_each_form(void **state)
{
    expect_answered("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello");
    expect_answered("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nT: 1\r\n\r\n",
                    200, "hello");
    expect_answered("HTTP/1.0 200\r\n\r\nhello", 200, "hello");
    expect_answered("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 404 No\r\n"
                    "Content-Length: 2\r\n\r\nno",
                    404, "no");
    expect_answered("HTTP/1.1 204 None\r\n\r\n", 204, "");
    expect_answered("HTTP/1.1 304 Same\r\nLocation: /elsewhere\r\nContent-Length: 7\r\n\r\n", 304, "");
    assert_false(has_libcurl());
}

static void test_plain__sends_what_libcurl_sends(void **state)
{
    struct script s = {0};
    char wanted[512];
    script_start(&s, (const char *const[]){"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", NULL});
    const char *const header[] = {"Authorization: Bearer t", NULL};
    expect_body(&(struct http_fetch){.method = "POST",
                                     .url = url_of(&s, "/p?q=1"),
                                     .header = header,
                                     .body = "{}",
                                     .body_n = 2},
                200, "");
    script_stop(&s);
    snprintf(wanted, sizeof(wanted),
             "POST /p?q=1 HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: determined-c/" DET_VERSION "\r\nAccept: */*\r\n"
             "Authorization: Bearer t\r\nContent-Length: 2\r\n\r\n{}",
             s.port);
    assert_string_equal(s.seen, wanted);
}

static void test_plain__says_what_is_wrong_with_an_answer(void **state)
{
    expect_refused("SSH-2.0-OpenSSH_9.2\r\n", "this port does not answer to HTTP; if it is the master's HTTPS port");
    expect_refused("", "this port does not answer to HTTP");
    expect_refused("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", "broke off before the answer was complete");
    expect_refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello", "broke off before the answer");
    expect_refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnothing\r\n", "no valid length");
    expect_refused("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
                   "more than one Content-Length");
    expect_refused("HTTP/1.1 999 OK\r\n\r\n", "its answer can't be read: the status");
    assert_false(has_libcurl());
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static void test_plain__a_kept_connection_that_was_closed_is_made_again(void **state)
{
    struct script s = {0};
    struct http_fetch_reply reply;
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    script_start(&s, (const char *const[]){answer, answer, NULL});
    struct http_client *c = http_client_new();
    for (int i = 0; i < 2; i++) {
        cleanup_error struct error err = ERROR_INIT;
        if (http_fetch(c, &(struct http_fetch){.method = "POST", .url = url_of(&s, "/")}, &reply, &err) < 0)
            fail_msg("%s", error_msg(&err));
        assert_string_equal(strbuf_str(&reply.body), "ok");
        http_fetch_reply_release(&reply);
    }
    http_client_free(c);
    script_stop(&s);
}

static void test_plain__an_upload_refused_early_gives_the_status(void **state)
{
    struct script s = {.early = true};
    char *body = calloc(1, PLAIN_BODY_MAX);
    script_start(&s, (const char *const[]){"HTTP/1.1 413 Large\r\n\r\nbig", NULL});
    expect_body(&(struct http_fetch){.method = "POST", .url = url_of(&s, "/"), .body = body, .body_n = PLAIN_BODY_MAX},
                413, "big");
    script_stop(&s);
    free(body);
}

/* ThreadSanitizer does not see the thread in which the C library asks (getaddrinfo_a), and ends the program when that
 * thread allocates memory. */
static void test_plain__says_that_a_name_has_no_address(void **state)
{
#ifdef __SANITIZE_THREAD__
    skip();
#endif
    expect_failure(&(struct http_fetch){.method = "GET",
                                        .url = "http://no-such-host.invalid:8080/",
                                        .connect_timeout_s = 20},
                   ERR_UNAVAILABLE, "can't reach http://no-such-host.invalid:8080: its name can't be resolved");
}

static void test_plain__localhost_is_this_machine_in_either_family(void **state)
{
    struct script s = {0};
    char url[64];
    script_start(&s, (const char *const[]){"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", NULL});
    snprintf(url, sizeof(url), "http://localhost:%d", s.port);
    expect_body(&(struct http_fetch){.method = "GET", .url = url}, 200, "ok");
    script_stop(&s);
    assert_memory_equal(s.seen, "GET / HTTP/1.1\r\n", 16);
}

static void test_plain__an_abandoned_exchange_ends(void **state)
{
    struct script s = {0};
    atomic_bool abandoned = true;
    script_listen(&s);
    expect_failure(&(struct http_fetch){.method = "GET", .url = url_of(&s, "/"), .abandoned = &abandoned}, ERR_CANCELED,
                   "stopped reading");
    close(s.listener);
}

static void test_plain__an_answer_that_does_not_come_is_not_awaited_for_ever(void **state)
{
    struct script s = {0};
    script_listen(&s); /* nobody accepts */
    expect_failure(&(struct http_fetch){.method = "GET", .url = url_of(&s, "/"), .timeout_s = 1}, ERR_UNAVAILABLE,
                   "no complete answer within 1 s");
    close(s.listener);
    assert_false(has_libcurl());
}

/* ---- what is left to libcurl ------------------------------------------------------------------------------------- */

static bool is_plain(const char *url)
{
    struct plain_target to;
    return plain_http_serves(&(struct http_fetch){.method = "GET", .url = url}, &to);
}

static void test_plain__serves_only_what_needs_no_more(void **state)
{
    struct plain_target to;
    assert_true(is_plain("http://master"));
    assert_true(is_plain("HTTP://master.example:80/api?x=%20"));
    assert_true(is_plain("http://[fd00::1]:8080/"));
    assert_false(is_plain("https://master/"));
    assert_false(is_plain("http://user:password@master/"));
    assert_false(is_plain("http://master:0/"));
    assert_false(is_plain("http://master:65536/"));
    assert_false(is_plain("http://master:80x/"));
    assert_false(is_plain("http:///path"));
    assert_false(is_plain("http://[fe80::1%25eth0]/"));
    assert_false(is_plain("http://[::1/"));
    assert_false(is_plain("http://m\xc3\xa4ster/"));
    assert_false(is_plain("http://master/a/../b"));
    assert_false(is_plain("http://master/a b"));
    assert_false(is_plain("http://master/a#b"));
    assert_false(is_plain("http://master/a\r\nX: y"));
    assert_false(is_plain("http://master?q"));
    assert_true(plain_http_serves(&(struct http_fetch){.method = "GET", .url = "http://[::1]/p?q"}, &to));
    assert_string_equal(to.host, "::1");
    assert_int_equal(to.port, 80);
    assert_string_equal(to.path, "/p?q");
    assert_false(
        plain_http_serves(&(struct http_fetch){.method = "GET", .url = "http://e/", .unix_socket = "/x"}, &to));
    assert_false(plain_http_serves(&(struct http_fetch){.method = "BREW", .url = "http://e/"}, &to));
    assert_false(
        plain_http_serves(&(struct http_fetch){.method = "PUT", .url = "http://e/", .body_n = PLAIN_BODY_MAX + 1},
                          &to));
}

static void test_plain__a_proxy_of_the_environment_is_libcurls(void **state)
{
    setenv("http_proxy", "http://proxy:3128", 1);
    assert_false(is_plain("http://master/"));
    setenv("no_proxy", "other,master", 1);
    assert_true(is_plain("http://master/"));
    assert_false(is_plain("http://third/"));
    unsetenv("no_proxy");
    unsetenv("http_proxy");
    setenv("ALL_PROXY", "socks5://proxy", 1);
    assert_false(is_plain("http://master/"));
    unsetenv("ALL_PROXY");
    assert_true(is_plain("http://master/"));
}

/* The last test: it loads libcurl. */
static void test_plain__leaves_a_redirected_get_to_libcurl(void **state)
{
    struct script s = {0};
    static const char elsewhere[] = "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 3\r\n\r\nbye";
    assert_false(has_libcurl());
    script_start(&s,
                 (const char *const[]){elsewhere, elsewhere, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", NULL});
    expect_body(&(struct http_fetch){.method = "GET", .url = url_of(&s, "/")}, 200, "ok");
    script_stop(&s);
    assert_memory_equal(s.seen, "GET /there HTTP/1.1\r\n", 21);
    assert_true(has_libcurl());
}

int main(void)
{
    static const char *const variable[] = {"http_proxy", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"};
    for (size_t i = 0; i < sizeof(variable) / sizeof(variable[0]); i++)
        unsetenv(variable[i]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain__reads_answers_in_each_form),
        cmocka_unit_test(test_plain__sends_what_libcurl_sends),
        cmocka_unit_test(test_plain__says_what_is_wrong_with_an_answer),
        cmocka_unit_test(test_plain__a_kept_connection_that_was_closed_is_made_again),
        cmocka_unit_test(test_plain__an_upload_refused_early_gives_the_status),
        cmocka_unit_test(test_plain__says_that_a_name_has_no_address),
        cmocka_unit_test(test_plain__localhost_is_this_machine_in_either_family),
        cmocka_unit_test(test_plain__an_abandoned_exchange_ends),
        cmocka_unit_test(test_plain__an_answer_that_does_not_come_is_not_awaited_for_ever),
        cmocka_unit_test(test_plain__serves_only_what_needs_no_more),
        cmocka_unit_test(test_plain__a_proxy_of_the_environment_is_libcurls),
        cmocka_unit_test(test_plain__leaves_a_redirected_get_to_libcurl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
