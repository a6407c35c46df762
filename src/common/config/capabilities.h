/* Linux capabilities by their names, as sets of bits. */
#ifndef DET_COMMON_CONFIG_CAPABILITIES_H
#define DET_COMMON_CONFIG_CAPABILITIES_H

#include <stdint.h>

/* "NET_RAW", "CAP_NET_RAW" and "net_raw" are the same one, "ALL" is all of them. -1: there is none of this name. */
int capability_mask(const char *name, uint64_t *ret);

#endif
