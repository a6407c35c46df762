/* Hyperparameters: one sample from the space that the configuration describes.
 *
 * A space is an object: name → constant, or {"type": const|int|double|log|categorical, …}, or a nested space. Names are
 * drawn in byte order at every level, so that the same seed gives the same sample. */
#ifndef DET_CORE_SEARCHER_HPARAMS_H
#define DET_CORE_SEARCHER_HPARAMS_H

#include "common/error.h"
#include "common/json.h"
#include "common/rng.h"

int hparams_check(struct json_object *space, struct error *err);
/* Of a space that was checked. Caller puts the result. */
struct json_object *hparams_sample(struct json_object *space, struct rng *rng);

#endif
