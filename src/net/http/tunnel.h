/* A tunnel: bytes between a WebSocket (binary messages) and a TCP connection, both ways. A side that does not read
 * holds the other one back: about 256 KiB wait for it. When one side ends, the other one ends once what was said has
 * left.
 *
 * The server dials first, so that a port at which nobody listens is an answer and no broken connection:
 *
 *   tunnel_dial(…, dialled, ctx)     dialled(ctx, NULL) or dialled(ctx, why), later
 *   tunnel_upgrade(t, request)       the request's connection becomes the tunnel's WebSocket
 *
 * The client has a connection that somebody made to it, and takes it to a master: tunnel_connect(). All on the loop. */
#ifndef DET_NET_HTTP_TUNNEL_H
#define DET_NET_HTTP_TUNNEL_H

#include <stddef.h>

#include "common/base/error.h"
#include "net/loop/loop.h"

struct http_request;
struct tunnel;
struct tunnels;
struct ws_client_options;

struct tunnels *tunnels_new(struct loop *l);
/* ends the tunnels that are left; call it after http_server_free(); NULL is accepted */
void tunnels_free(struct tunnels *all);
size_t tunnels_count(const struct tunnels *all);

typedef void tunnel_dialled_fn(void *ctx, const char *why); /* why is NULL if the connection was made */
/* Connects to the address, which must be numeric. When dialled() reports a failure, the tunnel is freed. */
int tunnel_dial(struct tunnels *all, const char *address, int port, int timeout_s, tunnel_dialled_fn *dialled,
                void *ctx, struct tunnel **ret, struct error *err);
void tunnel_drop(struct tunnel *t); /* frees a tunnel that has no WebSocket yet; dialled() is not called any more */
/* Turns the request into the tunnel's WebSocket. On failure (it is not an upgrade request) the tunnel is freed, and the
 * request still needs an answer. */
int tunnel_upgrade(struct tunnel *t, struct http_request *http, struct error *err);

/* The client's side: joins fd, which it takes over, with a WebSocket to the master. If the WebSocket cannot be opened,
 * `failed` is called with the reason. */
typedef void tunnel_failed_fn(void *ctx, const char *why);
int tunnel_connect(struct tunnels *all, int fd, const struct ws_client_options *o, tunnel_failed_fn *failed, void *ctx,
                   struct error *err);

#endif
