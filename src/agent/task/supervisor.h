/* The agent's end of the connection to a task's supervisor (common/task/taskproto.h). Callbacks on the loop's thread;
 * on_close once, after which the object is gone, unless supervisor_free() came first (then there is no on_close). */
#ifndef DET_AGENT_SUPERVISOR_H
#define DET_AGENT_SUPERVISOR_H

#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/task/taskproto.h"
#include "net/loop/loop.h"

struct supervisor;

struct supervisor_handler {
    /* task_line_decode() reads them */
    void (*on_logs)(void *ctx, uint64_t first, uint32_t count, const void *lines, size_t n);
    void (*on_exit)(void *ctx, const struct task_exit *e);                                   /* after the last line */
    void (*on_close)(void *ctx, const char *why);
    void *ctx;
};

/* Everything up to line `resume` is stored for good. ERR_NOT_FOUND or ERR_IO when nobody listens in `dir`. */
int supervisor_connect(struct loop *l, const char *dir, uint64_t resume, const struct supervisor_handler *h,
                       struct supervisor **ret, struct error *err);
void supervisor_ack_logs(struct supervisor *s, uint64_t seq);
void supervisor_signal(struct supervisor *s, int signo);
void supervisor_ack_exit(struct supervisor *s);
pid_t supervisor_pid(const struct supervisor *s); /* 0: unknown */
void supervisor_free(struct supervisor *s); /* the task goes on */

#endif
