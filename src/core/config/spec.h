/* Makes the specification that the core needs from an experiment's configuration. The result is the same when the
 * experiment is created and when a starting master reads the configuration from the store. */
#ifndef DET_CORE_CONFIG_SPEC_H
#define DET_CORE_CONFIG_SPEC_H

#include "core/config/expconf.h"
#include "core/core.h"

/* Everything in *ret lives in the arena. The caller fills in the warm start, since that needs a look into the store. */
void core_spec_of_config(const struct exp_config *c, int32_t owner_id, struct arena *a,
                         struct core_experiment_spec *ret);

/* Copies the warnings of c->warnings again. A caller that has added a warning since calls this. */
void core_spec_take_warnings(const struct exp_config *c, struct arena *a, struct core_experiment_spec *ret);

#endif
