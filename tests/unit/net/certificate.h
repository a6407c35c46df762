/* A self-signed certificate for the length of a test, as a server's SSL_CTX and as the file a client trusts. */
#ifndef DET_TESTS_UNIT_NET_CERTIFICATE_H
#define DET_TESTS_UNIT_NET_CERTIFICATE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

struct certificate {
    SSL_CTX *server;
    char file[64]; /* PEM */
};

static inline void certificate_add_extension(X509 *x, int nid, const char *value)
{
    X509V3_CTX v3;
    X509V3_set_ctx_nodb(&v3);
    X509V3_set_ctx(&v3, x, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &v3, nid, value);
    assert_non_null(e);
    X509_add_ext(x, e, -1);
    X509_EXTENSION_free(e);
}

/* names: "DNS:example.test,IP:127.0.0.1" */
static inline void certificate_make(struct certificate *c, const char *names)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    certificate_add_extension(x, NID_basic_constraints, "critical,CA:TRUE");
    certificate_add_extension(x, NID_subject_alt_name, names);
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);

    c->server = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate(c->server, x), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(c->server, key), 1);
    snprintf(c->file, sizeof(c->file), "/tmp/det-test-cert-XXXXXX");
    int fd = mkstemp(c->file);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    assert_int_equal(PEM_write_X509(f, x), 1);
    fclose(f);
    X509_free(x);
    EVP_PKEY_free(key);
}

static inline void certificate_release(struct certificate *c)
{
    unlink(c->file);
    SSL_CTX_free(c->server);
}

#endif
