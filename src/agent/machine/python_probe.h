/* Which Python a task's program would run with, for the record of what it ran in: found by looking at files, nothing is
 * executed. A program that uses our library tells it better, and then that counts.
 *
 * A process of its own looks, as the task's user (task/look.h), since that user owns what is looked at: no worker of the agent
 * waits for it, and one that takes too long is ended and forgotten. */
#ifndef DET_AGENT_PYTHON_LOOK_H
#define DET_AGENT_PYTHON_LOOK_H

#include <sys/types.h>

#include "common/base/error.h"
#include "common/task/python_found.h"
#include "net/loop/loop.h"

/* The process, and what it tells. */
struct python_looker {
    pid_t pid; /* 0: none */
    int fd;
};

/* On any thread. `dir` is the supervisor's, with the order in it. */
int python_looker_start(const char *task_program, const char *dir, struct python_looker *ret, struct error *err);

struct python_look;
/* NULL: nothing was found, or not in time. Strings live until the function returns, which frees the look. */
typedef void python_look_fn(void *ctx, const struct python_found *found);

/* Takes the looker over; calls `done` once, unless it is freed before. On the loop's thread. */
struct python_look *python_look_new(struct loop *l, struct python_looker *looker, python_look_fn *done, void *ctx);
void python_look_free(struct python_look *k);
/* One that nobody has taken over. */
void python_looker_end(struct python_looker *looker);

#endif
