/* Gives out what a client sends, in pieces: the bodies of requests that were handed over early, and the bytes of
 * connections that have switched protocols. What nobody takes stays in the input buffer; when this is full, nothing
 * more is read from the client. */
#include "net/http/http_internal.h"

#include <errno.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "common/base/must.h"

#define GIVE_AT_ONCE_MAX (1024 * 1024) /* bytes of one connection in one turn, so that it does not hold up the loop */
#define PIECE (256 * 1024)

/* ---- who reads the socket ---------------------------------------------------------------------------------------- */

static void on_body_readable(evutil_socket_t fd, short what, void *ctx)
{
    conn_go_on(ctx);
}

/* Whether the bytes can be read without the bufferevent, which reads only 4 KiB at a time. Chunks are left to it: a
 * piece of them could end in the middle of one that the user does not take any more. */
static bool reads_by_itself(const struct conn *c)
{
    const struct http_request *r = &c->request;
    return !c->server->options.tls && c->phase == PHASE_ANSWER && r->receiver &&
           (r->switched || (r->body_coming && !r->head.chunked));
}

void conn_choose_reader(struct conn *c)
{
    bool itself = reads_by_itself(c) && !c->saw_eof && !c->end_waits, on = c->phase != PHASE_GONE && !c->request.held;
    if (!c->bev)
        return;
    if (itself && !c->readable)
        c->readable = must(event_new(bufferevent_get_base(c->bev), c->fd, EV_READ | EV_PERSIST, on_body_readable, c));
    if (itself && on)
        event_add(c->readable, NULL);
    else if (c->readable)
        event_del(c->readable);
    if (!itself && on)
        bufferevent_enable(c->bev, EV_READ);
    else
        bufferevent_disable(c->bev, EV_READ);
}

static bool takes(const struct conn *c)
{
    const struct http_request *r = &c->request;
    return c->phase == PHASE_ANSWER && r->receiver && !r->held && (r->body_coming || r->switched);
}

static void end_body(struct http_request *r)
{
    const struct http_receiver *to = r->receiver;
    r->body_coming = false;
    r->receiver = NULL;
    conn_choose_reader(r->conn);
    to->on_end(r, r->ctx);
}

static void break_body(struct conn *c)
{
    struct error err = ERROR_INIT;
    struct http_request *r = &c->request;
    request_gone(r);
    if (r->streaming) {
        conn_end(c);
        return;
    }
    error_set(&err, ERR_INVALID, "malformed HTTP request: the chunked body's framing is broken");
    conn_fault(c, 400, &err);
}

/* ---- from the input buffer --------------------------------------------------------------------------------------- */

/* The user's function may end the request, but not free the connection, which happens in a later turn. */
static size_t give_chunked(struct conn *c, const char *in, size_t n)
{
    struct http_request *r = &c->request;
    size_t used, data_n;
    const char *data;
    if (http1_chunks_next(&r->chunks, in, n, &used, &data, &data_n) < 0) {
        break_body(c);
        return 0;
    }
    bool is_over = r->chunks.state == CHUNK_END;
    if (data_n)
        r->receiver->on_data(r, data, data_n, r->ctx);
    if (is_over && r->receiver)
        end_body(r);
    return used;
}

static size_t give_counted(struct conn *c, const char *in, size_t n)
{
    struct http_request *r = &c->request;
    size_t part = n < r->body_left ? n : (size_t)r->body_left;
    r->body_left -= part;
    bool is_over = r->body_left == 0;
    r->receiver->on_data(r, in, part, r->ctx);
    if (is_over && r->receiver)
        end_body(r);
    return part;
}

static size_t give_all(struct conn *c, const char *in, size_t n)
{
    struct http_request *r = &c->request;
    r->receiver->on_data(r, in, n, r->ctx);
    return n;
}

static size_t give(struct conn *c, const char *in, size_t n)
{
    struct http_request *r = &c->request;
    return (r->switched ? give_all : r->head.chunked ? give_chunked : give_counted)(c, in, n);
}

/* Returns the number of bytes that were given out; 0: there are none, or the user does not take them. */
static size_t give_buffered(struct conn *c)
{
    struct evbuffer *in = bufferevent_get_input(c->bev);
    struct evbuffer_iovec v;
    if (!takes(c) || evbuffer_peek(in, -1, NULL, &v, 1) < 1 || v.iov_len == 0)
        return 0;
    size_t used = give(c, v.iov_base, v.iov_len);
    evbuffer_drain(in, used);
    return used;
}

/* ---- from the socket --------------------------------------------------------------------------------------------- */

/* The end of the connection is left for the bufferevent to find. */
static size_t give_from_socket(struct conn *c)
{
    static char piece[PIECE]; /* static, since only the loop's thread uses it */
    const struct http_request *r = &c->request;
    if (!reads_by_itself(c) || !takes(c))
        return 0;
    size_t want = !r->switched && r->body_left < sizeof(piece) ? (size_t)r->body_left : sizeof(piece);
    ssize_t n = read(c->fd, piece, want);
    if (n > 0)
        return give(c, piece, (size_t)n);
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        c->end_waits = true;
        conn_choose_reader(c);
    }
    return 0;
}

bool conn_receive(struct conn *c)
{
    size_t given = 0, n;
    while (given < GIVE_AT_ONCE_MAX && ((n = give_buffered(c)) > 0 || (n = give_from_socket(c)) > 0))
        given += n;
    if (given >= GIVE_AT_ONCE_MAX && takes(c))
        conn_soon(c, SOON_RECEIVE);
    return c->phase == PHASE_HEAD;
}

void conn_receive_rest(struct conn *c)
{
    if (!c->request.switched)
        return;
    do
        c->request.held = false;
    while (give_buffered(c) > 0);
}

/* ---- for the user ------------------------------------------------------------------------------------------------ */

void http_receive(struct http_request *r, const struct http_receiver *receiver)
{
    r->receiver = receiver;
    conn_choose_reader(r->conn);
    conn_soon(r->conn, SOON_RECEIVE);
}

/* While it is held, nothing is read. */
void http_receive_hold(struct http_request *r, bool on)
{
    if (r->held == on)
        return;
    r->held = on;
    conn_choose_reader(r->conn);
    if (!on)
        conn_soon(r->conn, SOON_RECEIVE);
}
