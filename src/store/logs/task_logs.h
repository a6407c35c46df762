/* Task logs: lines in durable heads, one row per batch, that are sealed into compressed blocks later (log_seal.h).
 * Lines of a task are numbered 1, 2, 3 … as they arrive, and keep their numbers for ever. A batch of a container's
 * spool names its first sequence number; what was stored before is skipped, so that each line is stored exactly once
 * however often the agent sends it. */
#ifndef DET_STORE_LOGS_TASK_LOGS_H
#define DET_STORE_LOGS_TASK_LOGS_H

#include "common/base/strbuf.h"
#include "store/functions.h"
#include "store/store.h"

struct store_log_line {
    int64_t id; /* within the task, from 1; given by the store */
    int64_t time_us;
    const char *allocation_id, *agent_id, *container_id; /* NULL: unset */
    bool has_rank;
    int32_t rank;
    int32_t level;                /* number of log.v1.LogLevel; 0: unset */
    const char *source, *stdtype; /* NULL: unset */
    const char *text;
    size_t text_n; /* any bytes; the line's own newline included if it has one */
};

/* A batch as it will stand in the store, made on any thread: what the writer's thread need not do. Borrows the lines.
 */
struct store_log_batch {
    const struct store_log_line *line;
    size_t line_n, text_n;
    int64_t first_us, last_us, levels, ranks;
    struct strbuf block;
};
void store_log_batch_make(struct store_log_batch *b, const struct store_log_line *line, size_t line_n);
void store_log_batch_release(struct store_log_batch *b);
int store_task_log_append_batch(struct store *st, const char *task_id, const struct store_log_batch *b,
                                int64_t *ret_first_id, struct error *err);
/* Appends the batch to the task's log in one row; *ret_first_id is the number of its first line. */
int store_task_log_append(struct store *st, const char *task_id, const struct store_log_line *line, size_t line_n,
                          int64_t *ret_first_id, struct error *err);
/* A batch of a container's numbered lines: b->line[0] is number first_seq (from 1). Lines at or below the mark are
 * skipped (*ret_skipped), a gap above it is ERR_OUT_OF_RANGE. The mark moves in the same transaction; *ret_seq is where
 * it is now. */
int store_task_log_append_numbered(struct store *st, const char *task_id, const char *container_id, int64_t first_seq,
                                   const struct store_log_batch *b, int64_t *ret_first_id, size_t *ret_skipped,
                                   int64_t *ret_seq, struct error *err);
/* ERR_FORBIDDEN unless the container is on that agent, and of that allocation and task. */
int store_container_check_owner(struct store *st, const char *container_id, const char *agent_id,
                                const char *allocation_id, const char *task_id, struct error *err);

struct store_log_filter {
    const char *task_id;
    struct store_texts allocation_ids, agent_ids, container_ids, stdtypes, sources;
    struct store_ints rank_ids;  /* -1: lines without a rank */
    struct store_ints levels;    /* numbers of log.v1.LogLevel */
    int64_t before_us, after_us; /* 0: open; up to and including before_us, later than after_us */
    const char *search;          /* substring without regard to case, or a regular expression */
    bool regex;                  /* PCRE2, bounded; a bad one is ERR_INVALID with the position */
};

/* A reader holds the compiled filter and walks the log in either direction. Its lines live in the arena of each
 * call; their texts are C strings as well. A regular expression that needs too many steps on a line ends the reading
 * with ERR_INVALID: no answer is better than one that leaves lines out. */
struct store_log_reader;
int store_log_reader_new(const struct store_log_filter *f, bool descending, struct store_log_reader **ret,
                         struct error *err);
void store_log_reader_free(struct store_log_reader *r);
/* Up to max matching lines after line *cursor (before it when descending); moves *cursor past what was looked at. Start
 * at 0. *ret_n 0 with *ret_end set: nothing further for now; new lines (ascending) will be found by the same cursor.
 * Looks at a bounded number of blocks a call, so *ret_n can be 0 without *ret_end; long lines come fewer at a time. */
int store_log_read(struct store *st, struct store_log_reader *r, int64_t *cursor, size_t max, struct arena *a,
                   struct store_log_line **ret, size_t *ret_n, bool *ret_end, struct error *err);
/* 1: the line matches, 0: it does not, -1: the regular expression gave up. For lines that come from memory. */
int store_log_matches(const struct store_log_reader *r, const struct store_log_line *line, struct error *err);

int store_task_log_last_id(struct store *st, const char *task_id, int64_t *ret, struct error *err); /* 0: no lines */

/* Distinct values in the logs of tasks, sorted, for the filters of a page. */
struct store_log_fields {
    const char **allocation_id, **agent_id, **container_id, **stdtype, **source;
    size_t allocation_id_n, agent_id_n, container_id_n, stdtype_n, source_n;
    int32_t *rank;
    size_t rank_n; /* -1: lines without a rank */
};
int store_task_log_fields(struct store *st, struct store_texts task_ids, struct arena *a, struct store_log_fields *ret,
                          struct error *err);

/* Retention: deletes of the logs of tasks that ended at least their retention (their own, else default_days; negative:
 * for ever) ago, whole blocks, at most max_blocks a call. *ret_more: call again. */
int store_task_log_sweep(struct store *st, int64_t now_us, int32_t default_days, int64_t max_blocks, int64_t *ret_lines,
                         bool *ret_more, struct error *err);

#endif
