#include "agent/task/taskdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/system/beneath.h"
#include "common/system/files.h"

void taskdir_init(struct taskdir *d, const char *run_root, const char *container_id, struct arena *a)
{
    *d = (struct taskdir){0};
    d->path = arena_printf(a, "%s/%s", run_root, container_id);
    d->supervisor = arena_printf(a, "%s/supervisor", d->path);
    d->run = arena_printf(a, "%s/run", d->path);
    d->tmp = arena_printf(a, "%s/tmp", d->path);
    d->seen = d->run;
}

void taskdir_set_in_image(struct taskdir *d, const char *seen, struct arena *a)
{
    d->tmp = arena_printf(a, "%s/tmp", d->run);
    d->seen = seen;
    d->in_image = true;
}

/* mkdir followed by chmod, because a worker thread must not change the umask of the process. */
static int make_directory(const char *path, mode_t mode, struct error *err)
{
    if ((mkdir(path, mode) < 0 && errno != EEXIST) || chmod(path, mode) < 0)
        return error_errno(err, "cannot make the directory %s", path);
    return 0;
}

static struct beneath_owner owner_of(const struct taskdir *d)
{
    return (struct beneath_owner){.change = d->owner->change, .uid = d->owner->uid, .gid = d->owner->gid};
}

/* Opens a directory by its path. All directories above belong to the agent, so nobody else can change where the path
 * leads. */
static int open_dir(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? error_errno(err, "cannot open the directory %s", path) : fd;
}

int taskdir_open_run(const struct taskdir *d, struct error *err)
{
    return open_dir(d->run, err);
}

static int put_dir(const struct taskdir *d, int run, const char *name, mode_t mode, struct error *err)
{
    struct beneath_owner owner = owner_of(d);
    cleanup_close int fd = beneath_make_dir(run, name, mode, &owner, err);
    return fd < 0 ? error_wrap(err, "%s", d->run) : 0;
}

/* Makes a directory that must not exist yet, because an existing one may belong to somebody else. */
static int make_new(const char *path, struct error *err)
{
    return mkdir(path, 0700) < 0 ? error_errno(err, "cannot make the directory %s", path) : 0;
}

int taskdir_make(const struct taskdir *d, bool trial, struct error *err)
{
    static const struct {
        const char *name;
        mode_t mode;
        bool trial;
    } row[] = {
        {"info", 0755, false}, {"pythonuserbase", 0700, false}, {"workdir", 0700, false},   {"profiling", 0700, true},
        {"train", 0700, true}, {"train/model", 0700, true},     {"train/logs", 0700, true},
    };
    if (make_directory(d->path, 0711, err) < 0 || make_directory(d->supervisor, 0700, err) < 0 ||
        make_new(d->run, err) < 0 || make_new(d->tmp, err) < 0)
        return -1;
    cleanup_close int run = taskdir_open_run(d, err);
    if (run < 0)
        return -1;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        if ((trial || !row[i].trial) && put_dir(d, run, row[i].name, row[i].mode, err) < 0)
            return -1;
    return 0;
}

int taskdir_open_spool(const struct taskdir *d, struct error *err)
{
    cleanup_free char *spool = path_join(d->supervisor, "spool");
    if (make_directory(d->path, 0711, err) < 0 || make_directory(d->supervisor, 0700, err) < 0 ||
        make_directory(spool, 0700, err) < 0)
        return -1;
    return open_dir(spool, err);
}

static int give_directory(const struct taskdir *d, const char *path, mode_t mode, struct error *err)
{
    cleanup_close int fd = open_dir(path, err);
    if (fd < 0)
        return -1;
    if ((d->owner->change && fchown(fd, d->owner->uid, d->owner->gid) < 0) || fchmod(fd, mode) < 0)
        return error_errno(err, "cannot give %s to user %s", path, d->owner->name);
    return 0;
}

/* A task that runs as root gets a /tmp that all users can write to, because its programs (apt, PostgreSQL) change to
 * other users. */
int taskdir_give(const struct taskdir *d, struct error *err)
{
    uid_t uid = d->owner->change ? d->owner->uid : geteuid();
    return give_directory(d, d->tmp, uid == 0 ? 01777 : 0700, err) < 0 || give_directory(d, d->run, 0700, err) < 0 ? -1
                                                                                                                   : 0;
}

/* Writes a file below run/. It is not synced, because a task does not survive its machine either. */
static int put_file(const struct taskdir *d, int run, const char *name, const void *data, size_t n, mode_t mode,
                    struct error *err)
{
    struct beneath_owner owner = owner_of(d);
    return beneath_write(run, name, data, n, mode, &owner, err) < 0 ? error_wrap(err, "%s", d->run) : 0;
}

int taskdir_put_file(const struct taskdir *d, const char *name, const void *data, size_t n, mode_t mode,
                     struct error *err)
{
    cleanup_close int run = taskdir_open_run(d, err);
    return run < 0 ? -1 : put_file(d, run, name, data, n, mode, err);
}

int taskdir_put_path(const struct taskdir *d, const char *path, const void *data, size_t n, mode_t mode,
                     struct error *err)
{
    size_t length = strlen(d->run);
    if (strncmp(path, d->run, length) != 0 || path[length] != '/')
        return error_set(err, ERR_INVALID,
                         "the file %s does not belong to the task's own directory, which is all that the "
                         "runtime can fill",
                         path);
    cleanup_close int run = taskdir_open_run(d, err);
    if (run < 0)
        return -1;
    cleanup_free char *name = must_strdup(path + length + 1);
    int r = 0;
    for (char *slash = name; r == 0 && (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        r = put_dir(d, run, name, 0700, err);
        *slash = '/';
    }
    if (r == 0)
        r = put_file(d, run, name, data, n, mode, err);
    return r < 0 ? error_wrap(err, "the file %s", path) : 0;
}
