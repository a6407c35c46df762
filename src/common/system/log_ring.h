/* The last lines of a program's own log, for those who cannot read its stderr: a sink of log.h that drops the oldest
 * lines when there are too many, or too much text. Lines are numbered from 0 in their order and keep their numbers. May
 * be used from any thread. */
#ifndef DET_COMMON_SYSTEM_LOG_RING_H
#define DET_COMMON_SYSTEM_LOG_RING_H

#include <stddef.h>

#include "common/base/arena.h"
#include "common/system/log.h"

struct log_ring;
struct log_ring_line {
    int64_t id, time_us;
    enum log_level level;
    const char *text;
};

struct log_ring *log_ring_new(size_t lines_max, size_t bytes_max);
void log_ring_free(struct log_ring *r);
log_sink_fn log_ring_add; /* ctx: the ring */

/* The number of the oldest line that is kept, and the number that the next line will have. */
void log_ring_range(struct log_ring *r, int64_t *ret_first, int64_t *ret_end);
/* Copies of up to `max` lines from number `from` on, or from the oldest one. */
size_t log_ring_read(struct log_ring *r, int64_t from, size_t max, struct arena *a, struct log_ring_line **ret);

#endif
