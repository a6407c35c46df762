/* Which agents share a machine, and with it its ports: those that tell the same host name. An agent that has not told
 * its name since the master's start may be on any machine. */
#ifndef DET_CORE_RESOURCES_MACHINES_H
#define DET_CORE_RESOURCES_MACHINES_H

#include "core/state/objects.h"

/* Enters the agent under the host name of its machine, and takes it out of the machine where it was entered before. */
void machine_join(struct core *c, struct agent *agent, const char *hostname);
void machine_leave(struct core *c, struct agent *agent);
/* Collects the ports of all trials that run, or may run, on the machines of this allocation. Returns false if more than
 * `max` agents and containers would have to be looked at. */
bool machines_ports(const struct core *c, const struct allocation *a, size_t max, struct port_set *ret);

#endif
