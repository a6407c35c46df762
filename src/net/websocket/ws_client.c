/* Dials a WebSocket: resolves the name, connects (to each address in turn), TLS (ws_tls.c), upgrade. Ends in
 * ws_dialled() or ws_dial_failed(). */
#include "common/base/must.h"
#include "net/websocket/ws_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/http.h>

#include "common/base/base64.h"
#include "common/base/strbuf.h"
#include "net/loop/loop_internal.h"
#include "net/websocket/ws_tls.h"

#define HEAD_MAX (64 * 1024)
/* bytes of a refusal's body that are read; its first line is quoted, up to QUOTED_MAX */
#define REFUSAL_MAX 4096
#define QUOTED_MAX 640
#define CONNECT_TIMEOUT_S 10

struct ws_dial {
    struct ws *ws;
    struct loop *loop;
    char *url, *host, *tls_name;
    char port[16];
    bool tls;              /* the URL's scheme is wss */
    struct ws_tls *checks; /* NULL without TLS */
    struct strbuf request; /* the whole upgrade request, ready to be sent */
    char accept[WS_ACCEPT_MAX];
    int timeout_s;
    struct loop_timer *timer;
    struct evdns_getaddrinfo_request *resolving;
    struct evutil_addrinfo *addresses, *next;
    struct bufferevent *bev;
    struct strbuf tunnel; /* the CONNECT request to the proxy; "" without one */
    char *proxy_host;     /* NULL: no proxy; proxy_port is its port */
    char proxy_port[16];
    bool tls_begun;  /* the proxy has made the connection, and TLS runs within it */
    bool tunnelling; /* the CONNECT request is on its way */
    bool requested;  /* the connection is made and the upgrade request was sent */
    char last_error[256];
};

static void try_next_address(struct ws_dial *d);
static void on_readable(struct bufferevent *bev, void *ctx);
static void on_event(struct bufferevent *bev, short what, void *ctx);
static struct bufferevent *new_bufferevent(struct ws_dial *d, struct bufferevent *under);

/* ---- the end of dialling ----------------------------------------------------------------------------------------- */

void ws_dial_free(struct ws_dial *d)
{
    if (!d)
        return;
    if (d->resolving)
        evdns_getaddrinfo_cancel(d->resolving);
    if (d->addresses)
        evutil_freeaddrinfo(d->addresses);
    if (d->bev)
        bufferevent_free(d->bev);
    ws_tls_free(d->checks);
    loop_timer_free(d->timer);
    strbuf_release(&d->request);
    strbuf_release(&d->tunnel);
    free(d->proxy_host);
    free(d->url);
    free(d->host);
    free(d->tls_name);
    free(d);
}

/* Reports a failure; d is freed afterwards. */
static void dial_fail(struct ws_dial *d, int code, const char *why)
{
    char text[QUOTED_MAX + 512];
    snprintf(text, sizeof(text), "can't connect to %s: %s", d->url, why);
    ws_dial_failed(d->ws, code, text);
}

static void dial_succeed(struct ws_dial *d)
{
    struct bufferevent *bev = d->bev;
    d->bev = NULL;
    ws_dialled(d->ws, bev, d->tls);
}

static void on_timeout(void *ctx)
{
    struct ws_dial *d = ctx;
    char why[64];
    snprintf(why, sizeof(why), "no answer within %d s", d->timeout_s);
    dial_fail(d, 1006, why);
}

/* ---- the upgrade's answer ---------------------------------------------------------------------------------------- */

/* Copies the value of a header into `ret`; `head` consists of CRLF lines. */
static bool answer_header(const char *head, const char *name, char *ret, size_t size)
{
    size_t name_n = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line && line[2] != '\r'; line = strstr(line + 2, "\r\n")) {
        const char *p = line + 2;
        if (strncasecmp(p, name, name_n) == 0 && p[name_n] == ':') {
            p += name_n + 1;
            p += strspn(p, " \t");
            snprintf(ret, size, "%.*s", (int)strcspn(p, "\r\n"), p);
            return true;
        }
    }
    return false;
}

static void check_accepted(struct ws_dial *d, const char *head)
{
    char accept[64], upgrade[64];
    if (!answer_header(head, "Upgrade", upgrade, sizeof(upgrade)) || strcasecmp(upgrade, "websocket") != 0 ||
        !answer_header(head, "Sec-WebSocket-Accept", accept, sizeof(accept)) || strcmp(accept, d->accept) != 0)
        dial_fail(d, 1006, "what answers there is not a WebSocket server (its Sec-WebSocket-Accept is wrong)");
    else
        dial_succeed(d);
}

/* Reads the body of a refusal, which says why, as far as the server announces one. Returns true when it is complete. */
static bool check_refused(struct ws_dial *d, const char *head, int status, bool at_eof)
{
    struct evbuffer *in = bufferevent_get_input(d->bev);
    char length[32] = "0", why[QUOTED_MAX + 64], line[QUOTED_MAX] = "";
    answer_header(head, "Content-Length", length, sizeof(length));
    size_t head_n = strlen(head), expected = strtoul(length, NULL, 10);
    if (expected > REFUSAL_MAX)
        expected = REFUSAL_MAX;
    if (!at_eof && evbuffer_get_length(in) - head_n < expected)
        return false;
    evbuffer_drain(in, head_n);
    evbuffer_remove(in, line, expected < sizeof(line) ? expected : sizeof(line) - 1);
    line[strcspn(line, "\r\n")] = '\0';
    snprintf(why, sizeof(why), "HTTP status %d%s%s", status, *line ? ": " : "", line);
    dial_fail(d, status, why);
    return true;
}

/* Reads the answer to the upgrade request. Returns true if d was freed. */
static bool read_answer(struct ws_dial *d, bool at_eof)
{
    struct evbuffer *in = bufferevent_get_input(d->bev);
    ssize_t end = evbuffer_search(in, "\r\n\r\n", 4, NULL).pos;
    if (end < 0 && evbuffer_get_length(in) > HEAD_MAX) {
        dial_fail(d, 1006, "the answer's headers are over 64 KiB");
        return true;
    }
    if (end < 0)
        return false;
    char *head = must_strndup((const char *)evbuffer_pullup(in, end + 4), (size_t)end + 4);
    int status;
    bool done = true;
    if (strlen(head) != (size_t)end + 4 || sscanf(head, "HTTP/1.%*1[01] %3d", &status) != 1 || status < 100) {
        dial_fail(d, 1006, "what answers there does not speak HTTP");
    } else if (status == 101) {
        evbuffer_drain(in, (size_t)end + 4);
        check_accepted(d, head);
    } else {
        done = check_refused(d, head, status, at_eof);
    }
    free(head);
    return done;
}

/* ---- connecting -------------------------------------------------------------------------------------------------- */

/* The name that the server's certificate must be for. */
static const char *name_of(const struct ws_dial *d)
{
    return d->tls_name ? d->tls_name : d->host;
}

static void describe_failure(struct ws_dial *d, struct bufferevent *bev)
{
    bool in_tls = d->tls && (!d->proxy_host || d->tls_begun);
    if (!in_tls || !ws_tls_failure(d->checks, bev, name_of(d), d->last_error, sizeof(d->last_error)))
        snprintf(d->last_error, sizeof(d->last_error), "%s", errno ? strerror(errno) : "the connection broke off");
}

/* The connection to the master is made: asks it to upgrade. */
static void request_upgrade(struct ws_dial *d)
{
    d->requested = true;
    if (d->tls)
        ws_tls_tell_certificate(d->checks, d->bev);
    bufferevent_write(d->bev, d->request.s, d->request.n);
}

/* Reads what the proxy has answered to CONNECT. Behind it begins the connection to the master, with TLS if it has to
 * be. */
static void read_tunnel(struct ws_dial *d)
{
    struct evbuffer *in = bufferevent_get_input(d->bev);
    ssize_t end = evbuffer_search(in, "\r\n\r\n", 4, NULL).pos;
    char line[128] = "", why[300];
    int status = 0;
    if (end < 0 && evbuffer_get_length(in) > HEAD_MAX) {
        dial_fail(d, 1006, "the headers of the proxy's answer are over 64 KiB");
        return;
    }
    if (end < 0)
        return;
    evbuffer_copyout(in, line, sizeof(line) - 1);
    line[strcspn(line, "\r\n")] = 0;
    if (sscanf(line, "HTTP/1.%*1[01] %3d", &status) != 1 || status < 200 || status > 299) {
        snprintf(why, sizeof(why), "the proxy %.100s:%s does not connect to it: %s", d->proxy_host, d->proxy_port,
                 line);
        dial_fail(d, 1006, why);
        return;
    }
    evbuffer_drain(in, (size_t)end + 4);
    d->tunnelling = false;
    if (!d->tls) {
        request_upgrade(d);
        return;
    }
    struct bufferevent *secured = new_bufferevent(d, d->bev);
    if (!secured) {
        dial_fail(d, 1006, "no memory");
        return;
    }
    d->bev = secured;
    d->tls_begun = true;
    bufferevent_setcb(d->bev, on_readable, NULL, on_event, d);
    bufferevent_enable(d->bev, EV_READ | EV_WRITE);
}

static void on_readable(struct bufferevent *bev, void *ctx)
{
    struct ws_dial *d = ctx;
    if (d->tunnelling)
        read_tunnel(d);
    else
        read_answer(d, /* at_eof= */ false);
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
    struct ws_dial *d = ctx;
    if (what & BEV_EVENT_CONNECTED) {
        setsockopt(bufferevent_getfd(bev), IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        if (d->proxy_host && !d->tls_begun && !d->tunnelling) {
            d->tunnelling = true;
            bufferevent_write(bev, d->tunnel.s, d->tunnel.n);
        } else {
            request_upgrade(d);
        }
        return;
    }
    if (!d->requested) {
        describe_failure(d, bev);
        if (d->proxy_host && !d->tls_begun) {
            char why[sizeof(d->last_error)];
            memcpy(why, d->last_error, sizeof(why));
            snprintf(d->last_error, sizeof(d->last_error), "the proxy %.80s:%s: %.120s", d->proxy_host, d->proxy_port,
                     why);
        }
        try_next_address(d);
    } else if (!read_answer(d, /* at_eof= */ true)) {
        dial_fail(d, 1006, "the connection broke off before the answer");
    }
}

/* under: the connection through the proxy, which is taken over; NULL: there is none yet. */
static struct bufferevent *new_bufferevent(struct ws_dial *d, struct bufferevent *under)
{
    struct event_base *base = loop_base(d->loop);
    if (!d->tls || (d->proxy_host && !under))
        return bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    return ws_tls_bufferevent(d->checks, base, under, name_of(d));
}

static void try_next_address(struct ws_dial *d)
{
    struct evutil_addrinfo *a = d->next;
    if (d->bev)
        bufferevent_free(d->bev);
    d->bev = NULL;
    if (!a) {
        dial_fail(d, 1006, d->last_error);
        return;
    }
    d->next = a->ai_next;
    d->tunnelling = d->tls_begun = false;
    d->bev = new_bufferevent(d, NULL);
    if (!d->bev) {
        dial_fail(d, 1006, "no memory");
        return;
    }
    bufferevent_setcb(d->bev, on_readable, NULL, on_event, d);
    bufferevent_enable(d->bev, EV_READ | EV_WRITE);
    /* there is no route; other failures come through on_event */
    if (bufferevent_socket_connect(d->bev, a->ai_addr, (int)a->ai_addrlen) < 0) {
        snprintf(d->last_error, sizeof(d->last_error), "%s", strerror(errno));
        try_next_address(d);
    }
}

static void on_resolved(int rc, struct evutil_addrinfo *found, void *ctx)
{
    struct ws_dial *d = ctx;
    if (rc == EVUTIL_EAI_CANCEL) /* d was freed already */
        return;
    d->resolving = NULL;
    if (rc) {
        char why[300];
        snprintf(why, sizeof(why), "the name %.200s can't be resolved: %s", d->proxy_host ? d->proxy_host : d->host,
                 evutil_gai_strerror(rc));
        dial_fail(d, 1006, why);
        return;
    }
    d->addresses = d->next = found;
    try_next_address(d);
}

void ws_dial_start(struct ws_dial *d)
{
    struct evutil_addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP};
    struct evdns_base *dns = loop_dns(d->loop);
    if (!dns) {
        dial_fail(d, 1006, "no resolver");
        return;
    }
    loop_timer_arm(d->timer, d->timeout_s * 1000000ll);
    /* NULL if on_resolved() has run already; d may be freed then. */
    struct evdns_getaddrinfo_request *request = evdns_getaddrinfo(dns, d->proxy_host ? d->proxy_host : d->host,
                                                                  d->proxy_host ? d->proxy_port : d->port, &hints,
                                                                  on_resolved, d);
    if (request)
        d->resolving = request;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int parse_url(struct ws_dial *d, struct strbuf *target, struct error *err)
{
    struct evhttp_uri *u = evhttp_uri_parse(d->url);
    const char *scheme = u ? evhttp_uri_get_scheme(u) : NULL, *host = u ? evhttp_uri_get_host(u) : NULL;
    bool ok = scheme && host && *host && (strcasecmp(scheme, "ws") == 0 || strcasecmp(scheme, "wss") == 0);
    if (ok) {
        int port = evhttp_uri_get_port(u);
        const char *path = evhttp_uri_get_path(u), *query = evhttp_uri_get_query(u);
        d->tls = strcasecmp(scheme, "wss") == 0;
        size_t host_n = strlen(host);
        bool bracketed = host[0] == '[' && host_n > 2; /* [::1] */
        d->host = must_strndup(host + bracketed, host_n - 2 * bracketed);
        snprintf(d->port, sizeof(d->port), "%d", port > 0 ? port : d->tls ? 443 : 80);
        strbuf_addf(target, "%s%s%s", path && *path ? path : "/", query ? "?" : "", query ? query : "");
    }
    if (u)
        evhttp_uri_free(u);
    return ok ? 0
              : error_set(err, ERR_INVALID, "%s is not an address of the form ws://host:port/path or wss://…", d->url);
}

static void make_request(struct ws_dial *d, const char *target, const char *const *header)
{
    unsigned char nonce[16];
    cleanup_strbuf struct strbuf key = STRBUF_INIT;
    ws_random(nonce, sizeof(nonce));
    base64_encode(nonce, sizeof(nonce), &key);
    ws_accept_key(strbuf_str(&key), d->accept);
    bool v6 = strchr(d->host, ':');
    strbuf_addf(&d->request,
                "GET %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n",
                target, v6 ? "[" : "", d->host, v6 ? "]" : "", d->port, strbuf_str(&key));
    for (; header && *header; header++)
        strbuf_addf(&d->request, "%s\r\n", *header);
    strbuf_adds(&d->request, "\r\n");
}

/* Reads the proxy's address, and makes the request to it. A name and password are sent as RFC 7617 says. */
static int parse_proxy(struct ws_dial *d, const char *proxy, struct error *err)
{
    cleanup_strbuf struct strbuf url = STRBUF_INIT;
    strbuf_addf(&url, "%s%s", strstr(proxy, "://") ? "" : "http://", proxy);
    struct evhttp_uri *u = evhttp_uri_parse(strbuf_str(&url));
    const char *scheme = u ? evhttp_uri_get_scheme(u) : NULL, *host = u ? evhttp_uri_get_host(u) : NULL;
    const char *user = u ? evhttp_uri_get_userinfo(u) : NULL;
    if (!scheme || strcasecmp(scheme, "http") != 0 || !host || !*host) {
        if (u)
            evhttp_uri_free(u);
        return error_set(err, ERR_INVALID, "the proxy is not of the form http://HOST:PORT");
    }
    size_t n = strlen(host);
    bool bracketed = host[0] == '[' && n > 2, v6 = strchr(d->host, ':');
    d->proxy_host = must_strndup(host + bracketed, n - 2 * bracketed);
    snprintf(d->proxy_port, sizeof(d->proxy_port), "%d", evhttp_uri_get_port(u) > 0 ? evhttp_uri_get_port(u) : 80);
    strbuf_addf(&d->tunnel, "CONNECT %s%s%s:%s HTTP/1.1\r\nHost: %s%s%s:%s\r\n", v6 ? "[" : "", d->host, v6 ? "]" : "",
                d->port, v6 ? "[" : "", d->host, v6 ? "]" : "", d->port);
    if (user) {
        size_t length;
        char *plain = evhttp_uridecode(user, 0, &length);
        strbuf_adds(&d->tunnel, "Proxy-Authorization: Basic ");
        base64_encode(plain, length, &d->tunnel);
        strbuf_adds(&d->tunnel, "\r\n");
        free(plain);
    }
    strbuf_adds(&d->tunnel, "\r\n");
    evhttp_uri_free(u);
    return 0;
}

struct ws_dial *ws_dial_new(struct ws *w, struct loop *l, const struct ws_client_options *o, void *ctx,
                            struct error *err)
{
    struct ws_dial *d = must_calloc(1, sizeof(*d));
    d->ws = w;
    d->loop = l;
    d->url = must_strdup(o->url);
    d->tls_name = o->tls_name ? must_strdup(o->tls_name) : NULL;
    d->timeout_s = o->connect_timeout_s > 0 ? o->connect_timeout_s : CONNECT_TIMEOUT_S;
    d->timer = loop_timer_new(l, on_timeout, d);

    cleanup_strbuf struct strbuf target = STRBUF_INIT;
    if (parse_url(d, &target, err) < 0 || (o->proxy && parse_proxy(d, o->proxy, err) < 0) ||
        (d->tls && !(d->checks = ws_tls_new(o, ctx, err)))) {
        ws_dial_free(d);
        return NULL;
    }
    make_request(d, strbuf_str(&target), o->header);
    return d;
}
