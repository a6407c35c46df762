#include "net/tls/certificate.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"
#include "net/tls/x509_parts.h"

#define CURVE "P-256"
#define GROUP "prime256v1" /* OpenSSL's name of the same curve in a key */

struct authority {
    X509 *cert;
    EVP_PKEY *key;
};

static void free_pkey(EVP_PKEY **k)
{
    EVP_PKEY_free(*k);
}

static void free_x509(X509 **x)
{
    X509_free(*x);
}

static void free_request(X509_REQ **r)
{
    X509_REQ_free(*r);
}

static void free_bio(BIO **b)
{
    BIO_free(*b);
}

#define cleanup_pkey __attribute__((cleanup(free_pkey)))
#define cleanup_x509 __attribute__((cleanup(free_x509)))
#define cleanup_request __attribute__((cleanup(free_request)))
#define cleanup_bio __attribute__((cleanup(free_bio)))

static BIO *new_bio(void)
{
    return must(BIO_new(BIO_s_mem()));
}

static char *text_of(BIO *b)
{
    char *data;
    long n = BIO_get_mem_data(b, &data);
    return must_strndup(data, (size_t)n);
}

void certificate_facts_of(const struct x509_st *x, struct certificate_facts *ret)
{
    *ret = (struct certificate_facts){.from_us = x509_time_us(X509_get0_notBefore(x)),
                                      .until_us = x509_time_us(X509_get0_notAfter(x))};
    int n = X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_userId, ret->name, sizeof(ret->name));
    if (n < 0 || (size_t)n >= sizeof(ret->name) || strlen(ret->name) != (size_t)n)
        ret->name[0] = 0;
}

/* ---- the client -------------------------------------------------------------------------------------------------- */

int certificate_request_make(char **ret_key, char **ret_request, struct error *err)
{
    cleanup_pkey EVP_PKEY *key = EVP_EC_gen(CURVE);
    cleanup_request X509_REQ *request = X509_REQ_new();
    cleanup_bio BIO *key_pem = new_bio(), *request_pem = new_bio();
    if (!key || !request || X509_REQ_set_version(request, X509_REQ_VERSION_1) != 1 ||
        X509_REQ_set_pubkey(request, key) != 1 || X509_REQ_sign(request, key, EVP_sha256()) <= 0 ||
        PEM_write_bio_PrivateKey(key_pem, key, NULL, NULL, 0, NULL, NULL) != 1 ||
        PEM_write_bio_X509_REQ(request_pem, request) != 1)
        return error_set(err, ERR_INTERNAL, "a key for a certificate cannot be made: %s",
                         openssl_reason("OpenSSL refuses"));
    *ret_key = text_of(key_pem);
    *ret_request = text_of(request_pem);
    return 0;
}

void certificate_free_key(char *key)
{
    if (key)
        OPENSSL_cleanse(key, strlen(key));
    free(key);
}

/* Without it OpenSSL would ask for a passphrase on the terminal. */
static int give_no_passphrase(char *buf, int size, int writing, void *ctx)
{
    return -1;
}

/* Reads the certificate and the key of PEM text, in whatever order they stand there. */
static int read_pair(const char *text, size_t n, X509 **ret_cert, EVP_PKEY **ret_key, struct error *err)
{
    cleanup_bio BIO *one = BIO_new_mem_buf(text, (int)n), *other = BIO_new_mem_buf(text, (int)n);
    cleanup_x509 X509 *x = one ? PEM_read_bio_X509(one, NULL, give_no_passphrase, NULL) : NULL;
    cleanup_pkey EVP_PKEY *key = other ? PEM_read_bio_PrivateKey(other, NULL, give_no_passphrase, NULL) : NULL;
    openssl_reason("");
    if (!x)
        return error_set(err, ERR_INVALID, "it holds no certificate in PEM form");
    if (!key)
        return error_set(err, ERR_INVALID, "it holds no private key in PEM form without a passphrase");
    int same = X509_check_private_key(x, key);
    openssl_reason("");
    if (same != 1)
        return error_set(err, ERR_INVALID, "its key does not belong to its certificate");
    *ret_cert = take_ptr(x);
    *ret_key = take_ptr(key);
    return 0;
}

static int read_pair_file(const char *file, X509 **ret_cert, EVP_PKEY **ret_key, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (file_read(file, CERTIFICATE_TEXT_MAX, &text, err) < 0)
        return -1;
    int rc = read_pair(strbuf_str(&text), text.n, ret_cert, ret_key, err);
    OPENSSL_cleanse(text.s, text.n);
    return rc < 0 ? error_wrap(err, "%s cannot be used", file) : 0;
}

int certificate_write(const char *file, const char *key, const char *certificate, struct certificate_facts *ret,
                      struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_x509 X509 *x = NULL;
    cleanup_pkey EVP_PKEY *k = NULL;
    strbuf_addf(&text, "%s%s", key, certificate);
    int rc = text.n > CERTIFICATE_TEXT_MAX
                 ? error_set(err, ERR_INVALID, "the certificate has over %d bytes", CERTIFICATE_TEXT_MAX)
                 : read_pair(text.s, text.n, &x, &k, err);
    if (rc == 0)
        rc = file_write(file, text.s, text.n, 0600, err);
    if (rc == 0)
        certificate_facts_of(x, ret);
    OPENSSL_cleanse(text.s, text.n);
    return rc;
}

int certificate_read(const char *file, struct certificate_facts *ret, struct error *err)
{
    cleanup_x509 X509 *x = NULL;
    cleanup_pkey EVP_PKEY *key = NULL;
    if (read_pair_file(file, &x, &key, err) < 0)
        return -1;
    certificate_facts_of(x, ret);
    return 0;
}

/* ---- making certificates ----------------------------------------------------------------------------------------- */

static int set_name(X509_NAME *subject, int nid, const char *value)
{
    return X509_NAME_add_entry_by_NID(subject, nid, MBSTRING_UTF8, (const unsigned char *)value, -1, -1, 0) == 1 ? 0
                                                                                                                 : -1;
}

static int set_times(X509 *x, int64_t from_us, int64_t until_us)
{
    return ASN1_TIME_set(X509_getm_notBefore(x), (time_t)(from_us / 1000000)) &&
                   ASN1_TIME_set(X509_getm_notAfter(x), (time_t)(until_us / 1000000))
               ? 0
               : -1;
}

static int sign_as_authority(X509 *x, EVP_PKEY *key, const char *name)
{
    X509_NAME *subject = X509_get_subject_name(x);
    int64_t now_us = (int64_t)time(NULL) * 1000000, year_us = INT64_C(365) * 86400 * 1000000;
    if (X509_set_version(x, X509_VERSION_3) != 1 || set_times(x, now_us, now_us + AUTHORITY_YEARS * year_us) < 0 ||
        X509_set_pubkey(x, key) != 1 || set_name(subject, NID_organizationName, "Determined") < 0 ||
        set_name(subject, NID_commonName, name) < 0 || X509_set_issuer_name(x, subject) != 1 ||
        x509_set_serial(x) < 0 || x509_add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") < 0 ||
        x509_add_extension(x, x, NID_key_usage, "critical,keyCertSign") < 0 ||
        x509_add_extension(x, x, NID_subject_key_identifier, "hash") < 0)
        return -1;
    return X509_sign(x, key, EVP_sha256()) > 0 ? 0 : -1;
}

int authority_make(const char *file, const char *name, struct error *err)
{
    cleanup_pkey EVP_PKEY *key = EVP_EC_gen(CURVE);
    cleanup_x509 X509 *x = X509_new();
    cleanup_bio BIO *pem = new_bio();
    if (!key || !x || sign_as_authority(x, key, name) < 0 ||
        PEM_write_bio_PrivateKey(pem, key, NULL, NULL, 0, NULL, NULL) != 1 || PEM_write_bio_X509(pem, x) != 1)
        return error_set(err, ERR_INTERNAL, "an authority for certificates cannot be made: %s",
                         openssl_reason("OpenSSL refuses"));
    return bio_write_file(file, pem, 0600, err);
}

int authority_load(const char *file, struct authority **ret, struct error *err)
{
    cleanup_x509 X509 *x = NULL;
    cleanup_pkey EVP_PKEY *key = NULL;
    if (read_pair_file(file, &x, &key, err) < 0)
        return -1;
    if (X509_check_ca(x) != 1)
        return error_set(err, ERR_INVALID, "%s cannot be used: its certificate may not sign others", file);
    struct authority *a = must_calloc(1, sizeof(*a));
    *a = (struct authority){.cert = take_ptr(x), .key = take_ptr(key)};
    *ret = a;
    return 0;
}

void authority_free(struct authority *a)
{
    if (!a)
        return;
    X509_free(a->cert);
    EVP_PKEY_free(a->key);
    free(a);
}

int64_t authority_until_us(const struct authority *a)
{
    return x509_time_us(X509_get0_notAfter(a->cert));
}

/* ---- signing ----------------------------------------------------------------------------------------------------- */

/* The key of a request, borrowed from it. */
static int key_of_request(X509_REQ *request, EVP_PKEY **ret, struct error *err)
{
    char group[64] = "";
    EVP_PKEY *key = X509_REQ_get0_pubkey(request);
    bool of_curve = key && EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, group, sizeof(group), NULL) == 1 &&
                    strcmp(group, GROUP) == 0;
    int signed_by_it = of_curve ? X509_REQ_verify(request, key) : 0;
    openssl_reason("");
    if (!of_curve)
        return error_set(err, ERR_INVALID, "the request's key is not on the curve " CURVE);
    if (signed_by_it != 1)
        return error_set(err, ERR_INVALID, "the request is not signed with its key");
    *ret = key;
    return 0;
}

static int fill_in(X509 *x, const struct authority *a, EVP_PKEY *key, const char *name, int64_t from_us,
                   int64_t until_us)
{
    if (X509_set_version(x, X509_VERSION_3) != 1 || set_times(x, from_us, until_us) < 0 ||
        X509_set_pubkey(x, key) != 1 || set_name(X509_get_subject_name(x), NID_userId, name) < 0 ||
        X509_set_issuer_name(x, X509_get_subject_name(a->cert)) != 1 || x509_set_serial(x) < 0 ||
        x509_add_extension(x, a->cert, NID_basic_constraints, "critical,CA:FALSE") < 0 ||
        x509_add_extension(x, a->cert, NID_key_usage, "critical,digitalSignature") < 0 ||
        x509_add_extension(x, a->cert, NID_ext_key_usage, "clientAuth") < 0 ||
        x509_add_extension(x, a->cert, NID_authority_key_identifier, "keyid") < 0)
        return -1;
    return X509_sign(x, a->key, EVP_sha256()) > 0 ? 0 : -1;
}

int authority_sign(const struct authority *a, const char *request, const char *name, int64_t from_us, int64_t until_us,
                   char **ret, struct error *err)
{
    size_t n = strlen(request);
    cleanup_bio BIO *in = n <= CERTIFICATE_REQUEST_MAX ? BIO_new_mem_buf(request, (int)n) : NULL;
    cleanup_request X509_REQ *r = in ? PEM_read_bio_X509_REQ(in, NULL, give_no_passphrase, NULL) : NULL;
    cleanup_x509 X509 *x = X509_new();
    cleanup_bio BIO *pem = new_bio();
    EVP_PKEY *key = NULL;
    openssl_reason("");
    if (n > CERTIFICATE_REQUEST_MAX)
        return error_set(err, ERR_INVALID, "the request has %zu bytes, allowed are %d", n, CERTIFICATE_REQUEST_MAX);
    if (!r)
        return error_set(err, ERR_INVALID, "the request is not one in PEM form (-----BEGIN CERTIFICATE REQUEST-----)");
    if (key_of_request(r, &key, err) < 0)
        return -1;
    if (!x || fill_in(x, a, key, name, from_us, until_us) < 0 || PEM_write_bio_X509(pem, x) != 1)
        return error_set(err, ERR_INTERNAL, "the certificate cannot be made: %s", openssl_reason("OpenSSL refuses"));
    *ret = text_of(pem);
    return 0;
}
