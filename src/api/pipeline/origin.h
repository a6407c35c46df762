/* Where a request comes from: the client's address, for counting, and the page that a browser sent it from.
 *
 * A browser adds the platform's cookie to requests that pages of others have it make. So a request that is authenticated by
 * cookie and changes something, or opens a WebSocket, must prove that it comes from a page of the platform: by Sec-Fetch-Site,
 * or by an Origin that names the host that was asked. A body must be declared as application/json, which no form can do.
 * Whoever sends a token in a header has proved it: pages of others do not know any. Loop only. */
#ifndef DET_API_ORIGIN_H
#define DET_API_ORIGIN_H

#include <stdbool.h>

#include "common/config/address_range.h"
#include "common/base/arena.h"

struct config;
struct http_request;
struct proxies;

/* security.trusted_proxies: whose X-Forwarded-… headers are believed; and whether the master itself speaks https. */
struct proxies *proxies_new(const struct config *c);
void proxies_free(struct proxies *p);

/* The connection's peer, or, if that is a trusted proxy, the last address of X-Forwarded-For that is none. */
void origin_client(const struct proxies *p, const struct http_request *http, struct address *ret);
/* Whether the browser reached us by https, as far as we and a trusted proxy know. */
bool origin_is_https(const struct proxies *p, const struct http_request *http);

/* ERR_FORBIDDEN unless the request changes nothing or comes from the platform. by_cookie: the cookie is what authenticates it;
 * otherwise (a login) only what says that it comes from elsewhere is refused. */
int origin_check(const struct proxies *p, struct http_request *http, bool by_cookie, struct error *err);

#endif
