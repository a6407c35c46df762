/* Makes messages of the contract from the core's views of agents and slots. Everything is copied into the arena. */
#ifndef DET_API_CLUSTER_AGENT_VIEWS_H
#define DET_API_CLUSTER_AGENT_VIEWS_H

#include "core/core.h"
#include "gen/wire.h"

enum wire_container_state container_state_to_wire(enum container_state state);
void agent_to_wire(const struct core *core, const struct core_agent_view *v, bool slots, bool containers,
                   struct arena *a, struct wire_agent *ret);
void slot_to_wire(const struct core_slot_view *s, struct arena *a, struct wire_agent_slot *ret);

#endif
