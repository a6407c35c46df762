/* Hyperparameters: samples from the space that the configuration describes, and its points as a grid.
 *
 * A space is an object: name → constant, or {"type": const|int|double|log|categorical, …}, or a nested space. Names are
 * drawn in byte order at every level, so that the same seed gives the same sample. */
#ifndef DET_CORE_SEARCHER_HPARAMS_H
#define DET_CORE_SEARCHER_HPARAMS_H

#include "common/base/error.h"
#include "common/base/rng.h"
#include "common/json/json.h"

int hparams_check(struct json_object *space, struct error *err);
/* Draws one sample. The space must have been checked. The caller puts the result. */
struct json_object *hparams_sample(struct json_object *space, struct rng *rng);

/* A grid has one axis for each hyperparameter, in byte order of the names at every level; the first axis varies
 * slowest. Each point is made from its index, so that a large grid takes no memory. */
#define HPARAMS_GRID_MAX (INT64_C(1) << 53)
/* The space must have been checked. */
int hparams_grid_size(struct json_object *space, int64_t *ret, struct error *err);
struct json_object *hparams_grid_point(struct json_object *space, int64_t index); /* the caller puts the result */

#endif
