/* Which agents share a machine, by the host names that they tell: they share its ports, too. An agent that has not told its name since
 * the master's start may be anywhere. */
#ifndef DET_CORE_MACHINES_H
#define DET_CORE_MACHINES_H

#include "core/objects.h"

/* It is there from now on; not where it was. */
void machine_join(struct core *c, struct agent *agent, const char *hostname);
void machine_leave(struct core *c, struct agent *agent);
/* Ports of all trials that run, or may run, where this allocation does. False: that would be a look at more than `max` agents and
 * containers. */
bool machines_ports(const struct core *c, const struct allocation *a, size_t max, struct port_set *ret);

#endif
