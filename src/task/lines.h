/* Makes log lines of what a task writes (docs/spec/logs.md#lines).
 *
 * A line ends at \n or at \r (progress bars), and \r\n is one end; either is kept as \n. A line that grows beyond
 * TASK_LINE_MAX bytes is cut there, at a character's border. Then, in this order: ` ?[rank=N] ?` in front becomes the
 * rank, ` ?LEVEL: ?` the level, both leave the text; what is not UTF-8 becomes U+FFFD, a zero byte
 * UTF8_NUL; eight asterisks stand for a secret (many a script prints its whole environment, and a log has more readers than its task has owners). */
#ifndef DET_TASK_LINES_H
#define DET_TASK_LINES_H

#include "common/base/strbuf.h"
#include "common/task/taskproto.h"

typedef void line_fn(void *ctx, const struct task_line *line); /* the text lives until the function returns */

enum { LINE_SECRETS_MAX = 2, LINE_SECRET_MIN = 16 /* bytes; a shorter one may be a word */ };

struct line_framer {
    enum task_stdtype stdtype;
    line_fn *fn;
    void *ctx;
    char buf[TASK_LINE_MAX];
    size_t n;
    bool after_cr;
    struct strbuf text; /* scratch */
    const char *secret[LINE_SECRETS_MAX];
    int secret_n;
};

void line_framer_init(struct line_framer *f, enum task_stdtype stdtype, line_fn *fn, void *ctx);
void line_framer_hide(struct line_framer *f, const char *secret); /* which lives as long as the framer */
void line_framer_feed(struct line_framer *f, const char *data, size_t n, int64_t now_us);
/* the output is over: what is left is a line without end */
void line_framer_end(struct line_framer *f, int64_t now_us);
void line_framer_release(struct line_framer *f);

#endif
