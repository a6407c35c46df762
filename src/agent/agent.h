/* The agent: a table of tasks, a link to the master, a runtime. Everything here happens on the loop's thread; what
 * blocks (preparing, starting, removing) is a pair of functions on the worker pool (agent/task/task_tell.c).
 *
 * The supervisors of running tasks are connected exactly while the link is up: the master says at each hello which line
 * of each task it has, and the supervisor sends what follows. Nothing is kept in the agent that must not be lost, so
 * that the agent may be killed and started again at any moment. */
#ifndef DET_AGENT_AGENT_H
#define DET_AGENT_AGENT_H

#include <stdatomic.h>

#include "agent/config.h"
#include "agent/link.h"
#include "agent/machine/gpu_watch.h"
#include "agent/task/runtime.h"
#include "agent/machine/slots.h"
#include "common/base/arena.h"
#include "common/base/error.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"

struct task;

struct agent {
    struct loop *loop;
    struct pool *pool;     /* prepares and starts tasks */
    /* What takes as long as a task likes has threads of its own, so that no task's start waits for it: to remove what a task
     * has left, and to look at file systems that it uses. */
    struct pool *cleaner, *sampler;
    const struct agent_config *config;
    const struct runtime *runtime;
    struct link *link;
    struct service *service; /* what the service manager is told */
    struct arena arena; /* slots */
    struct slots slots;
    struct wire_host_environment host; /* this machine, without devices: for the record of what ran here */
    const char *boot_id;         /* of this machine; "" if unknown */
    const char *isolation_gap;   /* why tasks of different users are not kept apart here; "": they are */
    struct cgroup_home cgroups;  /* where the limits of tasks are made */
    struct gpu_watch *gpu_watch; /* NULL without GPUs */
    struct task *tasks; /* by container id */
    int lock_fd;
    pid_t hook; /* hooks.on_connection_lost, until reaped; 0 if none */
    atomic_bool stopping; /* read by worker threads, too */
    bool failed;
};

/* Finds slots, takes the lock on run_root, looks for tasks that an earlier agent has left, and connects. */
int agent_new(struct loop *l, const struct agent_config *c, struct agent **ret, struct error *err);
/* Tasks go on: to stop them is the master's decision. The loop stops once the link is closed. */
void agent_stop(struct agent *a);
bool agent_failed(const struct agent *a); /* the master refused this agent for good */
void agent_free(struct agent *a);

#endif
