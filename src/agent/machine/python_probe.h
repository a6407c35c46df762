/* Which Python a task's program would run with. It is recorded with the task. It is found by looking at files;
 * nothing is executed. A program that uses our library reports it more exactly, and its report replaces this one.
 *
 * A process of its own looks at the files, as the task's user (task/find_python.h), because that user owns many of
 * them. No worker of the agent waits for that process, and a process that takes too long is killed. */
#ifndef DET_AGENT_MACHINE_PYTHON_PROBE_H
#define DET_AGENT_MACHINE_PYTHON_PROBE_H

#include <sys/types.h>

#include "common/base/error.h"
#include "common/task/python_found.h"
#include "net/loop/loop.h"

/* The process, and the pipe that it writes its result to. */
struct python_probe_process {
    pid_t pid; /* 0: there is no process */
    int fd;
};

/* Starts the process; may be called on any thread. `dir` is the supervisor's directory, which holds the order. */
int python_probe_process_start(const char *task_program, const char *dir, struct python_probe_process *ret,
                               struct error *err);

struct python_probe;
/* Called with the result; found is NULL if no Python was found, or not in time. Strings live until the function
 * returns. The function frees the probe. */
typedef void python_probe_fn(void *ctx, const struct python_found *found);

/* Takes the process over, and waits for its result on the loop's thread. Calls `done` once, unless python_probe_free()
 * comes first. */
struct python_probe *python_probe_new(struct loop *l, struct python_probe_process *process, python_probe_fn *done,
                                      void *ctx);
void python_probe_free(struct python_probe *k);
/* Kills a process that no python_probe has taken over. */
void python_probe_process_end(struct python_probe_process *process);

#endif
