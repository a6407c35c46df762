/* Trials: one point of the search space and its training. Summaries, best and latest validation are kept by metrics.h,
 * checkpoint counters by checkpoints.h. */
#ifndef DET_STORE_TRIALS_H
#define DET_STORE_TRIALS_H

#include "store/page.h"
#include "store/functions.h"

/* New trials of one experiment, which counts them. */
int store_trials_insert(struct store *st, const struct trial_row *const *t, size_t n, struct error *err);
/* Writes what the core owns; beside it the row keeps what the functions below set. */
int store_trial_put(struct store *st, const struct trial_row *t, bool insert, struct error *err);
/* `full`: with summary and validations. */
int store_trial_get(struct store *st, int32_t id, bool full, struct arena *a, struct store_trial *ret,
                    struct error *err);
/* Full, by id; those that do not exist are missing. */
int store_trials_by_ids(struct store *st, struct store_ints ids, struct arena *a, struct store_trial **ret, size_t *ret_n,
                        struct error *err);

int store_trial_set_log_retention(struct store *st, int32_t id, bool has, int32_t days, struct error *err);

/* GET /experiments/{id}/trials; sorting by the numbers of api.v1.GetExperimentTrialsRequest.SortBy. Full rows. */
struct store_trial_filter {
    int32_t experiment_id;
    struct store_texts states;
    int32_t sort_by;
    bool descending;
    struct page page;
};
struct store_trial_list { struct store_trial *trial; size_t trial_n; struct page_window window; };
int store_trial_list(struct store *st, const struct store_trial_filter *f, int64_t now_us /* for open durations */,
                     struct arena *a, struct store_trial_list *ret, struct error *err);

#endif
