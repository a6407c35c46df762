/* The account of this machine that a task runs as.
 *
 * An agent that is not root runs every task as itself. An agent that is root runs a task as the account that its
 * owner (or its workspace) is linked to. If no account is linked, the task gets a uid and a gid that belong to this
 * owner alone: the first id of the range `task_uids` plus the owner's number in the platform. Nobody has to create
 * that account, and the machine's user database need not know it. A task runs as root only if `allow_root_tasks` is
 * set. */
#ifndef DET_AGENT_MACHINE_ACCOUNT_H
#define DET_AGENT_MACHINE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/arena.h"
#include "common/base/error.h"

/* A range of ids that belong to the platform. The id `first` is never used, since no user has the number 0. */
struct account_range {
    uint32_t first, count;
};

/* What the agent's configuration allows. */
struct account_rules {
    bool allow_root;
    struct account_range own;
};

/* What the master orders: the task's owner, and the account that was linked. A uid of 0 means root if the rules allow
 * it, and otherwise the owner's own uid; a gid of 0 means the gid that goes with the uid. */
struct account_order {
    int32_t owner_id;
    const char *owner; /* the owner's name in the platform */
    const char *user;  /* the linked account's name; NULL or "": unknown */
    int32_t uid, gid;
};

struct account {
    bool change; /* false: the task runs as the agent's user, and the ids are the agent's */
    uid_t uid;
    gid_t gid;
    const char *name, *home, *shell; /* home "" if unknown */
    gid_t *group;                    /* supplementary groups */
    size_t group_n;
    /* For a uid that need not be in this machine's user database: the text that the task sees as /etc/passwd, with the
     * task's name first. NULL: the task sees the machine's file. */
    const char *passwd;
};

/* Finds the account of a task. Refuses ids that are out of bounds, that the rules do not allow, or that belong to
 * another user. May be called from any thread. */
int account_resolve(const struct account_order *o, const struct account_rules *r, struct arena *a, struct account *ret,
                    struct error *err);

/* The files that say which ids of a machine are taken. */
struct account_files {
    const char *passwd, *group, *subuid, *subgid, *uid_map;
};
extern const struct account_files account_files;
/* Called when a root agent starts: fails if an id of the range is used by anybody else on this machine, or does not
 * exist here. */
int account_check_range(const struct account_range *range, const struct account_files *f, struct error *err);

/* The group that terminals of the account's tasks belong to: `tty` where the agent may give files to it (a root agent);
 * otherwise the account's own, the only one that there is in a user namespace of the task. */
gid_t account_terminal_gid(const struct account *who);

/* Whether a program can be run with this login shell: it exists, and is none that only says that there is no login. */
bool account_shell_works(const char *shell);

/* Whether the account can use `path`: it needs search permission on every directory above, and `want` (R_OK, X_OK) on
 * the path itself. */
bool account_reaches(const struct account *who, const char *path, int want);

#endif
