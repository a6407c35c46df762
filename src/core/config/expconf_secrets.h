/* Shows configurations without their secrets: the credentials of storages and registries, and `data.secrets`. Users
 * who may change an experiment see its secrets (api/pipeline/access.h); all others see a replacement. */
#ifndef DET_CORE_CONFIG_EXPCONF_SECRETS_H
#define DET_CORE_CONFIG_EXPCONF_SECRETS_H

#include "common/base/arena.h"

/* Replaces the secrets of an effective configuration or a template, which is JSON. Returns the text itself if it has
 * no secret. `shown` replaces each secret; if `shown` is NULL, null does, as if the secret were not set. NULL gives
 * NULL. */
const char *expconf_hide_secrets(const char *json, const char *shown, struct arena *a);
/* Does the same as expconf_hide_secrets() for YAML that a user has written, with ******** for each secret. A text
 * with a secret loses its comments and its form. */
const char *expconf_hide_secrets_yaml(const char *yaml, struct arena *a);

#endif
