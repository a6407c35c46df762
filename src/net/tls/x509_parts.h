/* What the files that make and read certificates share (certificate.c, net/http/tls.c). Linked with OpenSSL. */
#ifndef DET_NET_TLS_X509_PARTS_H
#define DET_NET_TLS_X509_PARTS_H

#include <stdint.h>
#include <sys/types.h>

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/x509.h>

#include "common/base/error.h"

/* OpenSSL's reason for an error, or `otherwise` if it gives none. Empties OpenSSL's queue of errors, because errors
 * left in it would be blamed on the next connection. */
const char *openssl_reason(const char *otherwise);

int x509_add_extension(X509 *x, X509 *issuer, int nid, const char *value);
/* Gives each certificate its own serial number: browsers refuse a second certificate with an issuer and a number that
 * they know. */
int x509_set_serial(X509 *x);
int64_t x509_time_us(const ASN1_TIME *t); /* 0: it is damaged */
/* Writes what `bio` holds, and wipes it: it may be a key. */
int bio_write_file(const char *path, BIO *bio, mode_t mode, struct error *err);

#endif
