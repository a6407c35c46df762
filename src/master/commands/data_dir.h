/* The data directory: its names, and the lock that keeps it for one process. */
#ifndef DET_MASTER_COMMANDS_DATA_DIR_H
#define DET_MASTER_COMMANDS_DATA_DIR_H

#include <sys/un.h>

#include "common/base/error.h"

#define DATA_DIR_AGENT_TOKEN "agent.token"
#define DATA_DIR_RESTORING "restoring" /* marker: a restore is under way, or was killed */

/* Makes the directory if there is none and takes its lock; the lock goes with the descriptor. ERR_CONFLICT when a
 * master (or a command) has it. */
int data_dir_lock(const char *dir, int *ret_fd, struct error *err);
/* The address of the master's admin socket (admin.h), whatever the length of `dir`: *ret_fd has to stay open while it
 * is used. */
int data_dir_socket(const char *dir, struct sockaddr_un *ret, int *ret_fd, struct error *err);

#endif
