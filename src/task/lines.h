/* Cuts what a task writes into log lines (docs/spec/logs.md#lines).
 *
 * A line ends at \n or at \r (progress bars write \r), and \r\n is one end; each end is kept as \n. A line of more
 * than TASK_LINE_MAX bytes is cut there, between two characters. Then, in this order: ` ?[rank=N] ?` at the
 * beginning becomes the rank and ` ?LEVEL: ?` the level, and both are taken out of the text; bytes that are not
 * UTF-8 become U+FFFD, and a zero byte becomes UTF8_NUL; eight asterisks replace each secret, because many scripts
 * print their whole environment, and more people may read a log than own the task. */
#ifndef DET_TASK_LINES_H
#define DET_TASK_LINES_H

#include "common/base/strbuf.h"
#include "common/task/taskproto.h"

typedef void line_fn(void *ctx, const struct task_line *line); /* the text is valid until the function returns */

/* bytes; a shorter secret could be an ordinary word, and is not hidden */
enum { LINE_SECRETS_MAX = 2, LINE_SECRET_MIN = 16 };

struct line_framer {
    enum task_stdtype stdtype;
    line_fn *fn;
    void *ctx;
    char buf[TASK_LINE_MAX];
    size_t n;
    bool after_cr;
    struct strbuf text; /* reused for each line */
    const char *secret[LINE_SECRETS_MAX];
    int secret_n;
};

void line_framer_init(struct line_framer *f, enum task_stdtype stdtype, line_fn *fn, void *ctx);
/* Hides this text in all lines. The caller keeps `secret` alive as long as the framer. */
void line_framer_hide(struct line_framer *f, const char *secret);
void line_framer_feed(struct line_framer *f, const char *data, size_t n, int64_t now_us);
/* The output has ended: what is left in the buffer becomes a line without \n. */
void line_framer_end(struct line_framer *f, int64_t now_us);
void line_framer_release(struct line_framer *f);

#endif
