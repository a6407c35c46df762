/* Whether a host is this machine. */
#ifndef DET_AGENT_MACHINE_LOCAL_ADDRESS_H
#define DET_AGENT_MACHINE_LOCAL_ADDRESS_H

#include <stdbool.h>

/* host: "localhost", or an address as it is written in a URL, with or without brackets. Other names are not looked up,
 * because whoever answers the question could point them here. */
bool local_address_is_own(const char *host);
bool local_address_is_loopback(const char *host);

#endif
