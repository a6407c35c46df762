/* Whether an account other than our own may write into a directory, as far as owners and modes of files tell. Calls
 * look at file systems: they may block where one of them is a network's. */
#ifndef DET_COMMON_SYSTEM_PATH_ACCESS_H
#define DET_COMMON_SYSTEM_PATH_ACCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/arena.h"

struct path_account {
    uid_t uid;
    bool has_gid; /* the account's other groups are not known to us */
    gid_t gid;
};

enum path_access {
    PATH_MAY_WRITE,
    PATH_DENIED,
    /* Nobody can tell from here: root is missing or hidden from us, an access control list or a file system without
     * owners decides, a group may do what the account may not and the account may be of that group, or our /tmp is not
     * that of others. */
    PATH_UNKNOWN,
};

/* The directory that keeps the account from writing: one on the way from root to path, both included. */
struct path_denial {
    const char *where;
    uid_t owner;
    gid_t group;
    mode_t mode;
    bool is_missing; /* path does not exist: it would have to be made in `where`, or below */
};

/* path lies at or below root, and may be missing. Directories above root are not looked at, since a mount may lead
 * around them. */
enum path_access path_access_of(const char *root, const char *path, const struct path_account *who, struct arena *a,
                                struct path_denial *ret);

#endif
