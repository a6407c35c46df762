/* What this machine lets the agent do to keep tasks within their limits and apart from each other.
 *
 * Each power is tried once, at the agent's start, in the way in which a task would use it; where it is refused, the
 * cause is known before any task runs without it. */
#ifndef DET_AGENT_MACHINE_POWERS_H
#define DET_AGENT_MACHINE_POWERS_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/machine/cgroup.h"
#include "common/base/arena.h"

enum power_name {
    POWER_MEMORY_LIMIT,
    POWER_CPU_LIMIT,
    POWER_CPUSET,
    POWER_PROCESS_LIMIT,
    POWER_USER,
    POWER_NO_NEW_PRIVS,
    POWER_MOUNT_NAMESPACE,
    POWER_PID_NAMESPACE,
    POWER_NR
};

struct power {
    const char *name;  /* "memory_limit" */
    const char *gives; /* "a task that takes more memory than it may is ended" */
    bool had;
    const char *cause; /* why it is refused; "" if it is had */
};

struct powers_request {
    const struct cgroup_home *cgroups;
    bool root;                             /* the agent is root */
    bool mount_namespaces, pid_namespaces; /* keys of the configuration */
};

/* Fills in ret[POWER_NR]. Strings live in the arena. Call it while this process has one thread. */
void powers_try(const struct powers_request *q, struct arena *a, struct power *ret);

#endif
