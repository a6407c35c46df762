/* What no view of the core shows. */
#ifndef DET_TESTS_SIM_SOAK_INSIDE_H
#define DET_TESTS_SIM_SOAK_INSIDE_H

#include "core/core.h"

bool inside_leaves(const struct core *c, const char *agent_id); /* the agent's machine has been told to end */
bool inside_adds_up(const struct core *c, const char *pool);    /* the sums that an elastic pool keeps are right */

#endif
