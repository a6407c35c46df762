/* Which headers pass between a visitor and a task, as pure text (docs/security.md#content-of-tasks).
 *
 * To the task go all headers of the request but these: what belongs to the connection, the platform's credentials
 * (cookies, Authorization, Grpc-Metadata-…), and what the master says itself about the visitor (X-Forwarded-For,
 * X-Forwarded-Proto, X-Real-IP). A task must not be able to act as who looks at it.
 *
 * From the task come all headers but these: what belongs to the connection, and what speaks for the whole origin, which
 * is the platform's and not the task's: cookies beyond the task's own path, HSTS, service workers with a wider scope,
 * permission for other origins, other servers for the same origin, orders to clear the browser's data. */
#ifndef DET_API_PROXY_PROXY_HEADERS_H
#define DET_API_PROXY_PROXY_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/strbuf.h"
#include "net/http/http1.h"

/* The cookie in which a browser keeps the token of one notebook (proxy.c); its path is that of the notebook. */
#define PROXY_TOKEN_COOKIE "det_task_token"

struct proxy_visit {
    const char *method, *path, *query; /* as they were sent */
    const struct http1_header *header;
    size_t header_n;
    enum http_framing framing; /* of the request's body */
    uint64_t length;
    bool upgrade;             /* to a WebSocket */
    bool keeps_authorization; /* the Authorization header is not the platform's */
    const char *client;       /* the visitor's address */
    bool https;               /* the visitor came by https */
};
/* Writes the head of the request for the task. */
void proxy_request_head(const struct proxy_visit *v, struct strbuf *out);

struct proxy_answer {
    const char *path; /* the service's path as the browser knows it, "/proxy/ID/" */
    /* The port is for everybody (`unauthenticated`), and its answers do not depend on who is logged in. */
    bool open;
    /* The browser must keep the page apart from the platform's pages: it gets an origin of its own. */
    bool sandbox;
    bool is_opaque; /* the request comes from such a page */
};
typedef void proxy_header_fn(void *ctx, const char *name, const char *value);
/* Calls fn for each header of the answer that the visitor gets. */
void proxy_answer_headers(const struct http1_header *header, size_t n, const struct proxy_answer *to,
                          proxy_header_fn *fn, void *ctx);
/* Rewrites the value of a Set-Cookie so that the cookie belongs to the service alone. False: it must not be set. */
bool proxy_set_cookie(const char *value, const char *path, struct strbuf *out);

#endif
