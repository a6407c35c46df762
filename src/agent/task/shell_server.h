/* What a task of the kind shell needs beside its order: OpenSSH's server of this machine, its configuration, and the
 * scripts that give each session the task's environment.
 *
 * The master sends ssh/authorized_keys, with the one key that may log in. The server runs as the task's account, which
 * is the only account that anybody can log in to; it listens at DET_SHELL_PORT of the address DET_LISTEN_ADDRESS, which
 * is 127.0.0.1 unless the master says another. Its own key is made for each task, on this machine. */
#ifndef DET_AGENT_TASK_SHELL_SERVER_H
#define DET_AGENT_TASK_SHELL_SERVER_H

#include "agent/task/taskdir.h"

/* Where programs of OpenSSH's server lie. Each list ends with NULL. */
struct shell_server_places {
    const char *const *sshd;
    bool in_image; /* the first one is that of the task's image: nobody can look there before the task runs */
};
extern const struct shell_server_places shell_server_places, shell_server_places_in_image;

/* Writes the files into the task's directory. ERR_INVALID, which refuses the task, if this machine has no sshd, or if
 * sshd could not open a session for the task's account: `views` says whether tasks see an /etc/passwd of their own. */
int shell_server_prepare(const struct taskdir *d, const struct shell_server_places *places, bool views, struct arena *a,
                         struct error *err);
/* Returns the text that the task has to see as /etc/passwd so that its account can log in, with the account first.
 * NULL: the machine's own file will do. */
const char *shell_server_passwd(const struct account *who, struct arena *a);
/* Returns the text that the task has to see as /etc/group so that sshd can open terminals: `tty`, to which sshd gives
 * them, is the group that the task's terminals have. NULL: the machine's own file will do. */
const char *shell_server_group(const struct account *who, struct arena *a);

#endif
