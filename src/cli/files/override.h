/* Applies --config key=value to a configuration before it is sent. */
#ifndef DET_CLI_FILES_OVERRIDE_H
#define DET_CLI_FILES_OVERRIDE_H

#include "common/base/error.h"
#include "common/json/json.h"

/* `key` is a path with dots. The value is a YAML scalar, a list if it has commas, or YAML if it starts with [ or {.
 * bind_mounts is always a list. Objects are merged, everything else is replaced. */
int override_apply(struct json_object *config, const char *key_value, struct error *err);

#endif
