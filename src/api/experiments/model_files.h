/* Reads single files of a model definition from its archive. Paths are those in the archive, without "." and empty
 * parts. */
#ifndef DET_API_EXPERIMENTS_MODEL_FILES_H
#define DET_API_EXPERIMENTS_MODEL_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "gen/wire.h"

/* The whole tree; the members of each directory are in the order of their names. A directory without an entry of its
 * own, which only occurs in paths of files, is there, too. */
int model_tree(const void *tgz, size_t n, struct arena *a, struct wire_experiment_file_node **ret, size_t *ret_n,
               struct error *err);

struct model_file {
    const void *data;
    size_t n;
    const char *content_type; /* by the file's first bytes */
};
/* Reads one file. ERR_NOT_FOUND names the path. */
int model_file(const void *tgz, size_t n, const char *path, struct arena *a, struct model_file *ret, struct error *err);

#endif
