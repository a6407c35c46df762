/* Experiments, with their configuration, their model definition and the searcher's snapshot in tables of their own, so
 * that a list never reads them. Counters (trials, checkpoints) and the best trial are kept by the statements that
 * change them. */
#ifndef DET_STORE_EXPERIMENTS_EXPERIMENTS_H
#define DET_STORE_EXPERIMENTS_EXPERIMENTS_H

#include "store/functions.h"
#include "store/lists/page.h"

/* With its job and its documents: config and original_config must be set; model_definition is a gzipped tar. */
int store_experiment_insert(struct store *st, const struct store_experiment *x, const void *model_definition,
                            size_t model_definition_n, struct error *err);
int store_experiment_get(struct store *st, int32_t id, bool with_config, struct arena *a, struct store_experiment *ret,
                         struct error *err);
int store_experiment_model_definition(struct store *st, int32_t id, struct arena *a, const void **ret, size_t *ret_n,
                                      struct error *err);

/* Writes what the core owns: state, progress, times, place in the queue. */
int store_experiment_put(struct store *st, const struct experiment_row *x, struct error *err);
int store_experiment_set_project(struct store *st, int32_t id, int32_t project_id, struct error *err);
int store_experiment_set_config(struct store *st, int32_t id, const char *config, const char *resource_pool,
                                struct error *err);
int store_experiment_patch(struct store *st, int32_t id, const struct store_experiment_patch *p, struct error *err);
/* Deletes an experiment with all that belongs to it: trials, metrics, checkpoints, tasks, logs; or one of its trials
 * (trial_id; 0: the whole experiment). At most `limit` rows in one call. *ret_more: call it again. */
int store_experiment_delete_part(struct store *st, int32_t id, int32_t trial_id, int64_t limit, bool *ret_more,
                                 struct error *err);
/* At the start: experiments that the last master was deleting when it ended become DELETE_FAILED, and may be deleted
 * again. */
int store_experiments_fail_deletions(struct store *st, struct error *err);

/* All lines in the order of `from`, as one text. */
int store_searcher_events_get(struct store *st, int32_t experiment_id, struct arena *a, const char **ret,
                              struct error *err);

#endif
