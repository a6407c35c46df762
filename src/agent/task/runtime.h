/* Where and how a task runs: as a process of this machine, in a container of an engine, or in one of Apptainer. Each
 * runtime is one table of functions.
 *
 * An operation has up to two halves. What may block (files, programs) runs on a worker thread: one after the other for
 * one task, at the same time for several tasks. What asks a container engine runs on the loop's thread, and waits there
 * for nothing. What follows the start is the same in every runtime, and therefore not here: determined-task
 * starts the task, and its socket, in the task's directory, reports output and exit and takes signals
 * (agent/task/supervisor.h).
 *
 *   [ask_image] ─▶ prepare ─▶ [rendezvous] ─▶ start ─▶ [ask_start] ─▶ …socket… ─▶ [ask_removal] ─▶ cleanup
 *                                        after the agent's restart:  adopt ─▶ …socket… ─▶ [ask_removal] ─▶ cleanup */
#ifndef DET_AGENT_TASK_RUNTIME_H
#define DET_AGENT_TASK_RUNTIME_H

#include <stdatomic.h>

#include "agent/config.h"
#include "agent/engine/engine.h"
#include "agent/engine/image.h"
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
    struct runtime_engines *engines; /* only the loop's thread touches them */
    const struct runtime *runtime;
    struct engine *engine;           /* the engine of the task's container; NULL: none was found, or none is needed */
    const struct image_facts *image; /* of the task's container */
    const char *runtime_id;          /* what the engine calls the container; NULL or "": it is not known */
    const char *image_file;          /* of Apptainer: the file or directory that its command runs */
    struct taskspec_place *place;    /* the mounts of its container, as they were checked */
    size_t place_n;
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

/* An operation of a runtime that asks an engine. */
struct runtime_ask;
struct runtime_ask_handler {
    struct engine_lines lines;                           /* for the task's log */
    void (*on_done)(void *ctx, const struct error *err); /* NULL: it succeeded */
    void *ctx;
};
/* on_done is called once, later, on the loop's thread. Nobody else may touch the task until then. */
typedef struct runtime_ask *runtime_ask_fn(struct runtime_task *t, const struct runtime_ask_handler *h);

/* The container engines that this agent may use: services that it asks in this order, or one command. */
struct runtime_engines {
    struct engine engine[2];
    size_t n;
    struct engine command; /* Apptainer or Singularity; its name is NULL if the configuration names neither */
};

struct runtime {
    const char *name;
    /* Prepares directories, files, context and limits: everything but the first process. */
    int (*prepare)(struct runtime_task *t, struct error *err);
    /* Starts the task. Once this and ask_start are done, its supervisor listens in the task's directory. */
    int (*start)(struct runtime_task *t, struct error *err);
    /* Makes sure that a supervisor listens: the one that still runs, or a new one that reports what became of the
     * task. */
    int (*adopt)(struct runtime_task *t, struct error *err);
    /* Removes everything that the task has left on this machine. */
    int (*cleanup)(struct runtime_task *t, struct error *err);
    /* The halves that ask an engine; NULL where the runtime needs none. ask_image finds an engine that answers, and the
     * task's image: `engine` and `image` are set then. */
    runtime_ask_fn *ask_image, *ask_start, *ask_removal;
};

extern const struct runtime runtime_process, runtime_container, runtime_apptainer;

/* Gives up what was asked; on_done is not called. */
void runtime_ask_cancel(struct runtime_ask *ask);

/* Checks the value of container_runtime. If this build lacks the runtime, the error says which it has. */
int runtime_check_name(const char *name, struct error *err);
/* The runtime of the tasks that run in containers. */
const struct runtime *runtime_of_containers(const struct agent_config *c);
/* Whether a task is to run in a container, if an engine answers. */
bool runtime_wants_container(const struct agent_config *c, const struct wire_link_start_task *start);
/* The engines that the configuration names. */
void runtime_list_engines(const struct agent_config *c, struct loop *l, struct arena *a, struct runtime_engines *ret);
/* The path of the program that container_runtime names; NULL if it names none, or if there is none on PATH. */
const char *runtime_find_command(const struct agent_config *c, struct arena *a);

/* ---- for runtimes ------------------------------------------------------------------------------------------------ */

#define RUNTIME_LIBRARY_DIR "/run/determined.library" /* our library, in a container */

/* Makes the task's account, directory, environment, files and context. Runs on a worker thread. */
int runtime_prepare_files(struct runtime_task *t, struct error *err);
/* Writes what the task is to see as /etc/passwd; nothing if text is NULL, or if tasks have no mounts of their own. */
int runtime_put_passwd(struct runtime_task *t, const char *text, struct error *err);
/* Makes the task's control groups. A limit that this machine cannot set is logged; the task runs all the same. */
void runtime_make_cgroup(struct runtime_task *t);
/* Size of the task's own /dev/shm: what it asks for, else half of its memory. What lies there counts as its memory. */
int64_t runtime_shm_bytes(const struct runtime_task *t);
struct taskspec;
/* Fills in what orders have in common whatever the runtime is. */
int runtime_fill_spec(const struct runtime_task *t, struct taskspec *ret, struct error *err);
int runtime_write_spec(const struct runtime_task *t, const struct taskspec *spec, struct error *err);
/* Lets determined-task adopt what a dead supervisor has left; `adopt` of every runtime. */
int runtime_adopt(struct runtime_task *t, struct error *err);
/* Removes the task's control groups and its directory; `cleanup` of a runtime that has called runtime_make_cgroup(). */
int runtime_cleanup(struct runtime_task *t, struct error *err);
/* Removes the task's directory, or keeps it under another name; `cleanup` of a runtime without control groups. */
int runtime_remove_directory(struct runtime_task *t, struct error *err);

#endif
