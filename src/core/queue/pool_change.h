/* Moves a job to another resource pool. */
#ifndef DET_CORE_QUEUE_POOL_CHANGE_H
#define DET_CORE_QUEUE_POOL_CHANGE_H

#include "core/state/objects.h"

/* From now on the experiment's trials ask for allocations in the pool `to`. Trials that run in the old pool are
 * preempted first. The job's place in the new pool's queue follows from the time of its submission. */
void experiment_change_pool(struct core *c, struct experiment *x, struct pool *to);

#endif
