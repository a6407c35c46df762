/* Configurations without their secrets: the credentials of storages and registries, `data.secrets`. Whoever may change
 * an experiment sees them (api/pipeline/access.h), everybody else what stands for them. */
#ifndef DET_CORE_CONFIG_EXPCONF_SECRETS_H
#define DET_CORE_CONFIG_EXPCONF_SECRETS_H

#include "common/base/arena.h"

/* Hides the secrets of an effective configuration or a template, given as JSON. If there is no secret, the result is
 * the text itself. `shown` replaces each secret; if it is NULL, each secret becomes null, as if it were not set. For a
 * NULL text the result is NULL. */
const char *expconf_hide_secrets(const char *json, const char *shown, struct arena *a);
/* Does the same with ******** for YAML that somebody has written. If there is a secret, the result does not keep the
 * text's comments and layout. */
const char *expconf_hide_secrets_yaml(const char *yaml, struct arena *a);

#endif
