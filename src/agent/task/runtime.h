/* Where and how a task runs: as a process of this machine, or in a container of an engine. Each runtime is one table
 * of functions.
 *
 * All functions may block. They are called on worker threads: one after the other for one task, at the same time for
 * several tasks. What follows the start is the same in every runtime, and therefore not here: determined-task is the
 * first process of the task, and its socket reports output and exit and takes signals (agent/task/supervisor.h).
 *
 *
 *     prepare ─▶ [rendezvous] ─▶ start ─▶ …socket… ─▶ cleanup         after the agent's restart:  adopt ─▶ …socket… ─▶
 *     cleanup */
#ifndef DET_AGENT_TASK_RUNTIME_H
#define DET_AGENT_TASK_RUNTIME_H

#include <stdatomic.h>

#include "agent/config.h"
#include "agent/machine/account.h"
#include "agent/machine/cgroup.h"
#include "agent/machine/python_probe.h"
#include "agent/machine/slots.h"
#include "agent/python/python_order.h"
#include "agent/task/taskdir.h"
#include "agent/task/taskenv.h"
#include "common/base/arena.h"
#include "common/base/error.h"
#include "gen/wire.h"

/* A task as the worker threads know it. It belongs to one job at a time; everything in it lives in its arena. */
struct runtime_task {
    struct arena arena;
    const struct agent_config *config;
    const struct slots *slots; /* the agent's slots */
    const struct cgroup_home *cgroups;
    const struct runtime *runtime;
    const atomic_bool *agent_stops; /* set when the agent is to end: a worker then gives up what it waits for */
    const char *container_id;
    const char *master_id, *cluster_id;
    const char *boot_id;                      /* of this machine; "" if unknown */
    const struct wire_link_start_task *start; /* the master's order; NULL for an adopted task */
    /* What the agent itself needs of the order while the task runs: the order, or of an adopted task what was kept of
     * it (task_order.c); NULL: nothing was. */
    const struct wire_link_start_task *kept;
    struct taskdir dir;
    struct account account;
    struct taskenv env;
    const char *work_dir;
    char **argv;
    struct task_limits limits;
    struct cgroup cgroup;
    const char *passwd_file;           /* file that the task sees as /etc/passwd; NULL: it sees the machine's file */
    const char *group_file;            /* … as /etc/group */
    const struct python_place *python; /* the Python that the order asks for; NULL: the agent's */
    bool executed; /* set by `start`: the task's first process runs; if not, its supervisor says why */
    /* finds Python for a trial that was started, until a python_probe takes it over */
    struct python_probe_process python_process;
};

struct runtime {
    const char *name;
    /* Prepares directories, files, context and limits: everything but the first process. */
    int (*prepare)(struct runtime_task *t, struct error *err);
    /* Starts the task. Returns once its supervisor listens in the task's directory. */
    int (*start)(struct runtime_task *t, struct error *err);
    /* Makes sure that a supervisor listens: the one that still runs, or a new one that reports what became of the
     * task. */
    int (*adopt)(struct runtime_task *t, struct error *err);
    /* Removes everything that the task has left on this machine. */
    int (*cleanup)(struct runtime_task *t, struct error *err);
};

extern const struct runtime runtime_process;

/* Finds the runtime with the configured name; "auto" is the first one that works on this machine. If this build lacks
 * the runtime, the error says which it has. */
int runtime_choose(const char *name, const struct runtime **ret, struct error *err);

#endif
