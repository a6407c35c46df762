/* The task's own /tmp, a directory on the disk that is removed with the task, and its own /dev/shm, a file system in
 * memory, in the place of the machine's.
 *
 * What the order itself names below the machine's /tmp (or /dev/shm) is shown in it: the task's own directory, its
 * working directory, the sources of its mounts, and what its search paths lead to (a virtual environment, this
 * platform's library). The whole entry of /tmp that such a path lies in is shown, because a virtual environment may
 * refer to other files in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "task/mounts_internal.h"

#define SHOWN_MAX 64
#define NAME_SIZE 256

/* The machine's directory that is mounted over: its path, its real path, and a descriptor of it. */
struct covered {
    const char *path, *real;
    int fd;
};

struct shown {
    struct {
        char name[NAME_SIZE];
        int fd;
    } item[SHOWN_MAX];
    size_t n;
};

static void shown_release(struct shown *s)
{
    for (size_t i = 0; i < s->n; i++)
        close(s->item[i].fd);
}

/* Finds the name of the entry of `tmp` that `path` lies in. Returns false if it lies in none. */
static bool entry_of(const char *path, const char *tmp, char *ret_name)
{
    size_t n = strlen(tmp);
    if (strncmp(path, tmp, n) != 0 || path[n] != '/')
        return false;
    path += n + strspn(path + n, "/");
    n = strcspn(path, "/");
    if (n == 0 || n >= NAME_SIZE || (path[0] == '.' && (n == 1 || (n == 2 && path[1] == '.'))))
        return false;
    memcpy(ret_name, path, n);
    ret_name[n] = 0;
    return true;
}

static void add_shown_entry(const struct view *v, int tmp, const char *name, struct shown *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->item[i].name, name) == 0)
            return;
    int fd = s->n < SHOWN_MAX ? open_as_task(v, tmp, name, O_NOFOLLOW) : -1;
    if (fd < 0)
        return; /* the entry does not exist, or this user may not see it */
    snprintf(s->item[s->n].name, NAME_SIZE, "%s", name);
    s->item[s->n++].fd = fd;
}

/* Adds the entries that the path lies in: by its name, and by the real path that it leads to. */
static void add_path(const struct view *v, const struct covered *c, const char *path, struct shown *s)
{
    char name[NAME_SIZE];
    if (*path != '/')
        return;
    if (entry_of(path, c->path, name))
        add_shown_entry(v, c->fd, name, s);
    act_as_task(v);
    cleanup_free char *real = realpath(path, NULL);
    act_as_self(v);
    if (real && entry_of(real, c->real, name))
        add_shown_entry(v, c->fd, name, s);
}

static void add_search_path(const struct view *v, const struct covered *c, const char *list, struct shown *s)
{
    cleanup_free char *copy = must_strdup(list);
    char *save = NULL;
    for (char *dir = copy ? strtok_r(copy, ":", &save) : NULL; dir; dir = strtok_r(NULL, ":", &save))
        add_path(v, c, dir, s);
}

static void find_named(const struct view *v, const struct covered *c, struct shown *s)
{
    static const char *const variable[] = {
        "PATH",          "PYTHONPATH",   "LD_LIBRARY_PATH",       "VIRTUAL_ENV",         "HOME",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "DET_PYTHON_EXECUTABLE", "DET_MASTER_CERT_FILE"};
    add_path(v, c, v->spec->cwd, s);
    for (size_t i = 0; i < v->spec->mount_n; i++)
        add_path(v, c, v->spec->mount[i].source, s);
    for (size_t i = 0; i < sizeof(variable) / sizeof(variable[0]); i++)
        add_search_path(v, c, taskspec_env(v->spec, variable[i]), s);
}

/* Shows the entries in the task's /tmp. The task's user owns that directory and may change it meanwhile; what this user
 * puts there is refused or is mounted over. ! */
static int show_named(const struct view *v, const struct shown *s, int dir, struct error *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < s->n; i++)
        r = show_again(s->item[i].fd, dir, s->item[i].name, err);
    return r;
}

int mount_over(struct view *v, const char *path, int tree, struct error *err)
{
    cleanup_close int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    cleanup_free char *real = realpath(path, NULL);
    cleanup_free struct shown *s = must_calloc(1, sizeof(*s));
    if (fd < 0 || !real)
        return error_errno(err, "%s", path);
    find_named(v, &(struct covered){.path = path, .real = real, .fd = fd}, s);
    int r = mount_at(tree, fd) < 0 ? error_errno(err, "cannot mount %s", path) : show_named(v, s, tree, err);
    shown_release(s);
    v->broken |= r < 0;
    return r;
}
