/* System metrics of tasks that ask for them: sampled here, on a worker thread, so that a training process whose interpreter is
 * busy neither delays a sample nor is delayed by one.
 *
 * A task asks by a file, <DET_RUN_DIR>/profiling/request, which holds "INTERVAL_MS SAMPLES": a sample each interval (100 ms or
 * more), the average of so many (1 … 3600) is one report. It goes on until the file is removed or the task ends, also across a
 * restart of the agent. What cannot be understood is logged and ignored. Reports are link.v1.TaskMetrics, in the groups
 * that the library's own profiler has (core/_profiler.py); while the master is away the newest HELD_MAX of them wait. */
#ifndef DET_AGENT_PROFILE_H
#define DET_AGENT_PROFILE_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/machine/gpu.h"
#include "agent/machine/host_counters.h"
#include "gen/wire.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"

struct profile;

struct profile_task {
    const char *dir;       /* in which `request` appears: a name in `run`, which is the task's own directory */
    const char *run;
    const char *agent_id, *container_id, *allocation_id;
    const char *shared_fs; /* where the task's shared storage lies on this machine; "" if it has none */
    const struct gpu_maker *maker; /* NULL: no GPUs */
    const struct gpu *gpu; /* all of the agent's */
    size_t gpu_n;
    const char *gpu_uuids; /* the task's, separated by commas */
    struct host_roots roots;
};

/* false: not sent, and worth to keep */
typedef bool profile_send_fn(void *ctx, const struct wire_link_task_metrics *m);

/* The strings outlive it. NULL when the directory cannot be watched, which is logged. */
struct profile *profile_new(struct loop *l, struct pool *p, const struct profile_task *t, profile_send_fn *send, void *ctx);
void profile_set_supervisor(struct profile *p, pid_t pid); /* whose processes are the task's */
void profile_flush(struct profile *p);                     /* the master is back */
void profile_free(struct profile *p);                      /* a sample under way ends by itself */

#endif
