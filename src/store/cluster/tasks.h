/* Tasks (what a user asked to run), their allocations (one run of a task each, on slots) and the containers of an
 * allocation. */
#ifndef DET_STORE_CLUSTER_TASKS_H
#define DET_STORE_CLUSTER_TASKS_H

#include "store/functions.h"

int store_tasks_insert(struct store *st, const struct task_row *const *t, size_t n, struct error *err);
/* Stores a task of the core: a trial's, or one of its own if trial_id is 0. */
int store_task_put(struct store *st, const struct task_row *t, bool insert, struct error *err);

/* Allocations and containers are written and read as the core has them. They are still open if end_us is 0 or the
 * state is one before TERMINATED. */
int store_allocation_put(struct store *st, const struct allocation_row *x, bool insert, struct error *err);

int store_container_put(struct store *st, const struct container_row *c, bool insert, struct error *err);

/* Keeps an archive of files that were sent with a task under its hash. Nothing is written if it is there already. */
int store_context_add(struct store *st, const char *hash, const void *tgz, size_t n, struct error *err);
/* Reads the archive of a launched task. *ret_n is 0 if the task has none, or if it was removed after the task's end. */
int store_context_get(struct store *st, const char *task_id, struct arena *a, const void **ret_tgz, size_t *ret_n,
                      struct error *err);

#endif
