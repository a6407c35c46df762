/* Whose program listens at a TCP port of 127.0.0.1. Tasks share the machine's network, so that a task of another user
 * may have taken the port first. */
#ifndef DET_AGENT_MACHINE_PORT_OWNER_H
#define DET_AGENT_MACHINE_PORT_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* Returns false if nobody listens there, or if the kernel does not tell. */
bool port_owner_find(int port, uid_t *ret);
/* The same for another address of this machine: IPv4 or IPv6, without brackets. */
bool port_owner_find_at(const char *address, int port, uid_t *ret);

#endif
