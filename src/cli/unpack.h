/* Unpacks a tar of a checkpoint, as the master makes it: directories and regular files, nothing outside `to`. */
#ifndef DET_CLI_UNPACK_H
#define DET_CLI_UNPACK_H

#include "common/error.h"

/* `fd` is read from where it stands; `to` is made if it is not there. */
int unpack_tar(int fd, const char *to, struct error *err);

#endif
