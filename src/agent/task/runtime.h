/* Where and how a task runs: as a process of this machine, or in a container of some engine. One table of functions
 * each.
 *
 * All of them may block: they are called on a worker thread, one after the other for a task, several tasks at once.
 * What comes after the start is the same in every runtime, and therefore not here: determined-task is the first process
 * of the task; its socket tells output and exit and takes signals (agent/task/supervisor.h).
 *
 *     prepare ─▶ [rendezvous] ─▶ start ─▶ …socket… ─▶ cleanup         after the agent's restart:  adopt ─▶ …socket… ─▶ cleanup */
#ifndef DET_AGENT_RUNTIME_H
#define DET_AGENT_RUNTIME_H

#include "agent/machine/account.h"
#include "agent/machine/cgroup.h"
#include "agent/config.h"
#include "agent/machine/python_probe.h"
#include "agent/machine/slots.h"
#include "agent/task/taskdir.h"
#include "agent/task/taskenv.h"
#include "common/base/arena.h"
#include "common/base/error.h"
#include "gen/wire.h"

/* A task as the worker threads know it. Belongs to one job at a time; everything in it lives in its arena. */
struct runtime_task {
    struct arena arena;
    const struct agent_config *config;
    const struct slots *slots; /* of this agent */
    const struct cgroup_home *cgroups;
    const struct runtime *runtime;
    const char *container_id;
    const char *master_id, *cluster_id;
    const char *boot_id; /* of this machine; "" if unknown */
    const struct wire_link_start_task *start; /* NULL for an adopted task */
    struct taskdir dir;
    struct account account;
    struct taskenv env;
    const char *work_dir;
    char **argv;
    struct task_limits limits;
    struct cgroup cgroup;
    const char *passwd_file; /* what it finds as /etc/passwd; NULL: the machine's own */
    bool executed;           /* after `start`: its first process runs; otherwise its supervisor tells why not */
    struct python_probe_process python_process; /* for a trial that was started, until the loop's thread takes it over */
};

struct runtime {
    const char *name;
    /* Directories, files, context, limits: everything but the first process. */
    int (*prepare)(struct runtime_task *t, struct error *err);
    /* Returns once the supervisor listens in the task's directory. */
    int (*start)(struct runtime_task *t, struct error *err);
    /* Makes sure that a supervisor listens: the one that is still there, or one that tells what became of the task. */
    int (*adopt)(struct runtime_task *t, struct error *err);
    /* Nothing of the task remains on this machine. */
    int (*cleanup)(struct runtime_task *t, struct error *err);
};

extern const struct runtime runtime_process;

/* By its configured name; "auto" is the first that works here. The error of one that this build lacks says which it
 * has. */
int runtime_choose(const char *name, const struct runtime **ret, struct error *err);

#endif
