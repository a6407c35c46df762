/* An HTTP client for http:// and https://. Two ways of use share one struct of options: http_fetch() blocks (for det
 * and worker threads), http_fetch_start() runs on a loop. http_fetch() makes plain requests over sockets, and leaves
 * all that needs more (TLS, proxies, large bodies, redirects) to libcurl; plain_http.h says which requests are plain.
 * http_fetch_start() always uses libcurl (curl_multi_socket). Redirects are followed for GET only, and no credentials
 * are sent to another host. Proxies come from the environment. Errors are sentences for the person at the keyboard:
 * "can't reach http://localhost:8080: connection refused; is the master running there?" */
#ifndef DET_NET_CLIENT_HTTP_CLIENT_H
#define DET_NET_CLIENT_HTTP_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "net/loop/loop.h"

struct http_fetch {
    const char *method; /* "GET" … */
    const char *url;
    /* NULL, or the path of the Unix socket at which the server listens, as container engines do. The URL's host is then
     * only a name, no proxy is asked, and error messages name the socket. */
    const char *unix_socket;
    const char *const *header; /* "Name: value" …, NULL-terminated; NULL for none */
    const void *body;          /* NULL for none; http_fetch() does not copy it */
    size_t body_n;
    int connect_timeout_s; /* 0: 10 */
    int timeout_s;         /* of the whole exchange; 0: none (streams) */
    const char *ca_file, *tls_name;
    bool tls_skip_verify;
    size_t reply_max; /* bytes; 0: 256 MiB */
    /* If on_data is set, it gets the body piece by piece as it arrives (returning -1 stops the fetch with
     * ERR_CANCELED), and reply.body stays empty for statuses below 300. The body of an error is always collected in
     * reply.body. */
    int (*on_data)(const void *data, size_t n, void *ctx);
    void (*on_upload)(size_t sent, size_t total, void *ctx); /* progress; may be NULL */
    /* the same for the reply's body; not called if the server does not say how long that is */
    void (*on_download)(size_t received, size_t total, void *ctx);
    /* NULL, or what another thread sets when nobody wants the answer any more: http_fetch() ends about a second later
     * at most, with ERR_CANCELED. */
    const atomic_bool *abandoned;
    void *ctx;
};

struct http_fetch_reply {
    int status;
    struct strbuf body;
    char content_type[128];
    char date[64]; /* the header Date: the server's clock; "" if there is none */
};

struct http_client; /* keeps its connections open; used by one thread at a time */
/* Loads libcurl, which the first fetch that needs it does otherwise: a server wants to know at its start whether it
 * can. */
int http_client_load(struct error *err);

struct http_client *http_client_new(void);
void http_client_free(struct http_client *c);

/* Returns 0 if an HTTP status came back, whatever it is, and -1 if none did (ERR_UNAVAILABLE, with a sentence that
 * names the URL). */
int http_fetch(struct http_client *c, const struct http_fetch *f, struct http_fetch_reply *ret, struct error *err);
void http_fetch_reply_release(struct http_fetch_reply *r);

/* `done` is called once on the loop's thread, never from within this call. `reply` is NULL if there was no status. The
 * strings and the body of *f are copied. Start, cancel and on_data may call each other. A fetch that still runs when
 * the loop is freed is dropped without calling `done`. */
typedef void http_fetch_done_fn(void *ctx, struct http_fetch_reply *reply, const struct error *err);
struct http_fetch_handle;
struct http_fetch_handle *http_fetch_start(struct loop *l, const struct http_fetch *f, http_fetch_done_fn *done,
                                           void *ctx);
void http_fetch_cancel(struct http_fetch_handle *h); /* done is not called */

#endif
