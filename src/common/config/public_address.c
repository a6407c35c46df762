#include "common/config/public_address.h"

#include <string.h>

/* The special-purpose registries of IANA, as far as something may answer there, or might one day. */
static const char *const not_public[] = {
    "0.0.0.0/8",     "10.0.0.0/8",      "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16",
    "172.16.0.0/12", "192.0.0.0/24",    "192.0.2.0/24",   "192.88.99.0/24", "192.168.0.0/16",
    "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",    "240.0.0.0/4",
    "::/96",         "64:ff9b:1::/48",  "100::/64",       "2001::/23",      "2001:db8::/32",
    "3fff::/20",     "5f00::/16",       "fc00::/7",       "fe80::/9",       "ff00::/8",
};

static bool is_listed(const struct address *a)
{
    for (size_t i = 0; i < sizeof(not_public) / sizeof(not_public[0]); i++) {
        struct address_range range;
        if (address_range_parse(not_public[i], &range, NULL) == 0 && address_range_holds(&range, a))
            return true;
    }
    return false;
}

/* The IPv4 address in these bytes, in the form in which struct address keeps it. */
static struct address ipv4_of(const uint8_t byte[4])
{
    struct address a = {.byte = {[10] = 0xff, [11] = 0xff}};
    memcpy(a.byte + 12, byte, 4);
    return a;
}

bool address_is_public(const struct address *a)
{
    static const uint8_t translated[12] = {0x00, 0x64, 0xff, 0x9b}; /* 64:ff9b::/96, NAT64 */
    static const uint8_t six_to_four[2] = {0x20, 0x02};
    struct address inner;
    if (is_listed(a))
        return false;
    if (memcmp(a->byte, translated, sizeof(translated)) == 0)
        inner = ipv4_of(a->byte + 12);
    else if (memcmp(a->byte, six_to_four, sizeof(six_to_four)) == 0)
        inner = ipv4_of(a->byte + 2);
    else
        return true;
    return !is_listed(&inner);
}
