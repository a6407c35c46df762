/* Reads and writes whole files and directories: for configuration, tokens and small state, never for data that
 * grows. */
#ifndef DET_COMMON_SYSTEM_FILES_H
#define DET_COMMON_SYSTEM_FILES_H

#include <stddef.h>
#include <sys/types.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"

/* Appends the file to *ret. ERR_NOT_FOUND if there is none, ERR_TOO_LARGE if it is longer than `limit` bytes. */
int file_read(const char *path, size_t limit, struct strbuf *ret, struct error *err);
/* Replaces a file. It holds either the old or the new bytes, never a part, even after a crash: a temporary file beside
 * it is synced and renamed over it. It gets exactly `mode`, whatever the umask, before it holds a byte. */
int file_write(const char *path, const void *data, size_t n, mode_t mode, struct error *err);
/* The same with everything that `fd` has from its present position on; for files of any length. */
int file_write_from(const char *path, int fd, mode_t mode, struct error *err);
/* Writes all n bytes, in as many calls as needed; returns -1 with errno. What was written before a failure stays. */
int fd_write_all(int fd, const void *data, size_t n);
/* mkdir -p: each directory it makes gets exactly `mode`; those that are there stay as they are. */
int dir_make(const char *path, mode_t mode, struct error *err);
/* Removes a file, or a directory with everything below it, whoever may write there (beneath_remove()). `path` itself
 * must lead through directories of ours only. It is no error if there is none. */
int tree_remove(const char *path, struct error *err);
/* What dirname(1) and join do, without changing their input. The caller frees the result. If `name` is absolute, the
 * result is `name`. */
char *path_parent(const char *path);
char *path_join(const char *dir, const char *name);
/* The path of a file beside this program, in the build directory or where it is installed. The caller frees it. */
char *path_beside_program(const char *relative);
/* The directory of our Python library that belongs to this program; "" if there is none. */
const char *path_of_library(struct arena *a);

#endif
