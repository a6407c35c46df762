/* HTTP client over libcurl, for http:// and https://. Two faces of one options struct: http_fetch() blocks (det, worker
 * threads), http_fetch_start() runs on a loop (curl_multi_socket). Redirects are followed for GET only, and no
 * credentials go to another host; proxies come from the environment. Errors are sentences for the person at the
 * keyboard: "can't reach http://localhost:8080: connection refused; is the master running there?" */
#ifndef DET_NET_HTTP_CLIENT_H
#define DET_NET_HTTP_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "net/loop/loop.h"

struct http_fetch {
    const char *method;        /* "GET" … */
    const char *url;
    const char *const *header; /* "Name: value" …, NULL-terminated; NULL for none */
    const void *body;          /* NULL for none; http_fetch() does not copy it */
    size_t body_n;
    int connect_timeout_s;     /* 0: 10 */
    int timeout_s;             /* of the whole exchange; 0: none (streams) */
    const char *ca_file, *tls_name;
    bool tls_skip_verify;
    size_t reply_max;          /* bytes; 0: 256 MiB */
    /* With on_data the body is handed over as it arrives (return -1 to stop: ERR_CANCELED) and reply.body stays empty
     * for statuses below 300; error bodies are always gathered. */
    int (*on_data)(const void *data, size_t n, void *ctx);
    void (*on_upload)(size_t sent, size_t total, void *ctx); /* progress; may be NULL */
    /* NULL, or what another thread sets when nobody wants the answer any more: http_fetch() ends about a second later at most,
     * with ERR_CANCELED. */
    const atomic_bool *abandoned;
    void *ctx;
};

struct http_fetch_reply {
    int status;
    struct strbuf body;
    char content_type[128];
};

struct http_client; /* keeps connections; one thread at a time */
struct http_client *http_client_new(void);
void http_client_free(struct http_client *c);

/* 0 whenever an HTTP status came back, whatever it is; -1 when there was none (ERR_UNAVAILABLE, the sentence names the
 * URL). */
int http_fetch(struct http_client *c, const struct http_fetch *f, struct http_fetch_reply *ret, struct error *err);
void http_fetch_reply_release(struct http_fetch_reply *r);

/* done is called once on the loop's thread, never from within this call; reply is NULL when there was no status. The
 * strings and the body of *f are copied. Start, cancel and on_data may call each other. What still runs when the loop
 * is freed is dropped without a word. */
typedef void http_fetch_done_fn(void *ctx, struct http_fetch_reply *reply, const struct error *err);
struct http_fetch_handle;
struct http_fetch_handle *http_fetch_start(struct loop *l, const struct http_fetch *f, http_fetch_done_fn *done,
                                           void *ctx);
void http_fetch_cancel(struct http_fetch_handle *h); /* done is not called */

#endif
