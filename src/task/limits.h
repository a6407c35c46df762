/* What a task may take of the machine, and what is said when it took more.
 *
 * Memory and processes are held by the kernel where the task has control groups; this tells that it did. What is stored
 * on disk is measured, now and then and in small steps, so that a task may be over its limit for some seconds. */
#ifndef DET_TASK_LIMITS_H
#define DET_TASK_LIMITS_H

#include "common/base/arena.h"
#include "common/task/taskspec.h"
#include "task/diskuse.h"

struct limits {
    const struct taskspec *spec;
    int task_dir;       /* -1: the disk is not measured */
    int pids_fd;        /* -1: nobody tells; else poll it for POLLPRI */
    int64_t measure_us; /* when the disk is looked at next */
    int64_t began_us;   /* of the measurement under way */
    struct diskuse disk;
};

/* supervisor_dir: the supervisor's own directory, beside which the task's lies. */
void limits_open(struct limits *l, const struct taskspec *spec, int supervisor_dir, int64_t now_us);
void limits_close(struct limits *l);
/* Why the task has to be ended; NULL: it has not. */
const char *limits_exceeded(struct limits *l, int64_t now_us, struct arena *a);
int64_t limits_next_us(const struct limits *l); /* when to ask again if nothing happens; -1: never */
/* How many of the task's processes the kernel has ended for want of memory. */
int64_t limits_out_of_memory(const struct limits *l);
const char *limits_memory_text(const struct limits *l, struct arena *a); /* "killed: out of memory: limit 2 GiB" */

#endif
