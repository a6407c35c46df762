#include "net/served.h"

#include "common/base/must.h"
#include "net/certificate.h"
#include "net/websocket/ws.h"

#define MESSAGE_MAX (2 * 1024 * 1024)

/* ---- the server's side: echoes, but obeys a few words ------------------------------------------------------------ */

static struct served *served;
static struct ws *server_ws; /* of the loop's thread: the last one */
static int close_code;       /* of the last connection, on the server's side */
static char close_why[128];
static int drained;
static struct ws_handler server_handler;

static void server_message(struct ws *w, const void *data, size_t n, bool is_text, void *ctx)
{
    served_count(served, &served->messages, 1);
    bool farewell = n == 8 && memcmp(data, "farewell", 8) == 0;
    if (farewell)
        ws_send(w, "this is why", 11, true);
    if (farewell || (n == 5 && memcmp(data, "close", 5) == 0))
        ws_close(w, 4001, "as you wish");
    else
        ws_send(w, data, n, is_text);
}

static void server_drained(struct ws *w, void *ctx)
{
    assert_int_equal(ws_pending(w), 0);
    drained++;
}

static void server_close(struct ws *w, int code, const char *why, void *ctx)
{
    close_code = code;
    snprintf(close_why, sizeof(close_why), "%s", why);
    served_count(served, &served->closed, 1);
}

static void on_request(struct http_request *r, void *ctx)
{
    cleanup_error struct error err = ERROR_INIT;
    const char *auth = http_request_header(r, "Authorization");
    if (strcmp(http_request_path(r), "/private") == 0 && (!auth || strcmp(auth, "Bearer good") != 0)) {
        http_reply(r, 401, "application/json", "{\"error\":\"who are you?\"}\nmore", 29);
        return;
    }
    http_add_header(r, "X-Added", "yes");
    if (http_upgrade_ws(r, &server_handler, &server_ws, &err) < 0)
        http_reply(r, 400, "text/plain", error_msg(&err), strlen(error_msg(&err)));
    else
        served_count(served, &served->opened, 1);
}

static void start_tls(struct served *s, SSL_CTX *tls)
{
    served = s;
    close_code = drained = 0;
    server_handler = (struct ws_handler){.on_message = server_message,
                                         .on_drained = server_drained,
                                         .on_close = server_close,
                                         .message_max = MESSAGE_MAX};
    served_start(s, &(struct http_server_options){.on_request = on_request, .tls = tls});
}

static void start_server(struct served *s)
{
    start_tls(s, NULL);
}

/* ---- a raw client ------------------------------------------------------------------------------------------------ */

#define UPGRADE \
    "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n" \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

enum { CONTINUATION = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10, FIN = 0x80 };

static void send_frame(int fd, int first_byte, const char *data, size_t n)
{
    cleanup_strbuf struct strbuf frame = STRBUF_INIT;
    static const char mask[4] = {1, 2, 3, 4};
    strbuf_addc(&frame, (char)first_byte);
    if (n < 126) {
        strbuf_addc(&frame, (char)(0x80 | n));
    } else {
        assert_true(n < 65536);
        strbuf_addc(&frame, (char)(0x80 | 126));
        strbuf_addc(&frame, (char)(n >> 8));
        strbuf_addc(&frame, (char)n);
    }
    strbuf_add(&frame, mask, 4);
    for (size_t i = 0; i < n; i++)
        strbuf_addc(&frame, (char)(data[i] ^ mask[i % 4]));
    raw_send_bytes(fd, frame.s, frame.n);
}

static void expect_frame(int fd, int first_byte, const char *data, size_t n)
{
    unsigned char head[2];
    char body[126];
    raw_read_exactly(fd, (char *)head, 2);
    assert_int_equal(head[0], first_byte);
    assert_int_equal(head[1], n); /* short and not masked */
    raw_read_exactly(fd, body, n);
    assert_memory_equal(body, data, n);
}

static int connect_upgraded(struct served *s)
{
    static struct raw_reply reply;
    int fd = raw_connect(s->port);
    raw_send(fd, UPGRADE);
    raw_read_head(fd, &reply);
    assert_int_equal(reply.status, 101);
    /* RFC 6455 1.3 */
    assert_non_null(strstr(reply.head, "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    assert_non_null(strstr(reply.head, "\r\nX-Added: yes\r\n"));
    return fd;
}

static void expect_server_close(struct served *s, int code, const char *why)
{
    served_await(s, &s->closed, 1);
    assert_int_equal(close_code, code);
    assert_string_equal(close_why, why);
}

static void test_ws_server__joins_fragments_and_answers_pings(void **state)
{
    struct served s;
    start_server(&s);
    int fd = connect_upgraded(&s);
    send_frame(fd, FIN | TEXT, "hello", 5);
    expect_frame(fd, FIN | TEXT, "hello", 5);
    send_frame(fd, BINARY, "ab", 2);
    send_frame(fd, FIN | PING, "are you there", 13);
    send_frame(fd, CONTINUATION, "", 0);
    send_frame(fd, FIN | CONTINUATION, "c\0d", 3);
    expect_frame(fd, FIN | PONG, "are you there", 13);
    expect_frame(fd, FIN | BINARY, "abc\0d", 5);
    send_frame(fd, FIN | CLOSE,
               "\x03\xe8"
               "bye",
               5);
    expect_frame(fd, FIN | CLOSE,
                 "\x03\xe8"
                 "bye",
                 5);
    assert_true(raw_at_end(fd));
    expect_server_close(&s, 1000, "bye");
    close(fd);
    served_stop(&s);
    assert_int_equal(s.messages, 2);
    assert_true(drained > 0);
}

static void add_frame(struct strbuf *to, int first_byte, const char *data, size_t n, bool masked)
{
    static const char mask[4] = {1, 2, 3, 4};
    int number_n = n < 126 ? 0 : n < 65536 ? 2 : 8;
    strbuf_addc(to, (char)first_byte);
    strbuf_addc(to, (char)((masked ? 0x80 : 0) | (number_n == 0 ? (int)n : number_n == 2 ? 126 : 127)));
    for (int i = number_n - 1; i >= 0; i--)
        strbuf_addc(to, (char)(n >> (8 * i)));
    if (masked)
        strbuf_add(to, mask, 4);
    for (size_t i = 0; i < n; i++)
        strbuf_addc(to, masked ? (char)(data[i] ^ mask[i % 4]) : data[i]);
}

struct pieces {
    int fd;
    struct strbuf bytes;
    size_t piece;
};

static void *send_pieces(void *ctx)
{
    struct pieces *p = ctx;
    for (size_t at = 0; at < p->bytes.n; at += p->piece) {
        size_t left = p->bytes.n - at;
        raw_send_bytes(p->fd, p->bytes.s + at, left < p->piece ? left : p->piece);
    }
    return NULL;
}

/* Binary messages of all forms of length, some larger than what is handled without wslay, between text messages,
 * fragments and pings, cut anywhere. */
static void test_ws_server__messages_that_come_in_pieces(void **state)
{
    static const size_t length[] = {1, 125, 126, 1000, 65535, 65536, 128 * 1024, 128 * 1024 + 1, 300000};
    static const size_t piece[] = {1u << 20, 200001, 4096, 13};
    static char data[300000];
    struct served s;
    pthread_t sender;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i % 251);
    start_server(&s);
    for (size_t p = 0; p < sizeof(piece) / sizeof(*piece); p++) {
        struct pieces sent = {.fd = connect_upgraded(&s), .piece = piece[p]};
        cleanup_strbuf struct strbuf want = STRBUF_INIT;
        for (size_t i = 0; i < 2 * sizeof(length) / sizeof(*length); i++) {
            size_t n = length[i % (sizeof(length) / sizeof(*length))];
            add_frame(&sent.bytes, FIN | BINARY, data, n, /* masked= */ true);
            add_frame(&want, FIN | BINARY, data, n, /* masked= */ false);
            add_frame(&sent.bytes, FIN | TEXT, "a word", 6, /* masked= */ true);
            add_frame(&want, FIN | TEXT, "a word", 6, /* masked= */ false);
            add_frame(&sent.bytes, BINARY, "ab", 2, /* masked= */ true);
            add_frame(&sent.bytes, FIN | CONTINUATION, "c", 1, /* masked= */ true);
            add_frame(&want, FIN | BINARY, "abc", 3, /* masked= */ false);
        }
        assert_int_equal(pthread_create(&sender, NULL, send_pieces, &sent), 0);
        char *got = must_malloc(want.n);
        raw_read_exactly(sent.fd, got, want.n);
        assert_memory_equal(got, want.s, want.n);
        pthread_join(sender, NULL);
        free(got);
        strbuf_release(&sent.bytes);
        close(sent.fd);
    }
    served_stop(&s);
}

static void test_ws_server__ends_a_flood_of_pings(void **state)
{
    struct served s;
    start_server(&s);
    int fd = connect_upgraded(&s);
    cleanup_strbuf struct strbuf flood = STRBUF_INIT;
    for (int i = 0; i < 20000; i++) /* a mask of zeros */
        strbuf_add(&flood, "\x89\x80\0\0\0\0", 6);
    raw_send_bytes(fd, flood.s, flood.n);
    shutdown(fd, SHUT_WR); /* instead of the goodbye that it waits for */
    expect_server_close(&s, 1008, "too many pings in one second");
    close(fd);
    served_stop(&s);
}

static void test_ws_server__answers_as_many_pings_as_it_lets_pass(void **state)
{
    struct served s;
    start_server(&s);
    int fd = connect_upgraded(&s);
    for (int i = 0; i < 900; i++)
        send_frame(fd, FIN | PING, "p", 1);
    for (int i = 0; i < 900; i++)
        expect_frame(fd, FIN | PONG, "p", 1);
    send_frame(fd, FIN | TEXT, "hello", 5);
    expect_frame(fd, FIN | TEXT, "hello", 5);
    close(fd);
    served_stop(&s);
}

static void test_ws_server__ends_a_message_of_endless_fragments(void **state)
{
    struct served s;
    start_server(&s);
    int fd = connect_upgraded(&s);
    cleanup_strbuf struct strbuf flood = STRBUF_INIT;
    strbuf_add(&flood, "\x02\x81\0\0\0\0x", 7);
    for (int i = 0; i < 20000; i++)
        strbuf_add(&flood, "\x00\x81\0\0\0\0x", 7);
    raw_send_bytes(fd, flood.s, flood.n);
    shutdown(fd, SHUT_WR); /* instead of the goodbye that it waits for */
    expect_server_close(&s, 1008, "a message of too many fragments");
    close(fd);
    served_stop(&s);
}

static void test_ws_server__cuts_off_a_peer_that_does_not_read(void **state)
{
    struct served s;
    start_server(&s);
    server_handler.pending_max = 1024 * 1024;
    int fd = connect_upgraded(&s);
    static const char head[] = "\x82\xfe\xea\x60\0\0\0"; /* binary, masked by zeros, 60,000 bytes */
    char frame[8 + 60000] = {0};
    memcpy(frame, head, 8);
    for (int i = 0; i < 1000; i++) /* all of it comes back, until the server ends it */
        for (size_t at = 0, n = 1; at < sizeof(frame) && n > 0; at += n) {
            ssize_t sent = send(fd, frame + at, sizeof(frame) - at, MSG_NOSIGNAL);
            n = sent > 0 ? (size_t)sent : 0;
        }
    expect_server_close(&s, 1006, "the peer does not take what it is sent");
    close(fd);
    served_stop(&s);
}

static void test_ws_server__takes_frames_sent_along_with_the_handshake(void **state)
{
    struct served s;
    static struct raw_reply reply;
    start_server(&s);
    int fd = raw_connect(s.port);
    raw_send_bytes(fd, UPGRADE "\x81\x82\0\0\0\0ok", sizeof(UPGRADE) - 1 + 8);
    raw_read_head(fd, &reply);
    expect_frame(fd, FIN | TEXT, "ok", 2);
    close(fd);
    expect_server_close(&s, 1006, "the connection broke off without a goodbye");
    served_stop(&s);
}

static void test_ws_server__closes_with_a_code_and_waits_for_the_peers(void **state)
{
    struct served s;
    start_server(&s);
    int fd = connect_upgraded(&s);
    send_frame(fd, FIN | TEXT, "close", 5);
    expect_frame(fd, FIN | CLOSE,
                 "\x0f\xa1"
                 "as you wish",
                 13);
    assert_int_equal(s.closed, 0);
    send_frame(fd, FIN | TEXT, "late", 4); /* ignored */
    send_frame(fd, FIN | CLOSE, "\x0f\xa1", 2);
    assert_true(raw_at_end(fd));
    expect_server_close(&s, 4001, "as you wish");
    close(fd);
    served_stop(&s);
    assert_int_equal(s.messages, 1);
}

static void test_ws_server__what_was_said_before_the_close_arrives_before_it(void **state)
{
    struct served s;
    start_server(&s);
    int fd = connect_upgraded(&s);
    send_frame(fd, FIN | TEXT, "farewell", 8);
    expect_frame(fd, FIN | TEXT, "this is why", 11);
    expect_frame(fd, FIN | CLOSE,
                 "\x0f\xa1"
                 "as you wish",
                 13);
    send_frame(fd, FIN | CLOSE, "\x0f\xa1", 2);
    assert_true(raw_at_end(fd));
    expect_server_close(&s, 4001, "as you wish");
    close(fd);
    served_stop(&s);
}

static void test_ws_server__gives_up_on_a_peer_that_does_not_say_goodbye(void **state)
{
    struct served s;
    start_server(&s);
    int fd = connect_upgraded(&s);
    send_frame(fd, FIN | TEXT, "close", 5);
    expect_frame(fd, FIN | CLOSE,
                 "\x0f\xa1"
                 "as you wish",
                 13);
    expect_server_close(&s, 4001, "as you wish");
    assert_true(raw_at_end(fd));
    close(fd);
    served_stop(&s);
}

static void expect_violation(const char *frames, size_t n, int code)
{
    struct served s;
    unsigned char head[4];
    start_server(&s);
    server_handler.message_max = 10;
    int fd = connect_upgraded(&s);
    raw_send_bytes(fd, frames, n);
    raw_read_exactly(fd, (char *)head, 4);
    assert_int_equal(head[0], FIN | CLOSE);
    assert_int_equal(head[2] << 8 | head[3], code);
    close(fd);
    served_await(&s, &s.closed, 1);
    assert_int_equal(close_code, code);
    served_stop(&s);
    assert_int_equal(s.messages, 0);
}

static void test_ws_server__names_violations_by_their_codes(void **state)
{
    expect_violation("\x82\x8b\0\0\0\0"
                     "0123456789A",
                     17, 1009); /* over message_max */
    expect_violation("\x02\x86\0\0\0\0"
                     "012345\x80\x86\0\0\0\0"
                     "678901",
                     24, 1009);                            /* in sum */
    expect_violation("\x81\x02hi", 4, 1002);               /* not masked */
    expect_violation("\x83\x80\0\0\0\0", 6, 1002);         /* no such opcode */
    expect_violation("\x80\x80\0\0\0\0", 6, 1002);         /* continues nothing */
    expect_violation("\x81\x82\0\0\0\0\xc3\x28", 8, 1007); /* not UTF-8 */
}

static void test_http_upgrade_ws__says_what_is_missing_and_keeps_the_connection(void **state)
{
    static const struct {
        const char *request, *why;
    } cases[] = {
        {"GET /ws HTTP/1.1\r\nHost: h\r\n\r\n", "/ws is a WebSocket; connect with ws://"},
        {"POST /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
         "not with a plain request"},
        {"GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 8\r\n\r\n",
         "version is 8, supported is 13"},
        {"GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
         "Sec-WebSocket-Key: abc\r\n\r\n",
         "Sec-WebSocket-Key"},
    };
    struct served s;
    static struct raw_reply reply;
    start_server(&s);
    int fd = raw_connect(s.port);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        raw_send(fd, cases[i].request);
        raw_read_reply(fd, &reply);
        assert_int_equal(reply.status, 400);
        assert_non_null(strstr(reply.body, cases[i].why));
    }
    close(fd);
    served_stop(&s);
    assert_int_equal(s.opened, 0);
}

/* The peer may vanish at any point of the upgrade and after. Run under ASan, this pins how the socket changes its
 * owner. */
static void test_ws_server__survives_clients_that_leave_at_each_stage(void **state)
{
    struct served s;
    start_server(&s);
    for (int i = 0; i < 10; i++) {
        int fd = raw_connect(s.port);
        raw_send(fd, UPGRADE);
        if (i % 2)
            raw_reset(fd);
        else
            close(fd);
    }
    for (int i = 0; i < 10; i++) {
        int fd = connect_upgraded(&s);
        raw_send_bytes(fd, "\x82\xfe\xff\xff\0\0\0\0half a message", (size_t)i + 3);
        if (i % 2)
            raw_reset(fd);
        else
            close(fd);
    }
    int fd = connect_upgraded(&s);
    send_frame(fd, FIN | TEXT, "well", 4);
    expect_frame(fd, FIN | TEXT, "well", 4);
    close(fd);
    served_stop(&s);
    assert_int_equal(s.closed, s.opened);
}

static void test_ws_server__notices_a_dead_peer(void **state)
{
    struct served s;
    unsigned char ping[2];
    start_server(&s);
    server_handler.ping_s = 1;
    server_handler.dead_s = 2;
    int fd = connect_upgraded(&s);
    raw_read_exactly(fd, (char *)ping, 2);
    assert_int_equal(ping[0], FIN | PING); /* and no answer to it */
    expect_server_close(&s, 1006, "no word from the peer for 2 s");
    close(fd);
    served_stop(&s);
}

static void test_http_server_free__closes_its_websockets(void **state)
{
    struct served s;
    start_server(&s);
    int fd = connect_upgraded(&s);
    served_stop(&s);
    assert_int_equal(s.closed, 1);
    assert_int_equal(close_code, 1001);
    assert_true(raw_at_end(fd));
    close(fd);
}

/* ---- the client's side ------------------------------------------------------------------------------------------- */

struct client {
    struct loop *loop;
    struct ws *ws;
    struct strbuf got;
    int opened, closed, messages, stop_after;
    int code;
    char why[512];
    const char *greeting; /* sent when open */
    size_t greeting_n;
};

static void client_open(struct ws *w, void *ctx)
{
    struct client *c = ctx;
    c->opened++;
    if (c->greeting)
        ws_send(w, c->greeting, c->greeting_n, true);
}

static void client_message(struct ws *w, const void *data, size_t n, bool is_text, void *ctx)
{
    struct client *c = ctx;
    strbuf_add(&c->got, data, n);
    if (++c->messages == c->stop_after)
        ws_close(w, 1000, "enough");
}

static void client_close(struct ws *w, int code, const char *why, void *ctx)
{
    struct client *c = ctx;
    c->closed++;
    c->code = code;
    snprintf(c->why, sizeof(c->why), "%s", why);
    loop_stop(c->loop);
}

static int client_start(struct client *c, const struct ws_client_options *o, struct error *err)
{
    assert_int_equal(loop_new(&c->loop, NULL), 0);
    struct ws_handler h = {.on_open = client_open,
                           .on_message = client_message,
                           .on_close = client_close,
                           .ctx = c,
                           .message_max = MESSAGE_MAX,
                           .ping_s = 15,
                           .dead_s = 60};
    return ws_connect(c->loop, o, &h, &c->ws, err);
}

/* Runs until on_close. */
static void client_run(struct client *c, const struct ws_client_options *o)
{
    assert_int_equal(client_start(c, o, NULL), 0);
    loop_run(c->loop, NULL);
    assert_int_equal(c->closed, 1);
}

static void client_release(struct client *c)
{
    loop_free(c->loop);
    strbuf_release(&c->got);
}

static const char *url_of(const char *scheme, const char *host, int port, const char *path)
{
    static char url[256];
    snprintf(url, sizeof(url), "%s://%s:%d%s", scheme, host, port, path);
    return url;
}

static void test_ws_connect__talks_to_a_server_and_says_goodbye(void **state)
{
    struct served s;
    const char *const header[] = {"Authorization: Bearer good", NULL};
    start_server(&s);
    struct client c = {.greeting = "hello", .greeting_n = 5, .stop_after = 1};
    client_run(&c,
               &(struct ws_client_options){.url = url_of("ws", "127.0.0.1", s.port, "/private?x=1"), .header = header});
    assert_string_equal(c.got.s, "hello");
    assert_int_equal(c.opened, 1);
    assert_int_equal(c.code, 1000);
    assert_string_equal(c.why, "enough");
    client_release(&c);
    expect_server_close(&s, 1000, "enough");
    served_stop(&s);
}

static void test_ws_connect__carries_big_messages_both_ways(void **state)
{
    struct served s;
    size_t n = MESSAGE_MAX;
    char *big = malloc(n);
    for (size_t i = 0; i < n; i++)
        big[i] = (char)('a' + i % 26);
    start_server(&s);
    struct client c = {.greeting = big, .greeting_n = n, .stop_after = 1};
    client_run(&c, &(struct ws_client_options){.url = url_of("ws", "127.0.0.1", s.port, "/ws")});
    assert_int_equal(c.got.n, n);
    assert_memory_equal(c.got.s, big, n);
    client_release(&c);
    served_stop(&s);
    free(big);
}

static void test_ws_connect__tries_every_address_of_a_name(void **state)
{
    struct served s;
    start_server(&s); /* on 127.0.0.1 alone, while localhost may be ::1, too */
    struct client c = {.greeting = "hello", .greeting_n = 5, .stop_after = 1};
    client_run(&c, &(struct ws_client_options){.url = url_of("ws", "localhost", s.port, "/ws")});
    assert_string_equal(strbuf_str(&c.got), "hello");
    client_release(&c);
    served_stop(&s);
}

static void expect_no_connection(const struct ws_client_options *o, int code, const char *in_why)
{
    struct client c = {0};
    client_run(&c, o);
    if (c.code != code || !strstr(c.why, in_why))
        fail_msg("closed with %d %s, not %d %s", c.code, c.why, code, in_why);
    assert_int_equal(c.opened, 0);
    client_release(&c);
}

static void test_ws_connect__tells_why_it_is_refused(void **state)
{
    struct served s;
    start_server(&s);
    const char *url = url_of("ws", "127.0.0.1", s.port, "/private");
    char wanted[400];
    snprintf(wanted, sizeof(wanted), "can't connect to %s: HTTP status 401: {\"error\":\"who are you?\"}", url);
    expect_no_connection(&(struct ws_client_options){.url = url}, 401, wanted);
    served_stop(&s);
    expect_no_connection(&(struct ws_client_options){.url = url}, 1006, "Connection refused");
    expect_no_connection(&(struct ws_client_options){.url = "ws://nowhere.invalid/x", .connect_timeout_s = 1}, 1006,
                         "nowhere.invalid");
}

/* Answers one connection with `answer`, then closes it. */
struct impostor {
    int listener, port;
    const char *answer;
    pthread_t thread;
};

static void *impostor_main(void *ctx)
{
    struct impostor *i = ctx;
    int fd = accept(i->listener, NULL, NULL);
    char request[2048];
    ssize_t got = recv(fd, request, sizeof(request), 0);
    (void)got;
    raw_send(fd, i->answer);
    close(fd);
    return NULL;
}

static void expect_impostor_refused(const char *answer, int code, const char *in_why)
{
    struct impostor i = {.answer = answer};
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(any);
    i.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(i.listener, (struct sockaddr *)&any, sizeof(any)), 0);
    assert_int_equal(listen(i.listener, 1), 0);
    getsockname(i.listener, (struct sockaddr *)&any, &n);
    assert_int_equal(pthread_create(&i.thread, NULL, impostor_main, &i), 0);
    expect_no_connection(&(struct ws_client_options){.url = url_of("ws", "127.0.0.1", ntohs(any.sin_port), "/")}, code,
                         in_why);
    pthread_join(i.thread, NULL);
    close(i.listener);
}

static void test_ws_connect__is_not_taken_in_by_what_is_no_websocket_server(void **state)
{
    expect_impostor_refused("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n",
                            1006, "Sec-WebSocket-Accept is wrong");
    expect_impostor_refused("HTTP/1.1 101 Switching Protocols\r\n\r\n", 1006, "Sec-WebSocket-Accept is wrong");
    /* breaks off */
    expect_impostor_refused("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", 200, "HTTP status 200: hel");
    expect_impostor_refused("SSH-2.0-OpenSSH\r\n\r\n", 1006, "does not speak HTTP");
    expect_impostor_refused("HTTP/1.1 101 Swi", 1006, "broke off before the answer");
}

static void test_ws_connect__refuses_options_that_cannot_work(void **state)
{
    static const char *const bad[] = {"", "localhost:8080", "http://localhost/", "ws://", "ws:///x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        cleanup_error struct error err = ERROR_INIT;
        struct client c = {0};
        assert_int_equal(client_start(&c, &(struct ws_client_options){.url = bad[i]}, &err), -1);
        assert_non_null(strstr(error_msg(&err), "ws://host:port/path"));
        client_release(&c);
    }
    cleanup_error struct error err = ERROR_INIT;
    struct client c = {0};
    assert_int_equal(client_start(&c, &(struct ws_client_options){.url = "wss://h/", .ca_file = "/nonexistent"}, &err),
                     -1);
    assert_non_null(strstr(error_msg(&err), "/nonexistent"));
    client_release(&c);
}

static void test_ws_connect__verifies_the_servers_certificate(void **state)
{
    struct served s;
    struct certificate cert;
    certificate_make(&cert, "DNS:master.test,IP:127.0.0.1");
    start_tls(&s, cert.server);
    struct ws_client_options o = {.url = url_of("wss", "127.0.0.1", s.port, "/ws")};
    expect_no_connection(&o, 1006, "its certificate is not valid for 127.0.0.1");
    o.ca_file = cert.file;
    o.tls_name = "other.test";
    expect_no_connection(&o, 1006, "its certificate is not valid for other.test");
    const struct {
        const char *name;
        bool skip;
    } good[] = {{NULL, false}, {"master.test", false}, {"other.test", true}};
    for (size_t i = 0; i < 3; i++) {
        struct client c = {.greeting = "hello", .greeting_n = 5, .stop_after = 1};
        o.tls_name = good[i].name;
        o.tls_skip_verify = good[i].skip;
        client_run(&c, &o);
        assert_string_equal(strbuf_str(&c.got), "hello");
        client_release(&c);
    }
    served_stop(&s);
    certificate_release(&cert);
}

static void test_ws_close__before_it_is_open_calls_on_close(void **state)
{
    struct served s;
    start_server(&s);
    struct client c = {0};
    assert_int_equal(client_start(&c, &(struct ws_client_options){.url = url_of("ws", "127.0.0.1", s.port, "/ws")},
                                  NULL),
                     0);
    ws_close(c.ws, 1000, "never mind");
    assert_int_equal(c.closed, 0);
    loop_run(c.loop, NULL);
    assert_int_equal(c.closed, 1);
    assert_string_equal(c.why, "never mind");
    client_release(&c);
    served_stop(&s);
}

static void test_ws_drop__ends_a_client_that_still_dials(void **state)
{
    struct client c = {0};
    assert_int_equal(client_start(&c, &(struct ws_client_options){.url = "ws://127.0.0.1:9/"}, NULL), 0);
    ws_drop(c.ws);
    assert_int_equal(c.closed, 1);
    assert_int_equal(c.code, 1001);
    client_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ws_server__joins_fragments_and_answers_pings),
        cmocka_unit_test(test_ws_server__messages_that_come_in_pieces),
        cmocka_unit_test(test_ws_server__ends_a_flood_of_pings),
        cmocka_unit_test(test_ws_server__answers_as_many_pings_as_it_lets_pass),
        cmocka_unit_test(test_ws_server__ends_a_message_of_endless_fragments),
        cmocka_unit_test(test_ws_server__cuts_off_a_peer_that_does_not_read),
        cmocka_unit_test(test_ws_server__takes_frames_sent_along_with_the_handshake),
        cmocka_unit_test(test_ws_server__closes_with_a_code_and_waits_for_the_peers),
        cmocka_unit_test(test_ws_server__what_was_said_before_the_close_arrives_before_it),
        cmocka_unit_test(test_ws_server__gives_up_on_a_peer_that_does_not_say_goodbye),
        cmocka_unit_test(test_ws_server__names_violations_by_their_codes),
        cmocka_unit_test(test_http_upgrade_ws__says_what_is_missing_and_keeps_the_connection),
        cmocka_unit_test(test_ws_server__survives_clients_that_leave_at_each_stage),
        cmocka_unit_test(test_ws_server__notices_a_dead_peer),
        cmocka_unit_test(test_http_server_free__closes_its_websockets),
        cmocka_unit_test(test_ws_connect__talks_to_a_server_and_says_goodbye),
        cmocka_unit_test(test_ws_connect__carries_big_messages_both_ways),
        cmocka_unit_test(test_ws_connect__tries_every_address_of_a_name),
        cmocka_unit_test(test_ws_connect__tells_why_it_is_refused),
        cmocka_unit_test(test_ws_connect__is_not_taken_in_by_what_is_no_websocket_server),
        cmocka_unit_test(test_ws_connect__refuses_options_that_cannot_work),
        cmocka_unit_test(test_ws_connect__verifies_the_servers_certificate),
        cmocka_unit_test(test_ws_close__before_it_is_open_calls_on_close),
        cmocka_unit_test(test_ws_drop__ends_a_client_that_still_dials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
