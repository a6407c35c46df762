/* All pools: at the core's beginning and end, and at the end of each step. */
#ifndef DET_CORE_RESOURCES_POOLS_H
#define DET_CORE_RESOURCES_POOLS_H

#include "core/resources/rm.h"

void pools_init(struct core *c, const struct core_opts *opts, const struct rm_type *rm);
/* Tells the pools' resource managers what has changed. They place what can be placed. */
void pools_turn(struct core *c);
void pools_free(struct core *c);
void pool_timer(struct timer *t); /* the timer of a pool whose scheduler wants another pass */

#endif
