/* Starts the entrypoint of a task: in a session and a process group of its own, with stdin from /dev/null, with stdout
 * and stderr into pipes, in the task's cgroups, mounts and process ids, as the task's user, with no_new_privs, and
 * without the capabilities that the order drops. The entrypoint dies with the supervisor. Where the machine refuses the
 * mounts, the task runs without them, and its log begins with a line that says so; a task that the order isolates does
 * not start then. */
#ifndef DET_TASK_CHILD_H
#define DET_TASK_CHILD_H

#include <sys/types.h>

#include "common/base/error.h"
#include "common/task/taskspec.h"

struct child {
    pid_t pid;    /* also the id of its process group */
    pid_t first;  /* the first process of the task's own process ids (task/pid_namespace.h); 0: it has none */
    int out, err; /* the reading ends of its pipes, non-blocking */
};

/* Returns -1 if the task was not executed. If the reason is what the order names (its program, its working directory),
 * *ret_code is the code that a shell would give: 127 for a program that was not found, 126 for anything else. *ret_code
 * is 0 if this machine could not start the task. */
int child_start(const struct taskspec *spec, struct child *ret, int *ret_code, struct error *err);
/* Starts a command that makes the task's container, in the same way but for what only the entrypoint needs: `in` is its
 * standard input, and its environment is the order's command_env. */
int child_start_command(const struct taskspec *spec, char *const *command, int in, struct child *ret,
                        struct error *err);
/* Starts the entrypoint from within a container, with the streams that this process has, and nothing on its standard
 * input. It calls about_to itself before it becomes the entrypoint. Returns its process id. */
pid_t child_start_inside(const struct taskspec *spec, void (*about_to)(void *ctx), void *ctx, int *ret_code,
                         struct error *err);

#endif
