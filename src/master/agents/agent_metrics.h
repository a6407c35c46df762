/* Agents measure system metrics of trials (agent/task/profile.h). Here these become reports of the trials, in the
 * groups that the library's own profiler uses. Nobody waits for these reports: one that cannot be stored is logged and
 * dropped. */
#ifndef DET_MASTER_AGENTS_AGENT_METRICS_H
#define DET_MASTER_AGENTS_AGENT_METRICS_H

#include "common/base/arena.h"
#include "gen/wire.h"

struct master;

/* Takes a report of metrics from an agent. To be called on the loop. If the report is to be stored, the function takes
 * over the message's memory, `a`. */
void agent_metrics_take(struct master *m, const char *agent_id, const struct wire_link_task_metrics *in,
                        struct arena *a);

#endif
