/* The supervisor's end of the socket over which agent and supervisor talk. One agent is connected at a time. No call
 * blocks. */
#ifndef DET_TASK_AGENTLINK_H
#define DET_TASK_AGENTLINK_H

#include <poll.h>
#include <stdbool.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "common/task/taskproto.h"

struct agentlink {
    int listener, fd; /* fd -1: nobody is connected */
    struct strbuf in, out;
};

typedef void agentlink_frame_fn(void *ctx, const struct task_frame *f);

int agentlink_open(struct agentlink *l, int dir, struct error *err); /* listens at `socket` in the directory */
void agentlink_close(struct agentlink *l);
void agentlink_drop(struct agentlink *l); /* Closes the connection. The listener stays open. */
/* Accepts a connection that waits, and drops the present one: an agent that has lost its end connects anew. Only root
 * and the user of this process may connect. Returns whether there is a new connection. */
bool agentlink_accept(struct agentlink *l);
/* Reads what has come and passes each whole frame to `fn`. The connection may be closed afterwards, by `fn` or because
 * it broke. */
void agentlink_receive(struct agentlink *l, agentlink_frame_fn *fn, void *ctx);
void agentlink_send(struct agentlink *l, const struct task_frame *f);
void agentlink_flush(struct agentlink *l);

#endif
