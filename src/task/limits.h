/* What a task may take of the machine, and the sentences for a task that took more.
 *
 * Where the task has control groups, the kernel enforces the limits of memory and processes, and the supervisor
 * reports that it did. Disk usage is measured from time to time in small steps, so a task may be over that limit for
 * some seconds. */
#ifndef DET_TASK_LIMITS_H
#define DET_TASK_LIMITS_H

#include "common/base/arena.h"
#include "common/task/taskspec.h"
#include "task/diskuse.h"

struct limits {
    const struct taskspec *spec;
    int task_dir;       /* the directory that is measured; -1 if disk usage has no limit */
    int pids_fd;        /* poll it for POLLPRI; -1 if the task has no control group for processes */
    int64_t measure_us; /* when the next step of the measurement is due */
    int64_t began_us;   /* when the measurement under way began; 0 if none is under way */
    struct diskuse disk;
};

/* supervisor_dir: the supervisor's own directory, beside which the task's lies. */
void limits_open(struct limits *l, const struct taskspec *spec, int supervisor_dir, int64_t now_us);
void limits_close(struct limits *l);
/* The sentence that says why the task must be ended, or NULL if it is within its limits. Measures disk usage when that
 * is due. */
const char *limits_exceeded(struct limits *l, int64_t now_us, struct arena *a);
/* when limits_exceeded() is to be called again; -1: only when pids_fd is ready */
int64_t limits_next_us(const struct limits *l);
/* How many of the task's processes the kernel has killed because memory ran out. */
int64_t limits_out_of_memory(const struct limits *l);
const char *limits_memory_text(const struct limits *l,
                               struct arena *a); /* "killed: out of memory: the task used 2 GiB, its limit" */

#endif
