/* Programs that go on when det has ended: started with their output in a log file, found again by a pid file.
 *
 * The pid file holds the process id and its start time since boot, so that a number the kernel has given to somebody
 * else meanwhile is not taken for ours. */
#ifndef DET_CLI_DAEMON_H
#define DET_CLI_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/error.h"

struct daemon_start {
    const char *const *argv; /* argv[0] is the program's path; NULL-terminated */
    const char *const *env;  /* "NAME=value" on top of our environment; NULL-terminated, or NULL */
    const char *pid_file, *log_file;
};

int daemon_start(const struct daemon_start *d, pid_t *ret, struct error *err); /* -1, too, when it cannot be executed */
bool daemon_find(const char *pid_file, pid_t *ret);                             /* false: it does not run */
/* SIGTERM, and SIGKILL after `patience_ms`; comes back when it has gone, and takes the pid file away. */
int daemon_stop(const char *pid_file, int patience_ms, struct error *err);

#endif
