/* Chooses which checkpoints of an experiment are kept (docs/spec/lifecycle.md#checkpoints-that-are-kept).
 *
 * Three numbers decide. A checkpoint is kept if it is one of the newest `trial_latest` of its trial, or if it was
 * validated and is one of the best `experiment_best` of the experiment or `trial_best` of its trial. All others may be
 * removed. Pure: the caller leaves out checkpoints that must never be removed. */
#ifndef DET_CORE_EXPERIMENTS_GC_H
#define DET_CORE_EXPERIMENTS_GC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gc_policy {
    /* values of save_experiment_best, save_trial_best and save_trial_latest */
    int experiment_best, trial_best, trial_latest;
    bool smaller_is_better;
};

struct gc_candidate {
    int32_t trial_id, steps_completed;
    bool has_metric; /* the trial's validation at the same step has the searcher metric */
    double metric;
    int64_t validation_id; /* of candidates with equal metrics, the one with the earlier validation comes first */
    bool keep;             /* set by gc_choose() */
};

/* Sets `keep` of every candidate. */
void gc_choose(const struct gc_policy *policy, struct gc_candidate *candidate, size_t n);

#endif
