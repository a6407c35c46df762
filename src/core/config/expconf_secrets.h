/* Configurations without their secrets: the credentials of storages and registries, `data.secrets`. Whoever may change
 * an experiment sees them (api/pipeline/access.h), everybody else what stands for them. */
#ifndef DET_CORE_CONFIG_EXPCONF_SECRETS_H
#define DET_CORE_CONFIG_EXPCONF_SECRETS_H

#include "common/base/arena.h"

/* An effective configuration or a template, as JSON; the text itself if it has no secret. `shown` stands for each
 * secret; NULL: null, as if it were not set. NULL stays NULL. */
const char *expconf_hide_secrets(const char *json, const char *shown, struct arena *a);
/* The same for YAML as somebody has written it, with ********. One with a secret loses its comments and its form. */
const char *expconf_hide_secrets_yaml(const char *yaml, struct arena *a);

#endif
