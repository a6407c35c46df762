/* System metrics of trials that their agents measure (agent/profile.h) become reports of those trials, in the groups
 * that the library's own profiler has. Nobody waits for them: what cannot be taken is logged and dropped. */
#ifndef DET_MASTER_AGENT_METRICS_H
#define DET_MASTER_AGENT_METRICS_H

#include "common/arena.h"
#include "gen/wire.h"

struct master;

/* Loop. The message's memory, `a`, is taken over when it is stored. */
void agent_metrics_take(struct master *m, const char *agent_id, const struct wire_link_task_metrics *in, struct arena *a);

#endif
