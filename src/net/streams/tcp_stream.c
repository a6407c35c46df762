/* Byte streams over descriptors: TCP connections, and pairs of pipes. They are read and written without a bufferevent:
 * libevent 2.1 reads at most 4 KiB at a time through one, and what is read here goes to the user without a copy. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/util.h>

#include "common/base/must.h"
#include "net/streams/byte_stream_internal.h"

struct tcp_stream {
    struct byte_stream s;
    int in, out; /* the same for a socket; -1: closed */
    struct event *readable, *writable;
    struct evbuffer *waiting; /* written, and not taken by the kernel yet; NULL: nothing */
    bool connecting, held, ending;
    bool end_sent, end_seen;
    int failed;          /* errno of what ended it, which the user is still to be told; 0: nothing */
    int port, timeout_s; /* of the dialling */
    char address[46];
};

static struct tcp_stream *tcp_of(const struct byte_stream *s)
{
    return (struct tcp_stream *)s;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static void close_out(struct tcp_stream *t)
{
    if (t->out < 0)
        return;
    event_del(t->writable);
    if (t->out == t->in) {
        shutdown(t->out, SHUT_WR);
    } else {
        close(t->out);
        t->out = -1;
    }
}

static void send_end(struct tcp_stream *t)
{
    t->end_sent = true;
    close_out(t);
    if (t->end_seen)
        stream_soon(&t->s); /* which closes it */
}

static void fail_later(struct tcp_stream *t, int code)
{
    if (!t->failed)
        t->failed = code;
    if (t->waiting)
        evbuffer_free(t->waiting);
    t->waiting = NULL;
    event_del(t->writable);
    stream_soon(&t->s);
}

static void dial_failed(struct tcp_stream *t, const char *why)
{
    char text[256];
    snprintf(text, sizeof(text), "no program answers at port %d of %s: %s", t->port, t->address, why);
    stream_tell_close(&t->s, text);
}

/* Nothing can be written any more. What the peer has sent before is still there, and belongs to the user: a server that
 * refuses a request without reading its body has answered before it closed. */
static void read_last_bytes(struct tcp_stream *t)
{
    ssize_t n = 0;
    while (!t->held && t->in == t->out && (n = read(t->in, t->s.all->piece, PIECE_MAX)) > 0)
        if (!stream_tell_data(&t->s, t->s.all->piece, (size_t)n))
            return;
    if (!t->held) /* otherwise it goes on when the user takes more */
        stream_tell_close(&t->s, strerror(t->failed));
}

static void tcp_wake(struct byte_stream *s)
{
    struct tcp_stream *t = tcp_of(s);
    if (t->failed && t->connecting)
        dial_failed(t, strerror(t->failed));
    else if (t->failed)
        read_last_bytes(t);
    else if (t->end_sent && t->end_seen)
        stream_tell_close(s, NULL);
}

static void tcp_leave(struct byte_stream *s, const char *why)
{
    struct tcp_stream *t = tcp_of(s);
    event_free(t->readable);
    event_free(t->writable);
    if (t->out >= 0 && t->out != t->in)
        close(t->out);
    if (t->in >= 0)
        close(t->in);
    t->in = t->out = -1;
    if (t->waiting)
        evbuffer_free(t->waiting);
    t->waiting = NULL;
}

static void tcp_release(struct byte_stream *s)
{
    free(tcp_of(s));
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void update_reading(struct tcp_stream *t)
{
    if (t->held || t->connecting || t->end_seen)
        event_del(t->readable);
    else
        event_add(t->readable, NULL);
}

static void on_readable(evutil_socket_t fd, short what, void *ctx)
{
    struct tcp_stream *t = ctx;
    ssize_t n = read(t->in, t->s.all->piece, PIECE_MAX);
    if (n > 0) {
        stream_tell_data(&t->s, t->s.all->piece, (size_t)n);
    } else if (n == 0) {
        t->end_seen = true;
        update_reading(t);
        if (stream_tell_end(&t->s) && t->end_sent)
            stream_tell_close(&t->s, NULL);
    } else if (errno != EAGAIN && errno != EINTR) {
        stream_tell_close(&t->s, strerror(errno));
    }
}

static void tcp_hold(struct byte_stream *s, bool on)
{
    struct tcp_stream *t = tcp_of(s);
    t->held = on;
    update_reading(t);
    if (!on && t->failed)
        stream_soon(s);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void wait_writable(struct tcp_stream *t)
{
    event_add(t->writable, NULL);
}

static size_t tcp_pending(const struct byte_stream *s)
{
    const struct tcp_stream *t = tcp_of(s);
    return t->waiting ? evbuffer_get_length(t->waiting) : 0;
}

static void keep_waiting(struct tcp_stream *t, const void *data, size_t n)
{
    if (!t->waiting)
        t->waiting = must(evbuffer_new());
    if (evbuffer_add(t->waiting, data, n) < 0)
        abort();
    if (!t->connecting)
        wait_writable(t);
}

static void tcp_write(struct byte_stream *s, const void *data, size_t n)
{
    struct tcp_stream *t = tcp_of(s);
    if (t->ending || t->failed)
        return;
    ssize_t sent = 0;
    if (!t->connecting && !t->waiting) {
        sent = write(t->out, data, n);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            fail_later(t, errno);
            return;
        }
        sent = sent < 0 ? 0 : sent;
    }
    if ((size_t)sent < n)
        keep_waiting(t, (const char *)data + sent, n - (size_t)sent);
}

static void tcp_end(struct byte_stream *s)
{
    struct tcp_stream *t = tcp_of(s);
    if (t->ending)
        return;
    t->ending = true;
    if (!t->connecting && !t->waiting)
        send_end(t);
}

/* Writes what waits. */
static void write_waiting(struct tcp_stream *t)
{
    if (evbuffer_write(t->waiting, t->out) < 0 && errno != EAGAIN && errno != EINTR) {
        fail_later(t, errno);
        return;
    }
    if (evbuffer_get_length(t->waiting) > 0)
        return;
    evbuffer_free(t->waiting); /* a stream that rests keeps no memory for bytes */
    t->waiting = NULL;
    event_del(t->writable);
    if (t->ending)
        send_end(t);
    stream_tell_drained(&t->s);
}

/* ---- dialling ---------------------------------------------------------------------------------------------------- */

static void on_connected(struct tcp_stream *t, short what)
{
    int code = 0;
    socklen_t n = sizeof(code);
    if (what & EV_TIMEOUT) {
        char why[64];
        snprintf(why, sizeof(why), "no answer within %d s", t->timeout_s);
        t->s.timed_out = true;
        dial_failed(t, why);
        return;
    }
    if (getsockopt(t->out, SOL_SOCKET, SO_ERROR, &code, &n) < 0 || code != 0) {
        dial_failed(t, strerror(code ? code : errno));
        return;
    }
    event_del(t->writable);
    t->connecting = false;
    if (!stream_tell_open(&t->s))
        return;
    update_reading(t);
    if (t->waiting)
        wait_writable(t);
    else if (t->ending)
        send_end(t);
}

static void on_writable(evutil_socket_t fd, short what, void *ctx)
{
    struct tcp_stream *t = ctx;
    if (t->connecting)
        on_connected(t, what);
    else if (t->waiting)
        write_waiting(t);
    else
        event_del(t->writable);
}

static const struct byte_stream_carrier tcp_carrier = {.write = tcp_write,
                                                       .pending = tcp_pending,
                                                       .hold = tcp_hold,
                                                       .end = tcp_end,
                                                       .wake = tcp_wake,
                                                       .leave = tcp_leave,
                                                       .release = tcp_release};

static struct tcp_stream *tcp_new(struct byte_streams *all, int in, int out, const struct byte_stream_handler *h)
{
    struct tcp_stream *t = must_calloc(1, sizeof(*t));
    struct event_base *base = loop_base(all->loop);
    t->in = in;
    t->out = out;
    evutil_make_socket_nonblocking(in);
    evutil_make_socket_nonblocking(out);
    t->readable = must(event_new(base, in, EV_READ | EV_PERSIST, on_readable, t));
    t->writable = must(event_new(base, out, EV_WRITE | EV_PERSIST, on_writable, t));
    stream_init(&t->s, all, &tcp_carrier, h);
    return t;
}

static void send_at_once(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)); /* fails for a pipe, which needs it not */
}

struct byte_stream *byte_stream_of_fd(struct byte_streams *all, int in, int out, const struct byte_stream_handler *h)
{
    struct tcp_stream *t = tcp_new(all, in, out, h);
    stream_set_open(&t->s);
    send_at_once(out);
    update_reading(t);
    return &t->s;
}

/* Reads a numeric address. Returns the length of *ret, or 0. */
static socklen_t read_address(const char *address, int port, struct sockaddr_storage *ret)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
    memset(ret, 0, sizeof(*ret));
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        return sizeof(*v4);
    }
    if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        return sizeof(*v6);
    }
    return 0;
}

int byte_stream_dial(struct byte_streams *all, const char *address, int port, int timeout_s,
                     const struct byte_stream_handler *h, struct byte_stream **ret, struct error *err)
{
    struct sockaddr_storage to;
    socklen_t to_n = read_address(address, port, &to);
    if (to_n == 0)
        return error_set(err, ERR_INVALID, "'%.80s' is not a numeric IP address", address);
    int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_errno(err, "no socket for a connection to port %d", port);
    send_at_once(fd);
    struct tcp_stream *t = tcp_new(all, fd, fd, h);
    t->connecting = true;
    t->timeout_s = timeout_s;
    t->port = port;
    snprintf(t->address, sizeof(t->address), "%s", address);
    if (connect(fd, (struct sockaddr *)&to, to_n) < 0 && errno != EINPROGRESS)
        fail_later(t, errno);
    else
        event_add(t->writable, &(struct timeval){.tv_sec = timeout_s});
    *ret = &t->s;
    return 0;
}
