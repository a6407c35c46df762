#include "agent/machine/local_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>

/* The address without brackets. */
static void bare(const char *host, char ret[INET6_ADDRSTRLEN])
{
    size_t n = strlen(host), skip = host[0] == '[' && n > 2 && host[n - 1] == ']';
    snprintf(ret, INET6_ADDRSTRLEN, "%.*s", (int)(n - 2 * skip), host + skip);
}

bool local_address_is_loopback(const char *host)
{
    char text[INET6_ADDRSTRLEN];
    struct in_addr v4;
    struct in6_addr v6;
    bare(host, text);
    if (strcmp(host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, text, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, text, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static bool is_same(const struct sockaddr *a, const char *text)
{
    char found[INET6_ADDRSTRLEN];
    const void *bytes = a->sa_family == AF_INET    ? (const void *)&((const struct sockaddr_in *)a)->sin_addr
                        : a->sa_family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr
                                                   : NULL;
    unsigned char one[sizeof(struct in6_addr)];
    return bytes && inet_pton(a->sa_family, text, one) == 1 && inet_ntop(a->sa_family, bytes, found, sizeof(found)) &&
           memcmp(one, bytes, a->sa_family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr)) == 0;
}

bool local_address_is_own(const char *host)
{
    char text[INET6_ADDRSTRLEN];
    struct ifaddrs *all, *i;
    bool found = false;
    bare(host, text);
    if (local_address_is_loopback(host))
        return true;
    if (getifaddrs(&all) < 0)
        return false;
    for (i = all; i && !found; i = i->ifa_next)
        found = i->ifa_addr && is_same(i->ifa_addr, text);
    freeifaddrs(all);
    return found;
}
