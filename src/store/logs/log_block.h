/* Within the store: a batch of log lines as one blob, the form of a head and of a sealed block alike.
 *
 *     byte  0        version 2
 *     varint ×4      sizes of meta: plain, as stored; of text: plain, as stored (equal: not compressed, else zstd)
 *     meta           varint n, then n strings (varint length, bytes, NUL): the distinct allocation, agent and container
 *                    ids, sources and stdtypes; varint number of lines; then columns:
 *                      seven of runs (varint value, varint how many lines; to the last line): allocation, agent,
 *                      container, source, stdtype (0: unset, k: the k-th string), level, rank + 1 (0: none)
 *                      per line: varint time (µs, zig-zag difference to the line before), varint length of its text
 *     text           the texts of the lines, one behind the other
 *
 * Text apart from the rest compresses better, and a search for a text looks at nothing else (log_block_open). Lines are
 * numbered on from the row's first_id. What is read is not trusted: every size is checked. Version 1, which stores from
 * before sealed blocks hold, is still read (log_block_v1.c). */
#ifndef DET_STORE_LOGS_LOG_BLOCK_H
#define DET_STORE_LOGS_LOG_BLOCK_H

#include "common/base/strbuf.h"
#include "store/logs/task_logs.h"

enum {
    LOG_BLOCK_QUICK = 1, /* levels of zstd: somebody waits for a head … */
    LOG_BLOCK_DENSE = 9, /* … and a sealed block is read for years */
};

void log_block_encode(const struct store_log_line *line, size_t line_n, int level, struct strbuf *out);

/* Reads one block after the other into the same memory: what a call has returned is valid until the next call. */
struct log_block;
struct log_block *log_block_new(void);
void log_block_free(struct log_block *b);
/* Unpacks the text of all lines. *ret_text is NULL for version 1, whose texts do not lie together. `data` must stay
 * until log_block_lines() has run. */
int log_block_open(struct log_block *b, const void *data, size_t n, const char **ret_text, size_t *ret_text_n,
                   struct error *err);
/* The lines, numbered from first_id. Ids, sources and stdtypes are C strings; a text is not. */
int log_block_lines(struct log_block *b, int64_t first_id, struct store_log_line **ret, size_t *ret_n,
                    struct error *err);

#endif
