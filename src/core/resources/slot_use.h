/* resources.max_idle_time: an allocation whose slots are not used for so long is warned, then stopped for good
 * (docs/spec/lifecycle.md#max_idle_time).
 *
 * Agents measure. Each says, about each container that it was asked about, for how long its slots have not been in use;
 * nothing is decided on what no agent has said. So no time has to be stored: after a restart of the master, or of the
 * connection, agents say it again. Only whether the log has a warning is in the allocation's row. */
#ifndef DET_CORE_RESOURCES_SLOT_USE_H
#define DET_CORE_RESOURCES_SLOT_USE_H

#include "core/state/objects.h"

/* How often agents are to tell: ten times within the limit, at most and at least so often. */
enum { SLOT_USE_EVERY_MAX_US = 30000000, SLOT_USE_EVERY_MIN_US = 200000 };

/* How often the agents of this allocation are to tell; 0: never, because it has no limit or no slots. */
int64_t slot_use_every_us(const struct allocation *a);
/* To be called when the allocation has its agents. Its log says so if one of them cannot tell. */
void slot_use_begin(struct core *c, struct allocation *a);
void slot_use_told(struct core *c, const struct core_event *ev); /* CORE_AGENT_USE */
/* To be called when the agent's connection is lost: what it has said does not count any more. */
void slot_use_forget(struct agent *agent);

#endif
