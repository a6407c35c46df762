/* NO_PROXY: which addresses are reached without the proxy that the environment names. */
#ifndef DET_NET_CLIENT_NO_PROXY_H
#define DET_NET_CLIENT_NO_PROXY_H

#include <stdbool.h>

/* Whether the list excepts this host; `host` has no brackets. Entries are separated by commas or blanks:
 *
 *
 *     *                          everything
 *     10.1.2.3   fd00::1         this address
 *     10.0.0.0/8   fd00::/8      the addresses of a range
 *     lab.example                this name and the names below it; so do .lab.example and *.lab.example
 *     lab.example:8080           any of them at this port only
 *
 * A name is never resolved: if a name leads into a range, the range does not except it. curl, requests and Go's
 * programs do the same, and resolving a name that only the proxy can resolve would delay each request. */
bool no_proxy_excepts(const char *list, const char *host, long port);

#endif
