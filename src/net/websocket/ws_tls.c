#include "net/websocket/ws_tls.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/bufferevent.h>

#include "common/base/hex.h"
#include "common/base/must.h"
#include "net/tls/tls_calls.h"

struct ws_tls {
    SSL_CTX *ctx;
    bool skip_verify;
    char *pin; /* NULL: none */
    void (*on_certificate)(void *ctx, const char *pem, const char *name, const char *fingerprint);
    void *certificate_ctx;
};

/* ---- the client's own certificate -------------------------------------------------------------------------------- */

static int show_certificate(SSL_CTX *ctx, const struct ws_client_options *o, struct error *err)
{
    if (!o->client_cert)
        return 0;
    bool has_certificate = SSL_CTX_use_certificate_chain_file(ctx, o->client_cert) == 1;
    if (has_certificate && SSL_CTX_use_PrivateKey_file(ctx, o->client_key, SSL_FILETYPE_PEM) == 1)
        return 0;
    unsigned long code = ERR_get_error();
    const char *why = ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);
    ERR_clear_error();
    return error_set(err, ERR_INVALID, "%s cannot be used as %s: %s", has_certificate ? o->client_key : o->client_cert,
                     has_certificate ? "key" : "certificate", why ? why : "unknown reason");
}

/* ---- a pinned certificate ---------------------------------------------------------------------------------------- */

enum { FINGERPRINT_DIGITS = 64 };

static bool is_pinned(const char *pin, const char *fingerprint)
{
    for (size_t n = strlen(pin); n >= FINGERPRINT_DIGITS; n -= FINGERPRINT_DIGITS, pin += FINGERPRINT_DIGITS)
        if (strncmp(pin, fingerprint, FINGERPRINT_DIGITS) == 0)
            return true;
    return false;
}

/* OpenSSL calls this in place of its own check. The server proves in the handshake that it has the certificate's key.
 */
static int check_pin(X509_STORE_CTX *store, void *arg)
{
    struct ws_tls *t = arg;
    const X509 *x = X509_STORE_CTX_get0_cert(store);
    unsigned char digest[EVP_MAX_MD_SIZE];
    char text[2 * EVP_MAX_MD_SIZE + 1];
    unsigned n = 0;
    if (!x || X509_digest(x, EVP_sha256(), digest, &n) != 1)
        return 0;
    hex_encode(digest, n, text);
    if (is_pinned(t->pin, text)) {
        X509_STORE_CTX_set_error(store, X509_V_OK);
        return 1;
    }
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
    return 0;
}

/* A name for which the certificate is valid: the first of its alternative names that is one, else its subject's. */
static void name_of(const X509 *x, char *ret, size_t size)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
    *ret = 0;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && !*ret; i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type == GEN_DNS && (size_t)ASN1_STRING_length(name->d.dNSName) < size)
            snprintf(ret, size, "%.*s", ASN1_STRING_length(name->d.dNSName),
                     (const char *)ASN1_STRING_get0_data(name->d.dNSName));
    }
    GENERAL_NAMES_free(names);
    if (!*ret && X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, ret, (int)size) < 0)
        *ret = 0;
}

void ws_tls_tell_certificate(const struct ws_tls *t, struct bufferevent *bev)
{
    SSL *ssl = t->pin && t->on_certificate ? bufferevent_openssl_get_ssl(bev) : NULL;
    X509 *x = ssl ? SSL_get0_peer_certificate(ssl) : NULL;
    BIO *pem = x ? BIO_new(BIO_s_mem()) : NULL;
    unsigned char digest[EVP_MAX_MD_SIZE];
    char fingerprint[2 * EVP_MAX_MD_SIZE + 1], name[256], *data;
    unsigned n = 0;
    if (pem && X509_digest(x, EVP_sha256(), digest, &n) == 1 && PEM_write_bio_X509(pem, x) == 1) {
        long length = BIO_get_mem_data(pem, &data);
        char *text = must_strndup(data, (size_t)length);
        hex_encode(digest, n, fingerprint);
        name_of(x, name, sizeof(name));
        t->on_certificate(t->certificate_ctx, text, name, fingerprint);
        free(text);
    }
    BIO_free(pem);
}

/* ---- whole ------------------------------------------------------------------------------------------------------- */

static int set_checks(struct ws_tls *t, const struct ws_client_options *o, struct error *err)
{
    const char *ca_file = o->ca_file;
    t->ctx = SSL_CTX_new(TLS_client_method());
    if (!t->ctx)
        return error_set(err, ERR_INTERNAL, "OpenSSL does not start: %s", ERR_reason_error_string(ERR_get_error()));
    SSL_CTX_set_min_proto_version(t->ctx, TLS1_2_VERSION);
    /* A client that has the server's own certificate in ca_file need not know who signed it. */
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(t->ctx), X509_V_FLAG_PARTIAL_CHAIN);
    if (o->pin) {
        SSL_CTX_set_verify(t->ctx, SSL_VERIFY_PEER, NULL);
        SSL_CTX_set_cert_verify_callback(t->ctx, check_pin, t);
        return show_certificate(t->ctx, o, err);
    }
    SSL_CTX_set_verify(t->ctx, t->skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    int ok = ca_file ? SSL_CTX_load_verify_locations(t->ctx, ca_file, NULL) : SSL_CTX_set_default_verify_paths(t->ctx);
    if (ok == 1)
        return show_certificate(t->ctx, o, err);
    ERR_clear_error();
    return error_set(err, ERR_INVALID, "%s holds no certificates of authorities in PEM form",
                     ca_file ? ca_file : "the system");
}

struct ws_tls *ws_tls_new(const struct ws_client_options *o, void *on_certificate_ctx, struct error *err)
{
    if (tls_calls_load(err) < 0)
        return NULL;
    struct ws_tls *t = must_calloc(1, sizeof(*t));
    t->skip_verify = o->tls_skip_verify;
    t->pin = o->pin ? must_strdup(o->pin) : NULL;
    t->on_certificate = o->on_certificate;
    t->certificate_ctx = on_certificate_ctx;
    if (set_checks(t, o, err) == 0)
        return t;
    ws_tls_free(t);
    return NULL;
}

void ws_tls_free(struct ws_tls *t)
{
    if (!t)
        return;
    SSL_CTX_free(t->ctx);
    free(t->pin);
    free(t);
}

struct bufferevent *ws_tls_bufferevent(struct ws_tls *t, struct event_base *base, struct bufferevent *under,
                                       const char *name)
{
    struct in6_addr unused;
    bool is_address = inet_pton(AF_INET, name, &unused) == 1 || inet_pton(AF_INET6, name, &unused) == 1;
    SSL *ssl = SSL_new(t->ctx);
    if (!ssl)
        return NULL;
    if (is_address)
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name);
    else {
        SSL_set1_host(ssl, name);
        SSL_set_tlsext_host_name(ssl, name);
    }
    struct bufferevent *bev = under ? bufferevent_openssl_filter_new(base, under, ssl, BUFFEREVENT_SSL_CONNECTING,
                                                                     BEV_OPT_CLOSE_ON_FREE)
                                    : bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_CONNECTING,
                                                                     BEV_OPT_CLOSE_ON_FREE);
    if (bev)
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    else
        SSL_free(ssl);
    return bev;
}

bool ws_tls_failure(const struct ws_tls *t, struct bufferevent *bev, const char *name, char *ret, size_t size)
{
    unsigned long error = bufferevent_get_openssl_error(bev);
    long verify = t->skip_verify ? X509_V_OK : SSL_get_verify_result(bufferevent_openssl_get_ssl(bev));
    if (verify == X509_V_ERR_CERT_REJECTED && t->pin)
        snprintf(
            ret, size,
            "its certificate is not the one that the agent's token names: what answers there is not that master, or "
            "the master has a new certificate");
    else if (verify != X509_V_OK)
        snprintf(ret, size, "its certificate is not valid for %s: %s", name, X509_verify_cert_error_string(verify));
    else if (error)
        snprintf(ret, size, "TLS: %s", ERR_reason_error_string(error));
    return verify != X509_V_OK || error;
}
