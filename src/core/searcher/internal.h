/* The inside of a searcher, for searcher.c and snapshot.c. */
#ifndef DET_CORE_SEARCHER_INTERNAL_H
#define DET_CORE_SEARCHER_INTERNAL_H

#include "core/searcher/method.h"

#define PROGRESS_ONE (UINT64_C(1) << 32)

struct searcher_trial {
    char request_id[CORE_UUID_MAX];
    bool exited, exited_early, failed, canceled, has_progress;
    bool completed, closed; /* the state of the trial's operation; see searcher_operation() */
    int32_t completed_run;
    int64_t length;
    uint64_t progress; /* in units of 1 / PROGRESS_ONE */
};

struct searcher {
    struct exp_searcher config;
    struct json_object *config_tree; /* the memory of the configuration's texts */
    struct arena config_arena;       /* the memory of the configuration's lists */
    struct json_object *hyperparameters;
    const struct search_method_type *type;
    void *method;
    struct rng rng;
    struct searcher_trial *trial;
    size_t trial_n, trial_cap;
    size_t exited, failed, canceled;
    size_t found; /* the number of the trial at which searcher_find() begins */
    uint64_t progress_sum;
    size_t progress_n;
    uint64_t event_n;
};

/* Adds a trial to the searcher's table, and draws from the generator what one trial draws. ret_hparams is NULL if the
 * caller does not need the hyperparameters. */
void searcher_draw_trial(struct searcher *s, uint32_t *ret_seed, struct json_object **ret_hparams);

#endif
