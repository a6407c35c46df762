/* Unpacks a tar of a checkpoint, as the master makes it: directories and regular files only, and nothing outside of
 * `to`. */
#ifndef DET_CLI_FILES_UNPACK_H
#define DET_CLI_FILES_UNPACK_H

#include <stddef.h>

#include "common/base/error.h"

/* Reads `fd` from its current position; `to` is created if it does not exist. */
int unpack_tar(int fd, const char *to, struct error *err);

/* The same from a function that delivers bytes. *ret_n 0 means the end; bytes delivered before need not stay valid. */
typedef int unpack_read_fn(void *ctx, const void **ret, size_t *ret_n, struct error *err);
int unpack_tar_from(unpack_read_fn *next, void *ctx, const char *to, struct error *err);

#endif
