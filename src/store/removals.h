/* Files of checkpoints that are to go, and experiments whose checkpoints are to be thinned out.
 *
 * A removal has two phases. It is marked (store_removal_add); somebody removes the files; and one transaction notes what
 * is left of the checkpoint and takes the mark away (store_removal_done). Whatever is cut short in between is done again. */
#ifndef DET_STORE_REMOVALS_H
#define DET_STORE_REMOVALS_H

#include <stdint.h>

#include "store/store.h"

/* To be thinned out by its policy. Asking twice is asking once. */
int store_collection_ask(struct store *st, int32_t experiment_id, struct error *err);
/* *ret_experiment_id is 0 when nothing is asked for. */
int store_collection_next(struct store *st, int32_t *ret_experiment_id, struct error *err);
int store_collection_done(struct store *st, int32_t experiment_id, struct error *err);

/* globs: JSON list of patterns; "[]" is everything. Marks a checkpoint again that waited for its next try. */
int store_removal_add(struct store *st, const char *uuid, const char *globs, int64_t now_us, struct error *err);
/* Everything of every checkpoint that has files. */
int store_removal_add_experiment(struct store *st, int32_t experiment_id, int64_t now_us, struct error *err);

struct store_removal {
    const char *uuid, *globs;
    int32_t tries;
    const char *storage;           /* JSON of its storage backend; NULL: as its experiment has it */
    const char *experiment_config; /* JSON; NULL: it is of no experiment */
};
/* Those whose time has come, except while a trial that is not over starts or goes on from the checkpoint. */
int store_removals_due(struct store *st, int64_t now_us, int64_t limit, struct arena *a, struct store_removal **ret,
                       size_t *ret_n, struct error *err);
/* When the next one after now_us is due; 0: there is none. */
int store_removals_next(struct store *st, int64_t now_us, int64_t *ret_us, struct error *err);
/* resources: what is left (store_checkpoint_set_resources). */
int store_removal_done(struct store *st, const char *uuid, const char *globs, const char *resources, struct error *err);
int store_removal_failed(struct store *st, const char *uuid, const char *globs, int64_t next_us, const char *reason,
                         struct error *err);
/* Why a checkpoint of the experiment could not be removed; NULL: none failed. */
int store_removal_reason(struct store *st, int32_t experiment_id, struct arena *a, const char **ret, struct error *err);

/* Where the files of a checkpoint are; the fields of a removal as above. */
int store_checkpoint_storage(struct store *st, const char *uuid, struct arena *a, const char **ret_storage,
                             const char **ret_experiment_config, struct error *err);
/* A trial that is not over and starts or goes on from it; 0: none. */
int store_checkpoint_user(struct store *st, const char *uuid, int32_t *ret, struct error *err);

#endif
