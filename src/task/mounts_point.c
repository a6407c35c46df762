#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/system/beneath.h"
#include "common/system/files.h"
#include "task/mounts_internal.h"

#define ENTRIES_MAX 1000 /* in a directory that can be covered */
#define OLD_ROOT ".determined-old-root"

static const struct mount_option cover_options[] = {{"mode", "0755"}, {"size", "16m"}, {NULL, NULL}};

/* ---- showing again ----------------------------------------------------------------------------------------------- */

static int copy_link(int entry, int dir, const char *name, struct error *err)
{
    char text[4096];
    ssize_t n = readlinkat(entry, "", text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = 0;
    return n < 0 || symlinkat(text, dir, name) < 0 ? error_errno(err, "cannot copy the link %s", name) : 0;
}

static int make_point(int dir, const char *name, bool directory, struct error *err)
{
    if (!directory)
        return beneath_write(dir, name, "", 0, 0644, NULL, err) < 0 ? -1 : beneath_open(dir, name, O_PATH, err);
    cleanup_close int made = beneath_make_dir(dir, name, 0755, NULL, err);
    return made < 0 ? -1 : beneath_open(dir, name, O_PATH | O_DIRECTORY, err);
}

int show_again(int entry, int dir, const char *name, struct error *err)
{
    struct stat st;
    if (fstat(entry, &st) < 0)
        return error_errno(err, "cannot look at %s", name);
    if (S_ISLNK(st.st_mode))
        return copy_link(entry, dir, name, err);
    cleanup_close int tree = mount_copy(entry);
    if (tree < 0)
        return error_errno(err, "cannot show %s again", name);
    cleanup_close int point = make_point(dir, name, S_ISDIR(st.st_mode), err);
    if (point < 0)
        return -1;
    return mount_at(tree, point) < 0 ? error_errno(err, "cannot show %s again", name) : 0;
}

/* ---- covering a directory ---------------------------------------------------------------------------------------- */

/* The entries of a directory from before it was covered. Their descriptors still lead to them afterwards. */
struct entries {
    struct {
        char *name;
        int fd;
    } item[ENTRIES_MAX];
    size_t n;
};

static void entries_release(struct entries *e)
{
    for (size_t i = 0; i < e->n; i++) {
        free(e->item[i].name);
        close(e->item[i].fd);
    }
}

static DIR *list_as_task(const struct view *v, int dir)
{
    act_as_task(v);
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    act_as_self(v);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        cleanup_close_p(&fd);
    return d;
}

static int entries_open(const struct view *v, int dir, struct entries *e, struct error *err)
{
    e->n = 0;
    DIR *d = list_as_task(v, dir);
    if (!d)
        return error_errno(err, "cannot list a directory that has to be covered");
    int r = 0;
    for (struct dirent *x; r == 0 && (x = readdir(d));) {
        if (strcmp(x->d_name, ".") == 0 || strcmp(x->d_name, "..") == 0)
            continue;
        int fd = e->n < ENTRIES_MAX ? open_as_task(v, dir, x->d_name, O_NOFOLLOW) : -1;
        if (fd >= 0) {
            e->item[e->n].name = must_strdup(x->d_name);
            e->item[e->n++].fd = fd;
        } else if (errno != ENOENT || e->n == ENTRIES_MAX) {
            r = error_set(err, ERR_PRECONDITION, "cannot show %s in a directory of our own", x->d_name);
        }
    }
    closedir(d);
    return r;
}

static int show_all_again(const struct entries *e, int dir, struct error *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < e->n; i++)
        r = show_again(e->item[i].fd, dir, e->item[i].name, err);
    return r;
}

static int remember_cover(struct view *v, int cover, struct error *err)
{
    struct stat st;
    if (v->cover_n == COVERS_MAX || fstat(cover, &st) < 0)
        return error_set(err, ERR_PRECONDITION, "more than %d directories would have to be covered", COVERS_MAX);
    v->cover[v->cover_n++] = st.st_dev;
    return 0;
}

/* Replaces the root directory. It cannot be mounted over, because every process's `/` would still lead below the mount.
 * A new root takes its place, and the old one is unmounted once everything in it is shown in the new one. */
static int replace_root(struct view *v, int cover, const struct entries *e, struct error *err)
{
    /* Any directory can serve as the stage; it is uncovered again when what is mounted there becomes the root. */
    cleanup_close int stage = open(v->run_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (stage < 0 || mount_at(cover, stage) < 0 || fchdir(cover) < 0 || mkdirat(cover, OLD_ROOT, 0700) < 0 ||
        syscall(SYS_pivot_root, ".", OLD_ROOT) < 0 || chdir("/") < 0)
        return error_errno(err, "cannot make a root directory");
    if (show_all_again(e, cover, err) < 0)
        return -1;
    if (umount2("/" OLD_ROOT, MNT_DETACH) < 0 || unlinkat(cover, OLD_ROOT, AT_REMOVEDIR) < 0)
        return error_errno(err, "cannot leave the old root directory");
    return 0;
}

static bool is_same(int dir, const char *path)
{
    struct stat a, b;
    return fstat(dir, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Covers `dir` with a directory of ours, and returns its descriptor. */
static int cover_directory(struct view *v, int dir, struct error *err)
{
    cleanup_free struct entries *e = must_calloc(1, sizeof(*e));
    cleanup_close int cover = mount_new("tmpfs", cover_options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    int r = cover < 0 ? error_errno(err, "cannot make a file system in memory") : entries_open(v, dir, e, err);
    if (r == 0 && is_same(dir, "/"))
        r = replace_root(v, cover, e, err);
    else if (r == 0 && mount_at(cover, dir) < 0)
        r = error_errno(err, "cannot cover a directory");
    else if (r == 0)
        r = show_all_again(e, cover, err);
    entries_release(e);
    if (r == 0)
        r = remember_cover(v, cover, err);
    v->broken = r < 0;
    return r < 0 ? -1 : take_fd(cover);
}

/* ---- mount points ------------------------------------------------------------------------------------------------ */

static bool is_cover(const struct view *v, int dir)
{
    struct stat st;
    for (size_t i = 0; fstat(dir, &st) == 0 && i < v->cover_n; i++)
        if (st.st_dev == v->cover[i])
            return true;
    return false;
}

static bool is_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == 0);
}

/* Whether `dir` can be covered without losing what the task writes. What a task writes into `/` and /run belongs to the
 * task alone, even if it runs as root. */
static bool may_cover(const struct view *v, int dir)
{
    if (is_same(dir, "/") || is_same(dir, "/run"))
        return true;
    act_as_task(v);
    bool refused = faccessat(dir, ".", W_OK, AT_EACCESS) < 0 && (errno == EACCES || errno == EROFS);
    act_as_self(v);
    return refused;
}

/* Opens the nearest directory above `path` that exists; *ret_missing is the part of `path` that does not exist. */
static int open_existing(const struct view *v, const char *path, const char **ret_missing, struct error *err)
{
    cleanup_free char *copy = must_strdup(path);
    for (size_t n = copy ? strlen(path) : 0; n > 0;) {
        while (n > 0 && copy[n - 1] == '/')
            n--;
        while (n > 0 && copy[n - 1] != '/')
            n--;
        *ret_missing = path + n;
        copy[n] = 0;
        int fd = open_as_task(v, AT_FDCWD, n ? copy : "/", O_DIRECTORY);
        if (fd >= 0 || errno != ENOENT)
            return fd < 0 ? error_errno(err, "%s", copy) : fd;
    }
    return error_set(err, ERR_PRECONDITION, "%s: not an absolute path", path);
}

/* Makes a mount point `path` below `dir`, with the directories that it lies in. */
static int make_missing(int dir, const char *path, bool directory, struct error *err)
{
    cleanup_free char *copy = must_strdup(path);
    for (char *slash = copy; slash && (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        cleanup_close int made = *copy ? beneath_make_dir(dir, copy, 0755, NULL, err) : -1;
        if (made < 0)
            return -1;
        *slash = '/';
    }
    return make_point(dir, path, directory, err);
}

static int make_as_task(const struct view *v, int dir, const char *path, bool directory, struct error *err)
{
    act_as_task(v);
    int fd = make_missing(dir, path, directory, err);
    act_as_self(v);
    return fd;
}

static int open_point(const struct view *v, const char *path, bool directory, struct error *err)
{
    struct stat st;
    cleanup_close int fd = open_as_task(v, AT_FDCWD, path, 0);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, "%s", path);
    if (S_ISDIR(st.st_mode) == directory)
        return take_fd(fd);
    return error_set(err, ERR_PRECONDITION, "%s is %s directory on this machine", path, directory ? "no" : "a");
}

int have_point(struct view *v, const char *path, bool directory, struct error *err)
{
    const char *missing = path;
    struct error absent cleanup_error = ERROR_INIT;
    int fd = open_point(v, path, directory, &absent);
    if (fd >= 0 || absent.kind != ERR_NOT_FOUND)
        return fd < 0 ? (error_move(err, &absent), -1) : fd;
    cleanup_close int dir = open_existing(v, path, &missing, err);
    if (dir < 0)
        return -1;
    if (is_below(path, v->run_dir) || (v->own_tmp && is_below(path, "/tmp")))
        return make_as_task(v, dir, missing, directory, err);
    if (is_cover(v, dir))
        return make_missing(dir, missing, directory, err);
    if (!may_cover(v, dir))
        return error_set(err, ERR_PRECONDITION, "%s does not exist; make it, or mount somewhere else", path);
    cleanup_close int over = cover_directory(v, dir, err);
    return over < 0 ? -1 : make_missing(over, missing, directory, err);
}
