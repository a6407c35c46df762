/* Whether this machine lets an ordinary user make user namespaces, which Apptainer needs to make a container without a
 * program that is setuid. */
#ifndef DET_AGENT_MACHINE_USER_NAMESPACES_H
#define DET_AGENT_MACHINE_USER_NAMESPACES_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/error.h"

/* Tries it once, in a process of its own: as this user, or with `change` false as the agent's. The error (of kind
 * ERR_PRECONDITION) names what refuses it, and what an admin can do. May be called from any thread. */
int user_namespaces_try(bool change, uid_t uid, gid_t gid, struct error *err);

#endif
