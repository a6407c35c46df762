/* Copies a checkpoint from its storage to a directory, like cp -r. */
#ifndef DET_CLI_FILES_COPYTREE_H
#define DET_CLI_FILES_COPYTREE_H

#include "common/base/error.h"

/* Copies the content of `from` into `to`, which is created if it does not exist. File modes are kept; links are
 * followed. */
int copy_tree(const char *from, const char *to, struct error *err);

#endif
