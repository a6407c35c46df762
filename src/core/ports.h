/* The port registry: a trial's processes on one machine need ports that no other trial's use there. Each gets the lowest number from
 * each base that no trial of the cluster has, below those that systems hand out to whoever connects; with many thousands of trials
 * these are gone, and the lowest that is free on the allocation's own machines (machines.h) does. Should a machine have hundreds of
 * trials, the cluster's numbers up to the last go first, for they are found at once. Free again when the allocation ends. */
#ifndef DET_CORE_PORTS_H
#define DET_CORE_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rows.h"

enum {
    PORTS_EPHEMERAL = 32768, /* Linux: net.ipv4.ip_local_port_range, as it is by default */
    PORTS_END = 65536,
};

struct port_set {
    uint64_t bits[65536 / 64];
};
void port_set_add(struct port_set *s, const int32_t port[CORE_PORTS]);

struct ports {
    struct port_set reserved, used; /* used: by anybody, or reserved */
    uint16_t users[65536];
};

void ports_init(struct ports *p, const int32_t *reserved, size_t n);
/* False, and nothing taken: all that nobody has are gone, below `end`. */
bool ports_take(struct ports *p, int32_t end, int32_t ret[CORE_PORTS]);
/* … but for those that are in use `here`; 0 where none is left. */
void ports_take_here(struct ports *p, const struct port_set *here, int32_t ret[CORE_PORTS]);
void ports_restore(struct ports *p, const int32_t port[CORE_PORTS]);  /* taken in an earlier life */
void ports_give_back(struct ports *p, const int32_t port[CORE_PORTS]);

#endif
