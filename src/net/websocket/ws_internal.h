/* Shared by the files of src/net that know WebSockets: ws.c (frames), ws_client.c (dialling), http_upgrade.c. */
#ifndef DET_NET_WEBSOCKET_WS_INTERNAL_H
#define DET_NET_WEBSOCKET_WS_INTERNAL_H

#include <stdint.h>

#include "net/websocket/ws.h"

struct bufferevent;

typedef void ws_gone_fn(struct ws *w, void *owner);

/* Makes the server's end of a connection: takes over the bufferevent after the reply 101 was written to it. on_gone is
 * called after on_close, right before the ws is freed. What the client has sent after its handshake is read in the
 * loop's next turn. tls: the bufferevent speaks TLS. */
struct ws *ws_adopt(struct loop *l, struct bufferevent *bev, bool tls, const struct ws_handler *h, ws_gone_fn *on_gone,
                    void *owner);
/* Random bytes for keys and masks. */
void ws_random(void *ret, size_t n);
/* Computes Sec-WebSocket-Accept for a Sec-WebSocket-Key (RFC 6455 4.2.2). */
#define WS_ACCEPT_MAX 32
void ws_accept_key(const char *key, char ret[WS_ACCEPT_MAX]);

/* The state of a client's end while it dials, until the connection is open. */
struct ws_dial;
struct ws_dial *ws_dial_new(struct ws *w, struct loop *l, const struct ws_client_options *o, void *ctx,
                            struct error *err);
void ws_dial_start(struct ws_dial *d);
void ws_dial_free(struct ws_dial *d);
/* Called by the dialler, always from the loop, with its result. The ws must then free d. */
void ws_dialled(struct ws *w, struct bufferevent *bev, bool tls);
void ws_dial_failed(struct ws *w, int code, const char *why);

#endif
