/* Reads a request: its head, then its body, within the limits of size and time. */
#include "common/base/must.h"
#include "net/http/http_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include "common/base/clock.h"

/* bytes of a body that are read in one turn, so that one upload does not hold up the loop */
#define READ_AT_ONCE_MAX (1024 * 1024)
#define BODY_BYTES_PER_S (16 * 1024) /* a client slower than this is cut off: 408 */

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

/* Reserves n more bytes in the server's counts of bodies. Returns false if there is no room. */
static bool reserve_body_bytes(struct http_request *r, size_t n)
{
    struct http_server *s = r->conn->server;
    const struct http_limits *max = &s->options.limits;
    /* the bytes that are read here were counted in `unread` */
    size_t anonymous = s->anonymous_bodies + s->unread - r->conn->unread;
    if (n > max->bodies_max - s->bodies || (r->anonymous && n + anonymous > max->anonymous_bodies_max))
        return false;
    s->bodies += n;
    if (r->anonymous)
        s->anonymous_bodies += n;
    r->charged += n;
    return true;
}

static size_t allowed_body(struct http_request *r, uint64_t total)
{
    const struct http_server_options *o = &r->conn->server->options;
    if (r->anonymous)
        return o->limits.anonymous_body_max;
    if (total > o->limits.body_max && o->body_max && !r->body_max)
        r->body_max = o->body_max(r, o->ctx); /* a chunked body asks only once */
    return r->body_max > o->limits.body_max ? r->body_max : o->limits.body_max;
}

static int admit_body(struct http_request *r, uint64_t total, int *ret_status, struct error *err)
{
    size_t allowed = allowed_body(r, total);
    if (total > allowed) {
        *ret_status = 413;
        return error_set(err, ERR_TOO_LARGE, "the request's body of %s%llu bytes is too big, at most %zu are allowed%s",
                         r->head.chunked ? "over " : "", (unsigned long long)(r->head.chunked ? r->body_n : total),
                         allowed, r->anonymous ? " without credentials" : "");
    }
    if (reserve_body_bytes(r, (size_t)total - r->charged))
        return 0;
    *ret_status = 503;
    return error_set(err, ERR_UNAVAILABLE, "the server is reading too many big requests; try again in a moment");
}

/* Makes room for n more bytes and the NUL byte after them. The room grows with the bytes that have come: a client that
 * only announces 96 MiB costs nothing. */
static int body_reserve(struct http_request *r, size_t n)
{
    size_t need = r->body_n + n + 1;
    if (need <= r->body_cap)
        return 0;
    size_t cap = 2 * r->body_cap > need ? 2 * r->body_cap : need;
    if (!r->head.chunked && cap > r->head.length + 1)
        cap = r->head.length + 1;
    char *body = must_realloc(r->body, cap);
    r->body = body;
    r->body_cap = cap;
    return 0;
}

static int body_add(struct http_request *r, const void *data, size_t n, int *ret_status, struct error *err)
{
    if (r->head.chunked && admit_body(r, r->body_n + n, ret_status, err) < 0)
        return -1;
    if (body_reserve(r, n) < 0) {
        *ret_status = 503;
        return error_set(err, ERR_NO_MEMORY, "no memory for the request's body");
    }
    memcpy(r->body + r->body_n, data, n);
    r->body_n += n;
    return 0;
}

/* The start of the input, in one piece. */
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

/* Reads from the socket directly, since libevent reads only 4 KiB at a time. The end of the connection is left for the
 * bufferevent to find. */
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

/* Returns true if processing can go on. */
bool conn_read_body(struct conn *c)
{
    struct http_request *r = &c->request;
    struct error err = ERROR_INIT;
    int status;
    if ((r->head.chunked ? read_chunked : read_counted)(c, &status, &err) < 0) {
        conn_fault(c, status, &err);
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

/* ---- heads ------------------------------------------------------------------------------------------------------- */

/* Prepares for the body of a request. Returns true if the body may be read. */
static bool start_body(struct conn *c)
{
    struct http_server *s = c->server;
    struct http_request *r = &c->request;
    struct error err = ERROR_INIT;
    int status;
    r->anonymous = s->options.has_credentials && !s->options.has_credentials(r, s->options.ctx);
    if (!r->head.chunked && admit_body(r, r->head.length, &status, &err) < 0) {
        conn_fault(c, status, &err);
        return false;
    }
    if (r->head.expects_continue && evbuffer_get_length(bufferevent_get_input(c->bev)) == 0) {
        static char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
        conn_send(c, &(struct iovec){go_on, sizeof(go_on) - 1}, 1);
    }
    c->phase = PHASE_BODY;
    c->body_start_us = clock_monotonic_us();
    return true;
}

static int head_reserve(struct conn *c, size_t n)
{
    if (n <= c->head_cap)
        return 0;
    char *text = must_realloc(c->head_text, n);
    c->head_text = text;
    c->head_cap = n;
    return 0;
}

void conn_refuse(struct conn *c, int status, enum error_kind kind, const char *why)
{
    struct error err = ERROR_INIT;
    c->request.head.method = HTTP_GET;
    c->request.head.minor_version = 1;
    error_set(&err, kind, "%s", why);
    conn_fault(c, status, &err);
}

/* Finds the end of the head at the start of the input, and puts the head's length into *ret_n. Returns 0 if more input
 * is needed, and -1 if there will never be an end; the request was refused then. */
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
        conn_refuse(c, 431, ERR_TOO_LARGE, "the request's headers are over 64 KiB");
        return -1;
    }
    if (c->searched == 0)
        c->deadline_us = clock_monotonic_us() + c->server->options.limits.read_timeout_s * 1000000ll;
    c->searched = have;
    return 0;
}

/* Skips empty lines before a request (RFC 9112 2.2), and refuses at once what cannot begin a request, instead of
 * waiting until its time is over. Returns false if there is nothing to parse. */
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
    conn_refuse(c, 400, ERR_INVALID,
                *first == 0x16 ? "this port speaks plain HTTP, not TLS; use http://"
                               : "malformed HTTP request: the request line does not start with a method");
    return false;
}

/* Returns true if processing can go on. */
bool conn_read_head(struct conn *c)
{
    struct http_request *r = &c->request;
    struct error err = ERROR_INIT;
    size_t n;
    int status;
    if ((c->searched == 0 && !check_first_bytes(c)) || find_head(c, &n) <= 0)
        return false;
    if (head_reserve(c, n) < 0) {
        conn_refuse(c, 503, ERR_NO_MEMORY, "no memory for the request");
        return false;
    }
    evbuffer_remove(bufferevent_get_input(c->bev), c->head_text, n);
    if (http1_parse_head(c->head_text, n, &r->head, &status, &err) < 0) {
        conn_refuse(c, status, err.kind, error_msg(&err));
        error_release(&err);
        return false;
    }
    c->close_after = !r->head.keep_alive;
    bool has_body = r->head.length > 0 || r->head.chunked;
    r->early = c->server->options.early && c->server->options.early(r, c->server->options.ctx);
    if (has_body && !r->early)
        return start_body(c);
    r->body_coming = has_body;
    r->body_left = r->head.length;
    call_handler(c);
    return true;
}
