/* The data directory: its names, and the lock that keeps it for one process. */
#ifndef DET_MASTER_COMMANDS_DATA_DIR_H
#define DET_MASTER_COMMANDS_DATA_DIR_H

#include <sys/un.h>

#include "common/base/error.h"

struct config;

#define DATA_DIR_AGENT_TOKEN "agent.token"
#define DATA_DIR_AGENTS_CA "agents-ca.pem" /* key and certificate of the authority of agents' certificates */
#define DATA_DIR_WEBHOOKS_KEY "webhooks.key"
#define DATA_DIR_RESTORING "restoring" /* a marker: a restore is being made, or was killed */

/* Makes the directory if it does not exist, and takes its lock. The lock is held as long as the descriptor is open.
 * ERR_CONFLICT if a master or a command holds the lock. */
int data_dir_lock(const char *dir, int *ret_fd, struct error *err);
/* Takes a secret of fewer than `size` bytes: what the configuration gives for the key, else the first line of this file
 * of the data directory, which is made at the first start. */
int data_dir_secret(const struct config *c, const char *key, const char *file, char *ret, size_t size,
                    struct error *err);
/* Makes the address of the master's admin socket (admin.h), however long `dir` is. *ret_fd has to stay open while the
 * address is used. */
int data_dir_socket(const char *dir, struct sockaddr_un *ret, int *ret_fd, struct error *err);

#endif
