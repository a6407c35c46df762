/* Within the store: the bits of task_log_blocks.level_mask and rank_mask. By them a reader sees that a block has no
 * line of the wanted level or rank. */
#ifndef DET_STORE_LOGS_LOG_MASKS_H
#define DET_STORE_LOGS_LOG_MASKS_H

#include <stdint.h>

/* Levels are numbers of log.v1.LogLevel. All other numbers share one bit, so that a mask never hides a line. */
static inline int64_t log_level_bit(int32_t level)
{
    return (int64_t)1 << (level >= 0 && level < 32 ? level : 32);
}

/* Rank -1 means that a line has no rank. Several ranks share a bit, which does no harm: the reader also looks at the
 * ranks of the lines. */
static inline int64_t log_rank_bit(int32_t rank)
{
    return (int64_t)1 << (rank < 0 ? 62 : rank % 62);
}

#endif
