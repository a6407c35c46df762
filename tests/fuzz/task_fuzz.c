/* Any bytes as frames between agent and supervisor, as an order, and as an exit report: what is read lies inside the
 * input, and a frame that is read encodes to the bytes it was. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/task/taskproto.h"
#include "common/task/taskspec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void read_lines(const struct task_frame *f)
{
    struct cursor c = cursor_of(f->logs.lines, f->logs.lines_n);
    struct task_line line;
    for (uint32_t i = 0; i < f->logs.count && task_line_decode(&c, &line) == 0; i++)
        require(line.text_n <= f->logs.lines_n && strnlen(line.text, line.text_n + 1) <= line.text_n);
}

static void read_frames(const uint8_t *data, size_t n)
{
    size_t at = 0, used;
    struct task_frame f;
    struct error err cleanup_error = ERROR_INIT;
    while (at < n && task_frame_decode(data + at, n - at, &f, &used, &err) > 0) {
        struct strbuf again cleanup_strbuf = STRBUF_INIT;
        require(used > 4 && used <= n - at);
        if (f.type == TASK_FRAME_LOGS)
            read_lines(&f);
        task_frame_encode(&f, &again);
        require(again.n == used && memcmp(again.s, data + at, used) == 0);
        at += used;
    }
}

static void read_spec(const uint8_t *data, size_t n)
{
    struct arena a cleanup_arena = ARENA_INIT;
    struct error err cleanup_error = ERROR_INIT;
    struct strbuf again cleanup_strbuf = STRBUF_INIT;
    struct taskspec s;
    if (taskspec_decode(data, n, &a, &s, &err) == 0)
        taskspec_encode(&s, &again);
    else
        require(err.kind != ERR_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cursor c = cursor_of(data, n);
    struct task_exit e;
    read_frames(data, n);
    read_spec(data, n);
    if (task_exit_decode(&c, &e) == 0)
        require(strlen(e.text) <= n);
    return 0;
}
