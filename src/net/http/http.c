/* The server: listens, accepts within the limit of connections, applies time-outs, ends. */
#include "common/base/must.h"
#include "net/http/http_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <openssl/ssl.h>

#include "common/base/clock.h"
#include "common/system/log.h"
#include "net/websocket/ws_internal.h"

#define BACKLOG 4096
#define SWEEP_US 1000000ll
#define ACCEPT_PAUSE_US 100000ll /* how long no connection is accepted when file descriptors run out */
#define FILES_FOR_OTHERS 256     /* file descriptors that are left to the rest of the program */
/* connections over the limit that are answered at the same time; further ones are closed without an answer */
#define REFUSED_MAX 64

/* ---- time-outs --------------------------------------------------------------------------------------------------- */

/* Ends connections whose time is over. One walk a second over all of them costs less than a timer that each request
 * moves. */
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

/* ---- accepting --------------------------------------------------------------------------------------------------- */

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
                                                                   BEV_OPT_CLOSE_ON_FREE)
                                  : NULL;
    if (bev)
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    else
        SSL_free(ssl);
    return bev;
}

/* Switches on keep-alive probes, which find clients whose machine has vanished during a long poll or a stream and will
 * never send a FIN. */
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
    if (room <= -REFUSED_MAX) { /* too many refusals are under way already */
        close(fd);
        return;
    }
    struct bufferevent *bev = new_bufferevent(s, fd);
    struct conn *c = bev ? conn_new(s, bev, fd) : NULL;
    if (!c) {
        log_error("http.accept", "no memory for a connection");
        if (bev)
            bufferevent_free(bev);
        else
            close(fd);
        return;
    }
    set_keepalive(fd);
    format_peer(address, c->peer);
    if (s->connections == 1)
        loop_timer_arm(s->sweep, SWEEP_US);
    if (room <= 0)
        conn_refuse(c, 503, ERR_UNAVAILABLE, "the server has too many connections; try again in a moment");
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
    /* the listening socket stays readable, so going on at once would loop without pause */
    evconnlistener_disable(listener);
    loop_timer_arm(s->accept_again, ACCEPT_PAUSE_US);
}

/* ---- listening --------------------------------------------------------------------------------------------------- */

static int try_listen(const struct sockaddr *address, socklen_t n)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    /* TCP_NODELAY, which accepted connections inherit. Without it streams are 25 times slower (Nagle's algorithm
     * against delayed acknowledgements). */
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
    int fd = try_listen((struct sockaddr *)&v6, sizeof(v6));
    if (fd >= 0 || errno == EADDRINUSE || errno == EACCES)
        return fd;
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)}; /* for a kernel without IPv6 */
    return try_listen((struct sockaddr *)&v4, sizeof(v4));
}

static int listen_on_host(const char *host, int port, struct error *err)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found;
    char service[16];
    snprintf(service, sizeof(service), "%d", port);
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
    socklen_t n = sizeof(bound);
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

/* ---- the server -------------------------------------------------------------------------------------------------- */

static void default_limits(struct http_limits *l)
{
    const struct http_limits def = {.body_max = 96 << 20,
                                    .bodies_max = 1 << 30,
                                    .anonymous_body_max = 1 << 20,
                                    .anonymous_bodies_max = 64 << 20,
                                    .connections_max = 20000,
                                    .idle_timeout_s = 75,
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
        l->connections_max = files.rlim_cur > 2 * FILES_FOR_OTHERS ? (int)files.rlim_cur - FILES_FOR_OTHERS
                                                                   : FILES_FOR_OTHERS;
}

int http_server_new(struct loop *l, const struct http_server_options *o, struct http_server **ret, struct error *err)
{
    struct http_server *s = must_calloc(1, sizeof(*s));
    s->loop = l;
    s->options = *o;
    if (o->tls)
        SSL_CTX_up_ref(o->tls);
    default_limits(&s->options.limits);
    TAILQ_INIT(&s->soon);
    LIST_INIT(&s->conns);
    s->sweep = loop_timer_new(l, on_sweep, s);
    s->soon_timer = loop_timer_new(l, conns_run_soon, s);
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

void http_server_set_tls(struct http_server *s, struct ssl_ctx_st *tls)
{
    SSL_CTX_up_ref(tls);
    SSL_CTX_free(s->options.tls);
    s->options.tls = tls;
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
        conn_free(LIST_FIRST(&s->conns));
    loop_timer_free(s->sweep);
    loop_timer_free(s->soon_timer);
    loop_timer_free(s->accept_again);
    strbuf_release(&s->out);
    SSL_CTX_free(s->options.tls);
    free(s);
}
