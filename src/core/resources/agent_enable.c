/* Users disable and enable agents and slots. What they wish is part of the agent's row, so it outlives restarts of
 * the agent and of the master. */
#include "core/resources/agents.h"

#include <string.h>

#include "core/resources/allocation.h"
#include "core/resources/quarantine.h"
#include "core/state/step.h"

/* Finds the agent of a request to enable or disable it. An agent that is lost is found, too: its row keeps the setting
 * in case the agent comes back. */
static struct agent *find_connected(const struct core *c, const char *id, struct error *err)
{
    struct agent *agent = agent_find(c, id);
    if (!agent || (agent->presence == AGENT_GONE && agent->row.lost_us == 0)) {
        error_set(err, ERR_NOT_FOUND, "agent '%s' not found", id);
        return NULL;
    }
    if (agent->presence == AGENT_AWAY) {
        error_set(err, ERR_PRECONDITION, "agent disconnected, wait for recovery");
        return NULL;
    }
    return agent;
}

static void kill_all_on(struct core *c, struct agent *agent)
{
    struct container *k;
    LIST_FOREACH(k, &agent->containers, in_agent)
        allocation_kill(c, k->allocation, "agent disabled");
}

static void keep_reason(struct agent_row *row, const char *reason)
{
    size_t n = strnlen(reason, sizeof(row->disabled_reason) - 1);
    memcpy(row->disabled_reason, reason, n);
    row->disabled_reason[n] = '\0';
}

int agent_enable(struct core *c, const char *id, bool enable, bool drain, const char *reason, struct error *err)
{
    struct agent *agent = find_connected(c, id, err);
    if (!agent)
        return -1;
    agent->row.enabled = enable;
    agent->row.draining = !enable && drain;
    if (enable) {
        agent->row.disabled_slot_n = agent->row.trouble_n = 0; /* enabling an agent enables all its slots */
        quarantine_forget(&agent->row);
    }
    if (enable || reason)
        keep_reason(&agent->row, enable ? "" : reason);
    record_touch(c, &agent->record);
    agent_changed(c, agent);
    if (!enable && !drain)
        kill_all_on(c, agent);
    return 0;
}

static void forget_trouble(struct agent_row *row, int32_t device_id)
{
    int kept = 0;
    for (int i = 0; i < row->trouble_n; i++)
        if (row->trouble[i].device_id != device_id)
            row->trouble[kept++] = row->trouble[i];
    row->trouble_n = kept;
}

static void forget_disabled(struct agent *agent, int32_t device_id)
{
    int i = agent_find_disabled(agent, device_id);
    forget_trouble(&agent->row, device_id);
    if (i < 0)
        return;
    int last = --agent->row.disabled_slot_n;
    agent->row.disabled_slot[i] = agent->row.disabled_slot[last];
    agent->row.slot_draining[i] = agent->row.slot_draining[last];
}

/* Notes a disabled slot in the agent's row. Entries for devices that the agent does not have any more are dropped
 * first, because the row has room for only as many entries as an agent has devices. */
static void remember_disabled(struct agent *agent, int32_t device_id, bool drain)
{
    for (int i = agent->row.disabled_slot_n - 1; i >= 0; i--)
        if (!agent_slot(agent, agent->row.disabled_slot[i]))
            forget_disabled(agent, agent->row.disabled_slot[i]);
    int i = agent->row.disabled_slot_n++;
    agent->row.disabled_slot[i] = device_id;
    agent->row.slot_draining[i] = drain;
}

int slot_enable(struct core *c, const char *id, int32_t device_id, bool enable, bool drain, struct error *err)
{
    struct agent *agent = find_connected(c, id, err);
    if (!agent)
        return -1;
    struct slot *s = agent_slot(agent, device_id);
    if (!s)
        return error_set(err, ERR_NOT_FOUND, "slot '%d' not found on agent '%s'", device_id, id);
    forget_disabled(agent, device_id);
    if (!enable)
        remember_disabled(agent, device_id, drain);
    record_touch(c, &agent->record);
    agent_changed(c, agent);
    if (!enable && !drain && s->container)
        allocation_kill(c, s->container->allocation, "slot disabled");
    return 0;
}

/* The row has room for the reasons of some slots; the oldest makes room for a new one. */
static void remember_trouble(struct agent_row *row, const struct core_device_trouble *t)
{
    if (row->trouble_n == CORE_TROUBLES_MAX)
        forget_trouble(row, row->trouble[0].device_id);
    struct slot_trouble *s = &row->trouble[row->trouble_n++];
    size_t n = strnlen(t->reason, sizeof(s->reason) - 1);
    s->device_id = t->id;
    memcpy(s->reason, t->reason, n);
    s->reason[n] = '\0';
}

void slots_take_troubles(struct core *c, struct agent *agent, const struct core_device_trouble *trouble, size_t n)
{
    int64_t seen_us = agent->row.trouble_us;
    for (size_t i = 0; i < n; i++) {
        if (trouble[i].since_us <= seen_us || !agent_slot(agent, trouble[i].id))
            continue;
        forget_disabled(agent, trouble[i].id);
        remember_disabled(agent, trouble[i].id, /* drain= */ true);
        remember_trouble(&agent->row, &trouble[i]);
        if (trouble[i].since_us > agent->row.trouble_us)
            agent->row.trouble_us = trouble[i].since_us;
        record_touch(c, &agent->record);
    }
}
