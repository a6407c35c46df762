/* IP addresses and ranges of them: "10.0.0.0/8", "fd00::/8", "192.168.1.7". An IPv4 address is kept as the IPv6 address
 * that stands for it (::ffff:a.b.c.d), so a client is the same one on sockets of either kind. */
#ifndef DET_COMMON_CONFIG_ADDRESS_RANGE_H
#define DET_COMMON_CONFIG_ADDRESS_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct address {
    uint8_t byte[16];
};

#define ADDRESS_TEXT_MAX 46

/* Parses the first n bytes of `text`, ignoring brackets and a port. Returns -1 if it is no address. */
int address_parse(const char *text, size_t n, struct address *ret);
bool address_is_ipv4(const struct address *a);
bool address_is_loopback(const struct address *a); /* what is sent there does not leave the machine */
/* The network that one household, or one attacker, usually has: an IPv6 address without its lower half. */
void address_network(const struct address *a, struct address *ret);
void address_text(const struct address *a, char ret[ADDRESS_TEXT_MAX]);

struct address_range {
    struct address base;
    int bits; /* of 128 */
};

int address_range_parse(const char *text, struct address_range *ret, struct error *err);
bool address_range_holds(const struct address_range *r, const struct address *a);

#endif
