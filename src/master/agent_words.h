/* What an agent says is input like any other: a machine that somebody has taken over holds an agent's token, too. Here every
 * field that the master reads is held against its range, before anything is done with it. Whether a report is about a
 * container of that very agent is the core's question, and for log lines the one of agent_reports.c.
 *
 * A message that fails is not carried out in part: the agent is refused with the reason, and comes again. */
#ifndef DET_MASTER_AGENT_WORDS_H
#define DET_MASTER_AGENT_WORDS_H

#include "common/error.h"
#include "gen/wire.h"

int agent_words_check_id(const char *agent_id, struct error *err);
int agent_words_check(const struct wire_link_agent_message *m, struct error *err);

#endif
