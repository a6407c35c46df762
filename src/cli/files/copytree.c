#include "cli/files/copytree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/system/files.h"

#define DEPTH_MAX 100

static int copy_bytes(int in, int out, const char *from, struct error *err)
{
    static char piece[1 << 18];
    for (;;) {
        ssize_t got = read(in, piece, sizeof(piece));
        if (got == 0)
            return 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_errno(err, "reading %s", from);
        for (ssize_t done = 0; done < got;) {
            ssize_t n = write(out, piece + done, (size_t)(got - done));
            if (n < 0 && errno != EINTR)
                return error_errno(err, "writing a copy of %s", from);
            done += n > 0 ? n : 0;
        }
    }
}

static int copy_file(const char *from, const char *to, mode_t mode, struct error *err)
{
    cleanup_close int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return error_errno(err, "%s", from);
    cleanup_close int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode & 0777);
    if (out < 0)
        return error_errno(err, "%s", to);
    return copy_bytes(in, out, from, err);
}

static int copy_level(const char *from, const char *to, int depth, struct error *err);

static int copy_entry(const char *from, const char *to, const char *name, int depth, struct error *err)
{
    cleanup_free char *source = path_join(from, name), *target = path_join(to, name);
    struct stat st;
    if (stat(source, &st) < 0)
        return error_errno(err, "%s", source);
    if (S_ISDIR(st.st_mode))
        return copy_level(source, target, depth + 1, err);
    if (!S_ISREG(st.st_mode))
        return 0;
    return copy_file(source, target, st.st_mode, err);
}

static int copy_level(const char *from, const char *to, int depth, struct error *err)
{
    if (depth > DEPTH_MAX)
        return error_set(err, ERR_INVALID, "%s: directories are nested more than %d deep", from, DEPTH_MAX);
    DIR *d = opendir(from);
    if (!d)
        return error_errno(err, "%s", from);
    int rc = dir_make(to, 0755, err);
    for (struct dirent *e; rc == 0 && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rc = copy_entry(from, to, e->d_name, depth, err);
    closedir(d);
    return rc;
}

int copy_tree(const char *from, const char *to, struct error *err)
{
    return copy_level(from, to, 0, err);
}
