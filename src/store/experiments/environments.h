/* What allocations ran in. Two documents describe each container. The first is about the machine, and its agent reports
 * it. The second is about Python and its packages; the task reports it, or the agent for a task that does not.
 *
 * Documents are JSON that the caller has checked. Equal documents are kept once, however many allocations refer to
 * them: a list of packages takes some kilobytes, and thousands of trials run with the same. A document that no
 * allocation refers to any more is deleted when runs are deleted. */
#ifndef DET_STORE_EXPERIMENTS_ENVIRONMENTS_H
#define DET_STORE_EXPERIMENTS_ENVIRONMENTS_H

#include "store/functions.h"

int store_environment_put(struct store *st, const struct store_environment *e, struct error *err);

#endif
