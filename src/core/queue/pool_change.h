/* A job goes to another resource pool. */
#ifndef DET_CORE_POOL_CHANGE_H
#define DET_CORE_POOL_CHANGE_H

#include "core/state/objects.h"

/* From here on its trials ask there; those that run are told to stop first, as in a preemption. In its new line it
 * stands by its submission. */
void experiment_change_pool(struct core *c, struct experiment *x, struct pool *to);

#endif
