/* System metrics of tasks that ask for them. They are sampled in the agent, on a worker thread, so that a training
 * process whose interpreter is busy does not delay a sample, and no sample delays the training.
 *
 * A task asks by a file, <DET_RUN_DIR>/profiling/request, which holds "INTERVAL_MS SAMPLES": a sample is taken each
 * interval (100 ms or more), and the average of SAMPLES samples (1 … 3600) is one report. Sampling goes on until the
 * file is removed or the task ends, also when the agent is restarted. A request that is malformed is logged and
 * ignored. Reports are link.v1.TaskMetrics, in the groups that the library's own profiler has (core/_profiler.py).
 * While the master is away, the newest HELD_MAX reports are kept. */
#ifndef DET_AGENT_TASK_PROFILE_H
#define DET_AGENT_TASK_PROFILE_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/machine/gpu.h"
#include "agent/machine/host_counters.h"
#include "gen/wire.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"

struct profile;

struct profile_task {
    /* name of the directory within `run` in which `request` appears; `run` is the task's own directory */
    const char *dir;
    const char *run;
    const char *agent_id, *container_id, *allocation_id;
    const char *shared_fs;         /* where the task's shared storage lies on this machine; "" if it has none */
    const struct gpu_maker *maker; /* NULL: no GPUs */
    const struct gpu *gpu;         /* all GPUs of the agent */
    size_t gpu_n;
    const char *gpu_uuids; /* uuids of the task's GPUs, separated by commas */
    struct host_roots roots;
};

/* Sends a report. Returns false if it was not sent; the profile then keeps it. */
typedef bool profile_send_fn(void *ctx, const struct wire_link_task_metrics *m);

/* Begins to watch for requests. The caller keeps the strings of *t until profile_free(). Returns NULL if the directory
 * cannot be watched, which is logged. */
struct profile *profile_new(struct loop *l, struct pool *p, const struct profile_task *t, profile_send_fn *send,
                            void *ctx);
void profile_set_supervisor(struct profile *p, pid_t pid); /* the processes below this one are the task's */
void profile_flush(struct profile *p);                     /* sends kept reports, once the master is back */
void profile_free(struct profile *p);                      /* a sample that is under way ends by itself */

#endif
