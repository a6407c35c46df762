#include "agent/python/environment_seal.h"

#include <errno.h>
#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 512

struct seal {
    bool change_user;
    uid_t builder, own;
    gid_t group;
    int64_t bytes;
};

static mode_t sealed_mode(const struct stat *st)
{
    bool executable = S_ISDIR(st->st_mode) || (st->st_mode & S_IXUSR);
    return executable ? 0755 : 0644;
}

static int seal_entry(struct seal *s, const FTSENT *e, struct error *err)
{
    const struct stat *st = e->fts_statp;
    if (st->st_uid != s->builder && st->st_uid != s->own)
        return error_set(err, ERR_INVALID, "%s belongs to another user; an environment may not hold such a file",
                         e->fts_path);
    if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode) && !S_ISLNK(st->st_mode))
        return unlink(e->fts_path) < 0 ? error_errno(err, "cannot remove %s", e->fts_path) : 0;
    if (s->change_user && lchown(e->fts_path, s->own, s->group) < 0)
        return error_errno(err, "cannot take over %s", e->fts_path);
    if (!S_ISLNK(st->st_mode) && chmod(e->fts_path, sealed_mode(st)) < 0)
        return error_errno(err, "cannot change the mode of %s", e->fts_path);
    s->bytes += (int64_t)st->st_blocks * BLOCK;
    return 0;
}

int environment_seal(const char *dir, bool change_user, uint32_t builder, int64_t *ret_bytes, struct error *err)
{
    char *root[] = {(char *)dir, NULL};
    struct seal s = {.change_user = change_user, .own = geteuid(), .group = getegid()};
    s.builder = change_user ? builder : s.own;
    FTS *walk = fts_open(root, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!walk)
        return error_errno(err, "cannot read %s", dir);
    int r = 0;
    errno = 0;
    for (FTSENT *e; r == 0 && (e = fts_read(walk)); errno = 0) {
        if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS) {
            errno = e->fts_errno;
            r = error_errno(err, "cannot read %s", e->fts_path);
        } else if (e->fts_info != FTS_DP) {
            r = seal_entry(&s, e, err);
        }
    }
    if (r == 0 && errno)
        r = error_errno(err, "cannot read %s", dir);
    fts_close(walk);
    if (r == 0)
        *ret_bytes = s.bytes;
    return r;
}
