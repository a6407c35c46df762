/* Makes of an experiment's configuration what the core needs of it. The result is the same when the experiment is
 * created and when a starting master reads it back. */
#ifndef DET_CORE_CONFIG_SPEC_H
#define DET_CORE_CONFIG_SPEC_H

#include "core/config/expconf.h"
#include "core/core.h"

/* Everything in *ret lives in the arena. The warm start is the caller's to fill in: it takes a look into the store. */
void core_spec_of_config(const struct exp_config *c, int32_t owner_id, struct arena *a,
                         struct core_experiment_spec *ret);

/* The sentences of c->warnings, once more: whoever has added one since says so. */
void core_spec_take_warnings(const struct exp_config *c, struct arena *a, struct core_experiment_spec *ret);

#endif
