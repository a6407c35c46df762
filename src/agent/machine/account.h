/* Who a task runs as.
 *
 * An agent that is not root runs every task as itself. A root agent runs a task as the account that its owner (or its
 * workspace) is linked to; where nobody has linked one, as a uid and gid that belong to this owner alone: the first of the
 * range `task_uids` plus the owner's number in the platform. Nobody has to set such an account up, and it needs no entry
 * in the machine's user database. A task runs as root only where `allow_root_tasks` says so. */
#ifndef DET_AGENT_ACCOUNT_H
#define DET_AGENT_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/arena.h"
#include "common/base/error.h"

/* Ids that belong to the platform: `first` itself stays unused, since no user has the number 0. */
struct account_range {
    uint32_t first, count;
};

/* What the agent's configuration allows. */
struct account_rules {
    bool allow_root;
    struct account_range own;
};

/* What the master orders: the task's owner, and the account that was linked. A uid of 0 is root where the rules allow it,
 * and otherwise leaves the owner to a uid of their own, as a gid of 0 leaves them to the gid that goes with it. */
struct account_order {
    int32_t owner_id;
    const char *owner; /* the owner's name in the platform */
    const char *user;  /* the linked account's name; NULL or "": unknown */
    int32_t uid, gid;
};

struct account {
    bool change; /* false: stay who the agent is; the ids are its own then */
    uid_t uid;
    gid_t gid;
    const char *name, *home, *shell; /* home "" if unknown */
    gid_t *group;                    /* supplementary groups */
    size_t group_n;
    /* For a uid that this machine's user database need not know: what the task should find as its /etc/passwd, in which
     * its name stands first. NULL: the machine's own. */
    const char *passwd;
};

/* Refuses every id that is none, that the rules do not allow, or that belongs to another user. Thread-safe. */
int account_resolve(const struct account_order *o, const struct account_rules *r, struct arena *a, struct account *ret,
                    struct error *err);

/* The files in which a machine says which ids are given away. */
struct account_files {
    const char *passwd, *group, *subuid, *subgid, *uid_map;
};
extern const struct account_files account_files;
/* At the start of a root agent: no id of the range may be anybody else's on this machine, and all of them must be there. */
int account_check_range(const struct account_range *range, const struct account_files *f, struct error *err);

/* Whether the account can get at `path`: search permission on every directory above it, and `want` (R_OK, X_OK) on
 * itself. */
bool account_reaches(const struct account *who, const char *path, int want);

#endif
