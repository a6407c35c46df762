#include "task/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/system/beneath.h"
#include "common/system/files.h"
#include "task/mounts_internal.h"

static int take_groups(const struct taskspec *s, struct error *err)
{
    if (s->change_user && (setgroups(s->group_n, s->group) < 0 || setegid(s->gid) < 0))
        return error_errno(err, "cannot take the task's groups");
    return 0;
}

/* ---- namespaces -------------------------------------------------------------------------------------------------- */

static int write_text(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int write_text(const char *path, const char *fmt, ...)
{
    char text[64];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, (size_t)n) == n ? 0 : -1;
}

/* MS_SLAVE: what the machine mounts and unmounts later is seen here, too; what is mounted here is not seen by the
 * machine. */
static int unshare_mounts(struct error *err)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return error_errno(err, "cannot make a mount namespace (unshare)");
    if (uid != 0 &&
        (write_text("/proc/self/setgroups", "deny") < 0 || write_text("/proc/self/uid_map", "%u %u 1", uid, uid) < 0 ||
         write_text("/proc/self/gid_map", "%u %u 1", gid, gid) < 0))
        return error_errno(err, "cannot set up the user namespace");
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return error_errno(err, "cannot keep mounts from spreading to the machine");
    return 0;
}

/* ---- what the task must not see ---------------------------------------------------------------------------------- */

static const struct mount_option hidden_options[] = {{"mode", "0755"}, {"size", "1m"}, {NULL, NULL}};

/* The part of `path` that follows `dir`, or NULL if `path` is not below `dir`. Both are real paths. */
static const char *path_from(const char *dir, const char *path)
{
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

/* Shows the task's own directory at its path below the covered directory. */
static int show_run_dir(int run, int cover, const char *way, struct error *err)
{
    cleanup_free char *above = path_parent(way), *copy = must_strdup(way);
    for (char *slash = copy; slash && (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        cleanup_close int made = beneath_make_dir(cover, copy, 0755, NULL, err);
        if (made < 0)
            return -1;
        *slash = '/';
    }
    cleanup_close int dir = beneath_open(cover, above ? above : ".", O_RDONLY | O_DIRECTORY, err);
    const char *slash = strrchr(way, '/');
    return dir < 0 ? -1 : show_again(run, dir, slash ? slash + 1 : way, err);
}

static int hide_dir(int place, const char *way_to_run, int run, struct error *err)
{
    cleanup_close int cover = mount_new("tmpfs", hidden_options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (cover < 0 || mount_at(cover, place) < 0)
        return error_errno(err, "cannot cover a directory of the agent's");
    if (way_to_run && show_run_dir(run, cover, way_to_run, err) < 0)
        return -1;
    mount_read_only(cover, /* recursive= */ false); /* nothing in it is kept, so a task had better not write there */
    return 0;
}

static int hide_file(int place, struct error *err)
{
    cleanup_close int null = open("/dev/null", O_PATH | O_CLOEXEC);
    cleanup_close int tree = null < 0 ? -1 : mount_copy(null);
    return tree < 0 || mount_at(tree, place) < 0 ? error_errno(err, "cannot cover a file of the agent's") : 0;
}

/* Hides one path from the task. The path belongs to the agent, so nobody else changes where it leads. */
static int hide_path(const struct view *v, const char *path, struct error *err)
{
    struct stat st;
    cleanup_free char *real = realpath(path, NULL);
    if (!real)
        return errno == ENOENT ? 0 : error_errno(err, "cannot hide %s", path);
    cleanup_close int place = open(real, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    cleanup_free char *real_run = realpath(v->run_dir, NULL);
    cleanup_close int run = real_run ? open(real_run, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (place < 0 || run < 0 || fstat(place, &st) < 0)
        return error_errno(err, "cannot hide %s", path);
    return S_ISDIR(st.st_mode) ? hide_dir(place, path_from(real, real_run), run, err) : hide_file(place, err);
}

static int hide_all(const struct view *v, struct error *err)
{
    for (char **path = v->spec->hidden; path && *path; path++)
        if (hide_path(v, *path, err) < 0)
            return -1;
    return 0;
}

/* Mounts /proc so that it shows the task's process ids, if it has ids of its own, and processes to their own user only.
 * Kernels from 5.8 on know "invisible", and apply it to this mount alone; older kernels, which would change /proc of
 * the whole machine, refuse it. A task that runs as the agent's user has nobody to be hidden from, and root sees
 * everything. */
static int hide_processes(const struct view *v, struct error *err)
{
    static const struct mount_option options[] = {{"hidepid", "invisible"}, {NULL, NULL}};
    bool hides = v->spec->change_user && v->spec->uid != 0;
    if (!hides && !v->spec->own_processes)
        return 0;
    cleanup_close int proc = mount_new("proc", hides ? options : NULL,
                                       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    cleanup_close int place = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return proc < 0 || place < 0 || mount_at(proc, place) < 0
               ? error_errno(err, "cannot mount /proc%s", hides ? " with hidepid=invisible" : "")
               : 0;
}

/* ---- the order's mounts ------------------------------------------------------------------------------------------ */

static int open_source(const struct view *v, const struct taskspec_mount *m)
{
    int fd = open_as_task(v, AT_FDCWD, m->source, 0);
    if (fd >= 0 || errno != ENOENT || !m->make_source)
        return fd;
    act_as_task(v);
    int r = dir_make(m->source, 0755, NULL);
    act_as_self(v);
    return r < 0 ? -1 : open_as_task(v, AT_FDCWD, m->source, 0);
}

/* Copies the mounts at the mount's source. */
static int take_source(const struct view *v, const struct taskspec_mount *m, struct error *err)
{
    cleanup_close int fd = open_source(v, m);
    cleanup_close int tree = fd < 0 ? -1 : mount_copy(fd);
    if (tree < 0 || (m->read_only && mount_read_only(tree, /* recursive= */ true) < 0))
        return error_errno(err, "%s", m->source);
    return take_fd(tree);
}

static int add_mount(struct view *v, int tree, const char *target, struct error *err)
{
    struct stat st;
    if (fstat(tree, &st) < 0)
        return error_errno(err, "%s", target);
    cleanup_close int point = have_point(v, target, S_ISDIR(st.st_mode), err);
    if (point < 0)
        return -1;
    return mount_at(tree, point) < 0 ? error_errno(err, "%s", target) : 0;
}

/* Writes a warning to the task's log. */
static void warn_in_task_log(const char *what, const struct error *why)
{
    fprintf(stderr, "WARNING: %s: %s\n", what, error_msg(why));
}

/* Goes on without something that keeps the task apart from others, with a warning. For a task that is to be isolated it
 * is an error. */
static int go_on_without(const struct view *v, const char *what, const struct error *why, struct error *err)
{
    if (v->spec->isolated)
        return error_set(err, ERR_PRECONDITION, "%s: %s", what, error_msg(why));
    warn_in_task_log(what, why);
    return 0;
}

static void tell_mount(const struct taskspec_mount *m, const struct error *why)
{
    fprintf(stderr, "WARNING: nothing is mounted at %s: %s\n", m->target, error_msg(why));
}

static void take_sources(const struct view *v, int *tree)
{
    for (size_t i = 1; i < v->spec->mount_n; i++) {
        cleanup_error struct error single = ERROR_INIT;
        tree[i] = take_source(v, &v->spec->mount[i], &single);
        if (tree[i] < 0)
            tell_mount(&v->spec->mount[i], &single);
    }
}

static int add_mounts(struct view *v, int *tree, struct error *err)
{
    for (size_t i = 1; i < v->spec->mount_n; i++) {
        cleanup_error struct error single = ERROR_INIT;
        if (tree[i] < 0 || add_mount(v, tree[i], v->spec->mount[i].target, &single) == 0)
            continue;
        if (v->broken)
            return error_set(err, ERR_PRECONDITION, "%s", error_msg(&single));
        tell_mount(&v->spec->mount[i], &single);
    }
    return 0;
}

/* Mounts the task's own directory. This comes last, so that the mounts within that directory are seen at both of its
 * paths. */
static int add_run_dir(struct view *v, struct error *err)
{
    cleanup_close int run = open(v->run_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    cleanup_close int tree = run < 0 ? -1 : mount_copy(run);
    return tree < 0 ? error_errno(err, "%s", v->run_dir) : add_mount(v, tree, v->spec->mount[0].target, err);
}

/* Copies the task's own directory for temporary files, before its path is hidden. Returns -1 without an error if the
 * task has none. */
static int copy_own_tmp(const struct taskspec *s, struct error *err)
{
    if (!*s->tmp)
        return -1;
    cleanup_close int fd = open(s->tmp, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int tree = fd < 0 ? -1 : mount_copy(fd);
    return tree < 0 ? error_errno(err, "%s", s->tmp) : tree;
}

/* Mounts the task's own /tmp. `why` is the error of copy_own_tmp(), if it failed. */
static int mount_own_tmp(struct view *v, int tree, const struct error *why, struct error *err)
{
    static const char without[] = "this task has no /tmp of its own";
    cleanup_error struct error single = ERROR_INIT;
    if (tree < 0)
        return why->kind ? go_on_without(v, without, why, err) : 0;
    if (mount_over(v, "/tmp", tree, &single) == 0) {
        v->own_tmp = true;
        return 0;
    }
    if (v->broken)
        return error_set(err, ERR_PRECONDITION, "%s", error_msg(&single));
    return go_on_without(v, without, &single, err);
}

/* A task without a /dev/shm of its own shares the machine's, as programs outside of any task do: its user's files there
 * are closed to other users, but nothing removes them with the task. */
static int mount_own_shm(struct view *v, struct error *err)
{
    char size[24];
    const struct mount_option option[] = {{"size", size}, {"mode", "1777"}, {NULL, NULL}};
    cleanup_error struct error single = ERROR_INIT;
    if (!v->spec->shm_bytes || access("/dev/shm", F_OK) < 0)
        return 0;
    snprintf(size, sizeof(size), "%" PRIu64, v->spec->shm_bytes);
    cleanup_close int shm = mount_new("tmpfs", option, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (shm < 0)
        error_errno(&single, "cannot make a file system in memory");
    else if (mount_over(v, "/dev/shm", shm, &single) == 0)
        return 0;
    if (v->broken)
        return error_set(err, ERR_PRECONDITION, "%s", error_msg(&single));
    warn_in_task_log("this task has no /dev/shm of its own", &single);
    return 0;
}

/* A task without terminals of its own has those of the machine, which the kernel keeps apart by their owners. So even a
 * task that is to be isolated can go on. */
static void mount_own_terminals(const struct view *v)
{
    cleanup_error struct error single = ERROR_INIT;
    if (mount_terminals(v, &single) < 0)
        warn_in_task_log("this task has no terminals of its own", &single);
}

static int make_view(struct view *v, int *tree, struct error *err)
{
    cleanup_error struct error no_tmp = ERROR_INIT, no_proc = ERROR_INIT;
    cleanup_close int tmp = copy_own_tmp(v->spec, &no_tmp);
    if (hide_all(v, err) < 0)
        return -1;
    if (hide_processes(v, &no_proc) < 0 && v->spec->own_processes)
        return error_set(err, ERR_PRECONDITION, "%s", error_msg(&no_proc));
    if (no_proc.kind && go_on_without(v, "this task sees the processes of other users in /proc", &no_proc, err) < 0)
        return -1;
    take_sources(v, tree);
    mount_own_terminals(v);
    if (mount_own_tmp(v, tmp, &no_tmp, err) < 0 || mount_own_shm(v, err) < 0 || add_mounts(v, tree, err) < 0)
        return -1;
    return add_run_dir(v, err);
}

int mounts_enter(const struct taskspec *spec, bool *ret_own_tmp, struct error *err)
{
    struct view v = {.spec = spec, .run_dir = spec->mount[0].source};
    umask(022);
    if (unshare_mounts(err) < 0 || take_groups(spec, err) < 0)
        return -1;
    /* exec closes them, as it closes all descriptors */
    cleanup_free int *tree = must_calloc(spec->mount_n, sizeof(int));
    int r = make_view(&v, tree, err);
    *ret_own_tmp = v.own_tmp;
    return r;
}
