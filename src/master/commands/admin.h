/* The socket DATA_DIR/admin.sock, for commands on this machine that the running master has to carry out itself
 * (determined-master backup). Only the master's own user and root can connect: the socket has mode 0600, its directory
 * 0700.
 *
 * A caller sends one word and a newline. The answer is "ok" with an open descriptor as SCM_RIGHTS, or "error " and a
 * sentence.
 *     backup    the descriptor reads a backup of the store (store/engine/backup.h); its file has no name any more */
#ifndef DET_MASTER_COMMANDS_ADMIN_H
#define DET_MASTER_COMMANDS_ADMIN_H

#include "common/base/error.h"

struct master;
struct admin;

int admin_new(struct master *m, struct admin **ret, struct error *err);
/* Cancels a command that is being carried out; to be called before the loop is freed. a may be NULL. */
void admin_free(struct admin *a);

/* Sends a command to the master that listens in the directory. ERR_NOT_FOUND if there is none. */
int admin_call(const char *data_dir, const char *word, int *ret_fd, struct error *err);

#endif
