/* The log of a task that has no supervisor yet. The agent itself puts lines about what it does for the task, which may
 * take minutes, into the task's spool, and sends them; the supervisor goes on with the next number. */
#include "agent/task/task_internal.h"

#include "common/base/bytes.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/utf8.h"

#define LINE_BYTES_MAX (TASK_LINE_MAX - 1)

int task_open_log(struct task *t, struct error *err)
{
    if (t->log)
        return 0;
    cleanup_close int dir = taskdir_open_spool(&t->rt->dir, err);
    return dir < 0 ? -1 : spool_open(take_fd(dir), TASKDIR_SPOOL_MAX, &t->log, err);
}

void task_send_log(struct task *t, uint64_t after)
{
    struct spool_batch batch = {0};
    while (t->log && link_is_up(t->agent->link) && !t->discard &&
           spool_read(t->log, after, TASK_BATCH_BYTES, &batch, NULL) == 0 && batch.count) {
        task_send_lines(t, batch.first, batch.count, batch.line.s, batch.line.n);
        after = batch.first + batch.count - 1;
    }
    t->log_sent = after;
    strbuf_release(&batch.line);
}

void task_close_log(struct task *t)
{
    spool_free(t->log);
    t->log = NULL;
}

/* Adds a text whose bytes may be no UTF-8. */
static void add_text(struct strbuf *b, const char *s, size_t n)
{
    for (size_t length; n > 0; s += length ? length : 1, n -= length ? length : 1) {
        length = utf8_sequence(s, n);
        if (length)
            strbuf_add(b, s, length);
        else
            strbuf_adds(b, UTF8_REPLACEMENT);
    }
}

void task_log_line(struct task *t, const char *line, size_t n)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    add_text(&text, line, n < LINE_BYTES_MAX ? n : LINE_BYTES_MAX);
    strbuf_addc(&text, '\n');
    struct task_line l = {
        .time_us = clock_now_us(), .stdtype = TASK_STDOUT, .level = TASK_LEVEL_INFO, .text = text.s, .text_n = text.n};
    if (!t->log)
        return;
    spool_append(t->log, &l);
    if (spool_flush(t->log, NULL) == 0) /* otherwise the disk is full, and the next line tries again */
        task_send_log(t, t->log_sent);
}
