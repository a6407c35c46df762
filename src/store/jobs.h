/* Jobs: the place of experiments and tasks in their pool's queue. */
#ifndef DET_STORE_JOBS_H
#define DET_STORE_JOBS_H

#include "store/store.h"

struct store_job {
    const char *id;
    const char *type; /* EXPERIMENT, NOTEBOOK, TENSORBOARD, SHELL, COMMAND, CHECKPOINT_GC, GENERIC */
    int32_t user_id;
    const char *resource_pool;
    int64_t position; /* place in the pool's queue, ascending; at first the time of submission */
    bool has_priority; int32_t priority;
    bool has_weight; double weight;
    int64_t submitted_us;
};

int store_job_put(struct store *st, const struct store_job *j, struct error *err); /* inserts or replaces */
int store_job_get(struct store *st, const char *id, struct arena *a, struct store_job *ret, struct error *err);
int store_job_delete(struct store *st, const char *id, struct error *err); /* fine if it is gone */
/* In order of pool and position. */
int store_jobs_all(struct store *st, struct arena *a, struct store_job **ret, size_t *ret_n, struct error *err);

#endif
