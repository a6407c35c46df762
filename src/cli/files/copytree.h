/* cp -r: a checkpoint from its storage to where the user wants it. */
#ifndef DET_CLI_COPYTREE_H
#define DET_CLI_COPYTREE_H

#include "common/base/error.h"

/* Copies the content of `from` into `to`, which is made if it is not there. Modes are kept, links are followed. */
int copy_tree(const char *from, const char *to, struct error *err);

#endif
