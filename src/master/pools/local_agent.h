/* One agent of the provider `local`: its settings, and its start as a process. */
#ifndef DET_MASTER_POOLS_LOCAL_AGENT_H
#define DET_MASTER_POOLS_LOCAL_AGENT_H

#include <sys/types.h>

#include "master/pools/provider.h"

int local_agent_slots(struct json_object *config); /* of each, by the provider's configuration */

/* Makes the directory with agent.json and token, which is the agent's data directory, too, and runs the program, with
 * agent.log beside them. On failure the directory may be there, in part. */
int local_agent_start(const struct provider_setup *s, const char *program, const char *id, const char *directory,
                      pid_t *ret, struct error *err);

#endif
