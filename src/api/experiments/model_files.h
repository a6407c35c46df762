/* Single files of a model definition, out of its archive. Paths are as in the archive, without "." and empty parts. */
#ifndef DET_API_MODEL_FILES_H
#define DET_API_MODEL_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "gen/wire.h"

/* The whole tree, each directory's members in order of their names. Directories that only stand in their files' paths are
 * there, too. */
int model_tree(const void *tgz, size_t n, struct arena *a, struct wire_experiment_file_node **ret, size_t *ret_n, struct error *err);

struct model_file {
    const void *data;
    size_t n;
    const char *content_type; /* by what it begins with */
};
/* ERR_NOT_FOUND names the path. */
int model_file(const void *tgz, size_t n, const char *path, struct arena *a, struct model_file *ret, struct error *err);

#endif
