/* Where a checkpoint storage that is a directory keeps its checkpoints: each in a
 * subdirectory named by its UUID. */
#ifndef DET_COMMON_TASK_CHECKPOINT_PLACE_H
#define DET_COMMON_TASK_CHECKPOINT_PLACE_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/base/error.h"

struct json_object;

/* `storage` is a checkpoint_storage. ERR_UNIMPLEMENTED for the kinds that are no directories. */
int checkpoint_place(struct json_object *storage, struct arena *a, const char **ret, struct error *err);
bool checkpoint_uuid_is_valid(const char *text); /* safe as the name of a directory */

#endif
