/* The agent: a table of tasks, a link to the master, the engines of containers. Everything here happens on the loop's
 * thread. What blocks (preparing, starting, removing a task) runs on the worker pool, as a pair of functions
 * (agent/task/task_tell.c).
 *
 * The agent is connected to the supervisors of running tasks exactly while its link to the master is up. At each
 * hello the master says which line of each task it has, and the supervisor sends the lines that follow. The agent
 * keeps nothing that must not be lost, so it may be killed and started again at any moment. */
#ifndef DET_AGENT_AGENT_H
#define DET_AGENT_AGENT_H

#include <stdatomic.h>

#include "agent/config.h"
#include "agent/link.h"
#include "agent/machine/gpu_watch.h"
#include "agent/machine/slots.h"
#include "agent/machine/use_watch.h"
#include "agent/task/runtime.h"
#include "common/base/arena.h"
#include "common/base/error.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"

struct task;

struct agent {
    struct loop *loop;
    struct pool *pool; /* prepares and starts tasks */
    /* Work whose length a task decides has threads of its own, so that no start of a task waits for it: removing what a
     * task has left, and sampling file systems that it uses. */
    struct pool *cleaner, *sampler;
    const struct agent_config *config;
    struct runtime_engines engines; /* of containers */
    struct container_leftovers *leftovers;
    struct link *link;
    struct agent_streams *streams; /* byte streams from the master to ports of tasks */
    struct service *service;       /* tells systemd the state of this program */
    struct arena arena;            /* memory of `slots` */
    struct slots slots;
    struct wire_host_environment host; /* this machine, without its devices; recorded with each trial */
    const char *boot_id;               /* kernel's id of this start of the machine; "" if unknown */
    const char *isolation_gap; /* why tasks of different users are not kept apart on this machine; "" if they are */
    /* the cores and the memory for tasks that ask for some */
    double offered_cpus;
    int64_t offered_memory_bytes;
    struct cgroup_home cgroups;  /* the cgroups below which each task gets its own */
    struct gpu_watch *gpu_watch; /* NULL without GPUs */
    struct use_watch *use_watch; /* of the slots of tasks of which the master wants to know it */
    bool gpus_untold;            /* a GPU has changed since the last hello, and the link was not up yet */
    struct task *tasks;          /* hash table by container id */
    int lock_fd;
    pid_t hook;           /* the process of hooks.on_connection_lost until it is reaped; 0 if there is none */
    atomic_bool stopping; /* read by worker threads, too */
    bool failed;
};

/* Finds the slots, locks run_root, adopts tasks that an earlier agent has left, and begins to connect to the master. */
int agent_new(struct loop *l, const struct agent_config *c, struct agent **ret, struct error *err);
/* Stops the agent, not its tasks: only the master decides to stop tasks. The loop stops once the link is closed. */
void agent_stop(struct agent *a);
bool agent_failed(const struct agent *a); /* the master refused this agent for good */
void agent_free(struct agent *a);

#endif
