/* Internal to the HTTP client: which proxy the environment names for an address. */
#ifndef DET_NET_CLIENT_PROXY_CHOICE_H
#define DET_NET_CLIENT_PROXY_CHOICE_H

#include <stdbool.h>

/* The proxy for http:// or https:// (tls), in the variables that libcurl reads; NULL: none. */
const char *proxy_in_environment(bool tls);
/* The list of addresses that need no proxy: no_proxy, else NO_PROXY; NULL: none. */
const char *proxy_exceptions(void);
/* Whether a request to this host, without brackets, goes through a proxy. */
bool proxy_is_needed(bool tls, const char *host, long port);

#endif
