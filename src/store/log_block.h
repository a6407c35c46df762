/* Within the store: a batch of log lines as one blob.
 *
 *     byte  0        version 1
 *     byte  1        0: what follows is plain, 1: compressed by zstd
 *     varint         size of what follows when it is plain
 *     plain: table   varint n, then n strings (varint length, bytes): the distinct allocation, agent and container ids,
 *                    sources and stdtypes; in a line 0 is "unset" and k the k-th string
 *            lines   varint n, then of each: varint time (µs, zig-zag difference to the line before), varint level,
 *                    varint rank + 1 (0: none), five varints into the table, varint length, bytes of the text
 *
 * The same form serves heads and, later, sealed blocks. Ids are not within: a block's lines are numbered on from its
 * row's first_id. What is read is not trusted: every length is checked. */
#ifndef DET_STORE_LOG_BLOCK_H
#define DET_STORE_LOG_BLOCK_H

#include "common/strbuf.h"
#include "store/task_logs.h"

void log_block_encode(const struct store_log_line *line, size_t line_n, struct strbuf *out);
/* Lines are numbered from first_id. Texts live in the arena. */
int log_block_decode(const void *data, size_t n, int64_t first_id, struct arena *a, struct store_log_line **ret,
                     size_t *ret_n, struct error *err);

#endif
