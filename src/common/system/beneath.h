/* Files below a directory that is open: for trees that somebody else, who is not trusted, may change at any moment.
 *
 * A path is relative and cannot lead out of the directory: a symbolic link anywhere in it, `..` or a leading `/` is
 * an error. What is opened is then used by its descriptor, and not by its path again. Whoever renames or replaces
 * something meanwhile only affects which of their own files are used. */
#ifndef DET_COMMON_SYSTEM_BENEATH_H
#define DET_COMMON_SYSTEM_BENEATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"

/* The owner of files and directories that are made. */
struct beneath_owner {
    bool change; /* false: the owner is the user of this process */
    uid_t uid;
    gid_t gid;
};

/* Opens something that exists. flags as for open(2), without O_CREAT; O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK and O_NOCTTY
 * are always added, so opening a FIFO or a device never waits. */
int beneath_open(int dir, const char *path, int flags, struct error *err);
/* Makes a directory, unless there is one, and returns its descriptor. One that is made gets exactly this mode and
 * owner; the directories above it are there. */
int beneath_make_dir(int dir, const char *path, mode_t mode, const struct beneath_owner *owner, struct error *err);
/* Writes a file that is not there yet. Its mode and owner are set by descriptor, once the content is complete. */
int beneath_write(int dir, const char *path, const void *data, size_t n, mode_t mode, const struct beneath_owner *owner,
                  struct error *err);
/* Appends a regular file of at most `limit` bytes to *ret. Anything else at this place (a FIFO, a device, a directory)
 * is ERR_PRECONDITION, a longer file ERR_TOO_LARGE; it never waits for a writer. */
int beneath_read(int dir, const char *path, size_t limit, struct strbuf *ret, struct error *err);
/* Removes a file, or a directory with everything below it, of any depth and width; five descriptors and constant memory
 * are enough. It is no error if there is none. A file system that is mounted below it stays, and is an error. */
int beneath_remove(int dir, const char *name, struct error *err);

#endif
