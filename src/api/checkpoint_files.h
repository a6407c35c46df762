/* The files of checkpoints in storages that are directories of the master's machine (docs/decisions/0004). Whatever a
 * checkpoint holds, nothing outside its own directory is opened or removed. */
#ifndef DET_API_CHECKPOINT_FILES_H
#define DET_API_CHECKPOINT_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/error.h"
#include "common/strbuf.h"

struct checkpoint_site {
    const char *uuid;
    const char *storage;           /* JSON of its storage backend; NULL: as its experiment has it */
    const char *experiment_config; /* JSON; may be NULL */
};

/* The directory of the storage. ERR_UNIMPLEMENTED for storages that are none, ERR_PRECONDITION for configurations that
 * name none. Does not look at the disk. */
int checkpoint_site_place(const struct checkpoint_site *site, struct arena *a, const char **ret, struct error *err);
/* Whether this machine has it. Where it has not, agents may. */
int checkpoint_site_is_here(const struct checkpoint_site *site, bool *ret, struct error *err);
/* Opens it and the checkpoint's directory in it. *ret_dir is -1 when the storage is there and the checkpoint is not;
 * ERR_PRECONDITION when the storage is not. The caller closes both. */
int checkpoint_site_open(const struct checkpoint_site *site, int *ret_storage, int *ret_dir, struct error *err);

/* Removes the files that match one of `globs` (JSON list; [] is everything), and directories that are empty afterwards.
 * A pattern is matched against the path within the checkpoint; * stays within one directory, ** takes any number of them.
 * What is gone already is fine. Appends what is left to *ret_left: a JSON object of path → bytes. */
int checkpoint_files_remove(const struct checkpoint_site *site, const char *globs, struct strbuf *ret_left,
                            struct error *err);
/* Removes the files that an experiment's trials wrote for TensorBoard, from the storage that its configuration names. */
int tensorboard_files_remove(const char *experiment_config, const char *cluster_id, int32_t experiment_id,
                             struct error *err);
int checkpoint_globs_check(const char *const *glob, size_t n, struct error *err);

#endif
