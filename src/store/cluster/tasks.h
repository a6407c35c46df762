/* Tasks (what somebody asked to run), their allocations (one run each, on slots) and the containers of an
 * allocation. */
#ifndef DET_STORE_TASKS_H
#define DET_STORE_TASKS_H

#include "store/rows.h"

int store_tasks_insert(struct store *st, const struct task_row *const *t, size_t n, struct error *err);
/* A task of the core: a trial's, or (trial_id 0) a checkpoint GC's. */
int store_task_put(struct store *st, const struct task_row *t, bool insert, struct error *err);
int store_task_get(struct store *st, const char *id, struct arena *a, struct store_task *ret, struct error *err);
/* Tasks of the core that are no trials' and not over. */
int store_tasks_open_of_their_own(struct store *st, struct arena *a, struct task_row **ret, size_t *ret_n,
                                  struct error *err);

/* Allocations and containers are written and read as the core has them. end_us 0 or a state before TERMINATED: still
 * open. */
int store_allocation_put(struct store *st, const struct allocation_row *x, bool insert, struct error *err);
int store_allocation_get(struct store *st, const char *id, struct arena *a, struct allocation_row *ret,
                         struct error *err);
int store_allocations_of_task(struct store *st, const char *task_id, struct arena *a, struct allocation_row **ret,
                              size_t *ret_n, struct error *err); /* in order of their numbers */
/* How long the last n took that ended by themselves in a pool, the newest first. */
int store_allocation_run_times(struct store *st, const char *pool, int64_t n, struct arena *a, int64_t **ret, size_t *ret_n,
                               struct error *err);
int store_allocations_open(struct store *st, struct arena *a, struct allocation_row **ret, size_t *ret_n,
                           struct error *err);

int store_container_put(struct store *st, const struct container_row *c, bool insert, struct error *err);
int store_containers_open(struct store *st, struct arena *a, struct container_row **ret, size_t *ret_n,
                          struct error *err); /* those of open allocations */

int store_accelerator_set(struct store *st, const struct store_accelerator *x, struct error *err);
int store_accelerators_of_task(struct store *st, const char *task_id, struct arena *a, struct store_accelerator **ret,
                               size_t *ret_n, struct error *err);

#endif
