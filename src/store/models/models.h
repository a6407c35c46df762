/* The model registry: what takes more than one statement. The other functions are made of queries/models.sql. */
#ifndef DET_STORE_MODELS_MODELS_H
#define DET_STORE_MODELS_MODELS_H

#include "store/functions.h"

/* Deletes the model with its versions and aliases. Its id is never given again. */
int store_model_delete(struct store *st, int32_t id, struct error *err);

/* Registers v->checkpoint_uuid as the next version of v->model_id. v->version is set to the number. Fails with
 * ERR_PRECONDITION if the checkpoint is not COMPLETED, if files of it are to be removed, or if its experiment or trial
 * is being deleted. */
int store_model_version_register(struct store *st, struct store_model_version *v, struct error *err);
/* Fails with ERR_PRECONDITION if an alias stands for the version. */
int store_model_version_delete(struct store *st, const struct store_model_version *v, int64_t now_us,
                               struct error *err);

/* Finds a version of a model by its number, by "-1" for the newest, or by an alias. */
int store_model_version_find(struct store *st, const struct store_model *m, const char *named, struct arena *a,
                             struct store_model_version *ret, struct error *err);

/* ---- registered checkpoints are kept ----------------------------------------------------------------------------- */

/* Both functions fail with ERR_INVALID and a sentence that names model and version. The checkpoint is registered;
 * `done` says what cannot be done to it: "deleted". */
int store_check_unregistered(struct store *st, const char *uuid, const char *done, struct error *err);
/* A checkpoint of the experiment is registered, or of one trial if trial_id is not 0. */
int store_check_none_registered(struct store *st, int32_t experiment_id, int32_t trial_id, struct error *err);
/* A checkpoint of an experiment in the project or in the workspace is registered; one of the two ids is 0. */
int store_check_place_unregistered(struct store *st, int32_t project_id, int32_t workspace_id, struct error *err);

#endif
