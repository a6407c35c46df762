#include "common/task/taskproto.h"

#include <string.h>

#include "common/base/bytes.h"

#define HEADER 4 /* bytes of a frame's length */
#define LINE_MIN (8 + 1 + 1 + 1 + 4 + 4 + 1)

void task_line_encode(const struct task_line *l, struct strbuf *out)
{
    bytes_u64(out, (uint64_t)l->time_us);
    bytes_u8(out, (uint8_t)l->stdtype);
    bytes_u8(out, (uint8_t)l->level);
    bytes_u8(out, l->has_rank);
    bytes_u32(out, (uint32_t)l->rank);
    bytes_string(out, l->text, l->text_n);
}

int task_line_decode(struct cursor *c, struct task_line *ret)
{
    struct task_line l = {0};
    l.time_us = (int64_t)cursor_u64(c);
    l.stdtype = cursor_u8(c);
    l.level = cursor_u8(c);
    l.has_rank = cursor_u8(c) != 0;
    l.rank = (int32_t)cursor_u32(c);
    l.text = cursor_string(c, &l.text_n);
    if (c->bad || l.stdtype < TASK_STDOUT || l.stdtype > TASK_STDERR || l.level > TASK_LEVEL_CRITICAL ||
        memchr(l.text, 0, l.text_n))
        return -1;
    *ret = l;
    return 0;
}

void task_exit_encode(const struct task_exit *e, struct strbuf *out)
{
    bytes_u8(out, (uint8_t)e->kind);
    bytes_u32(out, (uint32_t)e->code);
    bytes_u32(out, (uint32_t)e->signal);
    bytes_u64(out, (uint64_t)e->time_us);
    bytes_string(out, e->text ? e->text : "", e->text ? strlen(e->text) : 0);
}

int task_exit_decode(struct cursor *c, struct task_exit *ret)
{
    struct task_exit e = {0};
    e.kind = cursor_u8(c);
    e.code = (int32_t)cursor_u32(c);
    e.signal = (int32_t)cursor_u32(c);
    e.time_us = (int64_t)cursor_u64(c);
    e.text = cursor_string(c, NULL);
    if (c->bad || e.kind < TASK_EXIT_EXITED || e.kind > TASK_EXIT_REFUSED)
        return -1;
    *ret = e;
    return 0;
}

void task_frame_encode(const struct task_frame *f, struct strbuf *out)
{
    size_t at = out->n;
    bytes_u32(out, 0);
    bytes_u8(out, (uint8_t)f->type);
    switch (f->type) {
    case TASK_FRAME_HELLO:
        bytes_u32(out, f->hello.protocol);
        bytes_u64(out, f->hello.resume);
        break;
    case TASK_FRAME_LOG_ACK:
        bytes_u64(out, f->log_ack.seq);
        break;
    case TASK_FRAME_SIGNAL:
        bytes_u32(out, (uint32_t)f->signal.signo);
        break;
    case TASK_FRAME_EXIT_ACK:
        break;
    case TASK_FRAME_HELLO_REPLY:
        bytes_u32(out, f->hello_reply.protocol);
        bytes_u32(out, f->hello_reply.pid);
        bytes_u8(out, (uint8_t)f->hello_reply.state);
        bytes_u64(out, f->hello_reply.last);
        break;
    case TASK_FRAME_LOGS:
        bytes_u64(out, f->logs.first);
        bytes_u32(out, f->logs.count);
        strbuf_add(out, f->logs.lines, f->logs.lines_n);
        break;
    case TASK_FRAME_EXIT:
        task_exit_encode(&f->exit, out);
        break;
    }
    bytes_set_u32(out, at, (uint32_t)(out->n - at - HEADER));
}

static int decode_logs(struct cursor *c, struct task_frame *f)
{
    f->logs.first = cursor_u64(c);
    f->logs.count = cursor_count(c, LINE_MIN);
    f->logs.lines = c->p;
    f->logs.lines_n = c->n;
    struct task_line l;
    for (uint32_t i = 0; i < f->logs.count; i++)
        if (task_line_decode(c, &l) < 0)
            return -1;
    return 0;
}

/* Reads the fields of one frame; the caller checks that they fill it exactly. */
static int decode_fields(struct cursor *c, struct task_frame *f)
{
    switch (f->type) {
    case TASK_FRAME_HELLO:
        f->hello.protocol = cursor_u32(c);
        f->hello.resume = cursor_u64(c);
        return 0;
    case TASK_FRAME_LOG_ACK:
        f->log_ack.seq = cursor_u64(c);
        return 0;
    case TASK_FRAME_SIGNAL:
        f->signal.signo = (int32_t)cursor_u32(c);
        return f->signal.signo >= 1 && f->signal.signo <= 64 ? 0 : -1;
    case TASK_FRAME_EXIT_ACK:
        return 0;
    case TASK_FRAME_HELLO_REPLY:
        f->hello_reply.protocol = cursor_u32(c);
        f->hello_reply.pid = cursor_u32(c);
        f->hello_reply.state = cursor_u8(c);
        f->hello_reply.last = cursor_u64(c);
        return f->hello_reply.state == TASK_RUNNING || f->hello_reply.state == TASK_EXITED ? 0 : -1;
    case TASK_FRAME_LOGS:
        return decode_logs(c, f);
    case TASK_FRAME_EXIT:
        return task_exit_decode(c, &f->exit);
    }
    return -1;
}

int task_frame_decode(const void *data, size_t n, struct task_frame *ret, size_t *ret_used, struct error *err)
{
    struct cursor c = cursor_of(data, n);
    if (n < HEADER)
        return 0;
    uint32_t length = cursor_u32(&c);
    if (length < 1 || length > TASK_FRAME_MAX)
        return error_set(err, ERR_INVALID, "a frame has %u bytes; allowed are 1 to %d", length, TASK_FRAME_MAX);
    if (c.n < length)
        return 0;
    c.n = length;
    struct task_frame f = {.type = cursor_u8(&c)};
    if (decode_fields(&c, &f) < 0 || !cursor_done(&c))
        return error_set(err, ERR_INVALID, "a malformed frame of type %d, %u bytes", (int)f.type, length);
    *ret = f;
    *ret_used = HEADER + length;
    return 1;
}
