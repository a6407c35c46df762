/* The server's side of TLS: a certificate and its key, read from two PEM files or made here.
 *
 * Only TLS 1.2 and 1.3, with forward secrecy and authenticated ciphers. The first pair that is loaded goes to
 * http_server_options.tls, later ones to http_server_set_tls(); connections keep the pair that they began with. */
#ifndef DET_NET_HTTP_TLS_H
#define DET_NET_HTTP_TLS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct ssl_ctx_st; /* OpenSSL's SSL_CTX */

struct tls_pair {
    struct ssl_ctx_st *ctx;
    char *pem;            /* the certificates without the key, for clients that are to trust them; heap */
    int64_t expires_us;   /* when the first certificate of the chain expires */
    char fingerprint[65]; /* SHA-256 of the first certificate, as hexadecimal digits */
};

/* cert_file: the server's certificate, then those of its issuers up to (without) the root. Errors name the file and
 * what is wrong with it; a key that belongs to another certificate, or asks for a passphrase, is refused. */
int tls_pair_load(const char *cert_file, const char *key_file, struct tls_pair *ret, struct error *err);
/* Asks clients for a certificate that an authority in ca_file has signed, or that is in ca_file itself. Every
 * connection is made, whatever the client shows; http_request_client_certificate() tells what it has shown. */
int tls_pair_ask_clients(struct tls_pair *p, const char *ca_file, struct error *err);
void tls_pair_release(struct tls_pair *p);

enum { TLS_SELF_SIGNED_DAYS = 825 }; /* the longest that the strictest clients accept */

/* Writes a new P-256 key (mode 0600) and a certificate for it (0644). The certificate is valid for `name`: host names
 * and addresses, of which the first is also its subject. The key is written before the certificate, so whoever finds
 * the certificate finds the key, too. */
int tls_make_self_signed(const char *cert_file, const char *key_file, const char *const *name, size_t n,
                         struct error *err);

#endif
