/* What the agent and determined-task (the supervisor of one task) say to each other over the Unix socket in the task's
 * directory. Both programs may be of different age: the supervisor outlives the agent that started it.
 *
 *   frame      u32 length of what follows (1 … TASK_FRAME_MAX), u8 type, fields; all little-endian
 *              (common/base/bytes.h)
 *
 *   agent → supervisor
 *     HELLO      u32 protocol, u64 resume       everything up to line `resume` is stored for good; send what follows
 *     LOG_ACK    u64 seq                        everything up to `seq` is stored for good
 *     SIGNAL     u32 signo                      to the task's process group; SIGKILL to every descendant
 *     EXIT_ACK                                  the exit report is stored for good: the supervisor may go
 *   supervisor → agent
 *     HELLO      u32 protocol, u32 pid, u8 state, u64 last    answer to HELLO; `last` is the newest line so far
 *     LOGS       u64 first, u32 count, then per line: u64 time_us, u8 stdtype, u8 level, u8 has_rank, u32 rank, string
 *                text
 *     EXIT       u8 kind, u32 code, u32 signal, u64 time_us, string text    after the last line; again after each HELLO
 *
 * The supervisor says nothing before the agent's HELLO, and sends at most TASK_WINDOW bytes of lines beyond the last
 * acknowledgement. A newer connection replaces the older one. A frame that does not decode ends the connection, not the
 * task. */
#ifndef DET_COMMON_TASK_TASKPROTO_H
#define DET_COMMON_TASK_TASKPROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"

#define TASK_PROTOCOL 1
#define TASK_FRAME_MAX (512 * 1024)
#define TASK_BATCH_BYTES (256 * 1024) /* bytes of lines in one LOGS frame; the last line may exceed it */
#define TASK_WINDOW (1024 * 1024)
#define TASK_LINE_MAX 8192 /* bytes read for one line, its end included */

enum task_frame_type {
    TASK_FRAME_HELLO = 1,
    TASK_FRAME_LOG_ACK = 2,
    TASK_FRAME_SIGNAL = 3,
    TASK_FRAME_EXIT_ACK = 4,
    TASK_FRAME_HELLO_REPLY = 64,
    TASK_FRAME_LOGS = 65,
    TASK_FRAME_EXIT = 66,
};

enum task_stdtype { TASK_STDOUT = 1, TASK_STDERR = 2 };
/* The numbers of log.v1.LogLevel, of which a line's prefix can give these. src/agent/task/task_run.c asserts that they
 * are the same. */
enum task_level {
    TASK_LEVEL_NONE = 0,
    TASK_LEVEL_DEBUG = 2,
    TASK_LEVEL_INFO,
    TASK_LEVEL_WARNING,
    TASK_LEVEL_ERROR,
    TASK_LEVEL_CRITICAL
};
/* The numbers of link.v1.ExitKind. src/agent/task/task_tell.c asserts that they are the same. */
enum task_exit_kind {
    TASK_EXIT_EXITED = 1,
    TASK_EXIT_SIGNALED,
    TASK_EXIT_OUT_OF_MEMORY,
    TASK_EXIT_START_FAILED,
    TASK_EXIT_LOST,
    TASK_EXIT_REFUSED /* the task cannot be started as it was submitted */
};
enum task_run_state { TASK_RUNNING = 1, TASK_EXITED = 2 };

struct task_line {
    int64_t time_us;
    enum task_stdtype stdtype;
    enum task_level level;
    bool has_rank;
    int32_t rank;
    const char *text; /* UTF-8, with UTF8_NUL (common/base/utf8.h) for U+0000 */
    size_t text_n;
};

struct task_exit {
    enum task_exit_kind kind;
    int32_t code;   /* as a shell reports it: 128 + n for signal n */
    int32_t signal; /* 0 if none */
    int64_t time_us;
    const char *text; /* an explanation for people; "" if the code is enough */
};

/* A decoded frame; strings point into the bytes that were given to task_frame_decode(). */
struct task_frame {
    enum task_frame_type type;
    union {
        struct {
            uint32_t protocol;
            uint64_t resume;
        } hello;
        struct {
            uint64_t seq;
        } log_ack;
        struct {
            int32_t signo;
        } signal;
        struct {
            uint32_t protocol, pid;
            enum task_run_state state;
            uint64_t last;
        } hello_reply;
        /* read by task_line_decode() */
        struct {
            uint64_t first;
            uint32_t count;
            const void *lines;
            size_t lines_n;
        } logs;
        struct task_exit exit;
    };
};

void task_frame_encode(const struct task_frame *f, struct strbuf *out);
/* Returns 1 if *ret is filled from the first *ret_used bytes, 0 if more bytes are needed, and -1 if the bytes cannot be
 * a frame. */
int task_frame_decode(const void *data, size_t n, struct task_frame *ret, size_t *ret_used, struct error *err);

void task_line_encode(const struct task_line *l, struct strbuf *out);
struct cursor;
int task_line_decode(struct cursor *c, struct task_line *ret); /* -1 if malformed */

void task_exit_encode(const struct task_exit *e, struct strbuf *out);
int task_exit_decode(struct cursor *c, struct task_exit *ret);

#endif
