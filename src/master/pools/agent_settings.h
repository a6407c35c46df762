/* The settings of an agent on a machine that a provider launches: what the administrator gives in
 * agent_config_file_contents, replaced where the pool has to set it. */
#ifndef DET_MASTER_POOLS_AGENT_SETTINGS_H
#define DET_MASTER_POOLS_AGENT_SETTINGS_H

#include "master/pools/provider.h"

/* Returns a new object, which the caller puts, without the agent's id and token. master_cert is the path of the
 * master's certificate on the agent's machine; "": the agent is to know it otherwise. */
struct json_object *agent_settings(const struct provider_setup *s, const char *master_cert);

#endif
