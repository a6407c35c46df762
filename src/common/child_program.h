/* Programs that the master starts beside itself. */
#ifndef DET_COMMON_CHILD_PROGRAM_H
#define DET_COMMON_CHILD_PROGRAM_H

#include <spawn.h>
#include <sys/types.h>

#include "common/arena.h"

/* Our environment without what is the master's alone: its settings, which hold secrets, and its bond with the service
 * manager. `instead` (NULL: nothing) is "NAME=value", and takes the place of what NAME has there. */
char **child_program_environment(const char *instead, struct arena *a);

/* Starts argv[0], looked for in PATH, in a session of its own, so that what ends the master does not end it, and with no
 * signals blocked or ignored. 0, or an error number. */
int child_program_start(char *const argv[], char *const env[], const posix_spawn_file_actions_t *files, pid_t *ret);

#endif
