/* Where a request comes from: the client's address, which is used for counting, and the page from which a browser
 * sent it.
 *
 * A browser adds the platform's cookie even to requests that pages of other sites make it send. So a request that is
 * authenticated by cookie, and that changes something or opens a WebSocket, must prove that it comes from a page of
 * the platform: by Sec-Fetch-Site, or by an Origin that names the host that was asked. Its body must be declared as
 * application/json, which no HTML form can do. A request with a token in a header needs no further proof: pages of
 * other sites do not know any token. Call these functions on the loop only. */
#ifndef DET_API_RIGHTS_ORIGIN_H
#define DET_API_RIGHTS_ORIGIN_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/config/address_range.h"

struct config;
struct http_request;
struct proxies;

/* Reads from the configuration which proxies are trusted (security.trusted_proxies: the X-Forwarded-… headers of
 * these are believed), and whether the master itself speaks https. */
struct proxies *proxies_new(const struct config *c);
void proxies_free(struct proxies *p);

/* The client's address: the connection's peer, or, if the peer is a trusted proxy, the last address in
 * X-Forwarded-For that is not a trusted proxy. */
void origin_client(const struct proxies *p, const struct http_request *http, struct address *ret);
/* Whether the browser reached the platform by https, as far as the master and a trusted proxy know. */
bool origin_is_https(const struct proxies *p, const struct http_request *http);

/* ERR_FORBIDDEN unless the request changes nothing or comes from a page of the platform. by_cookie: the cookie
 * authenticates the request. Otherwise (a login) it is refused only if it says that it comes from elsewhere. */
int origin_check(const struct proxies *p, struct http_request *http, bool by_cookie, struct error *err);
/* The same for a request with a cookie to a task (src/api/proxy), whose body may be of any type. */
int origin_check_page(const struct proxies *p, struct http_request *http, struct error *err);

#endif
