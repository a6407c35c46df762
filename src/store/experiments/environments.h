/* What allocations ran in. Two documents describe each container: the machine, which its agent tells, and Python with its packages,
 * which the task tells, or the agent for a task that does not.
 *
 * Documents are JSON that the caller has checked. Equal documents are kept once, however many allocations refer to them: a list of
 * packages takes some kilobytes, and thousands of trials run with the same. A document that no allocation refers to any more is
 * deleted when runs are deleted. */
#ifndef DET_STORE_ENVIRONMENTS_H
#define DET_STORE_ENVIRONMENTS_H

#include "store/rows.h"

int store_environment_put(struct store *st, const struct store_environment *e, struct error *err);
int store_environments_forget(struct store *st, struct error *err); /* what no allocation refers to any more */
/* In the order of the trial's runs and of their containers' ranks. */
int store_environments_of_trial(struct store *st, int32_t trial_id, struct arena *a, struct store_environment **ret,
                                size_t *ret_n, struct error *err);

#endif
