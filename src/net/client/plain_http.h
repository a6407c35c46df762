/* Internal to the HTTP client: exchanges over plain sockets, for the requests that need no more. libcurl's thirty
 * libraries take longer to load than such a request takes (docs/decisions/0018-plain-requests.md).
 *
 * A request is plain if its URL is http://HOST[:PORT]/PATH, no proxy and no Unix socket is used, and its body has at
 * most PLAIN_BODY_MAX bytes. libcurl makes all other requests (http_transfer.c), and repeats a GET that was answered by
 * a redirect. */
#ifndef DET_NET_CLIENT_PLAIN_HTTP_H
#define DET_NET_CLIENT_PLAIN_HTTP_H

#include <stdbool.h>

#include "net/client/http_client.h"

/* Larger bodies are announced to the server before they are sent (Expect: 100-continue), which libcurl does. */
enum { PLAIN_BODY_MAX = 1 << 20, PLAIN_HOST_MAX = 256 };

struct plain_target {
    char host[PLAIN_HOST_MAX]; /* without brackets */
    int port;
    const char *path; /* with its query; "" stands for "/" */
};

/* The connection that is kept open from one exchange to the next. */
struct plain_http {
    int fd; /* -1: none */
    struct plain_target to;
};

void plain_http_init(struct plain_http *p);
void plain_http_release(struct plain_http *p);

/* Whether the request is plain; *ret then says where it goes. */
bool plain_http_serves(const struct http_fetch *f, struct plain_target *ret);
/* As http_fetch(). *ret_redirected: the answer leads elsewhere, nothing was set, and libcurl is to make the request. */
int plain_http_fetch(struct plain_http *p, const struct plain_target *to, const struct http_fetch *f,
                     struct http_fetch_reply *ret, bool *ret_redirected, struct error *err);

#endif
