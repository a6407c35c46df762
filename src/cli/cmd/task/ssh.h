/* Reaches shells by OpenSSH. ssh connects through a program, `det shell tunnel ID`, which carries the connection to the
 * shell through the master; the shell's key is in a file that only the user may read.
 *
 * What belongs to a shell is in ~/.cache/determined/shell/ID: `key` if ssh is to be used without det, and
 * `known_hosts`, by which a later connection is known to reach the same shell. */
#ifndef DET_CLI_CMD_TASK_SSH_H
#define DET_CLI_CMD_TASK_SSH_H

#include "cli/cli.h"
#include "common/json/json.h"

struct ssh_target {
    const char *id, *user;
    const char *key_file, *known_hosts_file;
    const char *proxy_command; /* as ssh reads it: for the user's shell, and with % doubled */
    bool keep_key;             /* the key's file stays */
};

/* Writes the shell's key. `shell` is its object in an answer. keep_key: at its usual place; else to a file of its own,
 * which ssh_target_release() removes. */
int ssh_target_init(struct cli *cli, struct json_object *shell, bool keep_key, struct ssh_target *ret,
                    struct error *err);
void ssh_target_release(const struct ssh_target *t);
/* The command line of ssh, ending with NULL, in the arena. */
char **ssh_words(struct cli *cli, const struct ssh_target *t, const char *const *more, size_t more_n);
/* The same as one line for a shell. */
const char *ssh_line(struct cli *cli, char *const *word);
/* Runs ssh on this terminal until it ends. The exit status is that of ssh. */
int ssh_run(struct cli *cli, char **word, struct error *err);
/* Removes everything about a shell that has ended. */
void ssh_forget(struct cli *cli, const char *id);

#endif
