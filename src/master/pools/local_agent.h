/* One agent of the provider `local`: its settings, and its start as a process. */
#ifndef DET_MASTER_POOLS_LOCAL_AGENT_H
#define DET_MASTER_POOLS_LOCAL_AGENT_H

#include <sys/types.h>

#include "master/pools/provider.h"

/* Returns the slots of each agent, as the provider's configuration says. */
int local_agent_slots(struct json_object *config);

/* Makes the directory with agent.json and the token, which is also the agent's data directory, and runs the program,
 * whose output goes to agent.log in it. If it fails, the directory may have been made in part. */
int local_agent_start(const struct provider_setup *s, const char *program, const char *id, const char *directory,
                      pid_t *ret, struct error *err);

#endif
