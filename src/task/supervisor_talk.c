/* What the supervisor and its agent say to each other: lines in batches, of which at most TASK_WINDOW bytes are
 * unacknowledged at a time; the exit after the last of them; and signals for the task. */
#include "task/supervisor_internal.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/system/log.h"

static void on_hello(struct supervisor *s, uint64_t resume)
{
    spool_ack(s->spool, resume);
    s->greeted = true;
    s->exit_sent = false;
    s->sent = spool_acked(s->spool);
    s->under_way_n = s->under_way_bytes = 0;
    s->unsent_since_us = 0; /* lines that are there have waited long enough */
    struct task_frame f = {.type = TASK_FRAME_HELLO_REPLY};
    f.hello_reply.protocol = TASK_PROTOCOL;
    f.hello_reply.pid = (uint32_t)s->pid;
    f.hello_reply.state = s->phase == EXITED ? TASK_EXITED : TASK_RUNNING;
    f.hello_reply.last = spool_last(s->spool);
    agentlink_send(&s->link, &f);
}

static void on_log_ack(struct supervisor *s, uint64_t seq)
{
    if (seq > s->sent)
        return;
    spool_ack(s->spool, seq);
    size_t n = 0;
    while (n < s->under_way_n && s->under_way[n].last <= seq)
        s->under_way_bytes -= s->under_way[n++].bytes;
    s->under_way_n -= n;
    memmove(s->under_way, s->under_way + n, s->under_way_n * sizeof(s->under_way[0]));
}

void supervisor_hear(void *ctx, const struct task_frame *f)
{
    struct supervisor *s = ctx;
    if (f->type == TASK_FRAME_HELLO)
        on_hello(s, f->hello.resume);
    else if (!s->greeted)
        agentlink_drop(&s->link);
    else if (f->type == TASK_FRAME_LOG_ACK)
        on_log_ack(s, f->log_ack.seq);
    else if (f->type == TASK_FRAME_SIGNAL)
        supervisor_signal(s, f->signal.signo);
    else if (f->type == TASK_FRAME_EXIT_ACK)
        s->exit_acked = s->phase == EXITED && s->exit_sent;
    else
        agentlink_drop(&s->link);
}

bool supervisor_all_told(const struct supervisor *s)
{
    return s->sent >= spool_last(s->spool);
}

/* When no lines are under way, new lines are sent at once, so that the line of a quiet task is seen immediately.
 * Otherwise they wait LINGER_US for more. */
static bool may_send(const struct supervisor *s)
{
    if (!s->greeted || s->link.fd < 0 || supervisor_all_told(s))
        return false;
    if (s->under_way_bytes >= TASK_WINDOW || s->under_way_n == BATCHES_MAX || s->link.out.n >= TASK_WINDOW)
        return false;
    return s->under_way_n == 0 || s->phase != RUNNING || s->unsent_bytes >= TASK_BATCH_BYTES ||
           clock_monotonic_us() - s->unsent_since_us >= LINGER_US;
}

static bool send_batch(struct supervisor *s)
{
    cleanup_error struct error err = ERROR_INIT;
    if (spool_read(s->spool, s->sent, TASK_BATCH_BYTES, &s->batch, &err) < 0)
        log_error("task.spool", "error=%s", log_quote(error_msg(&err)));
    if (!s->batch.count)
        return false;
    struct task_frame f = {.type = TASK_FRAME_LOGS};
    f.logs.first = s->batch.first;
    f.logs.count = s->batch.count;
    f.logs.lines = s->batch.line.s;
    f.logs.lines_n = s->batch.line.n;
    agentlink_send(&s->link, &f);
    s->sent = s->batch.first + s->batch.count - 1;
    s->under_way[s->under_way_n].last = s->sent;
    s->under_way[s->under_way_n++].bytes = s->batch.line.n;
    s->under_way_bytes += s->batch.line.n;
    s->unsent_bytes -= s->batch.line.n < s->unsent_bytes ? s->batch.line.n : s->unsent_bytes;
    if (supervisor_all_told(s))
        s->unsent_bytes = 0;
    return true;
}

void supervisor_talk(struct supervisor *s)
{
    while (may_send(s) && send_batch(s))
        ;
    if (s->greeted && s->phase == EXITED && supervisor_all_told(s) && !s->exit_sent) {
        struct task_frame f = {.type = TASK_FRAME_EXIT, .exit = s->exit};
        agentlink_send(&s->link, &f);
        s->exit_sent = true;
    }
    agentlink_flush(&s->link);
    if (s->link.fd < 0)
        s->greeted = false;
}
