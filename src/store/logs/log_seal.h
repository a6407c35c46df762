/* Sealing: the heads of a task's log, the oldest first, become compressed blocks of about LOG_SEAL_BYTES of text each.
 * Lines keep their numbers. The work has two halves, for two threads:
 *
 *   store_log_seal_make   on a reader's connection: reads heads that are committed, unpacks them, packs the blocks
 *   store_log_seal_put    in the writer's transaction: inserts the blocks and deletes their heads. After a crash before
 *                         the commit there are the heads, after a crash behind it the blocks; never both, never neither
 *
 * If retention has deleted some of the heads in between, the second half fails with ERR_CONFLICT and changes
 * nothing. */
#ifndef DET_STORE_LOGS_LOG_SEAL_H
#define DET_STORE_LOGS_LOG_SEAL_H

#include "common/base/strbuf.h"
#include "store/logs/task_logs.h"

enum {
    /* of text in a block; docs/performance.md has the measurements for other sizes */
    LOG_SEAL_BYTES = 256 * 1024,
    /* so many heads are sealed even if they are short, since reading many heads is slow */
    LOG_SEAL_HEADS = 512,
    LOG_SEAL_ROUND = 4 * LOG_SEAL_BYTES, /* of text in one call; a head that is larger is taken alone */
};

enum log_seal_pace {
    LOG_SEAL_DENSE, /* compress well: there is time */
    LOG_SEAL_QUICK, /* compress fast: lines arrive faster than they are sealed */
};

struct log_seal;
/* Packs those of the task's heads that are worth sealing; with `rest` all of them, however few they are. *ret is
 * NULL if there is nothing to seal. */
int store_log_seal_make(struct store *reader, const char *task_id, enum log_seal_pace pace, bool rest,
                        struct log_seal **ret, struct error *err);
int store_log_seal_put(struct store *st, const struct log_seal *s, struct error *err);
void log_seal_free(struct log_seal *s);

struct log_seal_size {
    int64_t text_bytes, heads;
};
struct log_seal_size log_seal_taken(const struct log_seal *s); /* how much was taken of the heads */

/* The heads of a task that wait to be sealed. A starting master reads one row for each task, into the arena. */
struct store_log_waiting {
    const char *task_id;
    struct log_seal_size size;
};

/* Within the store: a row of task_log_blocks, and the batch that is put into it. */
void log_batch_make(struct store_log_batch *b, const struct store_log_line *line, size_t line_n, int level);
int insert_log_block(struct store *st, const char *task_id, int64_t first_id, const struct store_log_batch *b,
                     bool sealed, const struct strbuf *words, struct error *err);

#endif
