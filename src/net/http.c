/* Connections: accepting, reading requests within their limits, noticing that a client leaves. */
#include "net/http_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <openssl/ssl.h>

#include "common/clock.h"
#include "common/log.h"
#include "net/ws_internal.h"

#define BACKLOG 4096
#define HEAD_MAX (64 * 1024)
#define INPUT_MAX (HEAD_MAX + 4096)    /* read ahead of one connection */
#define FLUSH_MAX (256 * 1024)         /* output that may be queued while the next request is read already */
#define READ_AT_ONCE_MAX (1024 * 1024) /* of a body in one turn, so that one upload leaves the loop to the others */
#define BODY_BYTES_PER_S (16 * 1024)   /* a client slower than this is cut off: 408 */
#define FLUSH_STALL_US (120 * 1000000ll)
#define LINGER_US (5 * 1000000ll)
#define SWEEP_US 1000000ll
#define ACCEPT_PAUSE_US 100000ll       /* when out of file descriptors */
#define FILES_FOR_OTHERS 256           /* descriptors that connections leave to the rest of the program */
#define REFUSED_MAX 64                 /* connections over the limit that are told so at the same time */

static void conn_process(struct conn *c);

/* ---- what happens in the loop's next turn ---- */

void conn_soon(struct conn *c, unsigned what)
{
    struct http_server *s = c->server;
    if (!c->soon) {
        if (TAILQ_EMPTY(&s->soon))
            loop_timer_arm(s->soon_timer, 0);
        TAILQ_INSERT_TAIL(&s->soon, c, of_soon);
    }
    c->soon |= what;
}

static void conn_destroy(struct conn *c)
{
    struct http_server *s = c->server;
    struct http_request *r = &c->request;
    if (c->soon)
        TAILQ_REMOVE(&s->soon, c, of_soon);
    LIST_REMOVE(c, of_server);
    s->connections--;
    if (c->bev)
        bufferevent_free(c->bev);
    strbuf_release(&r->extra);
    strbuf_release(&r->stream_head);
    strbuf_release(&r->cookies);
    free(c->head_text);
    free(c);
}

/* Gives back what belongs to one request; the memory for the next one's texts stays. */
static void request_reset(struct http_request *r)
{
    struct http_server *s = r->conn->server;
    s->bodies -= r->charged;
    if (r->anonymous)
        s->anonymous_bodies -= r->charged;
    r->charged = 0;
    free(r->body);
    r->body = NULL;
    r->body_n = r->body_cap = 0;
    r->anonymous = r->streaming = r->stream_head_sent = false;
    r->chunks = (struct http1_chunks){0};
    strbuf_reset(&r->extra);
    strbuf_reset(&r->cookies);
    r->ctx = NULL;
    r->on_close = NULL;
    r->on_drained = NULL;
}

/* Only from the loop, never from within a call by the server's user: on_close may run. */
static void conn_end(struct conn *c)
{
    struct http_request *r = &c->request;
    bool unanswered = c->phase == PHASE_ANSWER;
    c->phase = PHASE_GONE;
    bufferevent_setcb(c->bev, NULL, NULL, NULL, NULL);
    bufferevent_disable(c->bev, EV_READ | EV_WRITE);
    conn_soon(c, SOON_DESTROY);
    if (unanswered && r->on_close)
        r->on_close(r, r->ctx);
    request_reset(r);
}

static int64_t seconds_from_now(int s)
{
    return clock_monotonic_us() + s * 1000000ll;
}

static void await_request(struct conn *c)
{
    c->phase = PHASE_HEAD;
    c->searched = 0;
    c->deadline_us = seconds_from_now(c->server->options.limits.idle_timeout_s);
}

static void await_flush(struct conn *c)
{
    c->phase = PHASE_FLUSH;
    c->unflushed = 0;
    c->deadline_us = clock_monotonic_us() + FLUSH_STALL_US;
}

/* Everything queued has gone to the kernel. */
static void conn_flushed(struct conn *c)
{
    if (!c->close_after) {
        await_request(c);
        conn_process(c);
    } else if (c->linger && !c->saw_eof) {
        /* Closing with unread input would reset the connection, and the client might never see our answer. */
        c->phase = PHASE_LINGER;
        c->deadline_us = clock_monotonic_us() + LINGER_US;
        shutdown(c->fd, SHUT_WR);
        evbuffer_drain(bufferevent_get_input(c->bev), INPUT_MAX);
    } else {
        conn_end(c);
    }
}

static void stream_drained(struct conn *c)
{
    struct http_request *r = &c->request;
    if (c->phase == PHASE_ANSWER && r->streaming && conn_unsent(c) == 0)
        r->on_drained(r, r->ctx);
}

static void conn_run_soon(struct conn *c, unsigned what)
{
    if (what & SOON_DESTROY) {
        conn_destroy(c);
        return;
    }
    if (what & SOON_LOST && c->phase != PHASE_UPGRADED && c->phase != PHASE_GONE) {
        conn_end(c);
        return;
    }
    if (what & SOON_FLUSHED && c->phase == PHASE_FLUSH && conn_unsent(c) == 0)
        conn_flushed(c);
    else if (what & SOON_PROCESS && c->phase == PHASE_HEAD)
        conn_process(c);
    else if (what & SOON_DRAINED)
        stream_drained(c);
}

/* What is asked for meanwhile waits for the next turn: a stream that is never at a loss for data must not hold up the loop. */
static void on_soon(void *ctx)
{
    struct http_server *s = ctx;
    struct soon_list now = TAILQ_HEAD_INITIALIZER(now);
    TAILQ_CONCAT(&now, &s->soon, of_soon);
    struct conn *c;
    while ((c = TAILQ_FIRST(&now))) {
        unsigned what = c->soon;
        TAILQ_REMOVE(&now, c, of_soon);
        c->soon = 0;
        conn_run_soon(c, what);
    }
}

/* ---- writing ---- */

size_t conn_unsent(const struct conn *c)
{
    return evbuffer_get_length(bufferevent_get_output(c->bev));
}

/* The usual answer fits into the socket's buffer: writing it here saves arming and disarming EV_WRITE, two system calls and a
 * turn of the loop per request. */
static size_t send_now(struct conn *c, const struct iovec *part, int parts)
{
    if (c->server->options.tls || conn_unsent(c) > 0)
        return 0;
    ssize_t n = writev(c->fd, part, parts);
    if (n >= 0)
        return (size_t)n;
    if (errno != EAGAIN && errno != EINTR)
        conn_soon(c, SOON_LOST);
    return 0;
}

void conn_send(struct conn *c, const struct iovec *part, int parts)
{
    if (c->soon & SOON_LOST)
        return;
    size_t sent = send_now(c, part, parts);
    struct evbuffer *out = bufferevent_get_output(c->bev);
    for (int i = 0; i < parts; i++) {
        size_t skip = sent < part[i].iov_len ? sent : part[i].iov_len;
        sent -= skip;
        if (skip < part[i].iov_len && evbuffer_add(out, (char *)part[i].iov_base + skip, part[i].iov_len - skip) < 0)
            conn_soon(c, SOON_LOST);
    }
}

void request_finish(struct http_request *r)
{
    struct conn *c = r->conn;
    request_reset(r);
    if (c->close_after || conn_unsent(c) > FLUSH_MAX) {
        await_flush(c);
        if (conn_unsent(c) == 0)
            conn_soon(c, SOON_FLUSHED);
        return;
    }
    await_request(c);
    if (!c->processing && evbuffer_get_length(bufferevent_get_input(c->bev)) > 0)
        conn_soon(c, SOON_PROCESS);
}

/* ---- faults below the handler ---- */

static void default_error_body(int status, const struct error *e, struct strbuf *out)
{
    strbuf_addf(out, "{\"error\":{\"code\":%d,\"reason\":\"%s\",\"error\":", error_rpc_code(e->kind), error_rpc_name(e->kind));
    strbuf_add_json(out, error_msg(e), strlen(error_msg(e)));
    strbuf_adds(out, "}}\n");
}

static void fault(struct conn *c, int status, struct error *e)
{
    struct http_server *s = c->server;
    cleanup_strbuf struct strbuf body = STRBUF_INIT;
    if (s->options.error_body)
        s->options.error_body(status, e, &body, s->options.ctx);
    else
        default_error_body(status, e, &body);
    log_debug("http.fault", "peer=%s status=%d why=%s", c->peer, status, log_quote(error_msg(e)));
    if (status == 503)
        http_add_header(&c->request, "Retry-After", "1");
    c->close_after = c->linger = true;
    http_reply(&c->request, status, "application/json", body.s, body.n);
    error_release(e);
}

/* ---- bodies ---- */

/* Reserves n more bytes in the accounts of bodies in flight. */
static bool charge(struct http_request *r, size_t n)
{
    struct http_server *s = r->conn->server;
    const struct http_limits *max = &s->options.limits;
    if (n > max->bodies_max - s->bodies || (r->anonymous && n > max->anonymous_bodies_max - s->anonymous_bodies))
        return false;
    s->bodies += n;
    if (r->anonymous)
        s->anonymous_bodies += n;
    r->charged += n;
    return true;
}

static int admit(struct http_request *r, uint64_t total, int *ret_status, struct error *err)
{
    const struct http_limits *max = &r->conn->server->options.limits;
    size_t allowed = r->anonymous ? max->anonymous_body_max : max->body_max;
    if (total > allowed) {
        *ret_status = 413;
        return error_set(err, ERR_TOO_LARGE, "the request's body of %s%llu bytes is too big, at most %zu are allowed%s",
                         r->head.chunked ? "over " : "", (unsigned long long)(r->head.chunked ? r->body_n : total), allowed,
                         r->anonymous ? " without credentials" : "");
    }
    if (charge(r, (size_t)total - r->charged))
        return 0;
    *ret_status = 503;
    return error_set(err, ERR_UNAVAILABLE, "the server is reading too many big requests; try again in a moment");
}

/* Room for n more bytes and the NUL behind them. Grows with what has really come: a client that only promises 96 MiB costs
 * nothing. */
static int body_reserve(struct http_request *r, size_t n)
{
    size_t need = r->body_n + n + 1;
    if (need <= r->body_cap)
        return 0;
    size_t cap = 2 * r->body_cap > need ? 2 * r->body_cap : need;
    if (!r->head.chunked && cap > r->head.length + 1)
        cap = r->head.length + 1;
    char *body = realloc(r->body, cap);
    if (!body)
        return -1;
    r->body = body;
    r->body_cap = cap;
    return 0;
}

static int body_add(struct http_request *r, const void *data, size_t n, int *ret_status, struct error *err)
{
    if (r->head.chunked && admit(r, r->body_n + n, ret_status, err) < 0)
        return -1;
    if (body_reserve(r, n) < 0) {
        *ret_status = 503;
        return error_set(err, ERR_NO_MEMORY, "no memory for the request's body");
    }
    memcpy(r->body + r->body_n, data, n);
    r->body_n += n;
    return 0;
}

/* The contiguous start of the input. */
static const char *input_peek(struct conn *c, size_t *ret_n)
{
    struct evbuffer_iovec v;
    *ret_n = 0;
    if (evbuffer_peek(bufferevent_get_input(c->bev), -1, NULL, &v, 1) < 1)
        return NULL;
    *ret_n = v.iov_len;
    return v.iov_base;
}

static int read_chunked(struct conn *c, int *ret_status, struct error *err)
{
    struct http_request *r = &c->request;
    size_t n, used, data_n;
    const char *in, *data;
    while (r->chunks.state != CHUNK_END && (in = input_peek(c, &n)) && n > 0) {
        if (http1_chunks_next(&r->chunks, in, n, &used, &data, &data_n) < 0) {
            *ret_status = 400;
            return error_set(err, ERR_INVALID, "malformed HTTP request: the chunked body's framing is broken");
        }
        if (data_n && body_add(r, data, data_n, ret_status, err) < 0)
            return -1;
        evbuffer_drain(bufferevent_get_input(c->bev), used);
    }
    return 0;
}

/* Past libevent, which reads 4 KiB at a time. An end of the connection stays for the bufferevent to find. */
static void read_from_socket(struct conn *c)
{
    struct http_request *r = &c->request;
    size_t budget = READ_AT_ONCE_MAX;
    while (!c->server->options.tls && budget > 0 && r->body_n < r->head.length) {
        if (r->body_n + 1 >= r->body_cap && body_reserve(r, 1) < 0)
            return;
        size_t want = r->body_cap - 1 - r->body_n;
        ssize_t n = read(c->fd, r->body + r->body_n, want < budget ? want : budget);
        if (n <= 0)
            return;
        r->body_n += (size_t)n;
        budget -= (size_t)n;
    }
}

static int read_counted(struct conn *c, int *ret_status, struct error *err)
{
    struct http_request *r = &c->request;
    size_t n;
    const char *in;
    while (r->body_n < r->head.length && (in = input_peek(c, &n)) && n > 0) {
        if (n > r->head.length - r->body_n)
            n = (size_t)(r->head.length - r->body_n);
        if (body_add(r, in, n, ret_status, err) < 0)
            return -1;
        evbuffer_drain(bufferevent_get_input(c->bev), n);
    }
    read_from_socket(c);
    return 0;
}

static void call_handler(struct conn *c)
{
    struct http_server *s = c->server;
    c->phase = PHASE_ANSWER;
    c->deadline_us = 0;
    if (s->stopped)
        c->close_after = true;
    if (c->request.body)
        c->request.body[c->request.body_n] = '\0';
    s->options.on_request(&c->request, s->options.ctx);
}

/* true: go on processing */
static bool read_body(struct conn *c)
{
    struct http_request *r = &c->request;
    struct error err = ERROR_INIT;
    int status;
    if ((r->head.chunked ? read_chunked : read_counted)(c, &status, &err) < 0) {
        fault(c, status, &err);
        return false;
    }
    if (r->head.chunked ? r->chunks.state == CHUNK_END : r->body_n == r->head.length) {
        call_handler(c);
        return true;
    }
    c->deadline_us = c->body_start_us + c->server->options.limits.read_timeout_s * 1000000ll +
                     (int64_t)(r->body_n / BODY_BYTES_PER_S) * 1000000ll;
    return false;
}

/* ---- heads ---- */

/* true when the body may be read */
static bool start_body(struct conn *c)
{
    struct http_server *s = c->server;
    struct http_request *r = &c->request;
    struct error err = ERROR_INIT;
    int status;
    r->anonymous = s->options.has_credentials && !s->options.has_credentials(r, s->options.ctx);
    if (!r->head.chunked && admit(r, r->head.length, &status, &err) < 0) {
        fault(c, status, &err);
        return false;
    }
    if (r->head.expects_continue && evbuffer_get_length(bufferevent_get_input(c->bev)) == 0) {
        static char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
        conn_send(c, &(struct iovec){go_on, sizeof go_on - 1}, 1);
    }
    c->phase = PHASE_BODY;
    c->body_start_us = clock_monotonic_us();
    return true;
}

static int head_reserve(struct conn *c, size_t n)
{
    if (n <= c->head_cap)
        return 0;
    char *text = realloc(c->head_text, n);
    if (!text)
        return -1;
    c->head_text = text;
    c->head_cap = n;
    return 0;
}

static void refuse_head(struct conn *c, int status, enum error_kind kind, const char *why)
{
    struct error err = ERROR_INIT;
    c->request.head.method = HTTP_GET;
    c->request.head.minor_version = 1;
    error_set(&err, kind, "%s", why);
    fault(c, status, &err);
}

/* The end of the head at the start of the input, its length into *ret_n. 0: more must come. -1: never will, was answered. */
static int find_head(struct conn *c, size_t *ret_n)
{
    struct evbuffer *in = bufferevent_get_input(c->bev);
    struct evbuffer_ptr from;
    size_t have = evbuffer_get_length(in);
    evbuffer_ptr_set(in, &from, c->searched > 3 ? c->searched - 3 : 0, EVBUFFER_PTR_SET);
    ssize_t end = evbuffer_search(in, "\r\n\r\n", 4, &from).pos;
    if (end >= 0 && end + 4 <= HEAD_MAX) {
        *ret_n = (size_t)end + 4;
        return 1;
    }
    if (end >= 0 || have >= HEAD_MAX) {
        refuse_head(c, 431, ERR_TOO_LARGE, "the request's headers are over 64 KiB");
        return -1;
    }
    if (c->searched == 0)
        c->deadline_us = seconds_from_now(c->server->options.limits.read_timeout_s);
    c->searched = have;
    return 0;
}

/* RFC 9112 2.2: empty lines before a request are to be forgiven. What can't begin a request is refused at once, not when the
 * time is up. false: nothing to parse. */
static bool check_first_bytes(struct conn *c)
{
    struct evbuffer *in = bufferevent_get_input(c->bev);
    size_t n;
    const char *first;
    while ((first = input_peek(c, &n)) && n > 0 && (*first == '\r' || *first == '\n'))
        evbuffer_drain(in, 1);
    if (n == 0)
        return false;
    if (*first >= 'A' && *first <= 'Z')
        return true;
    refuse_head(c, 400, ERR_INVALID,
                *first == 0x16 ? "this port speaks plain HTTP, not TLS; use http://"
                               : "malformed HTTP request: the request line does not start with a method");
    return false;
}

/* true: go on processing */
static bool read_head(struct conn *c)
{
    struct http_request *r = &c->request;
    struct error err = ERROR_INIT;
    size_t n;
    int status;
    if ((c->searched == 0 && !check_first_bytes(c)) || find_head(c, &n) <= 0)
        return false;
    if (head_reserve(c, n) < 0) {
        refuse_head(c, 503, ERR_NO_MEMORY, "no memory for the request");
        return false;
    }
    evbuffer_remove(bufferevent_get_input(c->bev), c->head_text, n);
    if (http1_parse_head(c->head_text, n, &r->head, &status, &err) < 0) {
        refuse_head(c, status, err.kind, error_msg(&err));
        error_release(&err);
        return false;
    }
    c->close_after = !r->head.keep_alive;
    if (r->head.length > 0 || r->head.chunked)
        return start_body(c);
    call_handler(c);
    return true;
}

/* Requests as long as there are whole ones and each is answered at once; a loop, so that a thousand pipelined requests do not
 * nest a thousand deep. */
static void conn_process(struct conn *c)
{
    bool more = true;
    c->processing = true;
    while (more && !(c->soon & SOON_LOST)) {
        if (c->phase == PHASE_HEAD)
            more = read_head(c);
        else if (c->phase == PHASE_BODY)
            more = read_body(c);
        else
            more = false;
    }
    c->processing = false;
}

/* ---- libevent's callbacks ---- */

static void on_readable(struct bufferevent *bev, void *ctx)
{
    struct conn *c = ctx;
    if (c->phase == PHASE_LINGER)
        evbuffer_drain(bufferevent_get_input(bev), INPUT_MAX);
    else
        conn_process(c);
}

static void on_writable(struct bufferevent *bev, void *ctx)
{
    struct conn *c = ctx;
    if (c->phase == PHASE_FLUSH && conn_unsent(c) == 0)
        conn_flushed(c);
    else
        stream_drained(c);
}

/* An answer that is on its way is finished for a client that only closed its sending side; anyone else has left. */
static void on_event(struct bufferevent *bev, short what, void *ctx)
{
    struct conn *c = ctx;
    if (what & BEV_EVENT_CONNECTED) /* TLS is up */
        return;
    c->saw_eof = true;
    c->close_after = true;
    if (c->phase == PHASE_HEAD && conn_unsent(c) > 0)
        await_flush(c);
    if (what & BEV_EVENT_ERROR || c->phase != PHASE_FLUSH)
        conn_end(c);
}

/* ---- time-outs ---- */

static void conn_timed_out(struct conn *c)
{
    struct error err = ERROR_INIT;
    switch (c->phase) {
    case PHASE_BODY:
        error_set(&err, ERR_DEADLINE, "the request's body came too slowly");
        fault(c, 408, &err);
        break;
    case PHASE_FLUSH:
        if (c->unflushed == 0 || conn_unsent(c) < c->unflushed) { /* slow, but taking it */
            c->unflushed = conn_unsent(c);
            c->deadline_us = clock_monotonic_us() + FLUSH_STALL_US;
            break;
        }
        conn_end(c);
        break;
    default:
        conn_end(c);
    }
}

/* One walk a second over a compact list costs less than a timer to move with each request. */
static void on_sweep(void *ctx)
{
    struct http_server *s = ctx;
    int64_t now_us = clock_monotonic_us();
    for (struct conn *c = LIST_FIRST(&s->conns), *next; c; c = next) {
        next = LIST_NEXT(c, of_server);
        if (c->deadline_us && c->deadline_us <= now_us && c->phase != PHASE_GONE && c->phase != PHASE_UPGRADED)
            conn_timed_out(c);
    }
    if (s->connections > 0)
        loop_timer_arm(s->sweep, SWEEP_US);
}

/* ---- accepting ---- */

static void format_peer(const struct sockaddr *address, char ret[INET6_ADDRSTRLEN])
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &v4->sin_addr, ret, INET6_ADDRSTRLEN);
    else if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], ret, INET6_ADDRSTRLEN);
    else
        inet_ntop(AF_INET6, &v6->sin6_addr, ret, INET6_ADDRSTRLEN);
}

static struct bufferevent *new_bufferevent(struct http_server *s, int fd)
{
    struct event_base *base = loop_base(s->loop);
    if (!s->options.tls)
        return bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
    SSL *ssl = SSL_new(s->options.tls);
    struct bufferevent *bev = ssl ? bufferevent_openssl_socket_new(base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING,
                                                                   BEV_OPT_CLOSE_ON_FREE) : NULL;
    if (bev)
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    else
        SSL_free(ssl);
    return bev;
}

/* Finds clients whose machine is gone during long polls and streams: no FIN ever comes from them. */
static void set_keepalive(int fd)
{
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){60}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){20}, sizeof(int));
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int n, void *ctx)
{
    struct http_server *s = ctx;
    int room = s->options.limits.connections_max - s->connections;
    if (room <= -REFUSED_MAX) { /* not even a refusal */
        close(fd);
        return;
    }
    struct conn *c = calloc(1, sizeof *c);
    if (c)
        c->bev = new_bufferevent(s, fd);
    if (!c || !c->bev) {
        log_error("http.accept", "no memory for a connection");
        free(c);
        close(fd);
        return;
    }
    set_keepalive(fd);
    c->server = s;
    c->fd = fd;
    c->request.conn = c;
    format_peer(address, c->peer);
    LIST_INSERT_HEAD(&s->conns, c, of_server);
    if (s->connections++ == 0)
        loop_timer_arm(s->sweep, SWEEP_US);
    await_request(c);
    bufferevent_setcb(c->bev, on_readable, on_writable, on_event, c);
    bufferevent_setwatermark(c->bev, EV_READ, 0, INPUT_MAX);
    bufferevent_enable(c->bev, EV_READ | EV_WRITE);
    if (room <= 0)
        refuse_head(c, 503, ERR_UNAVAILABLE, "the server has too many connections; try again in a moment");
}

static void accept_again(void *ctx)
{
    struct http_server *s = ctx;
    if (s->listener)
        evconnlistener_enable(s->listener);
}

static void on_accept_error(struct evconnlistener *listener, void *ctx)
{
    struct http_server *s = ctx;
    log_warning("http.accept", "error=%s action=pause", log_quote(strerror(EVUTIL_SOCKET_ERROR())));
    evconnlistener_disable(listener); /* the listening socket stays readable: going on at once would spin */
    loop_timer_arm(s->accept_again, ACCEPT_PAUSE_US);
}

/* ---- the server ---- */

static int try_listen(const struct sockaddr *address, socklen_t n)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    /* Connections inherit it. Without, streams are 25 times slower (Nagle's algorithm against delayed acknowledgements). */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (address->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int));
    if (bind(fd, address, n) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int listen_on_all(int port)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = in6addr_any};
    int fd = try_listen((struct sockaddr *)&v6, sizeof v6);
    if (fd >= 0 || errno == EADDRINUSE || errno == EACCES)
        return fd;
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)}; /* a kernel without IPv6 */
    return try_listen((struct sockaddr *)&v4, sizeof v4);
}

static int listen_on_host(const char *host, int port, struct error *err)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found;
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    int rc = getaddrinfo(host, service, &hints, &found);
    if (rc)
        return error_set(err, ERR_INVALID, "can't listen on %s: %s", host, gai_strerror(rc));
    int fd = -1;
    for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next)
        fd = try_listen(a->ai_addr, a->ai_addrlen);
    freeaddrinfo(found);
    return fd < 0 ? error_errno(err, "can't listen on %s port %d", host, port) : fd;
}

static int open_listener(struct http_server *s, struct error *err)
{
    const struct http_server_options *o = &s->options;
    int fd = o->bind_host ? listen_on_host(o->bind_host, o->port, err) : listen_on_all(o->port);
    if (fd < 0)
        return o->bind_host ? -1 : error_errno(err, "can't listen on port %d", o->port);

    struct sockaddr_storage bound = {0};
    socklen_t n = sizeof bound;
    getsockname(fd, (struct sockaddr *)&bound, &n);
    s->port = ntohs(bound.ss_family == AF_INET ? ((struct sockaddr_in *)&bound)->sin_port
                                               : ((struct sockaddr_in6 *)&bound)->sin6_port);
    s->listener = evconnlistener_new(loop_base(s->loop), on_accept, s, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
                                     /* backlog= listens already */ 0, fd);
    if (!s->listener) {
        close(fd);
        return error_set(err, ERR_NO_MEMORY, "no memory for a listener");
    }
    evconnlistener_set_error_cb(s->listener, on_accept_error);
    return 0;
}

static void default_limits(struct http_limits *l)
{
    const struct http_limits def = {.body_max = 96 << 20, .bodies_max = 1 << 30, .anonymous_body_max = 1 << 20,
                                    .anonymous_bodies_max = 64 << 20, .connections_max = 20000, .idle_timeout_s = 75,
                                    .read_timeout_s = 30};
#define DEFAULT(field) l->field = l->field ? l->field : def.field
    DEFAULT(body_max);
    DEFAULT(bodies_max);
    DEFAULT(anonymous_body_max);
    DEFAULT(anonymous_bodies_max);
    DEFAULT(connections_max);
    DEFAULT(idle_timeout_s);
    DEFAULT(read_timeout_s);
#undef DEFAULT
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < (rlim_t)l->connections_max + FILES_FOR_OTHERS)
        l->connections_max = files.rlim_cur > 2 * FILES_FOR_OTHERS ? (int)files.rlim_cur - FILES_FOR_OTHERS : FILES_FOR_OTHERS;
}

int http_server_new(struct loop *l, const struct http_server_options *o, struct http_server **ret, struct error *err)
{
    struct http_server *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, ERR_NO_MEMORY, "no memory for an HTTP server");
    s->loop = l;
    s->options = *o;
    default_limits(&s->options.limits);
    TAILQ_INIT(&s->soon);
    LIST_INIT(&s->conns);
    s->sweep = loop_timer_new(l, on_sweep, s);
    s->soon_timer = loop_timer_new(l, on_soon, s);
    s->accept_again = loop_timer_new(l, accept_again, s);
    if (open_listener(s, err) < 0) {
        http_server_free(s);
        return -1;
    }
    *ret = s;
    return 0;
}

int http_server_port(const struct http_server *s)
{
    return s->port;
}

int http_server_connections(const struct http_server *s)
{
    return s->connections;
}

void http_server_stop_accepting(struct http_server *s)
{
    if (s->listener)
        evconnlistener_free(s->listener);
    s->listener = NULL;
    s->stopped = true;
}

void http_server_free(struct http_server *s)
{
    if (!s)
        return;
    http_server_stop_accepting(s);
    for (struct conn *c = LIST_FIRST(&s->conns), *next; c; c = next) {
        next = LIST_NEXT(c, of_server);
        if (c->phase == PHASE_UPGRADED)
            ws_drop(c->ws);
        else if (c->phase != PHASE_GONE)
            conn_end(c);
    }
    while (!LIST_EMPTY(&s->conns))
        conn_destroy(LIST_FIRST(&s->conns));
    loop_timer_free(s->sweep);
    loop_timer_free(s->soon_timer);
    loop_timer_free(s->accept_again);
    strbuf_release(&s->out);
    free(s);
}

/* ---- the request, for handlers ---- */

enum http_method http_request_method(const struct http_request *r)
{
    return r->head.method;
}

const char *http_request_path(const struct http_request *r)
{
    return r->head.path;
}

const char *http_request_query(const struct http_request *r)
{
    return r->head.query;
}

const char *http_request_header(const struct http_request *r, const char *name)
{
    return http1_find(&r->head, name);
}

const char *http_request_peer(const struct http_request *r)
{
    return r->conn->peer;
}

const void *http_request_body(struct http_request *r, size_t *ret_n)
{
    *ret_n = r->body_n;
    return r->body ? r->body : "";
}

void *http_request_take_body(struct http_request *r, size_t *ret_n)
{
    char *body = r->body ? r->body : calloc(1, 1);
    *ret_n = r->body_n;
    r->body = NULL;
    r->body_n = r->body_cap = 0;
    return body;
}

void http_request_set_ctx(struct http_request *r, void *ctx, void (*on_close)(struct http_request *r, void *ctx))
{
    r->ctx = ctx;
    r->on_close = on_close;
}

static void add_cookies(struct strbuf *out, const char *list)
{
    while (*list) {
        list += strspn(list, " \t;");
        size_t n = strcspn(list, ";"), name_n = strcspn(list, "=;");
        if (name_n < n) {
            strbuf_add(out, list, name_n);
            strbuf_addc(out, '\0');
            strbuf_add(out, list + name_n + 1, n - name_n - 1);
            strbuf_addc(out, '\0');
        }
        list += n;
    }
}

const char *http_request_cookie(struct http_request *r, const char *name)
{
    struct strbuf *all = &r->cookies;
    if (all->n == 0)
        for (size_t i = 0; i < r->head.header_n; i++)
            if (strcasecmp(r->head.header[i].name, "Cookie") == 0)
                add_cookies(all, r->head.header[i].value);
    for (size_t at = 0; at < all->n;) {
        const char *value = all->s + at + strlen(all->s + at) + 1;
        if (strcmp(all->s + at, name) == 0)
            return value;
        at = (size_t)(value - all->s) + strlen(value) + 1;
    }
    return NULL;
}

/* ---- WebSocket ---- */

static int check_upgrade(const struct http_request *r, struct error *err)
{
    const struct http1_head *h = &r->head;
    const char *key = http1_find(h, "Sec-WebSocket-Key"), *version = http1_find(h, "Sec-WebSocket-Version");
    if (h->method != HTTP_GET || h->minor_version != 1 || !http1_has_token(h, "Connection", "upgrade") ||
        !http1_has_token(h, "Upgrade", "websocket"))
        return error_set(err, ERR_INVALID, "%s is a WebSocket; connect with ws://, not with a plain request", h->path);
    if (!version || strcmp(version, "13") != 0)
        return error_set(err, ERR_INVALID, "the WebSocket version is %s, supported is 13", version ? version : "missing");
    if (!key || strlen(key) != 24)
        return error_set(err, ERR_INVALID, "Sec-WebSocket-Key is not 16 bytes in base64");
    return 0;
}

static void on_ws_gone(struct ws *w, void *owner)
{
    struct conn *c = owner;
    c->phase = PHASE_GONE;
    conn_soon(c, SOON_DESTROY);
}

static void send_switching(struct http_request *r)
{
    char accept[WS_ACCEPT_MAX];
    ws_accept_key(http1_find(&r->head, "Sec-WebSocket-Key"), accept);
    struct strbuf *out = &r->conn->server->out;
    strbuf_reset(out);
    strbuf_adds(out, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ");
    strbuf_adds(out, accept);
    strbuf_adds(out, "\r\n");
    strbuf_add(out, strbuf_str(&r->extra), r->extra.n);
    strbuf_adds(out, "\r\n");
    conn_send(r->conn, &(struct iovec){out->s, out->n}, 1);
}

int http_upgrade_ws(struct http_request *r, const struct ws_handler *h, struct ws **ret, struct error *err)
{
    struct conn *c = r->conn;
    if (check_upgrade(r, err) < 0)
        return -1;
    send_switching(r);
    request_reset(r);
    bufferevent_setcb(c->bev, NULL, NULL, NULL, NULL);
    bufferevent_setwatermark(c->bev, EV_READ, 0, 0);
    c->phase = PHASE_UPGRADED;
    c->deadline_us = 0;
    c->ws = ws_adopt(c->server->loop, c->bev, h, on_ws_gone, c);
    c->bev = NULL;
    *ret = c->ws;
    return 0;
}
