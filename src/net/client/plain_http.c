#include "net/client/plain_http.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "net/client/http_failure.h"
#include "net/client/proxy_choice.h"
#include "net/client/tcp_connect.h"
#include "net/http/http1.h"

enum { HTTP_PORT = 80, PORT_MAX = 65535, HEAD_MAX = 1 << 18, READ_N = 1 << 15, LOOK_MS = 1000 };

/* ---- which requests are plain ------------------------------------------------------------------------------------ */

static bool is_method(const char *method)
{
    static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(method, known[i]) == 0)
            return true;
    return false;
}

/* Reads "name", "10.0.0.1" or "[::1]". Returns what follows, or NULL: it is something else, such as a user's name or a
 * name that is not ASCII. */
static const char *read_host(const char *s, char ret[PLAIN_HOST_MAX])
{
    bool bracketed = *s == '[';
    size_t n = strspn(s + bracketed, bracketed ? "0123456789abcdefABCDEF:."
                                               : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._");
    if (n == 0 || n >= PLAIN_HOST_MAX)
        return NULL;
    memcpy(ret, s + bracketed, n);
    ret[n] = '\0';
    s += bracketed + n;
    return !bracketed ? s : *s == ']' ? s + 1 : NULL;
}

static const char *read_port(const char *s, int *ret)
{
    char *end;
    *ret = HTTP_PORT;
    if (*s != ':')
        return s;
    long port = isdigit((unsigned char)s[1]) ? strtol(s + 1, &end, 10) : 0;
    *ret = (int)port;
    return port > 0 && port <= PORT_MAX ? end : NULL;
}

/* Whether the path can be sent as it is written. libcurl resolves "..", and knows what to do with other characters. */
static bool is_simple_path(const char *s)
{
    if ((*s && *s != '/') || strstr(s, "/."))
        return false;
    while (*s > ' ' && *s < 0x7f && *s != '#')
        s++;
    return !*s;
}

bool plain_http_serves(const struct http_fetch *f, struct plain_target *ret)
{
    if (strncasecmp(f->url, "http://", 7) != 0 || f->unix_socket || f->body_n > PLAIN_BODY_MAX || !is_method(f->method))
        return false;
    const char *s = read_host(f->url + 7, ret->host);
    s = s ? read_port(s, &ret->port) : NULL;
    if (!s || !is_simple_path(s))
        return false;
    ret->path = s;
    return !proxy_is_needed(/* tls= */ false, ret->host, ret->port);
}

/* ---- one exchange ------------------------------------------------------------------------------------------------ */

struct exchange {
    const struct http_fetch *f;
    const struct plain_target *to;
    struct http_fetch_reply *reply;
    char place[PLAIN_HOST_MAX + 32]; /* "http://host:port", for error messages */
    int fd;
    bool reused;    /* the connection was open already */
    int64_t end_us; /* 0: no limit */
    size_t reply_max;

    struct strbuf out; /* the request */
    size_t head_n, sent;
    bool unsendable; /* the server takes no more of it; it may have answered before */

    struct strbuf head; /* of the answer, as far as it has come */
    struct http1_answer answer;
    bool begun;    /* a byte of the answer has come */
    bool answered; /* the answer's head is whole */
    bool keep_alive;
    bool redirected; /* the answer to a GET leads elsewhere; its body is not read */
    struct http1_chunks chunks;
    uint64_t received; /* bytes of the body */
    bool over;         /* the answer is whole, or nothing more of it is needed */
};

static void describe_place(struct exchange *x, const char *url)
{
    size_t n = 7 + strcspn(url + 7, "/");
    snprintf(x->place, sizeof(x->place), "http://%.*s", (int)(n - 7), url + 7);
}

static bool is_get(const struct exchange *x)
{
    return strcmp(x->f->method, "GET") == 0;
}

static void write_request(struct exchange *x)
{
    const struct http_fetch *f = x->f;
    bool v6 = strchr(x->to->host, ':');
    strbuf_addf(&x->out, "%s %s%s HTTP/1.1\r\nHost: %s%s%s", f->method, *x->to->path ? "" : "/", x->to->path,
                v6 ? "[" : "", x->to->host, v6 ? "]" : "");
    if (x->to->port != HTTP_PORT)
        strbuf_addf(&x->out, ":%d", x->to->port);
    strbuf_adds(&x->out, "\r\nUser-Agent: " HTTP_USER_AGENT "\r\nAccept: */*\r\n");
    for (const char *const *h = f->header; h && *h; h++)
        strbuf_addf(&x->out, "%s\r\n", *h);
    if (f->body || (!is_get(x) && strcmp(f->method, "HEAD") != 0))
        strbuf_addf(&x->out, "Content-Length: %zu\r\n", f->body ? f->body_n : 0);
    strbuf_adds(&x->out, "\r\n");
    x->head_n = x->out.n;
    if (f->body)
        strbuf_add(&x->out, f->body, f->body_n);
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static bool has_body(const struct exchange *x)
{
    return strcmp(x->f->method, "HEAD") != 0 && x->answer.status != 204 && x->answer.status != 304;
}

static const char *header_of(const struct http1_answer *a, const char *name)
{
    for (size_t i = 0; i < a->header_n; i++)
        if (strcasecmp(a->header[i].name, name) == 0)
            return a->header[i].value;
    return NULL;
}

/* Takes what is needed of the head's text, which is not kept. */
static void take_head(struct exchange *x)
{
    const struct http1_answer *a = &x->answer;
    const char *type = header_of(a, "Content-Type"), *date = header_of(a, "Date");
    const char *connection = header_of(a, "Connection");
    x->answered = true;
    x->keep_alive = a->minor_version == 1 && !(connection && http1_list_has(connection, "close"));
    x->redirected = is_get(x) && a->status >= 300 && a->status < 400 && a->status != 304 && header_of(a, "Location");
    x->reply->status = a->status;
    snprintf(x->reply->content_type, sizeof(x->reply->content_type), "%s", type ? type : "");
    snprintf(x->reply->date, sizeof(x->reply->date), "%s", date ? date : "");
    x->over = x->redirected || !has_body(x) || (a->has_length && a->length == 0);
}

/* Hands a piece of the body over. */
static int take_body(struct exchange *x, const char *data, size_t n, struct error *err)
{
    const struct http_fetch *f = x->f;
    struct strbuf *body = &x->reply->body;
    x->received += n;
    if (f->on_data && x->answer.status < 300) {
        if (f->on_data(data, n, f->ctx) < 0)
            return http_failure_stopped(x->place, err);
    } else {
        if (n > x->reply_max - body->n)
            return http_failure_too_big(x->place, x->reply_max, err);
        strbuf_add(body, data, n);
    }
    if (f->on_download && x->answer.has_length)
        f->on_download((size_t)x->received, (size_t)x->answer.length, f->ctx);
    return 0;
}

static int take_chunks(struct exchange *x, const char *data, size_t n, struct error *err)
{
    while (n > 0 && !x->over) {
        const char *piece;
        size_t used, piece_n;
        if (http1_chunks_next(&x->chunks, data, n, &used, &piece, &piece_n) < 0)
            return http_failure_reach(x->place, "its answer can't be read: a chunk of it has no valid length", err);
        if (piece_n && take_body(x, piece, piece_n, err) < 0)
            return -1;
        data += used;
        n -= used;
        x->over = x->chunks.state == CHUNK_END;
    }
    x->keep_alive &= n == 0;
    return 0;
}

static int take_data(struct exchange *x, const char *data, size_t n, struct error *err)
{
    if (n == 0)
        return 0;
    if (x->over) { /* more than the answer: nothing that follows on this connection could be trusted */
        x->keep_alive = false;
        return 0;
    }
    if (x->answer.chunked)
        return take_chunks(x, data, n, err);
    uint64_t left = x->answer.has_length ? x->answer.length - x->received : UINT64_MAX;
    size_t own = n < left ? n : (size_t)left;
    if (take_body(x, data, own, err) < 0)
        return -1;
    x->over = own == left;
    x->keep_alive &= own == n;
    return 0;
}

/* Reads the head once it is whole. What follows it is the body's. Heads with a status of 1xx only announce another. */
static int take_answer(struct exchange *x, const char *data, size_t n, struct error *err)
{
    cleanup_error struct error why = ERROR_INIT;
    strbuf_add(&x->head, data, n);
    while (!x->answered) {
        size_t known = x->head.n < 5 ? x->head.n : 5;
        const char *end = memmem(x->head.s, x->head.n, "\r\n\r\n", 4);
        if (memcmp(x->head.s, "HTTP/", known) != 0)
            return http_failure_reach(x->place, HTTP_NO_HTTP, err);
        if (!end && x->head.n <= HEAD_MAX)
            return 0;
        size_t head_n = end ? (size_t)(end - x->head.s) + 4 : x->head.n;
        if (http1_parse_answer(x->head.s, head_n, &x->answer, &why) < 0)
            return error_set(err, ERR_UNAVAILABLE, "can't reach %s: its answer can't be read: %s", x->place,
                             error_msg(&why));
        if (x->answer.status >= 200)
            take_head(x);
        strbuf_consume(&x->head, head_n);
        if (x->head.n == 0)
            return 0;
    }
    return take_data(x, x->head.s, x->head.n, err);
}

/* The connection has ended, in order or not. A server that refuses an upload may answer and close before it has read
 * the whole body; its answer counts, even if the end of it was lost with what was not read. */
static int take_end(struct exchange *x, struct error *err)
{
    x->keep_alive = false;
    if (x->over)
        return 0;
    bool until_end = x->answered && !x->answer.chunked && !x->answer.has_length;
    bool refused_early = x->answered && x->answer.status >= 400 && x->sent < x->out.n;
    x->over = until_end || refused_early;
    return x->over ? 0 : http_failure_reach(x->place, x->answered ? HTTP_BROKE_OFF : HTTP_NO_HTTP, err);
}

static int receive(struct exchange *x, struct error *err)
{
    char data[READ_N];
    ssize_t n = recv(x->fd, data, sizeof(data), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return take_end(x, err);
    x->begun = true;
    return x->answered ? take_data(x, data, (size_t)n, err) : take_answer(x, data, (size_t)n, err);
}

/* ---- the request, and waiting ------------------------------------------------------------------------------------ */

static void send_more(struct exchange *x)
{
    ssize_t n = send(x->fd, x->out.s + x->sent, x->out.n - x->sent, MSG_NOSIGNAL);
    if (n < 0) {
        x->unsendable = errno != EAGAIN && errno != EINTR;
        return;
    }
    x->sent += (size_t)n;
    if (x->f->on_upload && x->f->body_n && x->sent > x->head_n)
        x->f->on_upload(x->sent - x->head_n, x->f->body_n, x->f->ctx);
}

static bool is_abandoned(const struct exchange *x)
{
    return x->f->abandoned && atomic_load(x->f->abandoned);
}

static int timed_out(const struct exchange *x, bool connected, struct error *err)
{
    cleanup_strbuf struct strbuf why = STRBUF_INIT;
    http_failure_timeout(x->f, connected, &why);
    return http_failure_reach(x->place, strbuf_str(&why), err);
}

/* Milliseconds that may be waited; -1: for ever. */
static int patience_ms(const struct exchange *x, int64_t now_us)
{
    int64_t left_ms = x->end_us ? (x->end_us - now_us + 999) / 1000 : -1;
    if (x->f->abandoned && (left_ms < 0 || left_ms > LOOK_MS))
        left_ms = LOOK_MS;
    return left_ms > INT32_MAX ? INT32_MAX : (int)left_ms;
}

static int talk(struct exchange *x, struct error *err)
{
    while (!x->over) {
        bool sending = x->sent < x->out.n && !x->unsendable;
        struct pollfd p = {.fd = x->fd, .events = (short)(POLLIN | (sending ? POLLOUT : 0))};
        int64_t now_us = x->end_us ? clock_monotonic_us() : 0;
        if (is_abandoned(x))
            return http_failure_stopped(x->place, err);
        if (x->end_us && now_us >= x->end_us)
            return timed_out(x, /* connected= */ true, err);
        if (poll(&p, 1, patience_ms(x, now_us)) <= 0)
            continue;
        if ((p.revents & (POLLIN | POLLHUP | POLLERR)) && receive(x, err) < 0)
            return -1;
        if ((p.revents & POLLOUT) && sending && !x->over)
            send_more(x);
    }
    x->keep_alive &= x->sent == x->out.n;
    return 0;
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

void plain_http_init(struct plain_http *p)
{
    *p = (struct plain_http){.fd = -1};
}

void plain_http_release(struct plain_http *p)
{
    if (p->fd >= 0)
        close(p->fd);
    plain_http_init(p);
}

/* Takes the connection that was kept, if it leads there and the server has not closed it. */
static bool take_kept(struct plain_http *p, struct exchange *x)
{
    struct pollfd quiet = {.fd = p->fd, .events = POLLIN};
    if (p->fd < 0 || p->to.port != x->to->port || strcasecmp(p->to.host, x->to->host) != 0 || poll(&quiet, 1, 0) != 0) {
        plain_http_release(p);
        return false;
    }
    x->fd = p->fd;
    p->fd = -1;
    return true;
}

static int connect_new(struct exchange *x, struct error *err)
{
    const struct http_fetch *f = x->f;
    int seconds = f->connect_timeout_s > 0 ? f->connect_timeout_s : HTTP_CONNECT_TIMEOUT_S, os_error = 0;
    cleanup_strbuf struct strbuf why = STRBUF_INIT;
    struct tcp_connect c = {.host = x->to->host,
                            .port = x->to->port,
                            .end_us = clock_monotonic_us() + seconds * 1000000ll,
                            .abandoned = f->abandoned};
    if (x->end_us && x->end_us < c.end_us)
        c.end_us = x->end_us;
    switch (tcp_connect(&c, &x->fd, &os_error)) {
    case TCP_CONNECTED:
        return 0;
    case TCP_ABANDONED:
        return http_failure_stopped(x->place, err);
    case TCP_LATE:
        return timed_out(x, /* connected= */ false, err);
    case TCP_UNRESOLVED:
        return http_failure_reach(x->place, HTTP_UNRESOLVED, err);
    case TCP_FAILED:
        http_failure_unreachable(os_error, /* of_master= */ true, &why);
    }
    return http_failure_reach(x->place, strbuf_str(&why), err);
}

/* One attempt; the connection is kept if it can serve another exchange. */
static int try_once(struct plain_http *p, struct exchange *x, struct error *err)
{
    x->fd = -1;
    x->reused = take_kept(p, x);
    int rc = x->reused ? 0 : connect_new(x, err);
    if (rc == 0)
        rc = talk(x, err);
    if (rc == 0 && x->keep_alive && !x->redirected) {
        p->fd = x->fd;
        p->to = *x->to;
        p->to.path = "";
    } else if (x->fd >= 0) {
        close(x->fd);
    }
    return rc;
}

int plain_http_fetch(struct plain_http *p, const struct plain_target *to, const struct http_fetch *f,
                     struct http_fetch_reply *ret, bool *ret_redirected, struct error *err)
{
    struct http_fetch_reply reply = {0};
    struct exchange x = {.f = f, .to = to, .reply = &reply, .reply_max = f->reply_max ? f->reply_max : HTTP_REPLY_MAX};
    cleanup_error struct error why = ERROR_INIT;
    describe_place(&x, f->url);
    x.end_us = f->timeout_s > 0 ? clock_monotonic_us() + f->timeout_s * 1000000ll : 0;
    write_request(&x);
    int rc = try_once(p, &x, &why);
    /* The server may close a connection that it has kept open just when the next request is sent. */
    if (rc < 0 && x.reused && !x.begun && why.kind == ERR_UNAVAILABLE &&
        !(x.end_us && clock_monotonic_us() >= x.end_us)) {
        x.sent = 0;
        x.unsendable = false;
        error_release(&why);
        rc = try_once(p, &x, &why);
    }
    *ret_redirected = rc == 0 && x.redirected;
    if (rc == 0 && !x.redirected)
        *ret = reply;
    else
        http_fetch_reply_release(&reply);
    if (rc < 0)
        error_move(err, &why);
    strbuf_release(&x.out);
    strbuf_release(&x.head);
    return rc;
}
