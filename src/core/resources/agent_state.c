/* Finding agents, asking for their slots, and noting that one has changed. This file calls no other file of the
 * core. */
#include "core/resources/agents.h"

#include <string.h>

struct agent *agent_find(const struct core *c, const char *id)
{
    struct agent *agent = NULL;
    HASH_FIND_STR(c->agents, id, agent);
    return agent;
}

void agent_revised(struct core *c, struct agent *agent)
{
    agent->revision = ++c->last_revision;
}

void agent_changed(struct core *c, struct agent *agent)
{
    agent_revised(c, agent);
    agent->pool->changed = true;
    if (agent->stale)
        return;
    agent->stale = true;
    LIST_INSERT_HEAD(&agent->pool->stale, agent, in_stale);
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

int agent_find_disabled(const struct agent *agent, int32_t device_id)
{
    for (int i = 0; i < agent->row.disabled_slot_n; i++)
        if (agent->row.disabled_slot[i] == device_id)
            return i;
    return -1;
}

const char *slot_reason(const struct agent *agent, int32_t device_id)
{
    for (int i = agent->row.trouble_n - 1; i >= 0; i--)
        if (agent->row.trouble[i].device_id == device_id)
            return agent->row.trouble[i].reason;
    return "";
}

bool slot_usable(const struct agent *agent, const struct slot *s)
{
    return agent->row.enabled && !s->device.lost && agent_find_disabled(agent, s->device.id) < 0;
}

int agent_slots_used(const struct agent *agent)
{
    int used = 0;
    for (size_t i = 0; i < agent->slot_n; i++)
        used += agent->slot[i].container != NULL;
    return used;
}

int agent_aux_used(const struct agent *agent)
{
    int used = 0;
    const struct container *k;
    LIST_FOREACH(k, &agent->containers, in_agent)
        used += k->row.device_n == 0;
    return used;
}

struct sched_needs agent_needs_held(const struct agent *agent)
{
    struct sched_needs held = {0};
    const struct container *k;
    LIST_FOREACH(k, &agent->containers, in_agent) {
        const struct allocation_row *row = &k->allocation->row;
        needs_add(&held, &(struct sched_needs){row->millicores, row->memory_bytes}, 1);
    }
    return held;
}

struct slot *agent_slot(struct agent *agent, int32_t device_id)
{
    for (size_t i = 0; i < agent->slot_n; i++)
        if (agent->slot[i].device.id == device_id)
            return &agent->slot[i];
    return NULL;
}
