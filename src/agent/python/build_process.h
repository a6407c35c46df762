/* Runs one program that makes an environment, or that looks at a Python, as the account that makes environments.
 *
 * Such a program may run code of anybody (the setup of a package). It gets no descriptor, no variable and no right of
 * the agent. It cannot leave a process behind: it has a process id namespace of its own where the kernel permits one,
 * and all its descendants are killed when it ends, when the build is cancelled, or when this process dies. */
#ifndef DET_AGENT_PYTHON_BUILD_PROCESS_H
#define DET_AGENT_PYTHON_BUILD_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct build_process {
    char *const *argv; /* argv[0] is an absolute path */
    char *const *env;
    const char *dir;           /* working directory */
    char *const *cgroup_procs; /* files of control groups that take the program's process id; NULL: none */
    bool change_user;
    uint32_t uid, gid;
    int timeout_s; /* 0: none */
    /* Called for each line of output and of errors, without its end. */
    void (*on_line)(void *ctx, const char *line, size_t n);
    void *ctx;
};

/* Runs the program to its end. *ret_status: 0 to 255 as a shell reports it. ERR_CANCELED if the agent has closed the
 * standard input of this process, or has died; ERR_DEADLINE after timeout_s. */
int build_process_run(const struct build_process *p, int *ret_status, struct error *err);

#endif
