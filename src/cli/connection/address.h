/* The master's address: what people write, in the one form that the credential store is keyed by. */
#ifndef DET_CLI_ADDRESS_H
#define DET_CLI_ADDRESS_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/base/error.h"

/* scheme://host:port[/path] without a slash at the end. No scheme is http on 8080; http:// is 80, https:// 443.
 * User, password, query and fragment are errors. Lives in the arena. */
int address_canonical(const char *text, struct arena *a, const char **ret, struct error *err);
/* -m, else DET_MASTER, else DET_MASTER_ADDR, else localhost:8080 (not yet canonical), and which of these it was. */
const char *address_choose(const char *option, const char **ret_source);
bool address_is_tls(const char *canonical);
/* One segment of a path or a query's value, percent-encoded. */
const char *address_escape(const char *text, struct arena *a);

#endif
