/* Moves a job to another resource pool. */
#ifndef DET_CORE_QUEUE_POOL_CHANGE_H
#define DET_CORE_QUEUE_POOL_CHANGE_H

#include "core/state/objects.h"

/* The experiment's trials ask for allocations in the pool `to` from now on. Trials that run in the old pool are
 * preempted first. In the new pool's queue the job stands by its submission. */
void experiment_change_pool(struct core *c, struct experiment *x, struct pool *to);

#endif
