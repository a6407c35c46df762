#include "task/diskuse.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/must.h"

#define DEPTH_MAX 100000
#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

static void give_up(struct diskuse *d)
{
    if (d->dir)
        closedir(d->dir);
    d->dir = NULL;
    d->depth = 0;
}

/* Goes on reading in the directory `fd` instead of the present one. Takes over fd. */
static bool enter_directory(struct diskuse *d, int fd)
{
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0)
        close(fd);
    if (dir && d->dir)
        closedir(d->dir);
    if (dir)
        d->dir = dir;
    return dir != NULL;
}

static bool descend_into(struct diskuse *d, const char *name, const struct stat *above)
{
    int fd = openat(dirfd(d->dir), name, OPEN_DIRECTORY);
    if (fd < 0)
        return true; /* the directory was removed or replaced meanwhile */
    if (d->depth == d->level_cap) {
        size_t cap = d->level_cap ? 2 * d->level_cap : 32;
        if (d->depth == DEPTH_MAX) {
            close(fd);
            return false;
        }
        d->level = must_realloc(d->level, cap * sizeof(*d->level));
        d->level_cap = cap;
    }
    d->level[d->depth++] = (struct diskuse_level){.dev = above->st_dev,
                                                  .ino = above->st_ino,
                                                  .position = telldir(d->dir)};
    return enter_directory(d, fd);
}

/* Goes back to the directory above. Returns false if that is not the directory in which this one was found, because
 * somebody has moved this one. */
static bool ascend_to_parent(struct diskuse *d)
{
    struct stat st;
    const struct diskuse_level *l = &d->level[--d->depth];
    int fd = openat(dirfd(d->dir), "..", OPEN_DIRECTORY);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != l->dev || st.st_ino != l->ino) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    if (!enter_directory(d, fd))
        return false;
    seekdir(d->dir, l->position);
    return true;
}

/* Adds the blocks of an entry, not its length, since a file may have holes. A file of several names counts once if all
 * its names are below the top directory. */
static bool count_entry(struct diskuse *d, const char *name)
{
    struct stat st, here;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (d->depth == 0 && strcmp(name, d->skip) == 0))
        return true;
    if (fstatat(dirfd(d->dir), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    bool directory = S_ISDIR(st.st_mode);
    d->bytes += (uint64_t)st.st_blocks * 512 / (directory || st.st_nlink < 1 ? 1 : st.st_nlink);
    if (!directory || fstat(dirfd(d->dir), &here) < 0 || here.st_dev != st.st_dev)
        return true;
    return descend_into(d, name, &here);
}

bool diskuse_step(struct diskuse *d, size_t entries, uint64_t *ret_bytes)
{
    if (!d->dir) {
        d->bytes = 0;
        if (!enter_directory(d, openat(d->top, ".", OPEN_DIRECTORY)))
            return false;
    }
    for (; entries > 0; entries--) {
        struct dirent *e = readdir(d->dir);
        bool ended = !e && d->depth == 0;
        if (ended)
            *ret_bytes = d->bytes;
        if (ended || !(e ? count_entry(d, e->d_name) : ascend_to_parent(d))) {
            give_up(d);
            return ended;
        }
    }
    return false;
}

void diskuse_release(struct diskuse *d)
{
    give_up(d);
    free(d->level);
    d->level = NULL;
}
