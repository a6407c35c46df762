/* Starts programs that go on when det has ended. Their output goes to a log file; they are found again by a pid
 * file.
 *
 * The pid file has the process id and the process's start time since boot, so that another process which has got the
 * same id since is not mistaken for ours. */
#ifndef DET_CLI_LOCAL_DAEMON_H
#define DET_CLI_LOCAL_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/error.h"

struct daemon_start {
    const char *const *argv; /* argv[0] is the program's path; NULL-terminated */
    const char *const *env;  /* "NAME=value" in addition to our environment; NULL-terminated, or NULL */
    const char *pid_file, *log_file;
};

/* also -1 if the program cannot be executed */
int daemon_start(const struct daemon_start *d, pid_t *ret, struct error *err);
bool daemon_find(const char *pid_file, pid_t *ret); /* false: it does not run */
/* Sends SIGTERM, and SIGKILL after `patience_ms`. Returns when the process has ended, and removes the pid file. */
int daemon_stop(const char *pid_file, int patience_ms, struct error *err);

#endif
