/* The master's address: converts what people write into the canonical form by which logins are stored. */
#ifndef DET_CLI_CONNECTION_ADDRESS_H
#define DET_CLI_CONNECTION_ADDRESS_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/base/error.h"

/* scheme://host:port[/path] without a trailing slash. Without a scheme: http and port 8080. The default port of
 * http:// is 80, of https:// 443. User, password, query and fragment are errors. The result is in the arena. */
int address_canonical(const char *text, struct arena *a, const char **ret, struct error *err);
/* Chooses -m, else DET_MASTER, else DET_MASTER_ADDR, else localhost:8080. The result is not yet canonical.
 * *ret_source says which of these it was. */
const char *address_choose(const char *option, const char **ret_source);
bool address_is_tls(const char *canonical);
/* The host of a canonical address, without brackets, and its port. The host is in the arena. */
const char *address_host(const char *canonical, struct arena *a, long *ret_port);
/* Whether nobody on the way can read what is sent there: it is encrypted, or does not leave this machine. A request
 * that the environment sends through a proxy leaves it. */
bool address_is_private(const char *canonical, struct arena *a);
/* Percent-encodes a segment of a path or a value of a query. */
const char *address_escape(const char *text, struct arena *a);

#endif
