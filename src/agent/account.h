/* Who a task runs as. An agent that is not root runs tasks as itself. A root agent runs them as the account that the
 * task's owner is linked to, or, where there is none (or it is root), as the system user det-task; as root only if it
 * was told to. */
#ifndef DET_AGENT_ACCOUNT_H
#define DET_AGENT_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/arena.h"
#include "common/error.h"

#define ACCOUNT_DEFAULT "det-task"

struct account {
    bool change; /* false: stay who the agent is; the ids are its own then */
    uid_t uid;
    gid_t gid;
    const char *name, *home, *shell; /* home "" if unknown */
    gid_t *group;                    /* supplementary groups */
    size_t group_n;
};

/* uid 0 means "not linked". Thread-safe. */
int account_resolve(const char *user, uid_t uid, gid_t gid, bool allow_root, struct arena *a, struct account *ret,
                    struct error *err);
/* A root agent that may not run tasks as root makes the system user, if there is none. */
int account_ensure_default(struct error *err);
/* Whether the account can get at `path`: search permission on every directory above it, and `want` (R_OK, X_OK) on
 * itself. */
bool account_reaches(const struct account *who, const char *path, int want);

#endif
