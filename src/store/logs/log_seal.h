/* Sealing: the heads of a task's log, oldest first, become compressed blocks of about LOG_SEAL_BYTES of text each.
 * Lines keep their numbers. Two halves, for two threads:
 *
 *   store_log_seal_make   on a reader's connection: reads heads that are committed, unpacks them, packs the blocks
 *   store_log_seal_put    in the writer's transaction: inserts the blocks and deletes their heads. A crash before the
 * commit leaves the heads, one after it the blocks; never both, never neither
 *
 * If retention has deleted some of the heads in between, the second half is ERR_CONFLICT and changes nothing. */
#ifndef DET_STORE_LOGS_LOG_SEAL_H
#define DET_STORE_LOGS_LOG_SEAL_H

#include "common/base/strbuf.h"
#include "store/logs/task_logs.h"

enum {
    LOG_SEAL_BYTES = 256 * 1024,         /* of text in a block: docs/performance.md says what other sizes gave */
    LOG_SEAL_HEADS = 512,                /* so many heads are sealed however short they are, for the sake of readers */
    LOG_SEAL_ROUND = 4 * LOG_SEAL_BYTES, /* of text at a time, or one head */
};

enum log_seal_pace {
    LOG_SEAL_DENSE, /* there is time */
    LOG_SEAL_QUICK, /* lines come in faster than they are sealed */
};

struct log_seal;
/* What can be sealed of the task's heads; with `rest` all of them, be it ever so little. *ret is NULL when there is
 * nothing. */
int store_log_seal_make(struct store *reader, const char *task_id, enum log_seal_pace pace, bool rest,
                        struct log_seal **ret, struct error *err);
int store_log_seal_put(struct store *st, const struct log_seal *s, struct error *err);
void log_seal_free(struct log_seal *s);

struct log_seal_size {
    int64_t text_bytes, heads;
};
struct log_seal_size log_seal_taken(const struct log_seal *s); /* the heads that go */

/* What waits to be sealed, for a master that starts: one row a task, in the arena. */
struct store_log_waiting {
    const char *task_id;
    struct log_seal_size size;
};

/* Within the store: a row of task_log_blocks, and what goes into it. */
void log_batch_make(struct store_log_batch *b, const struct store_log_line *line, size_t line_n, int level);
int insert_log_block(struct store *st, const char *task_id, int64_t first_id, const struct store_log_batch *b,
                     bool sealed, const struct strbuf *words, struct error *err);

#endif
