/* Containers of an engine: made and started for one task each, and removed. A container is never privileged, has no
 * process that may gain rights (no-new-privileges), and is never started again by its engine. */
#ifndef DET_AGENT_ENGINE_CONTAINER_H
#define DET_AGENT_ENGINE_CONTAINER_H

#include "agent/engine/engine.h"
#include "common/base/arena.h"
#include "gen/wire.h"

struct container_mount {
    const char *source, *target;
    const char *propagation; /* NULL: rprivate */
    bool read_only;
};

struct container_label {
    const char *name, *value;
};

struct container_order {
    const char *name, *image;
    char *const *argv; /* the first process, NULL-terminated */
    const char *user;  /* "0:0" */
    const char *network_mode;
    const struct container_mount *mount;
    size_t mount_n;
    const struct wire_link_task_device *device;
    size_t device_n;
    const char *const *add_capability;
    size_t add_capability_n;
    const struct container_label *label;
    size_t label_n;
    const int32_t *port; /* published at the same number of the machine, where the network is not the machine's */
    size_t port_n;
    int64_t memory_bytes, shm_bytes; /* 0: the engine's own default */
    int32_t processes;
    double cpus;
    const char *cpuset;             /* cores, as "0-3"; NULL: all */
    enum wire_device_type gpu_type; /* of `gpu`, the uuids of the task's GPUs */
    const char *const *gpu;
    size_t gpu_n;
};

/* The body of the request that makes the container. */
struct json_object *container_describe(const struct engine *e, const struct container_order *o);

/* Makes a container and starts it. Its first process tells, through the named pipe at `ready`, when it is there
 * (common/task/taskspec.h); `done` is called then, or when the container has ended without that. `id` is what the
 * engine calls the container, "" if it has not said; `executed` says whether the task's program runs. */
typedef void container_started_fn(void *ctx, const char *id, bool executed, const struct error *err);
struct container_launch;
struct container_launch *container_launch_start(struct engine *e, const struct container_order *o, const char *ready,
                                                container_started_fn *done, void *ctx);
void container_launch_cancel(struct container_launch *l); /* what the engine has begun goes on */

/* Kills and removes a container. It is no error if there is none. */
struct engine_call *container_remove(struct engine *e, const char *name, engine_reply_fn *done, void *ctx);

#define CONTAINER_LABEL "ai.determined.container."
/* Lists the containers, running or not, that have these labels: an array of objects with Names and Labels. */
struct engine_call *container_list(struct engine *e, const struct container_label *label, size_t label_n,
                                   engine_reply_fn *done, void *ctx);

#endif
