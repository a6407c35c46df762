/* The agent's end of the connection to a task's supervisor (common/task/taskproto.h). Callbacks run on the loop's
 * thread. on_close is called once, after which the object is freed; after supervisor_free() it is not called any
 * more. */
#ifndef DET_AGENT_TASK_SUPERVISOR_H
#define DET_AGENT_TASK_SUPERVISOR_H

#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/task/taskproto.h"
#include "net/loop/loop.h"

struct supervisor;

struct supervisor_handler {
    /* `lines` is read by task_line_decode() */
    void (*on_logs)(void *ctx, uint64_t first, uint32_t count, const void *lines, size_t n);
    /* called after the last line */
    void (*on_exit)(void *ctx, const struct task_exit *e);
    void (*on_close)(void *ctx, const char *why);
    void *ctx;
};

/* Connects to the supervisor that listens in `dir`. All lines up to `resume` are stored for good already. ERR_NOT_FOUND
 * or ERR_IO if no supervisor listens there. */
int supervisor_connect(struct loop *l, const char *dir, uint64_t resume, const struct supervisor_handler *h,
                       struct supervisor **ret, struct error *err);
void supervisor_ack_logs(struct supervisor *s, uint64_t seq);
void supervisor_signal(struct supervisor *s, int signo);
void supervisor_ack_exit(struct supervisor *s);
pid_t supervisor_pid(const struct supervisor *s); /* 0: unknown */
void supervisor_free(struct supervisor *s);       /* the task goes on */

#endif
