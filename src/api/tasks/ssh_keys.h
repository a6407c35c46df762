/* Key pairs of shells, in the text forms of OpenSSH. Whoever has the private key can log in to the shell. */
#ifndef DET_API_TASKS_SSH_KEYS_H
#define DET_API_TASKS_SSH_KEYS_H

#include "common/base/arena.h"
#include "common/base/error.h"

enum { SSH_KEYS_RSA_BITS = 3072 }; /* of an RSA key whose size nobody has configured */

struct ssh_keys {
    const char *private_key; /* the text of a key file */
    const char *public_key;  /* one line of authorized_keys, with its end */
};

struct ssh_keys_request {
    const char *type;       /* RSA, ECDSA or ED25519, as security.ssh.key_type has it */
    int rsa_bits;           /* counts for RSA only; 0: SSH_KEYS_RSA_BITS */
    const char *passphrase; /* encrypts the private key; NULL: the private key is not encrypted */
};

/* Makes a pair. OpenSSH's own form of a key file is encrypted by an algorithm that OpenSSL does not have. So a private
 * key with a passphrase is in the form PKCS #8, which OpenSSH reads for RSA and ECDSA only: ECDSA takes the place of
 * ED25519 there. RSA takes a tenth of a second and more: do not call this on the loop. May be called from any thread.
 */
int ssh_keys_new(const struct ssh_keys_request *rq, struct arena *a, struct ssh_keys *ret, struct error *err);

/* Reads the passphrase from the additional data of a request: {"passphrase": "…"}. *ret is NULL if there is none. */
int ssh_keys_read_passphrase(const void *data, size_t n, struct arena *a, const char **ret, struct error *err);

#endif
