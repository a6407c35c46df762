/* Limits of one task by control groups: memory, CPU time and number of processes.
 *
 * Both hierarchies are known: v2 (one tree) and v1 or hybrid (a tree for each controller). The task's groups are
 * <root>[/<controller>]/determined/<name>. Limits that this machine does not give are left out, with a sentence in
 * *err. */
#ifndef DET_AGENT_CGROUP_H
#define DET_AGENT_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/error.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

struct cgroup_limits { /* 0: no limit */
    int64_t memory_bytes;
    double cpus;
    int pids;
};

struct cgroup {
    char **procs;         /* files that take a process id, NULL-terminated; possibly none */
    const char *oom_file; /* with a line `oom_kill N`; "" if there is none */
};

static inline bool cgroup_wanted(const struct cgroup_limits *l)
{
    return l->memory_bytes > 0 || l->cpus > 0 || l->pids > 0;
}
/* -1 when any of the limits could not be set; *ret then holds those that could. Its strings live in the arena. */
int cgroup_make(const char *root, const char *name, const struct cgroup_limits *l, struct arena *a, struct cgroup *ret,
                struct error *err);
void cgroup_remove(const char *root, const char *name); /* its processes are gone; never fails audibly */

#endif
