/* From an experiment's configuration to what the core needs of it: the same at creation and at a restart. */
#ifndef DET_CORE_SPEC_H
#define DET_CORE_SPEC_H

#include "core/core.h"
#include "core/expconf.h"

/* Everything in *ret lives in the arena. The warm start is the caller's to fill in: it takes a look into the store. */
void core_spec_of_config(const struct exp_config *c, int32_t owner_id, struct arena *a,
                         struct core_experiment_spec *ret);

#endif
