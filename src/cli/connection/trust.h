/* Which certificates of the master are trusted: DET_MASTER_CERT_FILE (a PEM file or "noverify"), else what was
 * accepted for this master before (certs.json), else those of the system. DET_MASTER_CERT_NAME is the name that the
 * certificate must have. */
#ifndef DET_CLI_CONNECTION_TRUST_H
#define DET_CLI_CONNECTION_TRUST_H

#include <stdbool.h>

#include "cli/cli.h"

struct trust {
    const char *ca_file; /* NULL: the certificates of the system */
    const char *name;    /* NULL: the host of the address */
    bool skip_verify;
};

int trust_load(struct cli *cli, struct trust *ret, struct error *err);
/* Shows the fingerprint of the master's certificate and asks whether to trust it from now on. */
int trust_ask(struct cli *cli, struct error *err);

#endif
