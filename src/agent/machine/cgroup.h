/* Limits of one task by control groups: memory, CPU time, cores and number of processes.
 *
 * Both hierarchies are supported: v2 (one tree) and v1 or hybrid (a tree for each controller). The groups of a task
 * are <home>/determined/<name>. `home` is the agent's own part of each tree if systemd has delegated one to it (unit
 * determined-agent.service with Delegate=yes), else <root>[/<controller>]. So systemd and the agent never write into
 * the same part of a tree. A limit that this machine cannot set is left out, and *err says so. */
#ifndef DET_AGENT_MACHINE_CGROUP_H
#define DET_AGENT_MACHINE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

struct cgroup_limits { /* limits of a task; 0: no limit */
    int64_t memory_bytes;
    double cpus;
    int pids;
    const char *cpuset; /* the cores that the task runs on, as "0-3,8"; NULL: all */
};

struct cgroup {
    /* files to which a process id is written (in v1: that of a thread), NULL-terminated; possibly none */
    char **procs;
    const char *oom_file;  /* with a line `oom_kill N`; "" if there is none */
    const char *pids_file; /* with a line `max N`, how often the limit was met; "" if there is none */
};

static inline bool cgroup_wanted(const struct cgroup_limits *l)
{
    return l->memory_bytes > 0 || l->cpus > 0 || l->pids > 0 || l->cpuset;
}
enum { CGROUP_CONTROLLERS = 4 };
struct cgroup_home {
    const char *root;
    bool v2, own;
    const char *base[CGROUP_CONTROLLERS]; /* directories for memory, cpu, pids and cpuset; in v2 all are the same */
};

/* Finds the agent's home. `membership` is the text of /proc/self/cgroup. In v2 a group has either processes or groups
 * with limits, so the calling process moves into a leaf (<home>/agent), which its supervisors inherit. Returns -1 if
 * that fails: the home is then the root, and *err says why. */
int cgroup_find_home(const char *root, const char *membership, struct arena *a, struct cgroup_home *ret,
                     struct error *err);

/* The cores that groups below the home may be given, as "0-7"; "" if this machine has no controller for cores that the
 * agent can use. */
const char *cgroup_cpus(const struct cgroup_home *home, struct arena *a);
/* Makes the groups of a task. Returns -1 if a limit could not be set; *ret then holds the limits that could. Strings
 * live in the arena. */
int cgroup_make(const struct cgroup_home *home, const char *name, const struct cgroup_limits *l, struct arena *a,
                struct cgroup *ret, struct error *err);
/* called when the task's processes have ended; errors are ignored */
void cgroup_remove(const struct cgroup_home *home, const char *name);

#endif
