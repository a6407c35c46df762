/* The last lines of a program's own log, for who can't read its stderr: a sink of log.h that forgets the oldest lines when
 * there are too many, or too much text. Lines are numbered from 0 in the order in which they came, and keep their numbers.
 * Thread-safe. */
#ifndef DET_COMMON_LOG_RING_H
#define DET_COMMON_LOG_RING_H

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

/* The numbers of the oldest line it has, and of the one that will come next. */
void log_ring_range(struct log_ring *r, int64_t *ret_first, int64_t *ret_end);
/* Copies of up to `max` lines from number `from` on, or from the oldest one. */
size_t log_ring_read(struct log_ring *r, int64_t from, size_t max, struct arena *a, struct log_ring_line **ret);

#endif
