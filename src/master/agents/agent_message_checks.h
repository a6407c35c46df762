/* Checks messages of agents. They are input like any other: whoever has taken over a machine holds an agent's key.
 * Every field that the master reads is held against its range before anything is done with the message. Whether a
 * report is about a container of that very agent is checked by the core, and for log lines by agent_reports.c.
 *
 * No part of a message that fails is carried out: the agent gets the reason, and its connection is closed. */
#ifndef DET_MASTER_AGENTS_AGENT_MESSAGE_CHECKS_H
#define DET_MASTER_AGENTS_AGENT_MESSAGE_CHECKS_H

#include "common/base/error.h"
#include "gen/wire.h"

int agent_message_check_agent_id(const char *agent_id, struct error *err);
int agent_message_check(const struct wire_link_agent_message *m, struct error *err);

#endif
