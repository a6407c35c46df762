/* Within the store: a batch of log lines as one blob. Heads and sealed blocks have the same form.
 *
 *     byte  0        version 2
 *     varint ×4      sizes of meta: plain, as stored; of text: plain, as stored (equal: not compressed, else zstd)
 *     meta           varint n, then n strings (varint length, bytes, NUL): the distinct allocation, agent and container
 *                    ids, sources and stdtypes; varint number of lines; then columns:
 *                      seven of runs (varint value, varint how many lines; to the last line): allocation, agent,
 *                      container, source, stdtype (0: unset, k: the k-th string), level, rank + 1 (0: none)
 *                      per line: varint time (µs, zig-zag difference to the line before), varint length of its text
 *     text           the texts of the lines, one after the other
 *
 * The text is kept apart from the rest since it compresses better so, and since a search for a text then reads
 * nothing else (log_block_open()). Lines are numbered from the row's first_id on. Stored bytes are not trusted:
 * every size is checked. Version 1, which sealed blocks of old stores have, can still be read (log_block_v1.c). */
#ifndef DET_STORE_LOGS_LOG_BLOCK_H
#define DET_STORE_LOGS_LOG_BLOCK_H

#include "common/base/strbuf.h"
#include "store/logs/task_logs.h"

enum {
    LOG_BLOCK_QUICK = 1, /* a fast level of zstd, for a head: its sender waits */
    LOG_BLOCK_DENSE = 9, /* a level that compresses more, for a sealed block */
};

void log_block_encode(const struct store_log_line *line, size_t line_n, int level, struct strbuf *out);

/* Reads one block after the other into the same memory. What a call has returned is valid until the next call. */
struct log_block;
struct log_block *log_block_new(void);
void log_block_free(struct log_block *b);
/* Unpacks the text of all lines. *ret_text is NULL for version 1, whose texts are not stored together. `data` must
 * stay valid until log_block_lines() has run. */
int log_block_open(struct log_block *b, const void *data, size_t n, const char **ret_text, size_t *ret_text_n,
                   struct error *err);
/* Returns the lines, numbered from first_id on. Ids, sources and stdtypes are C strings; the text of a line is not. */
int log_block_lines(struct log_block *b, int64_t first_id, struct store_log_line **ret, size_t *ret_n,
                    struct error *err);

#endif
