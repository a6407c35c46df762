/* Task logs: lines are stored in durable heads, one row for each batch, and sealed into compressed blocks later
 * (log_seal.h). The lines of a task are numbered 1, 2, 3 … as they arrive, and keep their numbers for ever. A batch
 * from a container's spool names its first sequence number. Lines that were stored before are skipped, so that each
 * line is stored exactly once however often the agent sends it. */
#ifndef DET_STORE_LOGS_TASK_LOGS_H
#define DET_STORE_LOGS_TASK_LOGS_H

#include "common/base/strbuf.h"
#include "store/functions.h"
#include "store/store.h"

struct store_log_line {
    int64_t id; /* the line's number within the task, from 1; given by the store */
    int64_t time_us;
    const char *allocation_id, *agent_id, *container_id; /* NULL: not set */
    bool has_rank;
    int32_t rank;
    int32_t level;                /* number of log.v1.LogLevel; 0: not set */
    const char *source, *stdtype; /* NULL: not set */
    const char *text;
    size_t text_n; /* the text may hold any bytes; a newline at the end of the line belongs to it */
};

/* A batch in the form in which it is stored. Any thread can make it, which takes work off the writer's thread. It
 * borrows the lines. */
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
/* Appends the batch to the task's log, in one row. *ret_first_id is the number of its first line. */
int store_task_log_append(struct store *st, const char *task_id, const struct store_log_line *line, size_t line_n,
                          int64_t *ret_first_id, struct error *err);
/* Appends a batch of a container's numbered lines: b->line[0] has the number first_seq (from 1). Lines that are not
 * above the container's mark are skipped (*ret_skipped). If lines are missing between the mark and the batch, the
 * call fails with ERR_OUT_OF_RANGE. The mark is moved in the same transaction; *ret_seq is its new value. */
int store_task_log_append_numbered(struct store *st, const char *task_id, const char *container_id, int64_t first_seq,
                                   const struct store_log_batch *b, int64_t *ret_first_id, size_t *ret_skipped,
                                   int64_t *ret_seq, struct error *err);
/* Fails with ERR_FORBIDDEN unless the container is on that agent, and belongs to that allocation and task. */
int store_container_check_owner(struct store *st, const char *container_id, const char *agent_id,
                                const char *allocation_id, const char *task_id, struct error *err);

struct store_log_filter {
    const char *task_id;
    struct store_texts allocation_ids, agent_ids, container_ids, stdtypes, sources;
    struct store_ints rank_ids;  /* -1 stands for lines without a rank */
    struct store_ints levels;    /* numbers of log.v1.LogLevel */
    int64_t before_us, after_us; /* times up to and including before_us, and later than after_us; 0: no bound */
    const char *search;          /* a text without regard to case, or a regular expression */
    /* `search` is a PCRE2 pattern, whose steps are limited; a wrong one is ERR_INVALID with the position */
    bool regex;
};

/* A reader holds the compiled filter and walks through the log in either direction. The lines of a call live in the
 * arena of that call; their texts are C strings as well. If a regular expression needs too many steps on a line,
 * reading ends with ERR_INVALID, since an answer that leaves out lines would be wrong. */
struct store_log_reader;
int store_log_reader_new(const struct store_log_filter *f, bool descending, struct store_log_reader **ret,
                         struct error *err);
void store_log_reader_free(struct store_log_reader *r);
/* Reads up to max matching lines after line *cursor (before it if descending), and moves *cursor past the lines that
 * were looked at. *cursor begins at 0. If *ret_n is 0 and *ret_end is set, there is nothing more for now; an
 * ascending reader finds new lines with the same cursor. A call looks at a limited number of blocks, so *ret_n can
 * be 0 without *ret_end. If lines are long, fewer are returned at a time. */
int store_log_read(struct store *st, struct store_log_reader *r, int64_t *cursor, size_t max, struct arena *a,
                   struct store_log_line **ret, size_t *ret_n, bool *ret_end, struct error *err);
/* 1: the line matches, 0: it does not, -1: the regular expression gave up. This is for lines that come from memory. */
int store_log_matches(const struct store_log_reader *r, const struct store_log_line *line, struct error *err);

/* 0: there are no lines */
int store_task_log_last_id(struct store *st, const char *task_id, int64_t *ret, struct error *err);

/* The distinct values in the logs of tasks, sorted. A page offers them as filters. */
struct store_log_fields {
    const char **allocation_id, **agent_id, **container_id, **stdtype, **source;
    size_t allocation_id_n, agent_id_n, container_id_n, stdtype_n, source_n;
    int32_t *rank;
    size_t rank_n; /* -1 stands for lines without a rank */
};
int store_task_log_fields(struct store *st, struct store_texts task_ids, struct arena *a, struct store_log_fields *ret,
                          struct error *err);

/* Retention: deletes the logs of tasks that ended at least as many days ago as the task's own retention says, or
 * else default_days; a negative number keeps logs for ever. Whole blocks are deleted, at most max_blocks in a call.
 * *ret_more says whether to call again. */
int store_task_log_sweep(struct store *st, int64_t now_us, int32_t default_days, int64_t max_blocks, int64_t *ret_lines,
                         bool *ret_more, struct error *err);

#endif
