/* Byte streams from the master to ports of this agent's tasks (docs/spec/agents.md#streams). The master opens them
 * within the link; this end connects to the port and joins the two. A task's ports are those of StartTask.proxyPorts,
 * and every other port is refused. All on the loop. */
#ifndef DET_AGENT_STREAMS_H
#define DET_AGENT_STREAMS_H

#include <stddef.h>

#include "common/base/error.h"

struct agent;
struct agent_streams;

struct agent_streams *agent_streams_new(struct agent *a);
void agent_streams_free(struct agent_streams *s); /* NULL is accepted */

/* The link is up, and its master may open streams; the link is down, which ends all of them. */
void agent_streams_up(struct agent_streams *s);
void agent_streams_down(struct agent_streams *s);
/* A binary message of the link. Fails if it breaks the protocol: then the link is to be closed. */
int agent_streams_receive(struct agent_streams *s, const void *data, size_t n, struct error *err);
void agent_streams_drained(struct agent_streams *s); /* nothing waits in the link any more */
/* The task has ended: its streams end, too, as soon as nothing waits in them any more. */
void agent_streams_task_over(struct agent_streams *s, const char *container_id);

#endif
