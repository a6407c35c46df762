/* What is hidden of agents if roles say who may see what (security.authz.type: rbac), from everybody without the
 * permission to view sensitive information of agents: containers of tasks that the one who asks may not see, addresses,
 * and the UUIDs of devices. Nothing is left out, so that counts stay right: texts become stars, and numbers -1. Call
 * these functions on the loop, with what agent_views.h has made. */
#ifndef DET_API_CLUSTER_AGENT_HIDING_H
#define DET_API_CLUSTER_AGENT_HIDING_H

#include "api/pipeline/handler.h"

/* Whether anything could be hidden from the one who asks. */
bool agent_hides(const struct req *r);
void agent_hide(struct req *r, const struct core *core, struct wire_agent *agent);
void agent_hide_slot(struct req *r, const struct core *core, struct wire_agent_slot *slot);

#endif
