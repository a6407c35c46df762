/* Internal to the dialler (ws_client.c): TLS of a WebSocket's client. */
#ifndef DET_NET_WEBSOCKET_WS_TLS_H
#define DET_NET_WEBSOCKET_WS_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "net/websocket/ws.h"

struct bufferevent;
struct event_base;

/* What a client checks of its server, and shows to it. */
struct ws_tls;

/* on_certificate_ctx: what the options' on_certificate() gets. */
struct ws_tls *ws_tls_new(const struct ws_client_options *o, void *on_certificate_ctx, struct error *err);
void ws_tls_free(struct ws_tls *t);

/* A connection that speaks TLS with the server called `name`, over `under`, which it takes over, or over a socket that
 * is still to be connected (NULL). NULL: no memory. */
struct bufferevent *ws_tls_bufferevent(struct ws_tls *t, struct event_base *base, struct bufferevent *under,
                                       const char *name);
/* Writes why the handshake has failed. Returns false if TLS knows no reason. */
bool ws_tls_failure(const struct ws_tls *t, struct bufferevent *bev, const char *name, char *ret, size_t size);
/* After the handshake: tells the certificate that was pinned to on_certificate(). */
void ws_tls_tell_certificate(const struct ws_tls *t, struct bufferevent *bev);

#endif
