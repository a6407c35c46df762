/* The supervisor's end of its socket: one agent at a time, frames in, frames out, never blocking. */
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
void agentlink_drop(struct agentlink *l); /* the connection, not the listener */
/* The newest connection wins, since an agent that lost its end connects anew. Only our own user and root may. */
bool agentlink_accept(struct agentlink *l);
/* Reads what is there and hands over whole frames. The connection may be gone afterwards. */
void agentlink_receive(struct agentlink *l, agentlink_frame_fn *fn, void *ctx);
void agentlink_send(struct agentlink *l, const struct task_frame *f);
void agentlink_flush(struct agentlink *l);

#endif
