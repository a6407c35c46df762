/* Trials: one point of the search space and its training. Summaries, best and latest validation are kept by metrics.h,
 * checkpoint counters by checkpoints.h. */
#ifndef DET_STORE_EXPERIMENTS_TRIALS_H
#define DET_STORE_EXPERIMENTS_TRIALS_H

#include "store/functions.h"
#include "store/lists/page.h"

/* New trials of one experiment, which counts them. */
int store_trials_insert(struct store *st, const struct trial_row *const *t, size_t n, struct error *err);
/* Writes what the core owns; beside it the row keeps what the functions below set. */
int store_trial_put(struct store *st, const struct trial_row *t, bool insert, struct error *err);
/* `full`: with summary and validations. */
int store_trial_get(struct store *st, int32_t id, bool full, struct arena *a, struct store_trial *ret,
                    struct error *err);
/* Full, by id; those that do not exist are missing. */
int store_trials_by_ids(struct store *st, struct store_ints ids, struct arena *a, struct store_trial **ret,
                        size_t *ret_n, struct error *err);

/* A page of the trials of an experiment, with all that store_trial_get() reads when it is asked for full ones. */
int store_trial_list(struct store *st, const struct store_trial_filter *f, struct arena *a,
                     struct store_trial_list *ret, struct error *err);

#endif
