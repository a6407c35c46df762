/* Certificates of clients, and the authority that signs them: keys on P-256, everything as PEM. Linked with OpenSSL, so
 * not for programs that load it only when they need it (tls_calls.h).
 *
 *   client      makes a key and a request for a certificate; the key never leaves it
 *   authority   signs the request for a name and a time that it chooses itself; of the request it takes the key only
 *   client      keeps key and certificate in one file, so that they are always replaced together
 *
 * Times are whole seconds, as in the certificate. */
#ifndef DET_NET_TLS_CERTIFICATE_H
#define DET_NET_TLS_CERTIFICATE_H

#include <stdint.h>

#include "common/base/error.h"

struct x509_st; /* OpenSSL's X509 */
struct authority;

enum {
    CERTIFICATE_NAME_MAX = 256,       /* with its NUL */
    CERTIFICATE_REQUEST_MAX = 4096,   /* bytes of the PEM text */
    CERTIFICATE_TEXT_MAX = 16 * 1024, /* … of a certificate, and of a file with its key */
    AUTHORITY_YEARS = 20,
};

#define CERTIFICATE_EXPIRES_SOON_US (INT64_C(30) * 86400 * 1000000) /* before its end there are warnings */

struct certificate_facts {
    char name[CERTIFICATE_NAME_MAX]; /* the subject's user id (UID); "": it has none, or one that is too long */
    int64_t from_us, until_us;       /* when it is valid; 0: its time is damaged */
};
void certificate_facts_of(const struct x509_st *x, struct certificate_facts *ret);

/* ---- the client ---- */

/* Makes a new key, and a request that is signed with it. Both are on the heap; the key is wiped by
 * certificate_free_key(). */
int certificate_request_make(char **ret_key, char **ret_request, struct error *err);
void certificate_free_key(char *key);
/* Writes key and certificate into one file (0600), if they belong together. */
int certificate_write(const char *file, const char *key, const char *certificate, struct certificate_facts *ret,
                      struct error *err);
/* Reads such a file. ERR_INVALID: it does not hold a certificate and its key. */
int certificate_read(const char *file, struct certificate_facts *ret, struct error *err);

/* ---- the authority ---- */

/* Writes a new key and a certificate that may sign others into one file (0600). */
int authority_make(const char *file, const char *name, struct error *err);
int authority_load(const char *file, struct authority **ret, struct error *err);
void authority_free(struct authority *a); /* a may be NULL */
int64_t authority_until_us(const struct authority *a);
/* Signs a certificate for the key of the request. ERR_INVALID: the request is damaged, its signature is not that of its
 * key, or its key is not on P-256. *ret: PEM, on the heap. */
int authority_sign(const struct authority *a, const char *request, const char *name, int64_t from_us, int64_t until_us,
                   char **ret, struct error *err);

#endif
