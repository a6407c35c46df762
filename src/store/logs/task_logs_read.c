/* Reads task logs: goes through the blocks in either direction, and skips those that the filter (log_filter.h) rules
 * out. */
#include "common/base/must.h"
#include "store/logs/task_logs.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "store/logs/log_block.h"
#include "store/logs/log_filter.h"
#include "store/row_io.h"

enum {
    /* A call looks at no more than this, so that one reader cannot hold its thread for long. */
    BLOCKS_PER_CALL = 64,
    LINES_BYTES_PER_CALL = 4 * 1024 * 1024, /* of text that is unpacked; at least one block */
    US_PER_CALL = 20000,                    /* regular expressions can take long on each line */
    /* so many lines are tested at once for a match; the time is looked at between such pieces */
    PIECE = 32,
    TEXT_PER_CALL = 64 * 1024, /* bytes of matching lines; the line that exceeds this is the last one */
    /* So many readers may keep the block that they stopped in, so that the next call need not unpack it again. All
     * others unpack it again, so any number of slow followers takes no more memory than these. */
    KEEPERS_MAX = 16,
};

static atomic_int keepers;

struct store_log_reader {
    struct log_filter filter;
    bool descending;
    struct log_block *block;
    /* The block that the last call stopped in, as long as `keeps` is true. */
    bool keeps;
    struct store_log_line *kept;
    size_t kept_n;
};

static void drop_kept(struct store_log_reader *r)
{
    if (r->keeps)
        atomic_fetch_sub(&keepers, 1);
    r->keeps = false;
}

/* Frees the memory that a block is unpacked into. It is too much to be held by each of many readers that wait for
 * their clients. */
static void drop_block(struct store_log_reader *r)
{
    log_block_free(r->block);
    r->block = NULL;
}

int store_log_reader_new(const struct store_log_filter *f, bool descending, struct store_log_reader **ret,
                         struct error *err)
{
    struct store_log_reader *r = must_calloc(1, sizeof(*r));
    r->descending = descending;
    if (log_filter_init(&r->filter, f, err) < 0) {
        store_log_reader_free(r);
        return -1;
    }
    *ret = r;
    return 0;
}

void store_log_reader_free(struct store_log_reader *r)
{
    if (!r)
        return;
    drop_kept(r);
    drop_block(r);
    log_filter_release(&r->filter);
    free(r);
}

int store_log_matches(const struct store_log_reader *r, const struct store_log_line *l, struct error *err)
{
    return log_filter_matches(&r->filter, l, err);
}

/* ---- the lines that a call returns ------------------------------------------------------------------------------- */

struct walk {
    struct store_log_reader *r;
    struct arena *arena;
    struct store_log_line *out;
    size_t n, max, bytes;
    int64_t cursor, deadline_us;
    /* the last line taken, as it is in its block; the strings of the last line of `out` are copies of this one's */
    struct store_log_line last;
};

/* Each distinct string of a block is copied once, not once for each line. */
static const char *copy_string(struct walk *w, const char *s, const char *last, const char *last_copy)
{
    return s && s == last ? last_copy : arena_strdup(w->arena, s);
}

static void take_line(struct walk *w, const struct store_log_line *l)
{
    static const struct store_log_line none = {0};
    const struct store_log_line *copied = w->n ? &w->out[w->n - 1] : &none;
    struct store_log_line *out = &w->out[w->n++];
    *out = *l;
    out->allocation_id = copy_string(w, l->allocation_id, w->last.allocation_id, copied->allocation_id);
    out->agent_id = copy_string(w, l->agent_id, w->last.agent_id, copied->agent_id);
    out->container_id = copy_string(w, l->container_id, w->last.container_id, copied->container_id);
    out->source = copy_string(w, l->source, w->last.source, copied->source);
    out->stdtype = copy_string(w, l->stdtype, w->last.stdtype, copied->stdtype);
    out->text = arena_strndup(w->arena, l->text, l->text_n);
    w->last = *l;
    w->bytes += l->text_n;
}

static bool is_behind(const struct walk *w, const struct store_log_line *l)
{
    return w->r->descending ? l->id >= w->cursor : l->id <= w->cursor;
}

/* Takes the matching lines one by one, in the reader's direction. Returns 1 after all lines, 0 if the call has
 * reached its limits before, or -1. */
static int take_piece(struct walk *w, const struct store_log_line *line, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct store_log_line *l = w->r->descending ? &line[n - 1 - i] : &line[i];
        if (is_behind(w, l))
            continue;
        if (w->n == w->max || w->bytes >= TEXT_PER_CALL)
            return 0;
        int match = log_filter_matches(&w->r->filter, l, err);
        if (match < 0)
            return -1;
        if (match > 0)
            take_line(w, l);
        w->cursor = l->id;
    }
    return 1;
}

/* Takes the matching lines of a whole block. The result is that of take_piece(). */
static int take_lines(struct walk *w, const struct store_log_line *line, size_t n, struct error *err)
{
    w->last = (struct store_log_line){0}; /* the strings of another block may be at the same addresses */
    for (size_t done = 0, piece; done < n; done += piece) {
        piece = n - done < PIECE ? n - done : PIECE;
        const struct store_log_line *first = w->r->descending ? &line[n - done - piece] : &line[done];
        const struct store_log_line *last = w->r->descending ? first : &first[piece - 1];
        if (is_behind(w, last))
            continue;
        if (w->r->filter.regex && done > 0 && clock_monotonic_us() > w->deadline_us)
            return 0;
        int rc = 1;
        if (log_filter_may_match_any(&w->r->filter, first, piece))
            rc = take_piece(w, first, piece, err);
        else
            w->cursor = last->id;
        if (rc <= 0)
            return rc;
    }
    return 1;
}

/* ---- the walk over blocks ---------------------------------------------------------------------------------------- */

/* What is known of a block before its lines are read. */
struct candidate {
    int64_t first_id, last_id, text_bytes;
    bool wanted;
};

static int read_candidates(struct store *st, const struct store_log_reader *r, int64_t cursor,
                           struct candidate list[BLOCKS_PER_CALL], size_t *ret_n, struct error *err)
{
    const struct log_filter *f = &r->filter;
    const struct store_log_filter *wanted = &f->wanted;
    struct query q;
    int rc;
    size_t n = 0;
    const char *task_id = wanted->task_id;
    const int64_t before_us = wanted->before_us, after_us = wanted->after_us;
    const struct sql_args args = r->descending ? ARGS_TASK_LOG_BLOCKS_BEFORE(task_id, cursor, f->levels, f->ranks,
                                                                             before_us, after_us, BLOCKS_PER_CALL)
                                               : ARGS_TASK_LOG_BLOCKS_AFTER(task_id, cursor, f->levels, f->ranks,
                                                                            before_us, after_us, BLOCKS_PER_CALL);
    if (query_start(st, r->descending ? Q_TASK_LOG_BLOCKS_BEFORE : Q_TASK_LOG_BLOCKS_AFTER, args, &q, err) < 0)
        return -1;
    while (n < BLOCKS_PER_CALL && (rc = query_next(&q, err)) > 0) {
        struct log_candidate row;
        read_log_candidate(&q, NULL, &row);
        list[n++] = (struct candidate){.first_id = row.first_id,
                                       .last_id = row.last_id,
                                       .text_bytes = row.text_bytes,
                                       .wanted = log_filter_may_be_in(f, row.words, row.words_n)};
    }
    query_end(&q);
    *ret_n = n;
    return rc < 0 ? -1 : 0;
}

/* Keeps the block's lines, so that the next call goes on in this block without reading it again. */
static void keep_line(struct store_log_reader *r, struct store_log_line *line, size_t n)
{
    if (!r->keeps && atomic_fetch_add(&keepers, 1) >= KEEPERS_MAX) {
        atomic_fetch_sub(&keepers, 1);
        return;
    }
    r->keeps = true;
    r->kept = line;
    r->kept_n = n;
}

/* Searches the block's text as a whole before it is cut into lines. The result is that of take_lines(). */
static int walk_block(struct walk *w, int64_t first_id, const void *data, size_t data_n, struct error *err)
{
    struct store_log_reader *r = w->r;
    struct store_log_line *line;
    const char *text;
    size_t text_n, n;
    if (log_block_open(r->block, data, data_n, &text, &text_n, err) < 0)
        return -1;
    if (text && !log_filter_may_match_text(&r->filter, text, text_n))
        return 1;
    if (log_block_lines(r->block, first_id, &line, &n, err) < 0)
        return -1;
    int rc = take_lines(w, line, n, err);
    if (rc == 0)
        keep_line(r, line, n);
    return rc;
}

/* Reads wanted blocks that are next to each other with one statement. The result is that of take_lines(). */
static int walk_run(struct store *st, struct walk *w, const struct candidate *first, const struct candidate *last,
                    struct error *err)
{
    const struct store_log_reader *r = w->r;
    int64_t from = r->descending ? last->first_id : first->first_id;
    int64_t to = r->descending ? first->first_id : last->first_id;
    struct query q;
    bool full = false;
    int rc = query_start(st, r->descending ? Q_TASK_LOG_LINES_DOWN : Q_TASK_LOG_LINES_UP,
                         SQL_ARGS(sql_text(r->filter.wanted.task_id), sql_int(from), sql_int(to)), &q, err);
    if (rc < 0)
        return -1;
    while (!full && (rc = query_next(&q, err)) > 0) {
        struct log_lines row;
        read_log_lines(&q, NULL, &row);
        rc = walk_block(w, row.first_id, row.lines, row.lines_n, err);
        if (rc < 0)
            break;
        full = rc == 0;
    }
    query_end(&q);
    return rc < 0 ? -1 : !full;
}

static void pass_candidate(struct walk *w, const struct candidate *c)
{
    w->cursor = w->r->descending ? c->first_id : c->last_id;
}

/* The result is that of take_lines(); 0 is also returned when the call has reached its limits. */
static int walk_candidates(struct store *st, struct walk *w, const struct candidate *list, size_t n, struct error *err)
{
    int64_t bytes = 0;
    for (size_t i = 0, end; i < n; i = end) {
        end = i + 1;
        if (!list[i].wanted) {
            pass_candidate(w, &list[i]);
            continue;
        }
        if (bytes > LINES_BYTES_PER_CALL || (bytes > 0 && clock_monotonic_us() > w->deadline_us))
            /* at least one group of blocks is read in each call, even if time was lost before: else a slow machine
             * would get nowhere */
            return 0;
        for (bytes += list[i].text_bytes; end < n && list[end].wanted && bytes <= LINES_BYTES_PER_CALL; end++)
            bytes += list[end].text_bytes;
        int rc = walk_run(st, w, &list[i], &list[end - 1], err);
        if (rc <= 0)
            return rc;
        pass_candidate(w, &list[end - 1]);
    }
    return 1;
}

/* Returns 1 if the end of the log was reached, 0 if the walk stopped before it, or -1. */
static int walk_log(struct store *st, struct walk *w, struct error *err)
{
    struct store_log_reader *r = w->r;
    struct candidate list[BLOCKS_PER_CALL];
    int64_t last_id;
    size_t n;
    if (store_task_log_last_id(st, r->filter.wanted.task_id, &last_id, err) < 0 ||
        read_candidates(st, r, w->cursor, list, &n, err) < 0)
        return -1;
    int rc = walk_candidates(st, w, list, n, err);
    if (rc <= 0 || n == BLOCKS_PER_CALL)
        return rc < 0 ? -1 : 0;
    if (r->descending)
        w->cursor = 1; /* there is no line before line 1 */
    else if (last_id > w->cursor)
        w->cursor = last_id; /* the blocks that were skipped need not be looked at again */
    return 1;
}

/* Blocks are looked at twice, first for their filters and then for their lines. A read transaction gives both the
 * same version of the store, without sealing in between. */
static int walk_version(struct store *st, struct walk *w, struct error *err)
{
    bool own = !store_in_transaction(st);
    if (own && store_begin_read(st, err) < 0)
        return -1;
    int rc = walk_log(st, w, err);
    if (own && (rc < 0 || store_commit(st, err) < 0)) {
        store_rollback(st);
        return -1;
    }
    return rc;
}

int store_log_read(struct store *st, struct store_log_reader *r, int64_t *cursor, size_t max, struct arena *a,
                   struct store_log_line **ret, size_t *ret_n, bool *ret_end, struct error *err)
{
    struct walk w = {.r = r,
                     .arena = a,
                     .max = max,
                     .cursor = *cursor,
                     .deadline_us = clock_monotonic_us() + US_PER_CALL,
                     .out = arena_array(a, struct store_log_line, max + 1)};
    int rc = 1;
    if (r->descending && w.cursor == 0)
        w.cursor = INT64_MAX;
    if (r->keeps && (rc = take_lines(&w, r->kept, r->kept_n, err)) == 1)
        drop_kept(r);
    if (!r->block)
        r->block = log_block_new();
    int end = rc == 1 && w.n < max && w.bytes < TEXT_PER_CALL ? walk_version(st, &w, err) : rc < 0 ? -1 : 0;
    if (!r->keeps)
        drop_block(r);
    if (end < 0)
        return error_wrap(err, "logs of task %s", r->filter.wanted.task_id);
    *cursor = w.cursor;
    *ret = w.out;
    *ret_n = w.n;
    *ret_end = end;
    return 0;
}
