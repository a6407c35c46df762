/* The lines of a task that nobody has confirmed yet, numbered from 1, in segment files of one directory.
 *
 * Lines are gathered by spool_append() and written by spool_flush(), once per turn of the supervisor. The files survive
 * the supervisor: spool_open() finds every line that was flushed, and cuts off a record that was torn by a crash. They
 * are not fsynced: when the machine goes down, so does the task. A segment goes away once all of it is acknowledged.
 * The newest number outlives its line, because a segment file (perhaps an empty one) always bears the next number as
 * its name.
 *
 *   spool/00000000000000000001   records: u32 length, u32 checksum, u64 number, then a line as in common/task/taskproto.h
 *
 * When spool_full(), whoever feeds the spool stops reading the task's output: the task waits, nothing is lost. */
#ifndef DET_TASK_SPOOL_H
#define DET_TASK_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "common/task/taskproto.h"

struct spool;

struct spool_batch {
    uint64_t first;     /* number of the first line */
    uint32_t count;     /* 0: there is nothing beyond */
    struct strbuf line; /* `count` encoded lines */
};

int spool_open(int dir, uint64_t max_bytes, struct spool **ret, struct error *err); /* `dir` stays the caller's */
void spool_free(struct spool *s);

void spool_append(struct spool *s, const struct task_line *line);
/* On failure (a full disk) everything unwritten is kept and the next flush tries again. */
int spool_flush(struct spool *s, struct error *err);
bool spool_full(const struct spool *s);
uint64_t spool_last(const struct spool *s);  /* number of the newest line, also when it is gone; 0: none yet */
uint64_t spool_acked(const struct spool *s); /* everything up to here is confirmed */
/* A number beyond the newest line moves the numbering there: somebody has seen lines of which this spool knows
 * nothing. */
void spool_ack(struct spool *s, uint64_t seq);
/* Flushed lines behind `after`, at least one if there is one, and about bytes_max at most. *ret starts zeroed or
 * reused. */
int spool_read(struct spool *s, uint64_t after, size_t bytes_max, struct spool_batch *ret, struct error *err);

#endif
