/* The lines of a task that are not acknowledged yet, numbered from 1, in segment files of one directory.
 *
 * spool_append() gathers lines and spool_flush() writes them, once in each turn of the supervisor. The files survive
 * the supervisor: spool_open() finds every line that was flushed, and cuts off a record that a crash left
 * incomplete. The files are not fsynced, because a task does not survive its machine either. A segment is removed
 * once all its lines are acknowledged. The newest number survives its line, because the last segment file, which may
 * be empty, has the next number as its name.
 *
 *
 * spool/00000000000000000001   records: u32 length, u32 checksum, u64 number, then a line as in
 *     common/task/taskproto.h
 *
 * When spool_full() is true, the supervisor stops reading the task's output: the task waits, and no line is lost. */
#ifndef DET_COMMON_TASK_SPOOL_H
#define DET_COMMON_TASK_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "common/task/taskproto.h"

struct spool;

struct spool_batch {
    uint64_t first;     /* number of the batch's first line */
    uint32_t count;     /* 0: there are no further lines */
    struct strbuf line; /* `count` encoded lines */
};

/* `dir` still belongs to the caller */
int spool_open(int dir, uint64_t max_bytes, struct spool **ret, struct error *err);
void spool_free(struct spool *s);

void spool_append(struct spool *s, const struct task_line *line);
/* On failure (such as a full disk) every line that is not written is kept, and the next flush tries again. */
int spool_flush(struct spool *s, struct error *err);
bool spool_full(const struct spool *s);
/* number of the newest line, even if it was removed since; 0 if there was none */
uint64_t spool_last(const struct spool *s);
uint64_t spool_acked(const struct spool *s); /* all lines up to this number are acknowledged */
/* Acknowledges all lines up to `seq`. If `seq` is beyond the newest line, the numbering goes on from there: the master
 * has lines that this spool does not know of. */
void spool_ack(struct spool *s, uint64_t seq);
/* Reads flushed lines after line `after`: at least one if there is one, and about bytes_max bytes at most. *ret is
 * zeroed or was filled by an earlier call. */
int spool_read(struct spool *s, uint64_t after, size_t bytes_max, struct spool_batch *ret, struct error *err);

#endif
