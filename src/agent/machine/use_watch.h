/* Tells for how long the slots of tasks have not been in use: their GPUs, or, if a task has none, the processors, by
 * the CPU time of its processes. All tasks are sampled together on a worker thread, several times before each report,
 * so that a short use is seen, too. Use of a GPU counts for every task that has a part of it. */
#ifndef DET_AGENT_MACHINE_USE_WATCH_H
#define DET_AGENT_MACHINE_USE_WATCH_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/machine/gpu.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"

struct use_watch;

struct use_watch_task {
    const char *container_id;
    int64_t every_us;             /* how often it is to be told; the shortest time of all tasks counts */
    unsigned below_percent;       /* less than this is no use: of each of its GPUs, or of one core */
    const struct gpu *const *gpu; /* the GPUs of the task, which the caller keeps; the list is copied */
    size_t gpu_n;                 /* 0: the task has none */
};

struct use_watch_report {
    const char *container_id;
    int64_t idle_us;     /* for how long there was no use, as far as it was watched; 0 if the rest is not known */
    const char *problem; /* why it cannot be known; "": it is known */
};
/* Called on the loop's thread, with the tasks of which something is known. */
typedef void use_watch_fn(void *ctx, const struct use_watch_report *report, size_t n);

/* `proc` is "/proc"; tests have a directory of their own. maker: NULL without GPUs. */
struct use_watch *use_watch_new(struct loop *l, struct pool *p, const struct gpu_maker *maker, const char *proc,
                                use_watch_fn *told, void *ctx);
void use_watch_add(struct use_watch *w, const struct use_watch_task *t);
/* The processes below this one are the task's; 0: they cannot be seen. Does nothing if the task is not watched. */
void use_watch_set_supervisor(struct use_watch *w, const char *container_id, pid_t pid);
void use_watch_remove(struct use_watch *w, const char *container_id); /* … nor does this */
void use_watch_free(struct use_watch *w);                             /* call it after pool_free() */

#endif
