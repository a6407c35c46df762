/* Which certificates of the master are trusted: DET_MASTER_CERT_FILE (a PEM file or "noverify"), else what was accepted
 * for this master before (certs.json), else the system's. DET_MASTER_CERT_NAME is the name the certificate must
 * bear. */
#ifndef DET_CLI_TRUST_H
#define DET_CLI_TRUST_H

#include <stdbool.h>

#include "cli/cli.h"

struct trust {
    const char *ca_file; /* NULL: the system's */
    const char *name;    /* NULL: the address's host */
    bool skip_verify;
};

int trust_load(struct cli *cli, struct trust *ret, struct error *err);
/* Shows the fingerprint of the certificate that the master sends and asks whether to trust it from now on. */
int trust_ask(struct cli *cli, struct error *err);

#endif
