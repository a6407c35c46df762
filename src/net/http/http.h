/* HTTP/1.1 server: requests in, replies and streams out; WebSocket by upgrade.
 *
 * Life of a request: on_request is called on the loop's thread once the whole body is there. The handler answers with
 * exactly one of
 *   http_reply(…)                                   whole body, Content-Length
 *   http_stream_start(…) … http_stream_end(…)       chunked; write only from the drained callback or when asked for
 *   http_upgrade_ws(…)                              the connection becomes a WebSocket
 * at once or later. When the client leaves before, on_close is called once and the request is gone: do not touch it
 * again. on_close never runs inside a call of this header, only from the loop. After the answer is complete the request
 * is gone, too (no on_close).
 *
 * Reading is our own, on libevent's bufferevents (docs/decisions/0002-own-http-reader.md): evhttp buffers a whole body
 * before anyone sees the request, which is too late for all that follows. The head is parsed when it is complete, so
 * that
 *   - a body whose Content-Length is over its limit is 413 before a byte of it was read, a chunked one as soon as it is over;
 *   - whether a request may have a big body is asked of `has_credentials` with the headers alone;
 *   - bytes of bodies in flight are reserved before they come, and input of which nobody knows yet whom it comes from
 *     is counted: no room is 503 with Retry-After;
 *   - a head over 64 KiB or of more than 100 headers is 431, a malformed request 400, a slow one 408.
 * Such faults are answered in the API's form (docs/spec/wire.md#errors, struct http_server_options.error_body) and close the connection,
 * which goes on discarding what the client still sends for a few seconds, so that the client gets to read the
 * answer. */
#ifndef DET_NET_HTTP_H
#define DET_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "net/loop/loop.h"
#include "net/websocket/ws.h"

struct http_server;
struct http_request;

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE, HTTP_OPTIONS, HTTP_METHOD_NR };
const char *http_method_name(enum http_method m);

/* 0 means the default. A body's bytes count from its admission until its request is answered. */
struct http_limits {
    size_t body_max;             /* of one request, unless http_server_options.body_max allows it more; 96 MiB */
    size_t bodies_max;           /* of all requests together; 1 GiB */
    size_t anonymous_body_max;   /* of one request without credentials; 1 MiB */
    size_t anonymous_bodies_max; /* of all of those together, half of it open to heads that are not complete; 64 MiB */
    /* 20,000, and 256 less than the process may have files; more are answered 503 at once */
    int connections_max;
    int idle_timeout_s;          /* between two requests; 75 */
    int read_timeout_s;          /* for a head from its first byte; a body gets a second more for each 16 KiB; 30 */
};

typedef void http_request_fn(struct http_request *r, void *ctx);
typedef bool http_credentials_fn(struct http_request *r, void *ctx); /* headers only: does it look authenticated? */
/* Head only: how many bytes the body of this request may have. Asked when it has more than limits.body_max. */
typedef size_t http_body_max_fn(struct http_request *r, void *ctx);
/* Formats the body of a fault below the handler (Content-Type application/json). */
typedef void http_error_body_fn(int status, const struct error *e, struct strbuf *out, void *ctx);

struct ssl_ctx_st; /* OpenSSL's SSL_CTX */
struct http_server_options {
    const char *bind_host;  /* NULL: all addresses, IPv6 and IPv4 */
    int port;               /* 0: any; http_server_port() tells */
    struct http_limits limits;
    http_request_fn *on_request;
    http_credentials_fn *has_credentials; /* NULL: every request counts as authenticated */
    http_body_max_fn *body_max;           /* NULL: limits.body_max for every request */
    http_error_body_fn *error_body;       /* NULL: {"error":{"code":8,"reason":"ResourceExhausted","error":"…"}} */
    void *ctx;
    struct ssl_ctx_st *tls; /* NULL: plain HTTP. The server and each connection keep a reference of their own */
};

int http_server_new(struct loop *l, const struct http_server_options *o, struct http_server **ret, struct error *err);
int http_server_port(const struct http_server *s);
/* Connections accepted from now on use it. Only for a server that was made with TLS. */
void http_server_set_tls(struct http_server *s, struct ssl_ctx_st *tls);
int http_server_connections(const struct http_server *s);
void http_server_stop_accepting(struct http_server *s); /* answers from now on close their connections */
/* not from a callback of this server; calls on_close of what is unanswered */
void http_server_free(struct http_server *s);

enum http_method http_request_method(const struct http_request *r);
bool http_request_client_verified(const struct http_request *r); /* over TLS, with a certificate (tls_pair_ask_clients) */
const char *http_request_path(const struct http_request *r);   /* as sent: still percent-encoded, no query */
const char *http_request_query(const struct http_request *r);  /* as sent, "" if none */
const char *http_request_header(const struct http_request *r, const char *name); /* NULL if absent */
/* Of several lines of one name the last: the one that a proxy has added. */
const char *http_request_last_header(const struct http_request *r, const char *name);
/* NULL if absent; lives as long as r */
const char *http_request_cookie(struct http_request *r, const char *name);
const char *http_request_peer(const struct http_request *r);   /* "10.0.0.7" */
const void *http_request_body(struct http_request *r, size_t *ret_n); /* contiguous; NUL behind the last byte */
/* The caller owns the body from now on (free(3)); for handing big bodies to a worker. */
void *http_request_take_body(struct http_request *r, size_t *ret_n);

void http_request_set_ctx(struct http_request *r, void *ctx, void (*on_close)(struct http_request *r, void *ctx));

/* Reply headers; before http_reply or http_stream_start. */
void http_add_header(struct http_request *r, const char *name, const char *value);
/* Sends status, Content-Type (NULL: none) and the body's bytes. HEAD: length only. */
void http_reply(struct http_request *r, int status, const char *content_type, const void *body, size_t n);
/* As http_reply, without copying: takes a body made by malloc(3). */
void http_reply_take(struct http_request *r, int status, const char *content_type, void *body, size_t n);

/* A stream: the header goes out with the first write (one of 0 bytes will do) or the end. on_drained is called whenever
 * everything written has gone to the kernel, also right after the start; write 16 to 64 KiB there, or later. */
void http_stream_start(struct http_request *r, int status, const char *content_type,
                       void (*on_drained)(struct http_request *r, void *ctx));
/* As above for a stream whose length is known: exactly n bytes are written, or it is aborted. */
void http_stream_start_sized(struct http_request *r, int status, const char *content_type, uint64_t n,
                             void (*on_drained)(struct http_request *r, void *ctx));
/* Ends the connection in the midst of a stream that can't be finished, so that the client does not take it for one. */
void http_stream_abort(struct http_request *r);
void http_stream_write(struct http_request *r, const void *data, size_t n);
size_t http_stream_pending(const struct http_request *r); /* bytes not yet in the kernel */
void http_stream_end(struct http_request *r);

/* Turns the request into a WebSocket; on failure (not an upgrade request) nothing was sent, answer with http_reply. */
int http_upgrade_ws(struct http_request *r, const struct ws_handler *h, struct ws **ret, struct error *err);

/* Helpers for every HTTP user. */
/* appends; -1 on a bad escape */
int http_percent_decode(const char *s, size_t n, bool plus_is_blank, struct strbuf *out);
typedef int http_query_fn(const char *name, const char *value, void *ctx, struct error *err);
int http_query_each(const char *query, http_query_fn *fn, void *ctx, struct error *err); /* decoded pairs in order */

#endif
