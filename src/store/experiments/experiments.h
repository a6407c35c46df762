/* Experiments. Configuration, model definition and the searcher's snapshot are kept in tables of their own, so that
 * a list never reads them. The statements that change trials and checkpoints also change the experiment's counters
 * and its best trial. */
#ifndef DET_STORE_EXPERIMENTS_EXPERIMENTS_H
#define DET_STORE_EXPERIMENTS_EXPERIMENTS_H

#include "store/functions.h"
#include "store/lists/page.h"

/* Inserts an experiment with its job and its documents. config and original_config must be set; model_definition is
 * a gzipped tar. */
int store_experiment_insert(struct store *st, const struct store_experiment *x, const void *model_definition,
                            size_t model_definition_n, struct error *err);
int store_experiment_get(struct store *st, int32_t id, bool with_config, struct arena *a, struct store_experiment *ret,
                         struct error *err);
int store_experiment_model_definition(struct store *st, int32_t id, struct arena *a, const void **ret, size_t *ret_n,
                                      struct error *err);

/* Writes what the core owns: state, progress, times, and the place in the job queue. */
int store_experiment_put(struct store *st, const struct experiment_row *x, struct error *err);
int store_experiment_set_project(struct store *st, int32_t id, int32_t project_id, struct error *err);
int store_experiment_set_config(struct store *st, int32_t id, const char *config, const char *resource_pool,
                                struct error *err);
int store_experiment_patch(struct store *st, int32_t id, const struct store_experiment_patch *p, struct error *err);
/* Deletes a part of an experiment with all that belongs to it (trials, metrics, checkpoints, tasks, logs), or a part
 * of one of its trials if trial_id is not 0. At most `limit` rows are deleted in one call. *ret_more tells the
 * caller to call again. */
int store_experiment_delete_part(struct store *st, int32_t id, int32_t trial_id, int64_t limit, bool *ret_more,
                                 struct error *err);
/* Sets experiments that the last master was deleting when it ended to DELETE_FAILED; they may be deleted again. A
 * starting master calls this. */
int store_experiments_fail_deletions(struct store *st, struct error *err);

/* Reads all lines of searcher events as one text, in the order of `from`. */
int store_searcher_events_get(struct store *st, int32_t experiment_id, struct arena *a, const char **ret,
                              struct error *err);

#endif
