/* The port registry: processes of a trial need ports that no other trial uses on the same machine
 * (docs/spec/task-environment.md#ports). From each base, an allocation gets the lowest number that no trial of the
 * cluster has, below PORTS_EPHEMERAL, where the system's own choice begins. With many thousands of trials these are
 * used up; then it gets the lowest number that is free on its own machines (machines.h). If that look would take too
 * long, because a machine has hundreds of trials, the cluster's numbers up to PORTS_END are tried before it. A port is
 * free again when the allocation ends. */
#ifndef DET_CORE_STATE_PORTS_H
#define DET_CORE_STATE_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/records/rows.h"

enum {
    /* the first port that Linux gives out by itself: net.ipv4.ip_local_port_range by default */
    PORTS_EPHEMERAL = 32768,
    PORTS_END = 65536,
};

struct port_set {
    uint64_t bits[65536 / 64];
};
void port_set_add(struct port_set *s, const int32_t port[CORE_PORTS]);

struct ports {
    struct port_set reserved, used; /* used: the ports that are reserved or that any allocation has */
    uint16_t users[65536];
};

void ports_init(struct ports *p, const int32_t *reserved, size_t n);
/* Takes one port from each base. False, and nothing is taken, if some base has no free port below `end`. */
bool ports_take(struct ports *p, int32_t end, int32_t ret[CORE_PORTS]);
/* Takes one port from each base, but only ports in `here` count as taken. A port is 0 if none is left. */
void ports_take_here(struct ports *p, const struct port_set *here, int32_t ret[CORE_PORTS]);
void ports_restore(struct ports *p,
                   const int32_t port[CORE_PORTS]); /* ports of an allocation that was restored after a restart */
void ports_give_back(struct ports *p, const int32_t port[CORE_PORTS]);

#endif
