/* The request as its handler sees it. */
#include "common/base/must.h"
#include "net/http/http_internal.h"

#include <stdlib.h>
#include <string.h>

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <openssl/ssl.h>

#include "net/tls/certificate.h"

enum http_method http_request_method(const struct http_request *r)
{
    return r->head.method;
}

bool http_request_client_certificate(const struct http_request *r, struct http_client_certificate *ret)
{
    SSL *ssl = r->conn->server->options.tls ? bufferevent_openssl_get_ssl(r->conn->bev) : NULL;
    const X509 *x = ssl ? SSL_get0_peer_certificate(ssl) : NULL;
    if (!x)
        return false;
    long verdict = SSL_get_verify_result(ssl);
    ret->distrust = verdict == X509_V_OK ? NULL : X509_verify_cert_error_string(verdict);
    certificate_facts_of(x, &ret->facts);
    return true;
}

const char *http_request_path(const struct http_request *r)
{
    return r->head.path;
}

const char *http_request_query(const struct http_request *r)
{
    return r->head.query;
}

const char *http_request_header(const struct http_request *r, const char *name)
{
    return http1_find(&r->head, name);
}

const char *http_request_last_header(const struct http_request *r, const char *name)
{
    for (size_t i = r->head.header_n; i-- > 0;)
        if (strcasecmp(r->head.header[i].name, name) == 0)
            return r->head.header[i].value;
    return NULL;
}

const struct http1_header *http_request_headers(const struct http_request *r, size_t *ret_n)
{
    *ret_n = r->head.header_n;
    return r->head.header;
}

enum http_framing http_request_framing(const struct http_request *r, uint64_t *ret_length)
{
    if (r->head.chunked)
        return HTTP_CHUNKED;
    *ret_length = r->head.length;
    return r->head.length > 0 ? HTTP_SIZED : HTTP_NO_BODY;
}

const char *http_request_peer(const struct http_request *r)
{
    return r->conn->peer;
}

const void *http_request_body(struct http_request *r, size_t *ret_n)
{
    *ret_n = r->body_n;
    return r->body ? r->body : "";
}

void *http_request_take_body(struct http_request *r, size_t *ret_n)
{
    char *body = r->body ? r->body : must_calloc(1, 1);
    *ret_n = r->body_n;
    r->body = NULL;
    r->body_n = r->body_cap = 0;
    return body;
}

void http_request_set_ctx(struct http_request *r, void *ctx, void (*on_close)(struct http_request *r, void *ctx))
{
    r->ctx = ctx;
    r->on_close = on_close;
}

static void add_cookies(struct strbuf *out, const char *list)
{
    while (*list) {
        list += strspn(list, " \t;");
        size_t n = strcspn(list, ";"), name_n = strcspn(list, "=;");
        if (name_n < n) {
            strbuf_add(out, list, name_n);
            strbuf_addc(out, '\0');
            strbuf_add(out, list + name_n + 1, n - name_n - 1);
            strbuf_addc(out, '\0');
        }
        list += n;
    }
}

const char *http_request_cookie(struct http_request *r, const char *name)
{
    struct strbuf *all = &r->cookies;
    if (all->n == 0)
        for (size_t i = 0; i < r->head.header_n; i++)
            if (strcasecmp(r->head.header[i].name, "Cookie") == 0)
                add_cookies(all, r->head.header[i].value);
    for (size_t at = 0; at < all->n;) {
        const char *value = all->s + at + strlen(all->s + at) + 1;
        if (strcmp(all->s + at, name) == 0)
            return value;
        at = (size_t)(value - all->s) + strlen(value) + 1;
    }
    return NULL;
}

void request_reset(struct http_request *r)
{
    struct http_server *s = r->conn->server;
    s->bodies -= r->charged;
    if (r->anonymous)
        s->anonymous_bodies -= r->charged;
    r->charged = 0;
    free(r->body);
    r->body = NULL;
    r->body_n = r->body_cap = 0;
    r->anonymous = r->streaming = r->stream_head_sent = false;
    bool was_taken = r->held || r->receiver;
    r->early = r->body_coming = r->switched = r->held = false;
    r->body_left = 0;
    r->receiver = NULL;
    if (was_taken)
        conn_choose_reader(r->conn); /* for the next request, and to see the client leave */
    r->chunks = (struct http1_chunks){0};
    strbuf_reset(&r->extra);
    strbuf_reset(&r->cookies);
    r->ctx = NULL;
    r->on_close = NULL;
    r->on_drained = NULL;
}
