/* Internal to the HTTP client: why an exchange has brought no answer, in words for a person. Both transports, libcurl
 * (http_transfer.c) and plain sockets (plain_http.c), take their sentences from here, so that a person reads the same
 * one from either. */
#ifndef DET_NET_CLIENT_HTTP_FAILURE_H
#define DET_NET_CLIENT_HTTP_FAILURE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "net/client/http_client.h"

#define HTTP_CONNECT_TIMEOUT_S 10
#define HTTP_REPLY_MAX (256u << 20)
#define HTTP_USER_AGENT "determined-c/" DET_VERSION

/* Reasons that need no number. */
#define HTTP_UNRESOLVED "its name can't be resolved to an address"
#define HTTP_BROKE_OFF "the connection broke off before the answer was complete"
#define HTTP_NO_HTTP \
    "this port does not answer to HTTP; if it is the master's HTTPS port, write https:// instead of http://"
#define HTTP_NO_HTTPS \
    "this port does not speak HTTPS; if it is the master's HTTP port, write http:// instead of https://"

/* Adds a text with a small first letter: texts of strerror() and libcurl begin with a capital, and here they follow a
 * colon. */
void http_failure_add_lower(struct strbuf *b, const char *s);
/* Adds why no connection came about. of_master: it was to be one to the server itself, not to a proxy or a socket. */
void http_failure_unreachable(int os_error, bool of_master, struct strbuf *why);
/* Adds which limit in time is over. connected: there was a connection. */
void http_failure_timeout(const struct http_fetch *f, bool connected, struct strbuf *why);

/* The functions below set the error and return -1. place: "http://host:port", or the path of a socket. */
int http_failure_reach(const char *place, const char *why, struct error *err);
int http_failure_stopped(const char *place, struct error *err);
int http_failure_too_big(const char *place, size_t max, struct error *err);

#endif
