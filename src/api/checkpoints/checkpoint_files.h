/* The files of checkpoints in storages that are directories of the master's machine, below one that an admin has named
 * (storage_roots.h, docs/decisions/0004). Whatever a checkpoint holds, nothing outside its own directory is opened or removed,
 * and a directory without metadata.json is no checkpoint. What is not for the master to open is ELSEWHERE: a task of its owner
 * can reach it. */
#ifndef DET_API_CHECKPOINT_FILES_H
#define DET_API_CHECKPOINT_FILES_H

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
    CHECKPOINT_GONE,      /* the storage is open, and the checkpoint is not in it */
    CHECKPOINT_ELSEWHERE, /* it is not for the master to open */
};

struct checkpoint_place_open {
    enum checkpoint_found found;
    int storage, dir;     /* -1: not open */
    const char *why;      /* it is elsewhere: the reason, in the arena */
    bool in_object_store; /* … and what has been asked for is in no directory at all */
};

/* Configurations that name no storage are errors, as is a checkpoint that is a link. */
int checkpoint_site_open(const struct checkpoint_site *site, struct arena *a, struct checkpoint_place_open *ret, struct error *err);
void checkpoint_place_close(struct checkpoint_place_open *p);

/* Removes the files that match one of `globs` (JSON list; [] is everything), and directories that are empty afterwards.
 * A pattern is matched against the path within the checkpoint; * stays within one directory, ** takes any number of them.
 * metadata.json stays while anything else does. What is gone already is fine. Appends what is left to *ret_left: a JSON object
 * of path → bytes.
 *
 * *ret_elsewhere is NULL, or the reason, in the arena, why a task has to do it: the checkpoint is elsewhere, or this machine
 * denies the master's account the removal (EACCES, EPERM, EROFS), of which a part may be done then. */
int checkpoint_files_remove(const struct checkpoint_site *site, const char *globs, struct arena *a, const char **ret_elsewhere,
                            struct strbuf *ret_left, struct error *err);
/* Removes the files that an experiment's trials wrote for TensorBoard, from the storage that its configuration names. */
int tensorboard_files_remove(const struct checkpoint_site *site, const char *cluster_id, int32_t experiment_id, struct arena *a,
                             const char **ret_elsewhere, struct error *err);
int checkpoint_globs_check(const char *const *glob, size_t n, struct error *err);

#endif
