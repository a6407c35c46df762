#include "agent/taskdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files.h"

void taskdir_init(struct taskdir *d, const char *run_root, const char *container_id, struct arena *a)
{
    *d = (struct taskdir){0};
    d->path = arena_printf(a, "%s/%s", run_root, container_id);
    d->supervisor = arena_printf(a, "%s/supervisor", d->path);
    d->run = arena_printf(a, "%s/run", d->path);
}

/* mkdir and chmod, since the umask is not ours to set on a worker thread. */
static int make(const char *path, mode_t mode, struct error *err)
{
    if ((mkdir(path, mode) < 0 && errno != EEXIST) || chmod(path, mode) < 0)
        return error_errno(err, "cannot make the directory %s", path);
    return 0;
}

static int give(const struct taskdir *d, const char *path, struct error *err)
{
    if (d->owner->change && lchown(path, d->owner->uid, d->owner->gid) < 0)
        return error_errno(err, "cannot give %s to user %s", path, d->owner->name);
    return 0;
}

static int put_dir(const struct taskdir *d, const char *name, mode_t mode, struct error *err)
{
    cleanup_free char *path = path_join(d->run, name);
    return make(path, mode, err) < 0 ? -1 : give(d, path, err);
}

int taskdir_make(const struct taskdir *d, bool trial, struct error *err)
{
    static const struct { const char *name; mode_t mode; bool trial; } row[] = {
        {"info", 0755, false}, {"pythonuserbase", 0700, false}, {"workdir", 0700, false},
        {"profiling", 0700, true}, {"train", 0700, true}, {"train/model", 0700, true}, {"train/logs", 0700, true},
    };
    if (make(d->path, 0711, err) < 0 || make(d->supervisor, 0700, err) < 0 || make(d->run, 0700, err) < 0 ||
        give(d, d->run, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        if ((trial || !row[i].trial) && put_dir(d, row[i].name, row[i].mode, err) < 0)
            return -1;
    return 0;
}

/* No sync: when the machine goes down, so does the task. */
static int put(const struct taskdir *d, const char *path, const void *data, size_t n, mode_t mode, struct error *err)
{
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(err, "cannot make %s", path);
    ssize_t w = write(fd, data, n);
    if (w != (ssize_t)n)
        return error_errno(err, "cannot write %s", path);
    if (fchmod(fd, mode) < 0)
        return error_errno(err, "cannot set the mode of %s", path);
    return give(d, path, err);
}

int taskdir_put_file(const struct taskdir *d, const char *name, const void *data, size_t n, mode_t mode,
                     struct error *err)
{
    cleanup_free char *path = path_join(d->run, name);
    return put(d, path, data, n, mode, err);
}

static bool has_dotdot(const char *path)
{
    for (const char *p = path; (p = strstr(p, "..")); p += 2)
        if ((p == path || p[-1] == '/') && (p[2] == '/' || p[2] == 0))
            return true;
    return false;
}

int taskdir_put_path(const struct taskdir *d, const char *path, const void *data, size_t n, mode_t mode,
                     struct error *err)
{
    size_t run = strlen(d->run);
    if (strncmp(path, d->run, run) != 0 || path[run] != '/' || has_dotdot(path))
        return error_set(err, ERR_INVALID,
                         "the file %s does not belong to the task's own directory, which is all that the process "
                         "runtime can fill",
                         path);
    cleanup_free char *copy = strdup(path + run + 1);
    for (char *slash = copy; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        cleanup_free char *dir = path_join(d->run, copy);
        if (access(dir, F_OK) < 0 && put_dir(d, copy, 0700, err) < 0)
            return -1;
        *slash = '/';
    }
    return put(d, path, data, n, mode, err);
}
