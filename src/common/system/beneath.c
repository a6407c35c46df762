#include "common/system/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/system/files.h"

#define ALWAYS (O_CLOEXEC | O_NOFOLLOW)
#define NAME_TRIES 16
#define REMOVE_ROUNDS 64 /* rounds over a tree to which somebody goes on adding files */

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* Opens the directory of `path`; *ret_name is the last component. Used where there is no openat2: it opens one
 * component after the other and refuses links. */
static int walk_to_parent(int dir, const char *path, const char **ret_name)
{
    int at = fcntl(dir, F_DUPFD_CLOEXEC, 3);
    for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        char name[NAME_MAX + 1];
        size_t n = (size_t)(slash - path);
        int next = -1;
        if (n > NAME_MAX) {
            errno = ENAMETOOLONG;
        } else {
            memcpy(name, path, n);
            name[n] = 0;
            next = n == 0 ? fcntl(at, F_DUPFD_CLOEXEC, 3) : openat(at, name, O_PATH | O_DIRECTORY | ALWAYS);
        }
        int number = errno;
        close(at);
        errno = number;
        at = next;
    }
    *ret_name = path;
    return at;
}

static bool leads_out(const char *path)
{
    if (*path == '/' || *path == 0)
        return true;
    for (const char *p = path; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == 0))
            return true;
    return false;
}

static int walk_open(int dir, const char *path, int flags, mode_t mode)
{
    const char *name;
    cleanup_close int parent = walk_to_parent(dir, path, &name);
    if (parent < 0)
        return -1;
    return openat(parent, *name ? name : ".", flags, mode);
}

/* Opens a path below `dir`; on failure errno is set. Kernels before 5.6 have no openat2, and some sandboxes refuse it,
 * as they refuse every call that they do not know. */
static int open_beneath(int dir, const char *path, int flags, mode_t mode)
{
    struct open_how how = {.flags = (uint64_t)(flags | ALWAYS),
                           .mode = mode,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    if (leads_out(path)) {
        errno = EXDEV;
        return -1;
    }
    int fd;
    do
        fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
    /* EAGAIN: a directory of the path was renamed during the call */
    while (fd < 0 && (errno == EAGAIN || errno == EINTR));
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = walk_open(dir, path, flags | ALWAYS, mode);
    return fd;
}

static int refuse_path(const char *what, const char *path, struct error *err)
{
    if (errno == EXDEV)
        return error_set(err, ERR_FORBIDDEN, "%s %s: the path leads out of its directory", what, path);
    if (errno == ELOOP || errno == ENOTDIR)
        return error_set(err, ERR_FORBIDDEN,
                         "%s %s: there is a link, or no directory, where a directory or file was expected", what, path);
    return error_errno(err, "%s %s", what, path);
}

int beneath_open(int dir, const char *path, int flags, struct error *err)
{
    /* O_PATH, which never waits, takes no other flags. */
    int fd = open_beneath(dir, path, flags & O_PATH ? flags : flags | O_NONBLOCK | O_NOCTTY, 0);
    return fd < 0 ? refuse_path("cannot open", path, err) : fd;
}

/* Opens the directory that holds `path`. */
static int open_parent(int dir, const char *path, const char **ret_name, struct error *err)
{
    const char *slash = strrchr(path, '/');
    *ret_name = slash ? slash + 1 : path;
    if (!slash)
        return leads_out(path) ? (errno = EXDEV, refuse_path("cannot open", path, err))
                               : fcntl(dir, F_DUPFD_CLOEXEC, 3);
    cleanup_free char *above = must_strndup(path, (size_t)(slash - path));
    return beneath_open(dir, above, O_PATH | O_DIRECTORY, err);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static int give_to_owner(int fd, mode_t mode, const struct beneath_owner *owner)
{
    if (owner && owner->change && fchown(fd, owner->uid, owner->gid) < 0)
        return -1;
    return fchmod(fd, mode);
}

int beneath_make_dir(int dir, const char *path, mode_t mode, const struct beneath_owner *owner, struct error *err)
{
    const char *name;
    cleanup_close int parent = open_parent(dir, path, &name, err);
    if (parent < 0)
        return -1;
    bool made = mkdirat(parent, name, 0700) == 0;
    if (!made && errno != EEXIST)
        return refuse_path("cannot make the directory", path, err);
    cleanup_close int fd = open_beneath(parent, name, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 || (made && give_to_owner(fd, mode, owner) < 0))
        return refuse_path("cannot make the directory", path, err);
    return take_fd(fd);
}

int beneath_write(int dir, const char *path, const void *data, size_t n, mode_t mode, const struct beneath_owner *owner,
                  struct error *err)
{
    cleanup_close int fd = open_beneath(dir, path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || fd_write_all(fd, data, n) < 0 || give_to_owner(fd, mode, owner) < 0)
        return refuse_path("cannot write", path, err);
    return 0;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int beneath_read(int dir, const char *path, size_t limit, struct strbuf *ret, struct error *err)
{
    struct stat st;
    size_t from = ret->n;
    cleanup_close int fd = beneath_open(dir, path, O_RDONLY, err);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0)
        return refuse_path("cannot look at", path, err);
    if (!S_ISREG(st.st_mode))
        return error_set(err, ERR_PRECONDITION, "%s is not a regular file", path);
    for (;;) {
        strbuf_reserve(ret, 4096);
        ssize_t n = read(fd, ret->s + ret->n, 4096);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            return 0;
        ret->n += n > 0 ? (size_t)n : 0;
        ret->s[ret->n] = 0;
        if (n > 0 && ret->n - from <= limit)
            continue;
        strbuf_truncate(ret, from);
        return n < 0 ? error_errno(err, "cannot read %s", path)
                     : error_set(err, ERR_TOO_LARGE, "%s is longer than %zu bytes", path, limit);
    }
}

/* ---- listing ----------------------------------------------------------------------------------------------------- */

static bool is_entry(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

/* Lists a directory from its beginning; its descriptor stays open. */
static DIR *list_directory(int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    if (!d)
        cleanup_close_p(&copy);
    return d;
}

/* ---- removing ----
 *
 * Level by level: a level is a directory of ours within the tree, of a name that nobody can guess. What a directory of
 * one level holds is removed or, where it is a directory itself, moved to the next level; then it is empty, and goes.
 * So depth costs nothing but time, and no directory is listed more than once. */

struct level {
    char name[32];
    int fd;
};

static void level_close(struct level *l)
{
    cleanup_close_p(&l->fd);
    l->fd = -1;
}

static int make_level(int top, struct level *ret, struct error *err)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        uint64_t random = 0;
        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
            break;
        snprintf(ret->name, sizeof(ret->name), ".removing-%016llx", (unsigned long long)random);
        if (mkdirat(top, ret->name, 0700) < 0)
            continue;
        ret->fd = openat(top, ret->name, O_RDONLY | O_DIRECTORY | ALWAYS);
        return ret->fd < 0 ? error_errno(err, "cannot open %s", ret->name) : 0;
    }
    return error_errno(err, "cannot make a directory to remove with");
}

/* Opens a directory that is to be emptied. Its owner may have removed its permissions; only the owner, or root, can
 * restore them. */
static int open_to_empty(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | ALWAYS);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | ALWAYS);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
        fchmod(fd, st.st_mode | 0700);
    return fd;
}

static int move_down(int from, const char *name, int to, uint64_t *number)
{
    char as[24];
    snprintf(as, sizeof(as), "%llu", (unsigned long long)(*number)++);
    if (renameat(from, name, to, as) == 0)
        return 0;
    if (errno != EACCES) /* a directory must be writable to be moved to another one */
        return -1;
    cleanup_close int fd = open_to_empty(from, name);
    return fd < 0 ? -1 : renameat(from, name, to, as);
}

/* Removes `name`, or moves it to `next` if it is a directory. */
static int clear_entry(int dir, const char *name, int next, uint64_t *number, struct error *err)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return error_errno(err, "cannot remove %s", name);
    if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES && errno != EPERM)
        return error_errno(err, "cannot remove the directory %s", name);
    return move_down(dir, name, next, number) < 0 && errno != ENOENT
               ? error_errno(err, "cannot remove the directory %s", name)
               : 0;
}

static int empty_into(int dir, const char *skip, int next, uint64_t *number, struct error *err)
{
    DIR *d = list_directory(dir);
    if (!d)
        return error_errno(err, "cannot list a directory");
    int r = 0;
    for (struct dirent *e; r == 0 && (e = readdir(d));)
        if (is_entry(e) && strcmp(e->d_name, skip) != 0)
            r = clear_entry(dir, e->d_name, next, number, err);
    closedir(d);
    return r;
}

/* Empties every directory of `level` into `next`, and removes it. */
static int clear_level(const struct level *level, const struct level *next, uint64_t *number, struct error *err)
{
    DIR *d = list_directory(level->fd);
    if (!d)
        return error_errno(err, "cannot list a directory");
    int r = 0;
    for (struct dirent *e; r == 0 && (e = readdir(d));) {
        if (!is_entry(e))
            continue;
        cleanup_close int dir = open_to_empty(level->fd, e->d_name);
        if (dir >= 0)
            r = empty_into(dir, "", next->fd, number, err);
        else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
            r = error_errno(err, "cannot open a directory to remove it");
        if (r == 0 && unlinkat(level->fd, e->d_name, AT_REMOVEDIR) < 0)
            unlinkat(level->fd, e->d_name, 0);
    }
    closedir(d);
    return r;
}

/* Removes all levels once. */
static int clear_tree(int top, struct error *err)
{
    struct level level = {.fd = -1}, next = {.fd = -1};
    uint64_t number = 0, before;
    int r = make_level(top, &level, err);
    if (r == 0)
        r = empty_into(top, level.name, level.fd, &number, err);
    for (before = 0; r == 0 && number != before;) {
        before = number;
        r = make_level(top, &next, err);
        if (r == 0)
            r = clear_level(&level, &next, &number, err);
        /* fails if somebody has put something there meanwhile; the next round removes it */
        unlinkat(top, level.name, AT_REMOVEDIR);
        level_close(&level);
        level = next;
        next.fd = -1;
    }
    if (level.fd >= 0)
        unlinkat(top, level.name, AT_REMOVEDIR);
    level_close(&level);
    level_close(&next);
    return r;
}

int beneath_remove(int dir, const char *name, struct error *err)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return error_errno(err, "cannot remove %s", name);
    for (int i = 0; i < REMOVE_ROUNDS; i++) {
        if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return 0;
        if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES)
            return error_errno(err, "cannot remove the directory %s", name);
        cleanup_close int top = open_to_empty(dir, name);
        if (top < 0)
            return error_errno(err, "cannot open %s", name);
        if (clear_tree(top, err) < 0)
            return -1;
    }
    if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
        return 0;
    return error_set(err, ERR_CONFLICT, "cannot remove the directory %s: something goes on writing there", name);
}
