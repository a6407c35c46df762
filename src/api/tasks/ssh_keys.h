/* Key pairs of shells, in the text forms of OpenSSH. Whoever has the private key can log in to the shell. */
#ifndef DET_API_TASKS_SSH_KEYS_H
#define DET_API_TASKS_SSH_KEYS_H

#include "common/base/arena.h"
#include "common/base/error.h"

enum { SSH_KEYS_RSA_BITS = 3072 }; /* of an RSA key whose size nobody has configured */

struct ssh_keys {
    const char *private_key; /* the text of a key file, without a passphrase */
    const char *public_key;  /* one line of authorized_keys, with its end */
};

/* Makes a pair. `type` is RSA, ECDSA or ED25519, as security.ssh.key_type has it; `rsa_bits` counts for RSA only. RSA
 * takes a tenth of a second and more: do not call this on the loop. May be called from any thread. */
int ssh_keys_new(const char *type, int rsa_bits, struct arena *a, struct ssh_keys *ret, struct error *err);

#endif
