/* A container that a command has made, as the task's user (common/task/taskspec.h): what is said between the supervisor
 * outside and determined-task within it. They speak over a socket that is the standard input of the container's
 * command, since that is what such a command passes on to the container for certain.
 *
 *   outside ─▶ inside    what is wanted, and the order: once, at the beginning
 *   inside  ─▶ outside   STARTING, STARTED or REFUSED, then ENDED
 *
 * Whatever runs in the container runs as the task's user, who may say anything here; it is believed only about the task
 * itself. Who says STARTING is known by the kernel. */
#ifndef DET_TASK_INSIDE_H
#define DET_TASK_INSIDE_H

#include <sys/types.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/task/taskspec.h"
#include "task/missing_module.h"

enum inside_want {
    INSIDE_TASK = 'T',
    INSIDE_NOTHING = 'N', /* whether a container starts at all */
    INSIDE_EXPLAIN = 'X'  /* why Python has not found a module */
};

/* Makes the two ends: both are closed by exec. */
int inside_open(int *ret_outside, int *ret_inside, struct error *err);
/* `missing` is of INSIDE_EXPLAIN, and NULL otherwise. */
int inside_order(int fd, enum inside_want want, const struct missing_module *missing, const struct taskspec *spec,
                 struct error *err);
/* Waits for the order. */
int inside_take_order(int fd, struct arena *a, enum inside_want *ret_want, struct missing_module *ret_missing,
                      struct taskspec *ret, struct error *err);

enum inside_said {
    INSIDE_STARTING = 's', /* said by the process that is about to become the entrypoint */
    INSIDE_STARTED = 'r',
    INSIDE_REFUSED = 'f', /* with a code as a shell gives it, and a sentence */
    INSIDE_ENDED = 'e'    /* with a status of waitpid() */
};

struct inside_message {
    enum inside_said said;
    int number;
    pid_t pid; /* of whoever says it, as the reader sees it */
    char text[1024];
};

/* Nothing happens if nobody listens. */
void inside_say(int fd, enum inside_said said, int number, const char *text);
/* Reads one message, without waiting: 1; 0: there is none now; -1: there will be none any more. */
int inside_hear(int fd, struct inside_message *ret);

/* determined-task --inside: the first process of the container. It puts the image's variables into the task's
 * environment, looks for a shell, checks that what is mounted is what the agent has checked, and starts the entrypoint.
 * Then it takes over orphans and tells the supervisor how the entrypoint ends. It ends when no other process of the
 * container is left. Returns an exit status. */
int inside_run(void);

#endif
