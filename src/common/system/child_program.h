/* Programs that ours start beside themselves. */
#ifndef DET_COMMON_CHILD_PROGRAM_H
#define DET_COMMON_CHILD_PROGRAM_H

#include <spawn.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/base/arena.h"

/* Our environment without what is ours alone: our settings, which hold secrets, and our bond with the service manager.
 * `instead` (NULL: nothing) is "NAME=value", and takes the place of what NAME has there. */
char **child_program_environment(const char *instead, struct arena *a);

/* Starts argv[0], looked for in PATH, with no signals blocked or ignored; in a session of its own if what ends us shall not
 * end it. 0, or an error number. */
int child_program_start(char *const argv[], char *const env[], const posix_spawn_file_actions_t *files, bool own_session,
                        pid_t *ret);

#endif
