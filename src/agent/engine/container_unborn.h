/* Containers that were begun and never were started, and that their engine does not know any more. An engine starts a
 * container in two steps: runc makes everything and leaves a process (`runc init`) that waits; then the process is told
 * to execute the container's program. A dockerd that is killed in between has forgotten the container when it is back,
 * and nobody ends the process, nor the shim of containerd above it.
 *
 * Such a process has the container's mounts already. It is recognised by them, certainly: it sees the supervisor's
 * directory of a task below this agent's run_root, and only this agent has containers made with that. */
#ifndef DET_AGENT_ENGINE_CONTAINER_UNBORN_H
#define DET_AGENT_ENGINE_CONTAINER_UNBORN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/arena.h"

struct unborn_container {
    const char *task; /* id of the task that it was made for */
    pid_t init;       /* the process that waits */
    pid_t shim;       /* containerd's process above it, of this container alone; 0: another program is above it */
};

/* Where they are looked for. */
struct unborn_search {
    const char *proc;     /* "/proc"; tests have a directory of their own */
    const char *run_root; /* of this agent's tasks */
    const char *mounted;  /* where a container sees the supervisor's directory of its task */
};

/* Lists them, for which it reads all of /proc: on a worker's thread. Everything lives in the arena. */
size_t container_unborn_list(const struct unborn_search *s, struct arena *a, struct unborn_container **ret);
/* Ends those of a list that was made just now whose tasks `is_known` says false of. Returns how many it has ended. */
size_t container_unborn_end(const struct unborn_container *found, size_t n,
                            bool (*is_known)(void *ctx, const char *container_id), void *ctx);

#endif
