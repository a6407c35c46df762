/* Programs that our programs start. */
#ifndef DET_COMMON_SYSTEM_CHILD_PROGRAM_H
#define DET_COMMON_SYSTEM_CHILD_PROGRAM_H

#include <spawn.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/base/arena.h"

/* The environment for such a program: ours without our settings, which hold secrets, and without the variables of the
 * service manager. `instead` is "NAME=value", which replaces the value of NAME; it may be NULL. */
char **child_program_environment(const char *instead, struct arena *a);

/* Starts argv[0], which is searched for in PATH, with no signals blocked or ignored; in a session of its own if a
 * signal from our terminal shall not end it. Returns 0 or an error number. */
int child_program_start(char *const argv[], char *const env[], const posix_spawn_file_actions_t *files,
                        bool own_session, pid_t *ret);

/* Reaps a child that was killed or is about to end, without waiting for it. A child that hangs in a network file system
 * ends only when that file system answers; a later call reaps it. pid must be above 0. Only one thread of a program may
 * call this. */
void child_program_abandon(pid_t pid);

#endif
