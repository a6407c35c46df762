/* Agents: which ones there are, their slots, and what runs on them.
 *
 * An agent whose connection breaks has agent_reconnect_wait to come back; until then the core takes its containers to
 * run on. An agent that comes tells which containers it knows, and both sides are brought together
 * (docs/spec/agents.md): those that it knows go on or have ended, starts that it never heard of are sent again, those
 * that it has lost end as RESTORE_ERROR, and those that it should not run are killed. */
#ifndef DET_CORE_RESOURCES_AGENTS_H
#define DET_CORE_RESOURCES_AGENTS_H

#include "core/state/objects.h"

enum { AGENTS_MAX = 10000 };

int agent_connected(struct core *c, const struct core_event *ev, struct error *err);
void agent_disconnected(struct core *c, const char *id);
void agent_timer(struct core *c, struct timer *t);
/* Enables or disables an agent. reason: why it is disabled; NULL: the reason that is known, if any, stays. */
int agent_enable(struct core *c, const char *id, bool enable, bool drain, const char *reason, struct error *err);
int slot_enable(struct core *c, const char *id, int32_t device_id, bool enable, bool drain, struct error *err);
void agent_container_changed(struct core *c, const char *agent_id, const struct core_container_report *r);

struct agent *agent_find(const struct core *c, const char *id);
struct agent *agent_restore(struct core *c, const struct agent_row *row);
void agent_await(struct core *c,
                 struct agent *agent); /* to be called after a restart of the master: waits for the agent to connect */
void agent_free(struct core *c, struct agent *agent);
int agent_remove(struct core *c, const char *id, struct error *err); /* takes a lost agent off the list of agents */
int agent_label(struct core *c, const char *id, const char *label, struct error *err); /* names an agent, for people */
/* The agent's machine is gone for good: containers there have failed, the agent's row is deleted, and the agent is
 * freed. It must not be connected. */
void agent_forget(struct core *c, struct agent *agent);

/* Has to be called when something about the agent has changed that the scheduler must know. The scheduler is told at
 * the end of the step. */
void agent_changed(struct core *c, struct agent *agent);
/* Has to be called when something about the agent or its containers has changed that lists show
 * (core_agent_view.revision). */
void agent_revised(struct core *c, struct agent *agent);

/* These functions are about devices and slots. */
void agent_devices_changed(struct core *c, const struct core_event *ev);
struct slot *agent_slot(struct agent *agent, int32_t device_id);
int agent_find_disabled(const struct agent *agent,
                        int32_t device_id); /* the index of the device in row.disabled_slot; -1: the slot is enabled */
/* The reason for which a check of health has disabled the slot; "" if none has. */
const char *slot_reason(const struct agent *agent, int32_t device_id);
/* Disables the slots whose devices have failed since the agent last told of a failure. What runs there goes on: it
 * fails by itself, or it does not need the device any more. */
void slots_take_troubles(struct core *c, struct agent *agent, const struct core_device_trouble *trouble, size_t n);
bool slot_usable(const struct agent *agent, const struct slot *s);
int agent_slots_used(const struct agent *agent);
int agent_aux_used(const struct agent *agent);
/* The cores and the memory that the containers on the agent have asked for. */
struct sched_needs agent_needs_held(const struct agent *agent);

#endif
