/* The master's certificate and key: security.tls.{cert,key}, or the self-signed pair that the first start makes.
 *
 * The files are looked at every few seconds, and on SIGHUP. If they have changed, new connections and tasks that start
 * from now on use the new pair. If the new pair cannot be used, the log says so, and the master goes on with the old
 * one. */
#ifndef DET_MASTER_COMMANDS_TLS_FILES_H
#define DET_MASTER_COMMANDS_TLS_FILES_H

#include <stdint.h>

#include "common/base/error.h"
#include "common/config/config.h"

struct loop;
struct ssl_ctx_st;
struct tls_files;

#define TLS_FILES_PERIOD_US 5000000

struct tls_files_options {
    const char *cert, *key; /* all texts are copied */
    const char *client_ca;  /* "": clients are not asked for a certificate */
    int64_t period_us;
    /* called on the loop; fingerprint: SHA-256 of the new certificate, hexadecimal */
    void (*on_change)(void *ctx, struct ssl_ctx_st *tls, const char *fingerprint);
    void *ctx;
};

/* Carries out security.tls.self_signed if neither file is configured: makes a key and a certificate that is valid for
 * this host's name, `localhost`, the loopback addresses and bind_host. One file without the other is an error. A file
 * that exists is never overwritten. */
int tls_files_make_self_signed(const struct config *c, struct error *err);

int tls_files_new(struct loop *l, const struct tls_files_options *o, struct tls_files **ret, struct error *err);
void tls_files_free(struct tls_files *t);   /* t may be NULL */
void tls_files_reload(struct tls_files *t); /* loads the files even if they have not changed, and logs the result */

/* borrowed, like the text below, until the loop's next turn. */
struct ssl_ctx_st *tls_files_ctx(const struct tls_files *t);
const char *tls_files_fingerprint(const struct tls_files *t); /* of the certificate: SHA-256, hexadecimal */
const char *tls_files_pem(const struct tls_files *t);         /* the certificates, for clients that are to trust them */

#endif
