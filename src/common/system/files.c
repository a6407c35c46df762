#include "common/system/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/system/beneath.h"

static int read_all(int fd, const char *path, size_t limit, struct strbuf *ret, struct error *err)
{
    size_t from = ret->n;
    for (;;) {
        strbuf_reserve(ret, 4096);
        ssize_t n = read(fd, ret->s + ret->n, ret->cap - ret->n - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "reading %s", path);
        if (n == 0)
            return 0;
        ret->n += (size_t)n;
        ret->s[ret->n] = '\0';
        if (ret->n - from > limit)
            return error_set(err, ERR_TOO_LARGE, "%s is longer than %zu bytes", path, limit);
    }
}

int file_read(const char *path, size_t limit, struct strbuf *ret, struct error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "opening %s", path);
    size_t from = ret->n;
    if (read_all(fd, path, limit, ret, err) == 0)
        return 0;
    strbuf_truncate(ret, from);
    return -1;
}

int fd_write_all(int fd, const void *data, size_t n)
{
    const char *at = data;
    while (n > 0) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done == 0)
            errno = EIO; /* no file system does that; going on could loop for ever */
        if (done <= 0)
            return -1;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

struct content { /* content of a file: bytes, or what a descriptor has to read */
    const void *data;
    size_t n;
    int fd; /* -1: the content is the bytes */
};

static int copy_all(int from, int to)
{
    char buffer[65536];
    for (;;) {
        ssize_t n = read(from, buffer, sizeof(buffer));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return (int)n;
        if (fd_write_all(to, buffer, (size_t)n) < 0)
            return -1;
    }
}

static int put_all(int fd, const struct content *c)
{
    return c->fd < 0 ? fd_write_all(fd, c->data, c->n) : copy_all(c->fd, fd);
}

/* Writes the temporary file. mkostemp() makes it with a unique name and mode 0600, so nobody can read it before it has
 * its final mode. */
static int write_temporary(char *path, const struct content *c, mode_t mode)
{
    cleanup_close int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fchmod(fd, mode) == 0 && put_all(fd, c) == 0 && fsync(fd) == 0)
        return 0;
    int number = errno;
    unlink(path);
    errno = number;
    return -1;
}

/* Makes a rename in the directory of `path` durable. */
static int sync_dir(const char *path)
{
    cleanup_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -1 : fsync(fd);
}

static int replace_file(const char *path, const struct content *c, mode_t mode, struct error *err)
{
    cleanup_free char *temporary = must_asprintf("%s.XXXXXX", path), *dir = path_parent(path);
    if (write_temporary(temporary, c, mode) < 0)
        return error_errno(err, "writing %s", path);
    if (rename(temporary, path) < 0) {
        int number = errno;
        unlink(temporary);
        errno = number;
        return error_errno(err, "writing %s", path);
    }
    if (sync_dir(dir) < 0)
        return error_errno(err, "writing %s", path);
    return 0;
}

int file_write(const char *path, const void *data, size_t n, mode_t mode, struct error *err)
{
    return replace_file(path, &(struct content){.data = data, .n = n, .fd = -1}, mode, err);
}

int file_write_from(const char *path, int fd, mode_t mode, struct error *err)
{
    return replace_file(path, &(struct content){.fd = fd}, mode, err);
}

/* Makes one directory. The umask takes bits from mkdir's mode; chmod restores them, but only for a directory that was
 * made just now. */
static int make_one(const char *path, mode_t mode)
{
    if (mkdir(path, mode) == 0)
        return chmod(path, mode);
    struct stat st;
    if (errno == EEXIST && stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return 0;
        errno = ENOTDIR;
    }
    return -1;
}

static int fail_to_make(const char *path, struct error *err)
{
    if (errno == ENOTDIR)
        return error_set(err, ERR_INVALID, "%s is a file, where a directory is expected", path);
    return error_errno(err, "making the directory %s", path);
}

int dir_make(const char *path, mode_t mode, struct error *err)
{
    cleanup_free char *copy = must_strdup(path);
    for (char *p = copy + 1; *copy != '\0' && *p != '\0'; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        int made = make_one(copy, mode);
        if (made < 0)
            return fail_to_make(copy, err);
        *p = '/';
    }
    if (make_one(copy, mode) < 0)
        return fail_to_make(path, err);
    return 0;
}

char *path_parent(const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n == 0 ? must_strdup(".") : must_strndup(path, n);
}

char *path_join(const char *dir, const char *name)
{
    struct strbuf b = STRBUF_INIT;
    if (*name != '/' && *dir != '\0') {
        strbuf_adds(&b, dir);
        if (b.s[b.n - 1] != '/')
            strbuf_addc(&b, '/');
    }
    strbuf_adds(&b, name);
    return strbuf_detach(&b);
}

char *path_beside_program(const char *relative)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    exe[n > 0 ? n : 0] = '\0';
    cleanup_free char *directory = path_parent(exe);
    return path_join(directory, relative);
}

int tree_remove(const char *path, struct error *err)
{
    return beneath_remove(AT_FDCWD, path, err);
}

const char *path_of_library(struct arena *a)
{
    static const char *const place[] = {"../python", "../share/determined/python"};
    for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++) {
        cleanup_free char *dir = path_beside_program(place[i]);
        if (access(arena_printf(a, "%s/determined/__init__.py", dir), R_OK) == 0) {
            cleanup_free char *real = realpath(dir, NULL);
            return arena_strdup(a, real ? real : dir);
        }
    }
    return "";
}
