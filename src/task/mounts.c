#include "task/mounts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files.h"

#define COVERS_MAX 16
#define ENTRIES_MAX 1000 /* of a directory that is covered */
#define OLD_ROOT "/.determined-old-root"
#define COVER_OPTIONS "mode=0755,size=16m"

struct view {
    const struct taskspec *spec;
    const char *run_dir;      /* the task's own directory: in it mount points may be made */
    dev_t cover[COVERS_MAX];  /* file systems of ours */
    size_t cover_n;
    bool broken; /* a cover was begun and not finished */
};

/* ---- rights ---- */

/* Only the effective user changes back and forth; it takes the capabilities along. Groups stay the task's from here. */
static void act_as_task(const struct view *v)
{
    if (v->spec->change_user && seteuid(v->spec->uid) < 0)
        _exit(127);
}

static void act_as_self(const struct view *v)
{
    if (v->spec->change_user && seteuid(0) < 0)
        _exit(127);
}

static int take_groups(const struct taskspec *s, struct error *err)
{
    if (s->change_user && (setgroups(s->group_n, s->group) < 0 || setegid(s->gid) < 0))
        return error_errno(err, "cannot take the task's groups");
    return 0;
}

/* A place, without reading it. */
static int open_as_task(const struct view *v, int at, const char *path, int flags)
{
    act_as_task(v);
    int fd = openat(at, path, O_PATH | O_CLOEXEC | flags);
    act_as_self(v);
    return fd;
}

/* ---- namespaces ---- */

static int put(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int put(const char *path, const char *fmt, ...)
{
    char text[64];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, (size_t)n) == n ? 0 : -1;
}

/* MS_SLAVE: what the machine mounts and unmounts later counts here, too, and nothing goes the other way. */
static int unshare_mounts(struct error *err)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return error_errno(err, "unshare");
    if (uid != 0 && (put("/proc/self/setgroups", "deny") < 0 || put("/proc/self/uid_map", "%u %u 1", uid, uid) < 0 ||
                     put("/proc/self/gid_map", "%u %u 1", gid, gid) < 0))
        return error_errno(err, "user namespace");
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return error_errno(err, "mount propagation");
    return 0;
}

/* ---- covering a directory ---- */

/* What a directory held before it was covered, by descriptors, which still lead there. */
struct entries {
    struct { char *name; int fd; } item[ENTRIES_MAX];
    size_t n;
};

static void entries_release(struct entries *e)
{
    for (size_t i = 0; i < e->n; i++) {
        free(e->item[i].name);
        close(e->item[i].fd);
    }
}

static int entries_open(const struct view *v, const char *dir, struct entries *e, struct error *err)
{
    e->n = 0;
    act_as_task(v);
    DIR *d = opendir(dir);
    act_as_self(v);
    if (!d)
        return error_errno(err, "cannot list %s", dir);
    int r = 0;
    for (struct dirent *x; r == 0 && (x = readdir(d));) {
        if (strcmp(x->d_name, ".") == 0 || strcmp(x->d_name, "..") == 0)
            continue;
        int fd = e->n < ENTRIES_MAX ? open_as_task(v, dirfd(d), x->d_name, O_NOFOLLOW) : -1;
        if (fd >= 0) {
            e->item[e->n].name = strdup(x->d_name);
            e->item[e->n++].fd = fd;
        } else if (errno != ENOENT || e->n == ENTRIES_MAX) {
            r = error_set(err, ERR_PRECONDITION, "cannot show %s/%s in a directory of our own", dir, x->d_name);
        }
    }
    closedir(d);
    return r;
}

static int make_point(const char *path, bool directory)
{
    if (directory)
        return mkdir(path, 0755) < 0 && errno != EEXIST ? -1 : 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    return fd < 0 ? -1 : close(fd);
}

static int show_again(const char *proc, int fd, const char *path, struct error *err)
{
    struct stat st;
    char text[4096], from[64];
    ssize_t n;
    if (fstat(fd, &st) < 0)
        return error_errno(err, "cannot look at %s", path);
    if (S_ISLNK(st.st_mode)) {
        n = readlinkat(fd, "", text, sizeof(text) - 1);
        text[n > 0 ? n : 0] = 0;
        return n < 0 || symlink(text, path) < 0 ? error_errno(err, "cannot copy the link %s", path) : 0;
    }
    snprintf(from, sizeof(from), "%s/self/fd/%d", proc, fd);
    if (make_point(path, S_ISDIR(st.st_mode)) < 0 || mount(from, path, NULL, MS_BIND | MS_REC, NULL) < 0)
        return error_errno(err, "cannot show %s again", path);
    return 0;
}

static int show_all_again(const struct entries *e, const char *proc, const char *dir, struct error *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < e->n; i++) {
        cleanup_free char *path = path_join(dir, e->item[i].name);
        r = show_again(proc, e->item[i].fd, path, err);
    }
    return r;
}

static int remember_cover(struct view *v, const char *dir, struct error *err)
{
    struct stat st;
    if (v->cover_n == COVERS_MAX || stat(dir, &st) < 0)
        return error_set(err, ERR_PRECONDITION, "more than %d directories would have to be covered", COVERS_MAX);
    v->cover[v->cover_n++] = st.st_dev;
    return 0;
}

/* The root cannot be mounted over: everybody's `/` would still lead below. A new one takes its place, and the old one,
 * once everything in it shows again, goes. */
static int replace_root(struct view *v, const struct entries *e, struct error *err)
{
    const char *stage = v->run_dir; /* any directory would do; it is uncovered again when the stage becomes the root */
    if (mount("determined", stage, "tmpfs", MS_NOSUID | MS_NODEV, COVER_OPTIONS) < 0 || chdir(stage) < 0 ||
        mkdir("." OLD_ROOT, 0700) < 0 || syscall(SYS_pivot_root, ".", "." OLD_ROOT) < 0 || chdir("/") < 0)
        return error_errno(err, "cannot make a root directory");
    if (show_all_again(e, OLD_ROOT "/proc", "/", err) < 0)
        return -1;
    if (umount2(OLD_ROOT, MNT_DETACH) < 0 || rmdir(OLD_ROOT) < 0)
        return error_errno(err, "cannot leave the old root directory");
    return 0;
}

static int cover(struct view *v, const char *dir, struct error *err)
{
    cleanup_free struct entries *e = calloc(1, sizeof(*e));
    if (!e)
        return error_set(err, ERR_NO_MEMORY, "no memory");
    int r = entries_open(v, dir, e, err);
    if (r == 0 && strcmp(dir, "/") == 0)
        r = replace_root(v, e, err);
    else if (r == 0 && mount("determined", dir, "tmpfs", MS_NOSUID | MS_NODEV, COVER_OPTIONS) < 0)
        r = error_errno(err, "cannot cover %s", dir);
    else if (r == 0)
        r = show_all_again(e, "/proc", dir, err);
    entries_release(e);
    if (r == 0)
        r = remember_cover(v, dir, err);
    v->broken = r < 0;
    return r;
}

/* ---- mount points ---- */

static bool is_cover(const struct view *v, const char *dir)
{
    struct stat st;
    for (size_t i = 0; stat(dir, &st) == 0 && i < v->cover_n; i++)
        if (st.st_dev == v->cover[i])
            return true;
    return false;
}

static bool is_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == 0);
}

/* What a task writes into `/` and /run is the task's alone, even when it runs as root. */
static bool may_cover(const struct view *v, const char *dir)
{
    if (strcmp(dir, "/") == 0 || strcmp(dir, "/run") == 0)
        return true;
    act_as_task(v);
    bool writable = faccessat(AT_FDCWD, dir, W_OK, AT_EACCESS) == 0;
    act_as_self(v);
    return !writable;
}

static char *existing_parent(const char *path)
{
    struct stat st;
    char *dir = path_parent(path);
    while (stat(dir, &st) < 0 && strcmp(dir, "/") != 0) {
        char *above = path_parent(dir);
        free(dir);
        dir = above;
    }
    return dir;
}

/* `path` and what is missing above it. */
static int make_missing(const struct view *v, const char *path, bool directory, bool as_task, struct error *err)
{
    cleanup_free char *parent = path_parent(path);
    if (as_task)
        act_as_task(v);
    int r = dir_make(parent, 0755, err);
    if (r == 0 && make_point(path, directory) < 0)
        r = error_errno(err, "cannot make the mount point %s", path);
    if (as_task)
        act_as_self(v);
    return r;
}

static int have_point(struct view *v, const char *path, bool directory, struct error *err)
{
    struct stat st;
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode) == directory)
            return 0;
        return error_set(err, ERR_PRECONDITION, "%s is %s directory on this machine", path, directory ? "no" : "a");
    }
    if (is_below(path, v->run_dir))
        return make_missing(v, path, directory, /* as_task= */ true, err);
    cleanup_free char *dir = existing_parent(path);
    if (!is_cover(v, dir)) {
        if (!may_cover(v, dir))
            return error_set(err, ERR_PRECONDITION, "%s does not exist; make it, or mount somewhere else", path);
        if (cover(v, dir, err) < 0)
            return -1;
    }
    return make_missing(v, path, directory, /* as_task= */ false, err);
}

/* ---- mounts ---- */

/* Flags that the source's own mount has must be named again: a user namespace may not take them away. */
static int make_read_only(const char *path)
{
    struct statvfs s;
    if (statvfs(path, &s) < 0)
        return -1;
    unsigned long flags = s.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC | ST_NOATIME | ST_NODIRATIME | ST_RELATIME);
    return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL);
}

static int open_source(const struct view *v, const struct taskspec_mount *m, struct stat *ret, struct error *err)
{
    int fd = open_as_task(v, AT_FDCWD, m->source, 0);
    if (fd < 0 && errno == ENOENT && m->make_source) {
        act_as_task(v);
        int r = dir_make(m->source, 0755, err);
        act_as_self(v);
        if (r < 0)
            return -1;
        fd = open_as_task(v, AT_FDCWD, m->source, 0);
    }
    return fd < 0 || fstat(fd, ret) < 0 ? error_errno(err, "%s", m->source) : fd;
}

static int add_mount(struct view *v, const struct taskspec_mount *m, struct error *err)
{
    struct stat st;
    char from[64];
    int kind = open_source(v, m, &st, err);
    if (kind < 0)
        return -1;
    close(kind);
    if (have_point(v, m->target, S_ISDIR(st.st_mode), err) < 0)
        return -1;
    /* Opened once more, since a new root leaves what was opened below the old one with nothing to mount. */
    cleanup_close int fd = open_source(v, m, &st, err);
    if (fd < 0)
        return -1;
    snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
    if (mount(from, m->target, NULL, MS_BIND | MS_REC, NULL) < 0 || (m->read_only && make_read_only(m->target) < 0))
        return error_errno(err, "%s", m->source);
    return 0;
}

int mounts_enter(const struct taskspec *spec, struct error *err)
{
    struct view v = {.spec = spec, .run_dir = spec->mount[0].source};
    umask(022);
    if (unshare_mounts(err) < 0 || take_groups(spec, err) < 0)
        return -1;
    for (size_t i = 1; i < spec->mount_n; i++) {
        cleanup_error struct error single = ERROR_INIT;
        if (add_mount(&v, &spec->mount[i], &single) == 0)
            continue;
        if (v.broken)
            return error_set(err, ERR_PRECONDITION, "%s", error_msg(&single));
        fprintf(stderr, "WARNING: nothing is mounted at %s: %s\n", spec->mount[i].target, error_msg(&single));
    }
    return add_mount(&v, &spec->mount[0], err); /* the last, so that mounts within the task's directory show there, too */
}
