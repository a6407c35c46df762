/* Starts the entrypoint of a task: own session and process group, stdin from /dev/null, stdout and stderr into pipes,
 * in its cgroups and mounts, as its user, with no_new_privs and without the capabilities that the order drops. It dies with
 * the supervisor. Where the machine refuses the mounts it runs without them, and its log begins with a line that says so; one
 * that is to be isolated does not start. */
#ifndef DET_TASK_CHILD_H
#define DET_TASK_CHILD_H

#include <sys/types.h>

#include "common/base/error.h"
#include "common/task/taskspec.h"

struct child {
    pid_t pid;    /* also the process group's */
    int out, err; /* our ends of its pipes, non-blocking */
};

/* When what the order names cannot be run (its program, its working directory), *ret_code is what a shell would say: 127 not
 * found, 126 anything else. 0: the machine could not do it. */
int child_start(const struct taskspec *spec, struct child *ret, int *ret_code, struct error *err);

#endif
