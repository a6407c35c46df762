#include "net/http/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/hex.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"
#include "net/tls/x509_parts.h"

#define FILE_MAX (1 << 20)
#define CIPHERS_TLS12 "ECDHE+AESGCM:ECDHE+CHACHA20" /* all ciphers of TLS 1.3 are acceptable */
/* so that the certificate is valid for agents whose clocks are slow, and after a clock was set back */
#define BACKDATED_S (2 * 86400L)

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static int no_memory(struct error *err)
{
    ERR_clear_error();
    return error_set(err, ERR_NO_MEMORY, "no memory for TLS");
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int read_pem(const char *path, const char *what, struct strbuf *ret, struct error *err)
{
    if (file_read(path, FILE_MAX, ret, err) < 0)
        return error_wrap(err, "the TLS %s", what);
    return 0;
}

static void note_fingerprint(const X509 *x, char ret[65])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (X509_digest(x, EVP_sha256(), digest, &n) == 1)
        hex_encode(digest, n, ret);
}

/* Adds a certificate to the PEM text, and updates when the first one expires. */
static int note_certificate(X509 *x, BIO *pem, int64_t *expires_us)
{
    int64_t us = x509_time_us(X509_get0_notAfter(x));
    if (us && (*expires_us == 0 || us < *expires_us))
        *expires_us = us;
    return PEM_write_bio_X509(pem, x) == 1 ? 0 : -1;
}

static int use_chain(struct tls_pair *p, BIO *in, BIO *pem, const char *file, struct error *err)
{
    X509 *x;
    int n = 0, rc = 0;
    for (; rc == 0 && (x = PEM_read_bio_X509(in, NULL, NULL, NULL)); n++) {
        int ok = n == 0 ? SSL_CTX_use_certificate(p->ctx, x) : SSL_CTX_add1_chain_cert(p->ctx, x);
        if (ok != 1)
            rc = error_set(err, ERR_INVALID, "%s: certificate %d can't be used: %s", file, n + 1,
                           openssl_reason("OpenSSL refuses it"));
        else if (note_certificate(x, pem, &p->expires_us) < 0)
            rc = no_memory(err);
        if (n == 0)
            note_fingerprint(x, p->fingerprint);
        X509_free(x);
    }
    if (rc < 0)
        return rc;
    unsigned long last = ERR_peek_last_error();
    bool at_end = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
    if (at_end && n == 0) {
        ERR_clear_error();
        return error_set(err, ERR_INVALID, "%s holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)", file);
    }
    if (!at_end)
        return error_set(err, ERR_INVALID, "%s: certificate %d is damaged: %s", file, n + 1, openssl_reason("not PEM"));
    ERR_clear_error();
    return 0;
}

static int load_chain(struct tls_pair *p, const char *file, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (read_pem(file, "certificate", &text, err) < 0)
        return -1;
    BIO *in = BIO_new_mem_buf(text.s, (int)text.n), *pem = BIO_new(BIO_s_mem());
    int rc = in && pem ? use_chain(p, in, pem, file, err) : no_memory(err);
    char *data;
    long n = rc == 0 ? BIO_get_mem_data(pem, &data) : 0;
    if (rc == 0 && !(p->pem = must_strndup(data, (size_t)n)))
        rc = no_memory(err);
    BIO_free(in);
    BIO_free(pem);
    return rc;
}

/* Notes that the key asks for a passphrase. OpenSSL's own function would ask for it on the terminal. */
static int note_passphrase(char *buf, int size, int writing, void *asked)
{
    *(bool *)asked = true;
    return -1;
}

static int use_key(struct tls_pair *p, BIO *in, const char *cert_file, const char *file, struct error *err)
{
    bool asked = false;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, note_passphrase, &asked);
    if (!key) {
        ERR_clear_error();
        return asked ? error_set(err, ERR_INVALID,
                                 "%s: the key asks for a passphrase; store it without one, readable by the master only",
                                 file)
                     : error_set(err, ERR_INVALID, "%s holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)",
                                 file);
    }
    int same = X509_check_private_key(SSL_CTX_get0_certificate(p->ctx), key);
    ERR_clear_error();
    int ok = same == 1 ? SSL_CTX_use_PrivateKey(p->ctx, key) : 0;
    EVP_PKEY_free(key);
    if (same != 1)
        return error_set(err, ERR_INVALID, "%s is not the key of the certificate in %s", file, cert_file);
    return ok == 1 ? 0
                   : error_set(err, ERR_INVALID, "%s: the key can't be used: %s", file,
                               openssl_reason("OpenSSL refuses it"));
}

static int load_key(struct tls_pair *p, const char *cert_file, const char *file, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    int rc = read_pem(file, "key", &text, err);
    if (rc == 0) {
        BIO *in = BIO_new_mem_buf(text.s, (int)text.n);
        rc = in ? use_key(p, in, cert_file, file, err) : no_memory(err);
        BIO_free(in);
    }
    OPENSSL_cleanse(text.s, text.n);
    return rc;
}

/* Sets protocol versions and options. Buffers are released between records, which halves the cost of an idle
 * connection. The server keeps no cache of sessions, since that would grow; clients hold tickets. */
static int set_protocol(SSL_CTX *ctx, struct error *err)
{
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    if (SSL_CTX_set_cipher_list(ctx, CIPHERS_TLS12) != 1)
        return error_set(err, ERR_INTERNAL, "OpenSSL has none of the ciphers " CIPHERS_TLS12 ": %s",
                         openssl_reason("unknown"));
    return 0;
}

int tls_pair_load(const char *cert_file, const char *key_file, struct tls_pair *ret, struct error *err)
{
    struct tls_pair p = {.ctx = SSL_CTX_new(TLS_server_method())};
    if (!p.ctx)
        return no_memory(err);
    if (set_protocol(p.ctx, err) < 0 || load_chain(&p, cert_file, err) < 0 ||
        load_key(&p, cert_file, key_file, err) < 0) {
        tls_pair_release(&p);
        return -1;
    }
    *ret = p;
    return 0;
}

/* Lets every certificate pass, and leaves OpenSSL's verdict for http_request_client_certificate(). */
static int note_verdict(int ok, X509_STORE_CTX *store)
{
    return 1;
}

int tls_pair_ask_clients(struct tls_pair *p, const char *ca_file, struct error *err)
{
    /* tickets of clients that were asked for a certificate need a context */
    static const unsigned char context[] = "determined";
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(ca_file);
    if (!names || SSL_CTX_load_verify_locations(p->ctx, ca_file, NULL) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return error_set(err, ERR_INVALID, "%s holds no certificates of authorities in PEM form: %s", ca_file,
                         openssl_reason("empty"));
    }
    SSL_CTX_set_client_CA_list(p->ctx, names);
    /* A ticket would bring back the verdict of an earlier day, so the times of a client's certificate are looked at
     * with each request. Those of the authorities are not looked at. */
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(p->ctx), X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME);
    SSL_CTX_set_verify(p->ctx, SSL_VERIFY_PEER, note_verdict);
    SSL_CTX_set_session_id_context(p->ctx, context, sizeof(context) - 1);
    return 0;
}

void tls_pair_release(struct tls_pair *p)
{
    SSL_CTX_free(p->ctx);
    free(p->pem);
    *p = (struct tls_pair){0};
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static bool is_address(const char *name)
{
    unsigned char parsed[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, parsed) == 1 || inet_pton(AF_INET6, name, parsed) == 1;
}

static int add_names(X509 *x, const char *const *name, size_t n)
{
    cleanup_strbuf struct strbuf names = STRBUF_INIT;
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&names, "%s%s:%s", i ? "," : "", is_address(name[i]) ? "IP" : "DNS", name[i]);
    return x509_add_extension(x, x, NID_subject_alt_name, strbuf_str(&names));
}

/* Fills in the certificate. It can sign only itself, so that its key cannot vouch for other hosts to those who trust
 * it. It is valid from BACKDATED_S before now. */
static int fill_certificate(X509 *x, EVP_PKEY *key, const char *const *name, size_t n)
{
    X509_NAME *subject = X509_get_subject_name(x);
    X509_set_version(x, X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(x), -BACKDATED_S);
    X509_gmtime_adj(X509_getm_notAfter(x), (long)TLS_SELF_SIGNED_DAYS * 86400 - BACKDATED_S);
    X509_set_pubkey(x, key);
    X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8, (const unsigned char *)"Determined", -1, -1, 0);
    if (strlen(name[0]) <= ub_common_name)
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name[0], -1, -1, 0);
    X509_set_issuer_name(x, subject);
    if (x509_set_serial(x) < 0 || x509_add_extension(x, x, NID_basic_constraints, "critical,CA:FALSE") < 0 ||
        x509_add_extension(x, x, NID_key_usage, "critical,digitalSignature") < 0 ||
        x509_add_extension(x, x, NID_ext_key_usage, "serverAuth") < 0 ||
        x509_add_extension(x, x, NID_subject_key_identifier, "hash") < 0 || add_names(x, name, n) < 0)
        return -1;
    return X509_sign(x, key, EVP_sha256()) > 0 ? 0 : -1;
}

static int write_pair(const char *cert_file, X509 *x, const char *key_file, EVP_PKEY *key, struct error *err)
{
    BIO *cert_pem = BIO_new(BIO_s_mem()), *key_pem = BIO_new(BIO_s_mem());
    int rc;
    if (!cert_pem || !key_pem || PEM_write_bio_X509(cert_pem, x) != 1 ||
        PEM_write_bio_PrivateKey(key_pem, key, NULL, NULL, 0, NULL, NULL) != 1)
        rc = no_memory(err);
    else
        rc = bio_write_file(key_file, key_pem, 0600, err) < 0 || bio_write_file(cert_file, cert_pem, 0644, err) < 0 ? -1
                                                                                                                    : 0;
    BIO_free(cert_pem);
    BIO_free(key_pem);
    return rc;
}

int tls_make_self_signed(const char *cert_file, const char *key_file, const char *const *name, size_t n,
                         struct error *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    int rc;
    if (!key || !x || fill_certificate(x, key, name, n) < 0)
        rc = error_set(err, ERR_INVALID, "making a certificate for %s: %s", name[0], openssl_reason("OpenSSL refuses"));
    else
        rc = write_pair(cert_file, x, key_file, key, err);
    X509_free(x);
    EVP_PKEY_free(key);
    return rc;
}
