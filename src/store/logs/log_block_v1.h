/* Within the store: heads as the first release wrote them. Nothing writes this version any more.
 *
 *     byte 1: 0 plain, 1 zstd; varint plain size; plain: varint n and n strings (varint length, bytes), varint number
 *     of lines, then of each: varint time (zig-zag difference), level, rank + 1, five varints into the strings
 * (allocation, agent, container, source, stdtype; 0: unset), varint length, text */
#ifndef DET_STORE_LOGS_LOG_BLOCK_V1_H
#define DET_STORE_LOGS_LOG_BLOCK_V1_H

#include "store/logs/task_logs.h"

int log_block_v1_decode(const void *data, size_t n, int64_t first_id, struct arena *a, struct store_log_line **ret,
                        size_t *ret_n, struct error *err);

#endif
