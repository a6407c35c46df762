/* Trials: each is one point of the search space and its training. metrics.h keeps the summaries and the best and
 * latest validation, checkpoints.h the counters of checkpoints. */
#ifndef DET_STORE_EXPERIMENTS_TRIALS_H
#define DET_STORE_EXPERIMENTS_TRIALS_H

#include "store/functions.h"
#include "store/lists/page.h"

/* Inserts new trials of one experiment, and adds them to the experiment's count of trials. */
int store_trials_insert(struct store *st, const struct trial_row *const *t, size_t n, struct error *err);
/* Writes what the core owns. The row has other columns besides, which the functions below set. */
int store_trial_put(struct store *st, const struct trial_row *t, bool insert, struct error *err);
/* `full`: the summary and the validations are read, too. */
int store_trial_get(struct store *st, int32_t id, bool full, struct arena *a, struct store_trial *ret,
                    struct error *err);
/* Reads trials by their ids, in full. Trials that do not exist are left out. */
int store_trials_by_ids(struct store *st, struct store_ints ids, struct arena *a, struct store_trial **ret,
                        size_t *ret_n, struct error *err);

/* Reads a page of an experiment's trials. When full trials are asked for, they have all that store_trial_get()
 * reads. */
int store_trial_list(struct store *st, const struct store_trial_filter *f, struct arena *a,
                     struct store_trial_list *ret, struct error *err);

#endif
