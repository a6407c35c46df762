/* Unpacks a tar of a checkpoint, as the master makes it: directories and regular files, nothing outside `to`. */
#ifndef DET_CLI_UNPACK_H
#define DET_CLI_UNPACK_H

#include <stddef.h>

#include "common/base/error.h"

/* `fd` is read from where it stands; `to` is made if it is not there. */
int unpack_tar(int fd, const char *to, struct error *err);

/* The same from whatever gives bytes: *ret_n 0 is the end, and what it gave before need not stay. */
typedef int unpack_read_fn(void *ctx, const void **ret, size_t *ret_n, struct error *err);
int unpack_tar_from(unpack_read_fn *next, void *ctx, const char *to, struct error *err);

#endif
