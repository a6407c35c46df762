/* One connection, from request to request until its end. */
#include "common/base/must.h"
#include "net/http/http_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "common/base/clock.h"
#include "common/system/log.h"

#define FLUSH_MAX (16 * 1024) /* bytes of output that may be queued when the next request is read */
#define FLUSH_STALL_US (120 * 1000000ll)
#define LINGER_US (5 * 1000000ll)
#define HEAD_KEPT_MAX (4 * 1024) /* bytes of memory for heads that a connection keeps between requests */

static void await_request(struct conn *c)
{
    if (c->head_cap > HEAD_KEPT_MAX) {
        free(c->head_text);
        c->head_text = NULL;
        c->head_cap = 0;
        strbuf_release(&c->request.cookies);
    }
    c->phase = PHASE_HEAD;
    c->searched = 0;
    c->deadline_us = clock_monotonic_us() + c->server->options.limits.idle_timeout_s * 1000000ll;
}

static void await_flush(struct conn *c)
{
    c->phase = PHASE_FLUSH;
    c->unflushed = 0;
    c->deadline_us = clock_monotonic_us() + FLUSH_STALL_US;
}

void conn_end(struct conn *c)
{
    struct http_request *r = &c->request;
    bool unanswered = c->phase == PHASE_ANSWER;
    c->phase = PHASE_GONE;
    bufferevent_setcb(c->bev, NULL, NULL, NULL, NULL);
    bufferevent_disable(c->bev, EV_READ | EV_WRITE);
    if (c->readable)
        event_del(c->readable);
    conn_soon(c, SOON_DESTROY);
    if (unanswered)
        request_gone(r);
    request_reset(r);
}

void request_gone(struct http_request *r)
{
    void (*on_close)(struct http_request *r, void *ctx) = r->on_close;
    r->on_close = NULL;
    r->receiver = NULL;
    conn_choose_reader(r->conn);
    if (on_close)
        on_close(r, r->ctx);
}

void conn_free(struct conn *c)
{
    struct http_server *s = c->server;
    struct http_request *r = &c->request;
    if (c->soon)
        TAILQ_REMOVE(&s->soon, c, of_soon);
    LIST_REMOVE(c, of_server);
    s->connections--;
    s->unread -= c->unread;
    if (c->readable)
        event_free(c->readable);
    if (c->bev)
        bufferevent_free(c->bev);
    strbuf_release(&r->extra);
    strbuf_release(&r->stream_head);
    strbuf_release(&r->cookies);
    free(c->head_text);
    free(c);
}

/* ---- from request to request ------------------------------------------------------------------------------------- */

/* Counts the input that waits in the server's `unread`. Returns false if it has grown and there is no room for it. Half
 * of the room is reserved for bodies, so that heads which never end cannot keep everybody from logging in. */
static bool count_unread(struct conn *c)
{
    struct http_server *s = c->server;
    size_t before = c->unread;
    /* what somebody takes in pieces is limited by its connection: its user decides how many of these there are */
    bool counts = c->bev && c->phase != PHASE_GONE && !c->request.receiver;
    c->unread = counts ? evbuffer_get_length(bufferevent_get_input(c->bev)) : 0;
    s->unread += c->unread - before;
    size_t room = s->options.limits.anonymous_bodies_max;
    return c->unread <= before || (s->unread <= room / 2 && s->unread + s->anonymous_bodies <= room);
}

/* Refuses input for which there is no room. While a request is being answered no refusal can be sent, and without
 * reading the server would not notice that the client leaves, so the connection is ended. */
static void refuse_unread(struct conn *c)
{
    if (c->phase == PHASE_HEAD)
        conn_refuse(c, 503, ERR_UNAVAILABLE, "the server is reading too many requests; try again in a moment");
    else
        conn_end(c);
}

/* Handles requests as long as whole ones are there and each is answered at once. This is a loop, so that a thousand
 * pipelined requests do not nest a thousand calls. */
static void conn_process(struct conn *c)
{
    bool more = true;
    c->processing = true;
    while (more && !(c->soon & SOON_LOST)) {
        if (c->phase == PHASE_HEAD)
            more = conn_read_head(c);
        else if (c->phase == PHASE_BODY)
            more = conn_read_body(c);
        else
            more = c->phase == PHASE_ANSWER && conn_receive(c);
    }
    if (!count_unread(c))
        refuse_unread(c);
    c->processing = false;
}

void conn_go_on(struct conn *c)
{
    conn_process(c);
}

static void discard_input(struct conn *c)
{
    evbuffer_drain(bufferevent_get_input(c->bev), INPUT_MAX);
    count_unread(c);
}

/* Called when everything queued has gone to the kernel. */
static void conn_flushed(struct conn *c)
{
    if (!c->close_after) {
        await_request(c);
        conn_process(c);
    } else if (c->linger && !c->saw_eof) {
        /* Closing a socket with unread input resets the connection, and the client might then never see the answer. */
        c->phase = PHASE_LINGER;
        c->deadline_us = clock_monotonic_us() + LINGER_US;
        shutdown(c->fd, SHUT_WR);
        discard_input(c);
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

/* ---- what happens in the loop's next turn ------------------------------------------------------------------------ */

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

static void conn_run_soon(struct conn *c, unsigned what)
{
    if (what & SOON_DESTROY) {
        conn_free(c);
        return;
    }
    if (what & SOON_LOST && c->phase != PHASE_UPGRADED && c->phase != PHASE_GONE) {
        conn_end(c);
        return;
    }
    if (what & SOON_FLUSHED && c->phase == PHASE_FLUSH && conn_unsent(c) == 0)
        conn_flushed(c);
    else if ((what & SOON_PROCESS && c->phase == PHASE_HEAD) || (what & SOON_RECEIVE && c->phase == PHASE_ANSWER))
        conn_process(c);
    if (what & SOON_DRAINED)
        stream_drained(c);
}

/* Requests of this kind that come up meanwhile wait for the next turn: a stream that always has more data must not hold
 * up the loop. */
void conns_run_soon(void *ctx)
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

/* ---- writing ----------------------------------------------------------------------------------------------------- */

size_t conn_unsent(const struct conn *c)
{
    return evbuffer_get_length(bufferevent_get_output(c->bev));
}

/* Writes to the socket directly. The usual answer fits into the socket's buffer, and this saves arming and disarming
 * EV_WRITE: two system calls and a turn of the loop for each request. */
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

static void free_memory(const void *data, size_t n, void *memory)
{
    free(memory);
}

/* Queues what the kernel does not accept at once. The last part is queued without a copy if `memory` holds it. */
static void send_or_queue(struct conn *c, const struct iovec *part, int parts, void *memory)
{
    size_t sent = send_now(c, part, parts);
    struct evbuffer *out = bufferevent_get_output(c->bev);
    for (int i = 0; i < parts; i++) {
        size_t skip = sent < part[i].iov_len ? sent : part[i].iov_len, left = part[i].iov_len - skip;
        char *rest = (char *)part[i].iov_base + skip;
        sent -= skip;
        if (left == 0)
            continue;
        if (memory && i == parts - 1 && evbuffer_add_reference(out, rest, left, free_memory, memory) == 0)
            return;
        if (evbuffer_add(out, rest, left) < 0)
            conn_soon(c, SOON_LOST);
    }
    free(memory);
}

void conn_send(struct conn *c, const struct iovec *part, int parts)
{
    if (!(c->soon & SOON_LOST))
        send_or_queue(c, part, parts, NULL);
}

void conn_send_take(struct conn *c, const struct iovec *part, int parts, void *memory)
{
    if (c->soon & SOON_LOST)
        free(memory);
    else
        send_or_queue(c, part, parts, memory);
}

void request_finish(struct http_request *r)
{
    struct conn *c = r->conn;
    if (r->body_coming) /* nobody takes the rest of the body: what follows cannot be told from it */
        c->close_after = c->linger = true;
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

static void default_error_body(int status, const struct error *e, struct strbuf *out)
{
    strbuf_addf(out, "{\"error\":{\"code\":%d,\"reason\":\"%s\",\"error\":", error_rpc_code(e->kind),
                error_rpc_name(e->kind));
    strbuf_add_json(out, error_msg(e), strlen(error_msg(e)));
    strbuf_adds(out, "}}\n");
}

void conn_fault(struct conn *c, int status, struct error *e)
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

/* ---- libevent's callbacks ---------------------------------------------------------------------------------------- */

static void on_readable(struct bufferevent *bev, void *ctx)
{
    struct conn *c = ctx;
    if (c->phase == PHASE_LINGER)
        discard_input(c);
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

/* Ends the connection, unless the client has only closed its sending side and an answer is on its way: that answer is
 * finished first. */
static void on_event(struct bufferevent *bev, short what, void *ctx)
{
    struct conn *c = ctx;
    if (what & BEV_EVENT_CONNECTED) /* the TLS handshake is complete */
        return;
    c->saw_eof = true;
    c->close_after = true;
    if (c->phase == PHASE_ANSWER && !(what & BEV_EVENT_ERROR))
        conn_receive_rest(c);
    if (c->phase == PHASE_HEAD && conn_unsent(c) > 0)
        await_flush(c);
    if (what & BEV_EVENT_ERROR || c->phase != PHASE_FLUSH)
        conn_end(c);
}

/* ---- time-outs --------------------------------------------------------------------------------------------------- */

void conn_timed_out(struct conn *c)
{
    struct error err = ERROR_INIT;
    switch (c->phase) {
    case PHASE_HEAD:
        if (c->searched == 0) { /* idle between two requests */
            conn_end(c);
            break;
        }
        conn_refuse(c, 408, ERR_DEADLINE, "the request's headers came too slowly");
        break;
    case PHASE_BODY:
        error_set(&err, ERR_DEADLINE, "the request's body came too slowly");
        conn_fault(c, 408, &err);
        break;
    case PHASE_FLUSH:
        if (c->unflushed == 0 || conn_unsent(c) < c->unflushed) { /* the client reads slowly, but it reads */
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

/* ---- its beginning ----------------------------------------------------------------------------------------------- */

struct conn *conn_new(struct http_server *s, struct bufferevent *bev, int fd)
{
    struct conn *c = must_calloc(1, sizeof(*c));
    c->server = s;
    c->bev = bev;
    c->fd = fd;
    c->request.conn = c;
    LIST_INSERT_HEAD(&s->conns, c, of_server);
    s->connections++;
    await_request(c);
    bufferevent_setcb(bev, on_readable, on_writable, on_event, c);
    bufferevent_setwatermark(bev, EV_READ, 0, INPUT_MAX);
    bufferevent_set_max_single_write(bev, WRITE_MAX);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
    return c;
}
