/* Quarantine: an agent on whose machine tasks have failed three times within an hour for reasons of the host gets no
 * new tasks, until an administrator enables it. What runs there goes on. An agent in quarantine is a disabled agent
 * that drains, with a reason, so it is treated like any other disabled agent: lists show the reason, and a restart of
 * the master keeps it.
 *
 * Reasons of the host are those of exit_kind_is_node_fault(): the agent could not start the task, or it was lost with
 * the task on it. What is wrong with the task itself is another kind (TASK_REFUSED). */
#ifndef DET_CORE_RESOURCES_QUARANTINE_H
#define DET_CORE_RESOURCES_QUARANTINE_H

#include "core/state/objects.h"

#define QUARANTINE_PERIOD_US INT64_C(3600000000)
/* Losses within this time have one cause, on one agent as on several. An agent that falls silent is noticed up to a
 * quarter of resource_manager.agent_link_timeout later than another one that fell silent with it. */
#define QUARANTINE_TOGETHER_US INT64_C(30000000)

/* The decision alone. Notes that a task has failed at this time, and returns whether that makes CORE_HOST_FAULTS_MAX
 * failures within the period. Failures at one time are one: an agent that is lost takes all of its tasks along. So does
 * a container engine that is restarted, whose tasks are reported as lost one after the other: a loss that comes within
 * QUARANTINE_TOGETHER_US of the last failure belongs to it. */
bool quarantine_note(struct agent_row *row, const char *task_id, enum exit_kind kind, int64_t now_us);

/* Has to be called when a container has failed on the agent for a reason of the host. A task that has failed for such a
 * reason on another agent within the period does not count: otherwise one task could take all agents out. */
void quarantine_fault(struct core *c, struct agent *agent, const struct container *k, enum exit_kind kind,
                      const char *text);
/* Whether most agents of the pool, this one and at least one other among them, are away or were lost a short time ago.
 * Then the network or the master's machine has failed, and the loss says nothing about this agent's host. */
bool quarantine_is_common_loss(const struct core *c, const struct agent *agent);
/* An administrator has enabled the agent: earlier failures do not count any more. */
void quarantine_forget(struct agent_row *row);

#endif
