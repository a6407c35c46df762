/* Which addresses are on the public Internet. What users name as the destination of a request of the master must not
 * lead into the network that only the master can see. */
#ifndef DET_COMMON_CONFIG_PUBLIC_ADDRESS_H
#define DET_COMMON_CONFIG_PUBLIC_ADDRESS_H

#include "common/config/address_range.h"

/* False for private, loopback, link-local, shared, multicast, reserved and unspecified addresses, and for IPv6
 * addresses that stand for such an IPv4 address: mapped, compatible, translated (NAT64), 6to4 and Teredo. */
bool address_is_public(const struct address *a);

#endif
