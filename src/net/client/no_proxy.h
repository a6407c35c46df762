/* NO_PROXY: which addresses are reached without the proxy that the environment names. */
#ifndef DET_NET_NO_PROXY_H
#define DET_NET_NO_PROXY_H

#include <stdbool.h>

/* Whether the list excepts this host, which has no brackets around it. Entries stand between commas or blanks:
 *
 *     *                          everything
 *     10.1.2.3   fd00::1         this address
 *     10.0.0.0/8   fd00::/8      the addresses of a range
 *     lab.example                this name and the names below it; so do .lab.example and *.lab.example
 *     lab.example:8080           any of them at this port only
 *
 * A name is never resolved: that it leads into a range does not except it. curl, requests and Go's programs hold it so, too,
 * and a name that somebody behind a proxy cannot resolve would cost each request the wait for an answer. */
bool no_proxy_excepts(const char *list, const char *host, long port);

#endif
