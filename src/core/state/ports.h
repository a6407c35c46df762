/* The port registry: processes of a trial need ports that no other trial uses on the same machine
 * (docs/spec/task-environment.md#ports). From each base, an allocation gets the lowest number that no trial of the
 * cluster has, below PORTS_EPHEMERAL, where the system's own choice begins. With many thousands of trials these are
 * used up; then it gets the lowest number that is free on its own machines (machines.h). If that look would take too
 * long, because a machine has hundreds of trials, the cluster's numbers up to PORTS_END are tried before it. A port is
 * free again when the allocation ends.
 *
 * A notebook, shell or TensorBoard has one port, at which its service listens. It is drawn from the range of its
 * kind. */
#ifndef DET_CORE_STATE_PORTS_H
#define DET_CORE_STATE_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/records/rows.h"
#include "core/records/states.h"

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
/* Whether tasks of this kind have a service with a port of its own. */
bool ports_has_service(enum task_kind kind);
/* Takes a port of the kind's range that no allocation has. The number `random` says where in the range the search
 * begins. If all are taken, it is a port that is not in `here`, the ports of the task's own machine. 0: there is none,
 * or the kind has no service. */
int32_t ports_draw(struct ports *p, enum task_kind kind, uint32_t random, const struct port_set *here);
void ports_restore(struct ports *p,
                   const int32_t port[CORE_PORTS]); /* ports of an allocation that was restored after a restart */
void ports_give_back(struct ports *p, const int32_t port[CORE_PORTS]);

#endif
