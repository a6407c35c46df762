#include "common/system/path_access.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"
#include "common/system/mountinfo.h"

/* ---- one directory ----------------------------------------------------------------------------------------------- */

/* Whether the owners and modes of a file system are real. On some network file systems the client makes them up. */
static bool has_owners(const char *path)
{
    enum { FUSE = 0x65735546, CIFS = (int)0xFF534D42, SMB2 = (int)0xFE534D42, SMB = 0x517B };
    struct statfs fs;
    if (statfs(path, &fs) < 0)
        return false;
    int type = (int)fs.f_type;
    return type != FUSE && type != CIFS && type != SMB2 && type != SMB;
}

static bool has_access_list(const char *path)
{
    return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/* Whether an account has the permissions `wanted`, which are bits as in the last digit of a mode. */
static enum path_access judge_access(const struct stat *st, const struct path_account *who, mode_t wanted)
{
    bool group_may = (st->st_mode >> 3 & wanted) == wanted, others_may = (st->st_mode & wanted) == wanted;
    if (who->uid == st->st_uid)
        return (st->st_mode >> 6 & wanted) == wanted ? PATH_MAY_WRITE : PATH_DENIED;
    if (who->has_gid && who->gid == st->st_gid)
        return group_may ? PATH_MAY_WRITE : PATH_DENIED;
    if (group_may == others_may)
        return others_may ? PATH_MAY_WRITE : PATH_DENIED;
    return PATH_UNKNOWN;
}

static enum path_access look_at(const char *path, const struct path_account *who, mode_t wanted,
                                struct path_denial *ret)
{
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode) || has_access_list(path) || !has_owners(path))
        return PATH_UNKNOWN;
    *ret = (struct path_denial){.where = path, .owner = st.st_uid, .group = st.st_gid, .mode = st.st_mode & 07777};
    return judge_access(&st, who, wanted);
}

/* ---- our view ---------------------------------------------------------------------------------------------------- */

/* systemd gives a service with PrivateTmp a /tmp of its own, which agents do not see. */
static bool is_in_private_tmp(const char *path)
{
    struct mountinfo_line m;
    cleanup_strbuf struct strbuf mounts = STRBUF_INIT;
    bool below_tmp = strncmp(path, "/tmp/", 5) == 0, below_var_tmp = strncmp(path, "/var/tmp/", 9) == 0;
    if (!below_tmp && !below_var_tmp)
        return false;
    if (file_read("/proc/self/mountinfo", MOUNTINFO_MAX, &mounts, NULL) < 0)
        return true;
    for (const char *text = strbuf_str(&mounts); mountinfo_next(&text, &m);)
        if (strcmp(m.at, below_tmp ? "/tmp" : "/var/tmp") == 0 && strstr(m.root, "systemd-private-"))
            return true;
    return false;
}

/* ---- the way from root to path ----------------------------------------------------------------------------------- */

enum path_access path_access_of(const char *root, const char *path, const struct path_account *who, struct arena *a,
                                struct path_denial *ret)
{
    enum { SEARCH = 1, WRITE_AND_SEARCH = 3 };
    struct path_denial seen = {0};
    struct stat st;
    bool unknown = false;
    size_t at = strlen(root), end = strlen(path);
    if (is_in_private_tmp(path) || stat(root, &st) < 0)
        return PATH_UNKNOWN;
    for (;;) { /* `at` is the end of the path of a directory */
        size_t next = at + strspn(path + at, "/");
        next += strcspn(path + next, "/");
        bool last = at >= end || next == at, missing = !last && stat(arena_strndup(a, path, next), &st) < 0;
        if (missing && errno != ENOENT)
            return PATH_UNKNOWN;
        enum path_access found = look_at(arena_strndup(a, path, at), who, last || missing ? WRITE_AND_SEARCH : SEARCH,
                                         &seen);
        if (found == PATH_DENIED) {
            *ret = seen;
            ret->is_missing = stat(path, &st) < 0;
            return PATH_DENIED;
        }
        unknown = unknown || found == PATH_UNKNOWN;
        if (last || missing)
            return unknown ? PATH_UNKNOWN : PATH_MAY_WRITE;
        at = next;
    }
}
