/* HTTP/1.1 server: requests in, replies and streams out; WebSocket by upgrade.
 *
 * Life of a request: on_request is called on the loop's thread once the whole body is there; for requests that
 * http_server_options.early chooses, once the head is there (http_receive() then gives out the body). The handler
 * answers with exactly one of
 *   http_reply(…)                                   whole body, Content-Length
 *   http_stream_start(…) … http_stream_end(…)       chunked; write only from the drained callback or when asked for
 *   http_upgrade_ws(…)                              the connection becomes a WebSocket
 *   http_switch_protocols(…) … http_stream_end(…)   the connection carries bytes both ways, of which we know nothing
 * at once or later. When the client leaves before, on_close is called once and the request is gone: do not touch it
 * again. on_close never runs inside a call of this header, only from the loop. After the answer is complete the request
 * is gone, too (no on_close).
 *
 * Reading is our own, on libevent's bufferevents (docs/decisions/0002-own-http-reader.md): evhttp buffers a whole body
 * before anyone sees the request, which is too late for all that follows. The head is parsed when it is complete, so
 * that
 *   - a body whose Content-Length is over its limit is 413 before a byte of it was read, a chunked one as soon as it is
 *     over;
 *   - whether a request may have a big body is asked of `has_credentials` with the headers alone;
 *   - bytes of bodies in flight are reserved before they come, and input of which nobody knows yet whom it comes from
 *     is counted: no room is 503 with Retry-After;
 *   - a head over 64 KiB or of more than 100 headers is 431, a malformed request 400, a slow one 408.
 * Such faults are answered in the API's form (docs/spec/wire.md#errors, struct http_server_options.error_body) and
 * close the connection, which goes on discarding what the client still sends for a few seconds, so that the client gets
 * to read the answer. */
#ifndef DET_NET_HTTP_HTTP_H
#define DET_NET_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "net/loop/loop.h"
#include "net/tls/certificate.h"
#include "net/websocket/ws.h"

struct http_server;
struct http_request;

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE, HTTP_OPTIONS, HTTP_METHOD_NR };
const char *http_method_name(enum http_method m);

/* Limits; 0 means the default. The bytes of a body count from when it is admitted until its request is answered. */
struct http_limits {
    size_t body_max;           /* of one request, unless http_server_options.body_max allows it more; 96 MiB */
    size_t bodies_max;         /* of all requests together; 1 GiB */
    size_t anonymous_body_max; /* of one request without credentials; 1 MiB */
    /* of all bodies without credentials together; half of it is left to heads that are not complete; 64 MiB */
    size_t anonymous_bodies_max;
    /* 20,000, but at most 256 less than the files that the process may open; further connections are answered 503 at
     * once */
    int connections_max;
    int idle_timeout_s; /* between two requests; 75 */
    /* for a head, counted from its first byte; a body gets one more second for each 16 KiB; 30 */
    int read_timeout_s;
};

typedef void http_request_fn(struct http_request *r, void *ctx);
/* judges by the headers alone whether the request has credentials */
typedef bool http_credentials_fn(struct http_request *r, void *ctx);
/* The most bytes that the body of this request may have, judged by its head alone. Asked if the body has more than
 * limits.body_max. */
typedef size_t http_body_max_fn(struct http_request *r, void *ctx);
/* Whether the request is handed over as soon as its head is there. Its body has no limit, and it never lies in memory:
 * the handler takes it in pieces, or answers without it. */
typedef bool http_early_fn(struct http_request *r, void *ctx);
/* Writes the body of an error reply that the server itself sends, without a handler (Content-Type application/json). */
typedef void http_error_body_fn(int status, const struct error *e, struct strbuf *out, void *ctx);

struct ssl_ctx_st; /* OpenSSL's SSL_CTX */
struct http_server_options {
    const char *bind_host; /* NULL: all addresses, IPv6 and IPv4 */
    int port;              /* 0: any free port; http_server_port() returns it */
    struct http_limits limits;
    http_request_fn *on_request;
    http_credentials_fn *has_credentials; /* NULL: every request counts as authenticated */
    http_body_max_fn *body_max;           /* NULL: limits.body_max for every request */
    http_early_fn *early;                 /* NULL: no request */
    http_error_body_fn *error_body;       /* NULL: {"error":{"code":8,"reason":"ResourceExhausted","error":"…"}} */
    void *ctx;
    struct ssl_ctx_st *tls; /* NULL: plain HTTP. The server and each connection keep a reference of their own */
};

int http_server_new(struct loop *l, const struct http_server_options *o, struct http_server **ret, struct error *err);
int http_server_port(const struct http_server *s);
/* Connections that are accepted from now on use this certificate. Only for a server that was made with TLS. */
void http_server_set_tls(struct http_server *s, struct ssl_ctx_st *tls);
int http_server_connections(const struct http_server *s);
/* stops accepting connections; each answer from now on closes its connection */
void http_server_stop_accepting(struct http_server *s);
/* Frees the server and calls on_close of unanswered requests. Must not be called from a callback of this server. */
void http_server_free(struct http_server *s);

enum http_method http_request_method(const struct http_request *r);
/* The certificate that the client has shown over TLS (tls_pair_ask_clients()). */
struct http_client_certificate {
    const char *distrust; /* why it is not one of an authority that the server knows; NULL: it is */
    struct certificate_facts facts;
};
bool http_request_client_certificate(const struct http_request *r, struct http_client_certificate *ret);
const char *http_request_path(const struct http_request *r);  /* as sent: still percent-encoded, no query */
const char *http_request_query(const struct http_request *r); /* as sent, "" if none */
const char *http_request_header(const struct http_request *r, const char *name); /* NULL if absent */
/* The last of several lines of one name: the one that a proxy has added. */
const char *http_request_last_header(const struct http_request *r, const char *name);
/* NULL if absent; lives as long as r */
const char *http_request_cookie(struct http_request *r, const char *name);
const char *http_request_peer(const struct http_request *r); /* "10.0.0.7" */
/* contiguous, with a NUL byte after the last byte */
const void *http_request_body(struct http_request *r, size_t *ret_n);
/* Gives the body to the caller, who frees it with free(3); for passing big bodies to a worker. */
void *http_request_take_body(struct http_request *r, size_t *ret_n);

/* All header lines, in the order in which they came. They live as long as r. */
struct http1_header;
const struct http1_header *http_request_headers(const struct http_request *r, size_t *ret_n);

/* How the end of a body is known. */
enum http_framing {
    HTTP_NO_BODY,
    HTTP_SIZED,       /* by a Content-Length */
    HTTP_CHUNKED,     /* by a last chunk */
    HTTP_UNTIL_CLOSE, /* by the end of the connection; answers only */
};
/* What the head says about the body. *ret_length is set for HTTP_SIZED. */
enum http_framing http_request_framing(const struct http_request *r, uint64_t *ret_length);

/* Takes what the client sends, for a request that was handed over early and has a body, and for a connection that has
 * switched protocols. The functions get the ctx of http_request_set_ctx(). They are called from the loop, never from
 * within a call of this header. */
struct http_receiver {
    void (*on_data)(struct http_request *r, const void *data, size_t n, void *ctx);
    void (*on_end)(struct http_request *r, void *ctx); /* the body is complete; not called after a switch */
};
/* Begins to give out what the client sends, in the next turn of the loop. Before that, and while it is held, what the
 * client sends waits: 68 KiB here, the rest with the client. If the body's framing is broken, on_close is called, and
 * the client gets 400 unless an answer has begun. */
void http_receive(struct http_request *r, const struct http_receiver *receiver);
void http_receive_hold(struct http_request *r, bool on);

void http_request_set_ctx(struct http_request *r, void *ctx, void (*on_close)(struct http_request *r, void *ctx));

/* Adds a header of the reply; call it before http_reply or http_stream_start. */
void http_add_header(struct http_request *r, const char *name, const char *value);
/* Sends a whole reply. content_type NULL sends no Content-Type. The answer to HEAD has the length only. */
void http_reply(struct http_request *r, int status, const char *content_type, const void *body, size_t n);
/* As http_reply, but without copying: takes over a body that malloc(3) has made. */
void http_reply_take(struct http_request *r, int status, const char *content_type, void *body, size_t n);

/* Begins a stream. The header is sent with the first write (one of 0 bytes will do) or at the end. on_drained is called
 * whenever everything written has gone to the kernel, and once right after the start; write 16 to 64 KiB at a time, in
 * on_drained or later. */
void http_stream_start(struct http_request *r, int status, const char *content_type,
                       void (*on_drained)(struct http_request *r, void *ctx));
/* As http_stream_start, for a stream of known length: exactly n bytes must be written, or the stream is aborted. */
void http_stream_start_sized(struct http_request *r, int status, const char *content_type, uint64_t n,
                             void (*on_drained)(struct http_request *r, void *ctx));
/* As http_stream_start, for an answer that comes from elsewhere: it has the headers of http_add_header() and no others,
 * but those that say how the body ends. HTTP_UNTIL_CLOSE becomes chunks, or the end of the connection for a client that
 * does not know them. An answer to HEAD says how long its body would be. */
void http_stream_start_relayed(struct http_request *r, int status, enum http_framing framing, uint64_t length,
                               void (*on_drained)(struct http_request *r, void *ctx));
/* Sends "HTTP/1.1 100 Continue" or the like ahead of the answer, without headers. */
void http_interim(struct http_request *r, int status);
/* Answers 101 with the headers of http_add_header(). From now on http_stream_write() sends bytes as they are, and
 * http_receive() takes them; http_stream_end() closes the connection after what was written. When the client has closed
 * it, on_data is called for what it had sent, even while it is held, and then on_close. The request's head is freed. */
void http_switch_protocols(struct http_request *r, void (*on_drained)(struct http_request *r, void *ctx));
/* Closes the connection of a stream that cannot be finished, so that the client notices that it is incomplete. */
void http_stream_abort(struct http_request *r);
void http_stream_write(struct http_request *r, const void *data, size_t n);
size_t http_stream_pending(const struct http_request *r); /* bytes that have not yet gone to the kernel */
void http_stream_end(struct http_request *r);

/* Turns the request into a WebSocket. On failure (it is not an upgrade request) nothing was sent; answer with
 * http_reply. */
int http_upgrade_ws(struct http_request *r, const struct ws_handler *h, struct ws **ret, struct error *err);

/* Percent-escapes and query strings, for clients and servers. */
/* Appends the decoded text to `out`. Returns -1 if an escape is malformed. */
int http_percent_decode(const char *s, size_t n, bool plus_is_blank, struct strbuf *out);
typedef int http_query_fn(const char *name, const char *value, void *ctx, struct error *err);
/* calls fn for each decoded pair, in order */
int http_query_each(const char *query, http_query_fn *fn, void *ctx, struct error *err);

/* Whether an If-None-Match header (NULL: there is none) names this entity tag, which has its quotes. Compared weakly.
 */
bool http_tag_matches(const char *if_none_match, const char *tag);
/* Whether an Accept-Encoding header (NULL: there is none) allows this coding by its name. */
bool http_accepts_coding(const char *accept_encoding, const char *coding);

#endif
