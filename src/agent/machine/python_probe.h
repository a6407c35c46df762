/* Which Python a task's program would run with, for the record of what it ran in: found by looking at files, nothing is
 * executed. A program that uses our library tells it better, and then that counts.
 *
 * A process of its own looks, as the task's user (task/find_python.h), since that user owns what is looked at: no worker of the agent
 * waits for it, and one that takes too long is ended and forgotten. */
#ifndef DET_AGENT_PYTHON_PROBE_H
#define DET_AGENT_PYTHON_PROBE_H

#include <sys/types.h>

#include "common/base/error.h"
#include "common/task/python_found.h"
#include "net/loop/loop.h"

/* The process, and what it tells. */
struct python_probe_process {
    pid_t pid; /* 0: none */
    int fd;
};

/* On any thread. `dir` is the supervisor's, with the order in it. */
int python_probe_process_start(const char *task_program, const char *dir, struct python_probe_process *ret, struct error *err);

struct python_probe;
/* NULL: nothing was found, or not in time. Strings live until the function returns, which frees the look. */
typedef void python_probe_fn(void *ctx, const struct python_found *found);

/* Takes the process over; calls `done` once, unless it is freed before. On the loop's thread. */
struct python_probe *python_probe_new(struct loop *l, struct python_probe_process *process, python_probe_fn *done, void *ctx);
void python_probe_free(struct python_probe *k);
/* One that nobody has taken over. */
void python_probe_process_end(struct python_probe_process *process);

#endif
