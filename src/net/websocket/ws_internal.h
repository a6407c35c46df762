/* Between the files of src/net that know WebSockets: ws.c (frames), ws_client.c (dialling), http_upgrade.c. */
#ifndef DET_NET_WS_INTERNAL_H
#define DET_NET_WS_INTERNAL_H

#include <stdint.h>

#include "net/websocket/ws.h"

struct bufferevent;

typedef void ws_gone_fn(struct ws *w, void *owner);

/* A server's end: takes over the bufferevent after the 101 reply was written to it. on_gone runs after on_close, right
 * before the ws is freed. What the client has sent behind its handshake is read in the loop's next turn. */
struct ws *ws_adopt(struct loop *l, struct bufferevent *bev, const struct ws_handler *h, ws_gone_fn *on_gone,
                    void *owner);
/* Sec-WebSocket-Accept for a Sec-WebSocket-Key (RFC 6455 4.2.2). */
#define WS_ACCEPT_MAX 32
void ws_accept_key(const char *key, char ret[WS_ACCEPT_MAX]);

/* The dialling state of a client's end, until it is open. */
struct ws_dial;
struct ws_dial *ws_dial_new(struct ws *w, struct loop *l, const struct ws_client_options *o, struct error *err);
void ws_dial_start(struct ws_dial *d);
void ws_dial_free(struct ws_dial *d);
/* What the dialler reports, always from the loop; d must be freed by the ws afterwards. */
void ws_dialled(struct ws *w, struct bufferevent *bev);
void ws_dial_failed(struct ws *w, int code, const char *why);

#endif
