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
    const char *cert, *key; /* copied, as all of them */
    const char *client_ca;  /* "": clients are not asked for a certificate */
    int64_t period_us;
    void (*on_change)(void *ctx, struct ssl_ctx_st *tls); /* from the loop */
    void *ctx;
};

/* security.tls.self_signed without its two files: makes them, valid for this host's name, `localhost`, the loopback
 * addresses and bind_host. One file without the other is an error; what is there is never written over. */
int tls_files_make_self_signed(const struct config *c, struct error *err);

int tls_files_new(struct loop *l, const struct tls_files_options *o, struct tls_files **ret, struct error *err);
void tls_files_free(struct tls_files *t);   /* NULL is fine */
void tls_files_reload(struct tls_files *t); /* changed or not; outcome logged */

struct ssl_ctx_st *tls_files_ctx(const struct tls_files *t); /* borrowed, as the text: until the loop's next turn */
const char *tls_files_pem(const struct tls_files *t);        /* the certificates, for clients that are to trust them */

#endif
