/* Turns a request into a WebSocket: the server's side of the handshake (RFC 6455 4.2). */
#include "net/http/http_internal.h"

#include <string.h>

#include <event2/bufferevent.h>
#include <event2/event.h>

#include "net/websocket/ws_internal.h"

static int check_upgrade(const struct http_request *r, struct error *err)
{
    const struct http1_head *h = &r->head;
    const char *key = http1_find(h, "Sec-WebSocket-Key"), *version = http1_find(h, "Sec-WebSocket-Version");
    if (h->method != HTTP_GET || h->minor_version != 1 || !http1_has_token(h, "Connection", "upgrade") ||
        !http1_has_token(h, "Upgrade", "websocket"))
        return error_set(err, ERR_INVALID, "%s is a WebSocket; connect with ws://, not with a plain request", h->path);
    if (r->body_coming)
        return error_set(err, ERR_INVALID, "a request for a WebSocket must not have a body");
    if (!version || strcmp(version, "13") != 0)
        return error_set(err, ERR_INVALID, "the WebSocket version is %s, supported is 13",
                         version ? version : "missing");
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
    strbuf_adds(
        out, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ");
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
    c->ws = ws_adopt(c->server->loop, c->bev, c->server->options.tls != NULL, h, on_ws_gone, c);
    c->bev = NULL;
    *ret = c->ws;
    return 0;
}
