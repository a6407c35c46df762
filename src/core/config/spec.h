/* Makes of an experiment's configuration what the core needs of it. The result is the same when the experiment is
 * created and when a starting master reads it back. */
#ifndef DET_CORE_CONFIG_SPEC_H
#define DET_CORE_CONFIG_SPEC_H

#include "core/config/expconf.h"
#include "core/core.h"

/* Makes the core's part of a configuration. Everything in *ret is in the arena. The caller fills in the warm start,
 * which needs a look into the store. */
void core_spec_of_config(const struct exp_config *c, int32_t owner_id, struct arena *a,
                         struct core_experiment_spec *ret);

/* Reads c->warnings again. To be called when sentences have been added to them. */
void core_spec_take_warnings(const struct exp_config *c, struct arena *a, struct core_experiment_spec *ret);

#endif
