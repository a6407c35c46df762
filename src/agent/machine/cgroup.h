/* Limits of one task by control groups: memory, CPU time and number of processes.
 *
 * Both hierarchies are known: v2 (one tree) and v1 or hybrid (a tree for each controller). The task's groups are
 * <home>/determined/<name>, where home is the agent's own part of each tree if systemd has delegated one to it (its unit
 * is determined-agent.service, Delegate=yes), else <root>[/<controller>]: no two masters of a tree write into the same
 * part. Limits that this machine does not give are left out, with a sentence in *err. */
#ifndef DET_AGENT_CGROUP_H
#define DET_AGENT_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

struct cgroup_limits { /* 0: no limit */
    int64_t memory_bytes;
    double cpus;
    int pids;
};

struct cgroup {
    char **procs;          /* files that take a process id (v1: that of a thread), NULL-terminated; possibly none */
    const char *oom_file;  /* with a line `oom_kill N`; "" if there is none */
    const char *pids_file; /* with a line `max N`, how often the limit was met; "" if there is none */
};

static inline bool cgroup_wanted(const struct cgroup_limits *l)
{
    return l->memory_bytes > 0 || l->cpus > 0 || l->pids > 0;
}
enum { CGROUP_CONTROLLERS = 3 };
struct cgroup_home {
    const char *root;
    bool v2, own;
    const char *base[CGROUP_CONTROLLERS]; /* of memory, cpu, pids; in v2 all the same */
};

/* `membership` is the text of /proc/self/cgroup. In v2 a group has either processes or groups with limits: the caller moves
 * into a leaf (<home>/agent), from which its supervisors inherit. -1 when that fails: home is the root then, and *err says
 * why. */
int cgroup_find_home(const char *root, const char *membership, struct arena *a, struct cgroup_home *ret, struct error *err);

/* -1 when any of the limits could not be set; *ret then holds those that could. Its strings live in the arena. */
int cgroup_make(const struct cgroup_home *home, const char *name, const struct cgroup_limits *l, struct arena *a, struct cgroup *ret,
                struct error *err);
void cgroup_remove(const struct cgroup_home *home, const char *name); /* its processes are gone; never fails audibly */

#endif
