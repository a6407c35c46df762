/* The memory that making environments may take of this machine (python_environments.build_memory).
 *
 * All programs of one build run in one control group, which lives as long as the build. The builds of one directory of
 * environments come one after the other, so the group is named after that directory: what a killed build has left is
 * removed by the next one. */
#ifndef DET_AGENT_PYTHON_BUILD_LIMITS_H
#define DET_AGENT_PYTHON_BUILD_LIMITS_H

#include <stdbool.h>

#include "agent/machine/cgroup.h"
#include "agent/python/python_order.h"

struct build_limits {
    struct cgroup_home home;
    struct cgroup group;
    const char *name; /* NULL: nothing is limited */
};

/* Makes the control group. Returns -1 if the memory cannot be limited on this machine; the build goes on without the
 * limit then. cgroup_root and membership are as in cgroup_find_home(). Strings live in the arena. */
int build_limits_open(const struct python_settings *s, const char *cgroup_root, const char *membership, struct arena *a,
                      struct build_limits *ret, struct error *err);
/* Files to which a program of the build writes its process id, NULL-terminated; NULL without a limit. */
char *const *build_limits_procs(const struct build_limits *l);
/* Whether the kernel has killed a program of the build because the build had used its memory. */
bool build_limits_exceeded(const struct build_limits *l);
/* Called when all programs have ended. */
void build_limits_close(struct build_limits *l);

#endif
