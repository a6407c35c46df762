#include "agent/task/untar.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/task/context_depth.h"

struct unpack {
    struct archive *in;
    int root;
    const struct account *owner;
    long long bytes, members;
};

static int give_to_owner(const struct unpack *u, int dir, const char *name, struct error *err)
{
    if (u->owner->change && fchownat(dir, name, u->owner->uid, u->owner->gid, AT_SYMLINK_NOFOLLOW) < 0)
        return error_errno(err, "context: cannot give %s to user %d", name, (int)u->owner->uid);
    return 0;
}

/* The depth at which a relative path ends if it is followed from `depth` directories below the root; -1 if it leaves
 * the root. */
static int depth_after(const char *path, int depth)
{
    while (*path && depth >= 0) {
        size_t n = strcspn(path, "/");
        if (n == 2 && memcmp(path, "..", 2) == 0)
            depth--;
        else if (n > 0 && !(n == 1 && path[0] == '.'))
            depth++;
        path += n;
        path += strspn(path, "/");
    }
    return depth;
}

static bool has_dotdot(const char *path)
{
    while (*path) {
        size_t n = strcspn(path, "/");
        if (n == 2 && memcmp(path, "..", 2) == 0)
            return true;
        path += n;
        path += strspn(path, "/");
    }
    return false;
}

/* Checks the path of a member. Every directory above a member is opened, so the limit of depth bounds the work that a
 * small archive can cause. */
static int check_path(const char *path, struct error *err)
{
    if (depth_after(path, 0) > CONTEXT_DEPTH_MAX)
        return error_set(err, ERR_TOO_LARGE, "context: the path of member \"%.100s…\" has more than %d names", path,
                         CONTEXT_DEPTH_MAX);
    if (path[0] == '/')
        return error_set(err, ERR_INVALID, "context: member \"%s\" has an absolute path", path);
    if (has_dotdot(path))
        return error_set(err, ERR_INVALID, "context: member \"%s\" has .. in its path", path);
    return 0;
}

/* Opens the directory `name` in `dir`, and makes it if it does not exist. Never follows a link. */
static int descend_into(const struct unpack *u, int dir, const char *name, struct error *err)
{
    bool made = mkdirat(dir, name, 0755) == 0;
    if (!made && errno != EEXIST)
        return error_errno(err, "context: cannot make directory %s", name);
    if (made && give_to_owner(u, dir, name, err) < 0)
        return -1;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return error_set(err, ERR_INVALID, "context: a member lies below \"%s\", which is not a directory", name);
    return fd < 0 ? error_errno(err, "context: cannot open directory %s", name) : fd;
}

/* Opens the directory that holds `path`; *ret_name points at the last component ("" for the root itself). */
static int open_parent(const struct unpack *u, char *path, const char **ret_name, struct error *err)
{
    int dir = fcntl(u->root, F_DUPFD_CLOEXEC, 3);
    const char *name = "";
    for (char *save = NULL, *part = strtok_r(path, "/", &save); part && dir >= 0; part = strtok_r(NULL, "/", &save)) {
        if (strcmp(part, ".") == 0)
            continue;
        if (*name) {
            int next = descend_into(u, dir, name, err);
            close(dir);
            dir = next;
        }
        name = part;
    }
    *ret_name = name;
    return dir;
}

static int copy_data(struct unpack *u, int fd, const char *path, struct error *err)
{
    const void *block;
    size_t n;
    la_int64_t offset;
    int r;
    while ((r = archive_read_data_block(u->in, &block, &n, &offset)) == ARCHIVE_OK) {
        u->bytes += (long long)n;
        if (u->bytes > UNTAR_BYTES_MAX)
            return error_set(err, ERR_TOO_LARGE, "context: it unpacks to more than %lld bytes", UNTAR_BYTES_MAX);
        for (size_t done = 0; done < n;) {
            ssize_t w = pwrite(fd, (const char *)block + done, n - done, offset + (off_t)done);
            if (w < 0)
                return error_errno(err, "context: cannot write %s", path);
            done += (size_t)w;
        }
    }
    if (r != ARCHIVE_EOF)
        return error_set(err, ERR_INVALID, "context: member \"%s\" is damaged: %s", path, archive_error_string(u->in));
    return 0;
}

static int put_file(struct unpack *u, struct archive_entry *e, int dir, const char *name, const char *path,
                    struct error *err)
{
    unlinkat(dir, name, 0); /* a member may come twice: the last one counts, and must not be written through a link */
    cleanup_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(err, "context: cannot make %s", path);
    if (copy_data(u, fd, path, err) < 0)
        return -1;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = archive_entry_mtime(e)}};
    if (u->owner->change && fchown(fd, u->owner->uid, u->owner->gid) < 0)
        return error_errno(err, "context: cannot give %s to user %d", path, (int)u->owner->uid);
    if (fchmod(fd, (archive_entry_perm(e) & 0777) | 0600) < 0 || futimens(fd, times) < 0)
        return error_errno(err, "context: cannot set mode and time of %s", path);
    return 0;
}

static int put_symlink(const struct unpack *u, struct archive_entry *e, int dir, const char *name, const char *path,
                       struct error *err)
{
    const char *target = archive_entry_symlink(e);
    int depth = depth_after(path, 0) - 1;
    if (!target || target[0] == '/' || depth_after(target, depth) < 0)
        return error_set(err, ERR_INVALID, "context: link \"%s\" leads outside (to \"%s\")", path,
                         target ? target : "");
    unlinkat(dir, name, 0);
    if (symlinkat(target, dir, name) < 0)
        return error_errno(err, "context: cannot make link %s", path);
    return give_to_owner(u, dir, name, err);
}

static int put_hardlink(const struct unpack *u, const char *target, int dir, const char *name, const char *path,
                        struct error *err)
{
    if (check_path(target, err) < 0)
        return -1;
    cleanup_free char *copy = must_strdup(target);
    const char *from_name;
    cleanup_close int from = open_parent(u, copy, &from_name, err);
    if (from < 0)
        return -1;
    unlinkat(dir, name, 0);
    if (linkat(from, from_name, dir, name, 0) < 0)
        return error_set(err, ERR_INVALID, "context: link \"%s\" names \"%s\", which is not in the archive", path,
                         target);
    return 0;
}

static int put_directory(const struct unpack *u, struct archive_entry *e, int dir, const char *name, struct error *err)
{
    cleanup_close int fd = descend_into(u, dir, name, err);
    if (fd < 0)
        return -1;
    if (fchmod(fd, (archive_entry_perm(e) & 0777) | 0700) < 0)
        return error_errno(err, "context: cannot set the mode of %s", name);
    return 0;
}

static int put_member(struct unpack *u, struct archive_entry *e, const char *path, struct error *err)
{
    cleanup_free char *copy = must_strdup(path);
    const char *name;
    cleanup_close int dir = open_parent(u, copy, &name, err);
    if (dir < 0)
        return -1;
    if (!*name)
        return 0; /* "./" is the root, which exists already */
    if (archive_entry_hardlink(e))
        return put_hardlink(u, archive_entry_hardlink(e), dir, name, path, err);
    switch (archive_entry_filetype(e)) {
    case AE_IFREG:
        return put_file(u, e, dir, name, path, err);
    case AE_IFDIR:
        return put_directory(u, e, dir, name, err);
    case AE_IFLNK:
        return put_symlink(u, e, dir, name, path, err);
    default:
        return error_set(err, ERR_INVALID, "context: member \"%s\" is a device, pipe or socket", path);
    }
}

static const char *path_of(struct archive_entry *e)
{
    const char *path = archive_entry_pathname_utf8(e);
    return path ? path : archive_entry_pathname(e);
}

static int put_all(struct unpack *u, struct error *err)
{
    struct archive_entry *e;
    int r;
    while ((r = archive_read_next_header(u->in, &e)) == ARCHIVE_OK || r == ARCHIVE_WARN) {
        const char *path = path_of(e);
        if (!path)
            return error_set(err, ERR_INVALID, "context: a member has no readable name");
        if (++u->members > UNTAR_MEMBERS_MAX)
            return error_set(err, ERR_TOO_LARGE, "context: more than %d members", UNTAR_MEMBERS_MAX);
        if (check_path(path, err) < 0 || put_member(u, e, path, err) < 0)
            return -1;
    }
    if (r != ARCHIVE_EOF)
        return error_set(err, ERR_INVALID, "context: not a gzipped tar archive, or damaged: %s",
                         archive_error_string(u->in));
    return 0;
}

int untar(const void *tgz, size_t n, int dir, const struct account *owner, struct error *err)
{
    struct unpack u = {.in = archive_read_new(), .root = dir, .owner = owner};
    if (!u.in)
        return error_set(err, ERR_NO_MEMORY, "context: no memory to unpack it");
    archive_read_support_filter_gzip(u.in);
    archive_read_support_format_tar(u.in);
    archive_read_support_format_gnutar(u.in);
    int r = archive_read_open_memory(u.in, tgz, n) == ARCHIVE_OK
                ? put_all(&u, err)
                : error_set(err, ERR_INVALID, "context: not a gzipped tar archive: %s", archive_error_string(u.in));
    archive_read_free(u.in);
    return r;
}
