#include "net/http/tunnel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/util.h>

#include "common/base/must.h"
#include "net/http/http.h"
#include "net/websocket/ws.h"

enum {
    HELD_MAX = 256 * 1024,     /* bytes that may wait for one side */
    MESSAGE_MAX = 1024 * 1024, /* bytes of one message; peers send a few KiB at a time */
    CHUNK = 64 * 1024,
    PING_S = 15,
    DEAD_S = 60,
    DRAIN_S = 30, /* how long the last bytes may take to reach a side that reads slowly */
};

struct tunnel {
    struct tunnels *all;
    struct ws *ws;           /* NULL: not opened yet, or closed */
    struct bufferevent *tcp; /* NULL: closed */
    bool dialling, open, held;
    tunnel_dialled_fn *dialled;
    tunnel_failed_fn *failed;
    void *ctx;
    LIST_ENTRY(tunnel) in_all;
};

struct tunnels {
    struct loop *loop;
    size_t n;
    LIST_HEAD(, tunnel) list;
};

struct tunnels *tunnels_new(struct loop *l)
{
    struct tunnels *all = must_calloc(1, sizeof(*all));
    all->loop = l;
    LIST_INIT(&all->list);
    return all;
}

size_t tunnels_count(const struct tunnels *all)
{
    return all->n;
}

static void tunnel_free(struct tunnel *t)
{
    if (t->tcp)
        bufferevent_free(t->tcp);
    LIST_REMOVE(t, in_all);
    t->all->n--;
    free(t);
}

void tunnels_free(struct tunnels *all)
{
    struct tunnel *t;
    if (!all)
        return;
    while ((t = LIST_FIRST(&all->list))) {
        t->failed = NULL;
        if (t->ws)
            ws_drop(t->ws); /* this frees the tunnel, too */
        else
            tunnel_free(t);
    }
    free(all);
}

/* ---- from TCP to the WebSocket ----------------------------------------------------------------------------------- */

static void pass_on(struct tunnel *t, bool all)
{
    static char chunk[CHUNK]; /* static, since only the loop's thread uses it */
    struct evbuffer *in = bufferevent_get_input(t->tcp);
    while (t->ws && t->open && evbuffer_get_length(in) > 0 && (all || ws_pending(t->ws) < HELD_MAX)) {
        int n = evbuffer_remove(in, chunk, sizeof(chunk));
        if (n <= 0)
            return;
        ws_send(t->ws, chunk, (size_t)n, /* is_text= */ false);
    }
}

static void on_tcp_readable(struct bufferevent *bev, void *ctx)
{
    pass_on(ctx, /* all= */ false); /* bytes that stay in the buffer stop the reading once they reach its high mark */
}

static void on_ws_drained(struct ws *w, void *ctx)
{
    struct tunnel *t = ctx;
    if (t->tcp)
        pass_on(t, /* all= */ false);
}

/* ---- from the WebSocket to TCP ----------------------------------------------------------------------------------- */

static void hold_websocket(struct tunnel *t, bool on)
{
    t->held = on;
    ws_hold(t->ws, on);
}

static void on_ws_message(struct ws *w, const void *data, size_t n, bool is_text, void *ctx)
{
    struct tunnel *t = ctx;
    if (!t->tcp)
        return;
    bufferevent_write(t->tcp, data, n);
    if (!t->held && evbuffer_get_length(bufferevent_get_output(t->tcp)) > HELD_MAX)
        hold_websocket(t, true);
}

static void on_tcp_writable(struct bufferevent *bev, void *ctx)
{
    struct tunnel *t = ctx;
    if (!t->ws && t->open)
        tunnel_free(t); /* these were the last bytes */
    else if (t->held)
        hold_websocket(t, false);
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static void on_tcp_end(struct tunnel *t, const char *why)
{
    if (t->dialling) {
        char text[128];
        snprintf(text, sizeof(text), "%s", why);
        tunnel_dialled_fn *dialled = t->dialled;
        void *ctx = t->ctx;
        tunnel_free(t);
        dialled(ctx, text);
    } else if (!t->ws) {
        if (t->open) {
            tunnel_free(t);
        } else { /* there is no WebSocket yet: tunnel_upgrade() reports it */
            bufferevent_free(t->tcp);
            t->tcp = NULL;
        }
    } else if (t->open) {
        pass_on(t, /* all= */ true);
        bufferevent_free(t->tcp);
        t->tcp = NULL;
        if (t->held)
            hold_websocket(t, false); /* the peer's close frame must be read */
        ws_close(t->ws, 1000, "");
    } else {
        t->failed = NULL;
        ws_close(t->ws, 1000, ""); /* the WebSocket is still being dialled, and is not needed any more */
    }
}

static void on_tcp_event(struct bufferevent *bev, short what, void *ctx)
{
    struct tunnel *t = ctx;
    if (what & BEV_EVENT_CONNECTED) {
        t->dialling = false;
        bufferevent_set_timeouts(bev, NULL, NULL);
        t->dialled(t->ctx, NULL);
    } else if (what & BEV_EVENT_TIMEOUT) {
        on_tcp_end(t, "no answer");
    } else {
        on_tcp_end(t, what & BEV_EVENT_ERROR ? evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR())
                                             : "the connection ended");
    }
}

static void on_ws_close(struct ws *w, int code, const char *why, void *ctx)
{
    static const struct timeval patience = {.tv_sec = DRAIN_S};
    struct tunnel *t = ctx;
    t->ws = NULL;
    if (!t->open && t->failed && t->tcp)
        t->failed(t->ctx, why);
    if (!t->open || !t->tcp || code == 1001 || evbuffer_get_length(bufferevent_get_output(t->tcp)) == 0) {
        tunnel_free(t);
        return;
    }
    bufferevent_disable(t->tcp, EV_READ);
    bufferevent_set_timeouts(t->tcp, NULL, &patience);
}

/* ---- beginnings -------------------------------------------------------------------------------------------------- */

static struct tunnel *tunnel_new(struct tunnels *all, int fd)
{
    struct tunnel *t = must_calloc(1, sizeof(*t));
    t->all = all;
    t->tcp = must(bufferevent_socket_new(loop_base(all->loop), fd, BEV_OPT_CLOSE_ON_FREE));
    bufferevent_setwatermark(t->tcp, EV_READ, 0, HELD_MAX);
    LIST_INSERT_HEAD(&all->list, t, in_all);
    all->n++;
    return t;
}

static void listen_to_tcp(struct tunnel *t)
{
    bufferevent_setcb(t->tcp, on_tcp_readable, on_tcp_writable, on_tcp_event, t);
}

static const struct ws_handler handler = {.on_message = on_ws_message,
                                          .on_drained = on_ws_drained,
                                          .on_close = on_ws_close,
                                          .message_max = MESSAGE_MAX,
                                          .ping_s = PING_S,
                                          .dead_s = DEAD_S};

int tunnel_dial(struct tunnels *all, const char *address, int port, int timeout_s, tunnel_dialled_fn *dialled,
                void *ctx, struct tunnel **ret, struct error *err)
{
    struct sockaddr_storage to = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&to;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&to;
    const struct timeval patience = {.tv_sec = timeout_s};
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
    } else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
    } else {
        return error_set(err, ERR_INTERNAL, "'%.80s' is not a numeric IP address", address);
    }
    struct tunnel *t = tunnel_new(all, -1);
    t->dialling = true;
    t->dialled = dialled;
    t->ctx = ctx;
    bufferevent_set_timeouts(t->tcp, &patience, &patience);
    if (bufferevent_socket_connect(t->tcp, (struct sockaddr *)&to,
                                   v4->sin_family == AF_INET ? sizeof(*v4) : sizeof(*v6)) < 0) {
        t->dialling = false;
        tunnel_free(t);
        return error_set(err, ERR_BAD_GATEWAY, "can't connect to port %d of %s", port, address);
    }
    listen_to_tcp(t); /* not earlier: a failure would be reported twice */
    *ret = t;
    return 0;
}

void tunnel_drop(struct tunnel *t)
{
    tunnel_free(t);
}

static void on_server_open(struct tunnel *t)
{
    t->open = true;
    bufferevent_enable(t->tcp, EV_READ | EV_WRITE);
}

int tunnel_upgrade(struct tunnel *t, struct http_request *http, struct error *err)
{
    struct ws_handler h = handler;
    h.ctx = t;
    int rc = t->tcp ? http_upgrade_ws(http, &h, &t->ws, err)
                    : error_set(err, ERR_BAD_GATEWAY, "the task closed the connection");
    if (rc < 0) {
        tunnel_free(t);
        return -1;
    }
    on_server_open(t);
    return 0;
}

static void on_client_open(struct ws *w, void *ctx)
{
    struct tunnel *t = ctx;
    t->open = true;
    bufferevent_enable(t->tcp, EV_READ | EV_WRITE);
}

int tunnel_connect(struct tunnels *all, int fd, const struct ws_client_options *o, tunnel_failed_fn *failed, void *ctx,
                   struct error *err)
{
    evutil_make_socket_nonblocking(fd);
    struct tunnel *t = tunnel_new(all, fd);
    struct ws_handler h = handler;
    h.on_open = on_client_open;
    h.ctx = t;
    t->failed = failed;
    t->ctx = ctx;
    listen_to_tcp(t);
    if (ws_connect(all->loop, o, &h, &t->ws, err) == 0)
        return 0;
    t->ws = NULL;
    tunnel_free(t);
    return -1;
}
