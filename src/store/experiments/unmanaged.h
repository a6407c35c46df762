/* Experiments and trials that run outside of the cluster and only report to it
 * (docs/spec/lifecycle.md#experiments-that-run-elsewhere). The core does not know them; their states are changed
 * here, as they report. RUNNING is stored as ACTIVE. */
#ifndef DET_STORE_EXPERIMENTS_UNMANAGED_H
#define DET_STORE_EXPERIMENTS_UNMANAGED_H

#include "core/records/states.h"
#include "store/functions.h"

int store_unmanaged_trial_set_state(struct store *st, int32_t trial_id, enum run_state state, int64_t now_us,
                                    struct error *err);
/* Gives the experiment the state of its most progressed trial. The experiment ends with the last of its trials. */
int store_unmanaged_settle(struct store *st, int32_t experiment_id, struct error *err);
/* Ends trials that run and were last heard of before that time, in state ERROR, and their experiments with them. */
int store_unmanaged_expire(struct store *st, int64_t heard_before_us, size_t *ret_n, struct error *err);

/* Finds the trials that use the checkpoint in the given way; type NULL means in any way. */
int store_trials_of_source(struct store *st, const char *checkpoint_uuid, const char *type, struct arena *a,
                           struct store_ints *ret, struct error *err);
/* The trials that have said that they use this version of a model. */
int store_trials_of_version(struct store *st, int32_t model_id, int32_t version, const char *type, struct arena *a,
                            struct store_ints *ret, struct error *err);

#endif
