/* The files of checkpoints in storages that are directories of the master's machine, below a directory that an admin
 * has named (storage_roots.h, docs/decisions/0004). Whatever a checkpoint holds, nothing outside its own directory
 * is opened or removed. A directory without metadata.json is not treated as a checkpoint. A checkpoint that the
 * master may not open is ELSEWHERE: a task of its owner can reach it. */
#ifndef DET_API_CHECKPOINTS_CHECKPOINT_FILES_H
#define DET_API_CHECKPOINTS_CHECKPOINT_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "store/experiments/removals.h"

#define CHECKPOINT_METADATA "metadata.json"

struct storage_roots;

struct checkpoint_site {
    const char *uuid;
    struct store_site where;
    const struct storage_roots *roots;
};

enum checkpoint_found {
    CHECKPOINT_HERE,      /* both directories are open */
    CHECKPOINT_GONE,      /* the storage is open, but the checkpoint is not in it */
    CHECKPOINT_ELSEWHERE, /* the master may not open the storage */
};

struct checkpoint_place_open {
    enum checkpoint_found found;
    int storage, dir;     /* -1: not open */
    const char *why;      /* why the checkpoint is elsewhere; in the arena */
    bool in_object_store; /* the checkpoint is elsewhere because it is in an object store, not in a directory */
};

/* Opens the storage and the checkpoint. A configuration that names no storage is an error, and so is a checkpoint
 * that is a symbolic link. */
int checkpoint_site_open(const struct checkpoint_site *site, struct arena *a, struct checkpoint_place_open *ret,
                         struct error *err);
void checkpoint_place_close(struct checkpoint_place_open *p);

/* Removes the files that match one of `globs` (a JSON list; [] matches everything), and directories that are empty
 * afterwards. A pattern is compared with the path within the checkpoint; * stays within one directory, ** matches
 * any number of directories. metadata.json stays as long as any other file does. A file that does not exist any more
 * is no error. Appends what is left to *ret_left: a JSON object of paths and their sizes in bytes.
 *
 * *ret_elsewhere is NULL, or the reason (in the arena) why a task has to remove the files: the checkpoint is
 * elsewhere, or this machine refuses the removal to the master's account (EACCES, EPERM, EROFS). In the latter case
 * part of the files may be removed already. */
int checkpoint_files_remove(const struct checkpoint_site *site, const char *globs, struct arena *a,
                            const char **ret_elsewhere, struct strbuf *ret_left, struct error *err);
/* Removes the files that an experiment's trials wrote for TensorBoard, from the storage that its configuration names.
 */
int tensorboard_files_remove(const struct checkpoint_site *site, const char *cluster_id, int32_t experiment_id,
                             struct arena *a, const char **ret_elsewhere, struct error *err);
int checkpoint_globs_check(const char *const *glob, size_t n, struct error *err);

#endif
