#include "net/client/no_proxy.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/config/address_range.h"

#define ENTRY_MAX 256 /* longer than any valid name */
#define SEPARATORS ", \t"

/* Cuts the port off an entry and returns it; -1 if there is none. An IPv6 address has a port only if it stands in
 * brackets. */
static long cut_port(char *entry)
{
    char *colon = strrchr(entry, ':'), *end;
    if (!colon || (entry[0] == '[' ? colon[-1] != ']' : strchr(entry, ':') != colon))
        return -1;
    long port = strtol(colon + 1, &end, 10);
    if (end == colon + 1 || *end)
        return -1;
    *colon = '\0';
    return port;
}

static bool holds_address(const char *entry, const struct address *address)
{
    struct address_range range;
    return address_range_parse(entry, &range, NULL) == 0 && address_range_holds(&range, address);
}

/* Whether the entry is the host's name or a domain that it lies in. A full stop at the end is ignored. */
static bool holds_name(const char *entry, const char *host)
{
    entry += entry[0] == '*' && entry[1] == '.';
    entry += entry[0] == '.';
    size_t n = strlen(entry), host_n = strlen(host);
    n -= n > 0 && entry[n - 1] == '.';
    host_n -= host_n > 0 && host[host_n - 1] == '.';
    if (n == 0 || n > host_n || strncasecmp(host + host_n - n, entry, n) != 0)
        return false;
    return n == host_n || host[host_n - n - 1] == '.';
}

static bool entry_excepts(char *entry, const char *host, long port)
{
    struct address address;
    long only_port = cut_port(entry);
    if (only_port >= 0 && only_port != port)
        return false;
    if (strcmp(entry, "*") == 0)
        return true;
    return address_parse(host, strlen(host), &address) == 0 ? holds_address(entry, &address) : holds_name(entry, host);
}

bool no_proxy_excepts(const char *list, const char *host, long port)
{
    char entry[ENTRY_MAX];
    for (list += strspn(list, SEPARATORS); *list; list += strspn(list, SEPARATORS)) {
        size_t n = strcspn(list, SEPARATORS);
        if (n < sizeof(entry)) {
            memcpy(entry, list, n);
            entry[n] = '\0';
            if (entry_excepts(entry, host, port))
                return true;
        }
        list += n;
    }
    return false;
}
