/* Reading task logs: a compiled filter, and a walk over the heads in either direction. */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "store/task_logs.h"

#include <pcre2.h>
#include <stdlib.h>

#include "store/log_block.h"
#include "store/log_masks.h"
#include "store/query.h"

enum {
    /* A call looks at no more, so that one reader cannot hold its thread for long. */
    HEADS_PER_CALL = 16,
    TEXT_PER_CALL = 64 * 1024, /* bytes; the line that goes over it is the last one */
    REGEX_MATCH_LIMIT = 100000,
    REGEX_DEPTH_LIMIT = 1000,
    REGEX_HEAP_LIMIT_KIB = 4096,
};

struct store_log_reader {
    struct arena arena; /* the filter's own copies */
    struct store_log_filter filter;
    bool descending;
    int64_t levels, ranks; /* masks; 0: any */
    const char *allocation_ids, *agent_ids, *container_ids; /* JSON lists; NULL: any */
    pcre2_code *regex;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

/* ---- the filter ---- */

static struct store_texts copy_texts(struct arena *a, struct store_texts t)
{
    const char **copy = arena_array(a, const char *, t.n + 1);
    for (size_t i = 0; i < t.n; i++)
        copy[i] = arena_strdup(a, t.text[i]);
    return (struct store_texts){copy, t.n};
}

static struct store_ints copy_ints(struct arena *a, struct store_ints t)
{
    return (struct store_ints){t.n ? arena_dup(a, t.value, t.n * sizeof(*t.value)) : NULL, t.n};
}

static void copy_filter(struct store_log_reader *r, const struct store_log_filter *f)
{
    struct arena *a = &r->arena;
    r->filter = *f;
    r->filter.task_id = arena_strdup(a, f->task_id);
    r->filter.allocation_ids = copy_texts(a, f->allocation_ids);
    r->filter.agent_ids = copy_texts(a, f->agent_ids);
    r->filter.container_ids = copy_texts(a, f->container_ids);
    r->filter.stdtypes = copy_texts(a, f->stdtypes);
    r->filter.sources = copy_texts(a, f->sources);
    r->filter.rank_ids = copy_ints(a, f->rank_ids);
    r->filter.levels = copy_ints(a, f->levels);
    r->filter.search = f->search && *f->search ? arena_strdup(a, f->search) : NULL;
}

static void make_masks(struct store_log_reader *r)
{
    const struct store_log_filter *f = &r->filter;
    for (size_t i = 0; i < f->levels.n; i++)
        r->levels |= log_level_bit(f->levels.value[i]);
    for (size_t i = 0; i < f->rank_ids.n; i++)
        r->ranks |= log_rank_bit(f->rank_ids.value[i]);
    if (f->allocation_ids.n)
        r->allocation_ids = json_of_texts(&r->arena, f->allocation_ids);
    if (f->agent_ids.n)
        r->agent_ids = json_of_texts(&r->arena, f->agent_ids);
    if (f->container_ids.n)
        r->container_ids = json_of_texts(&r->arena, f->container_ids);
}

static int compile(struct store_log_reader *r, struct error *err)
{
    int code;
    size_t offset;
    if (!r->filter.search || !r->filter.regex)
        return 0;
    r->regex = pcre2_compile((PCRE2_SPTR)r->filter.search, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_MATCH_INVALID_UTF,
                             &code, &offset, NULL);
    if (!r->regex) {
        char text[160];
        pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof(text));
        return error_set(err, ERR_INVALID, "search \"%s\": %s at character %zu", r->filter.search, text, offset + 1);
    }
    r->match = pcre2_match_data_create_from_pattern(r->regex, NULL);
    r->limits = pcre2_match_context_create(NULL);
    if (!r->match || !r->limits)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    pcre2_set_match_limit(r->limits, REGEX_MATCH_LIMIT);
    pcre2_set_depth_limit(r->limits, REGEX_DEPTH_LIMIT);
    pcre2_set_heap_limit(r->limits, REGEX_HEAP_LIMIT_KIB);
    return 0;
}

int store_log_reader_new(const struct store_log_filter *f, bool descending, struct store_log_reader **ret,
                         struct error *err)
{
    struct store_log_reader *r = calloc(1, sizeof(*r));
    if (!r)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    r->descending = descending;
    copy_filter(r, f);
    make_masks(r);
    if (compile(r, err) < 0) {
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
    pcre2_match_context_free(r->limits);
    pcre2_match_data_free(r->match);
    pcre2_code_free(r->regex);
    arena_release(&r->arena);
    free(r);
}

/* ---- one line ---- */

static bool among(struct store_texts t, const char *s)
{
    for (size_t i = 0; i < t.n; i++)
        if (s && strcmp(t.text[i], s) == 0)
            return true;
    return t.n == 0;
}

static bool among_ints(struct store_ints t, int32_t v)
{
    for (size_t i = 0; i < t.n; i++)
        if (t.value[i] == v)
            return true;
    return t.n == 0;
}

static bool contains_nocase(const char *text, size_t n, const char *what)
{
    size_t m = strlen(what);
    for (size_t i = 0; m <= n && i <= n - m; i++)
        if (strncasecmp(text + i, what, m) == 0)
            return true;
    return false;
}

/* A pattern that runs into its limits does not match: the line is left out rather than the master held up. */
static bool found(const struct store_log_reader *r, const struct store_log_line *l)
{
    if (!r->filter.search)
        return true;
    if (!r->regex)
        return contains_nocase(l->text, l->text_n, r->filter.search);
    return pcre2_match(r->regex, (PCRE2_SPTR)l->text, l->text_n, 0, 0, r->match, r->limits) >= 0;
}

bool store_log_matches(const struct store_log_reader *r, const struct store_log_line *l)
{
    const struct store_log_filter *f = &r->filter;
    return among_ints(f->levels, l->level) && among_ints(f->rank_ids, l->has_rank ? l->rank : -1) &&
           (!f->before_us || l->time_us <= f->before_us) && (!f->after_us || l->time_us > f->after_us) &&
           among(f->allocation_ids, l->allocation_id) && among(f->agent_ids, l->agent_id) &&
           among(f->container_ids, l->container_id) && among(f->stdtypes, l->stdtype) && among(f->sources, l->source) &&
           found(r, l);
}

/* ---- the walk ---- */

struct walk {
    const struct store_log_reader *r;
    struct store_log_line *out;
    size_t n, max, bytes;
    int64_t cursor;
};

/* Takes what matches of a block, line by line in the direction; false when the batch is full before the block is
 * done. */
static bool take_lines(struct walk *w, const struct store_log_line *line, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct store_log_line *l = w->r->descending ? &line[n - 1 - i] : &line[i];
        if (w->r->descending ? l->id >= w->cursor : l->id <= w->cursor)
            continue;
        if (w->n == w->max || w->bytes >= TEXT_PER_CALL)
            return false;
        if (store_log_matches(w->r, l)) {
            w->out[w->n++] = *l;
            w->bytes += l->text_n;
        }
        w->cursor = l->id;
    }
    return true;
}

static int start_walk(struct store *st, const struct store_log_reader *r, int64_t cursor, struct query *q,
                      struct error *err)
{
    const struct store_log_filter *f = &r->filter;
    return query_start(st, r->descending ? Q_TASK_LOG_HEADS_BEFORE : Q_TASK_LOG_HEADS_AFTER,
                       SQL_ARGS(sql_text(f->task_id), sql_int(cursor), sql_int(r->levels), sql_int(r->ranks),
                                sql_int(f->before_us), sql_int(f->after_us), sql_opt_text(r->allocation_ids),
                                sql_opt_text(r->agent_ids), sql_opt_text(r->container_ids),
                                sql_int(HEADS_PER_CALL)), q, err);
}

/* 1: the heads are at an end, 0: stopped before it, -1: failure. */
static int walk_heads(struct query *q, struct walk *w, struct arena *a, struct error *err)
{
    for (int heads = 0; heads < HEADS_PER_CALL; heads++) {
        struct store_log_line *line;
        size_t line_n, block_n;
        int rc = query_next(q, err);
        if (rc <= 0)
            return rc < 0 ? -1 : 1;
        int64_t first_id = take_int(q);
        take_skip(q);
        const void *block = take_borrowed(q, &block_n);
        if (log_block_decode(block, block_n, first_id, a, &line, &line_n, err) < 0)
            return error_wrap(err, "logs of task %s from line %lld on", w->r->filter.task_id, (long long)first_id);
        if (!take_lines(w, line, line_n))
            return 0;
    }
    return 0;
}

int store_log_read(struct store *st, struct store_log_reader *r, int64_t *cursor, size_t max, struct arena *a,
                   struct store_log_line **ret, size_t *ret_n, bool *ret_end, struct error *err)
{
    struct walk w = {.r = r, .max = max, .cursor = *cursor, .out = arena_array(a, struct store_log_line, max + 1)};
    struct query q;
    int64_t last_id;
    if (r->descending && w.cursor == 0)
        w.cursor = INT64_MAX;
    /* Before the heads: lines that arrive in between are for the next call. */
    if (store_task_log_last_id(st, r->filter.task_id, &last_id, err) < 0 || start_walk(st, r, w.cursor, &q, err) < 0)
        return -1;
    int rc = walk_heads(&q, &w, a, err);
    query_end(&q);
    if (rc < 0)
        return -1;
    if (rc > 0 && r->descending)
        w.cursor = 1; /* nothing lies before line 1 */
    else if (rc > 0 && last_id > w.cursor)
        w.cursor = last_id; /* batches that were passed over need not be looked at again */
    *cursor = w.cursor;
    *ret = w.out;
    *ret_n = w.n;
    *ret_end = rc > 0;
    return 0;
}

static int count_matching(struct store *st, struct store_log_reader *r, int64_t *ret, struct error *err)
{
    enum { CHUNK = 4096 };
    int64_t cursor = 0, count = 0;
    bool end = false;
    while (!end) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct store_log_line *line;
        size_t n;
        if (store_log_read(st, r, &cursor, CHUNK, &a, &line, &n, &end, err) < 0)
            return -1;
        count += (int64_t)n;
    }
    *ret = count;
    return 0;
}

int store_task_log_count(struct store *st, const struct store_log_filter *f, int64_t *ret, struct error *err)
{
    struct store_log_reader *r;
    if (store_log_reader_new(f, false, &r, err) < 0)
        return -1;
    int rc = count_matching(st, r, ret, err);
    store_log_reader_free(r);
    return rc;
}
