#include "store/logs/log_seal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "store/logs/log_block.h"
#include "store/logs/log_words.h"
#include "store/row_io.h"

struct sealed {
    int64_t first_id;
    struct store_log_batch batch;
    struct strbuf words;
};

struct log_seal {
    char *task_id;
    int64_t first_id, last_id; /* the heads that the blocks replace */
    struct log_seal_size size;
    struct sealed *block;
    size_t block_n;
};

void log_seal_free(struct log_seal *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->block_n; i++) {
        store_log_batch_release(&s->block[i].batch);
        strbuf_release(&s->block[i].words);
    }
    free(s->block);
    free(s->task_id);
    free(s);
}

struct log_seal_size log_seal_taken(const struct log_seal *s)
{
    return s->size;
}

/* ---- the heads --------------------------------------------------------------------------------------------------- */

struct lines {
    struct arena arena;
    struct store_log_line *line;
    size_t n, cap;
};

static void lines_release(struct lines *l)
{
    arena_release(&l->arena);
    free(l->line);
}

/* Copies one of the few distinct strings of a log. Mostly it equals the string of the line before, whose copy is
 * then used again. */
static const char *keep_text(struct arena *a, const char *s, const char *before)
{
    if (!s || (before && strcmp(s, before) == 0))
        return s ? before : NULL;
    return arena_strdup(a, s);
}

static void lines_add(struct lines *all, const struct store_log_line *line, size_t n)
{
    static const struct store_log_line none = {0};
    if (all->n + n > all->cap) {
        all->cap = (all->n + n) * 2;
        all->line = must_realloc(all->line, all->cap * sizeof(*all->line));
    }
    for (size_t i = 0; i < n; i++) {
        const struct store_log_line *before = all->n ? &all->line[all->n - 1] : &none;
        struct store_log_line *l = &all->line[all->n];
        *l = line[i];
        l->allocation_id = keep_text(&all->arena, line[i].allocation_id, before->allocation_id);
        l->agent_id = keep_text(&all->arena, line[i].agent_id, before->agent_id);
        l->container_id = keep_text(&all->arena, line[i].container_id, before->container_id);
        l->source = keep_text(&all->arena, line[i].source, before->source);
        l->stdtype = keep_text(&all->arena, line[i].stdtype, before->stdtype);
        l->text = arena_strndup(&all->arena, line[i].text, line[i].text_n);
        all->n++;
    }
}

/* Adds the lines of one head to the lines read so far. */
static int take_head(struct query *q, struct log_seal *s, struct log_block *block, struct lines *all, struct error *err)
{
    struct store_log_line *line;
    const char *text;
    size_t text_n, n;
    struct log_lines row;
    read_log_lines(q, NULL, &row);
    if (log_block_open(block, row.lines, row.lines_n, &text, &text_n, err) < 0 ||
        log_block_lines(block, row.first_id, &line, &n, err) < 0)
        return error_wrap(err, "logs of task %s from line %lld on", s->task_id, (long long)row.first_id);
    lines_add(all, line, n);
    s->first_id = s->size.heads == 0 ? row.first_id : s->first_id;
    s->last_id = row.last_id;
    s->size.heads++;
    return 0;
}

static size_t bytes_of(const struct store_log_line *line, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += line[i].text_n;
    return bytes;
}

static int read_heads(struct store *st, struct log_seal *s, struct lines *all, struct error *err)
{
    struct query q;
    struct log_block *block = log_block_new();
    int rc = query_start(st, Q_TASK_LOG_HEADS_FIRST, SQL_ARGS(sql_text(s->task_id), sql_int(LOG_SEAL_HEADS)), &q, err);
    if (rc == 0) {
        size_t bytes = 0, n = 0;
        while (bytes < LOG_SEAL_ROUND && (rc = query_next(&q, err)) > 0) {
            if ((rc = take_head(&q, s, block, all, err)) < 0)
                break;
            bytes += bytes_of(all->line + n, all->n - n);
            n = all->n;
        }
        query_end(&q);
    }
    log_block_free(block);
    return rc < 0 ? -1 : 0;
}

/* ---- the blocks -------------------------------------------------------------------------------------------------- */

static void add_block(struct log_seal *s, const struct store_log_line *line, size_t n, int level)
{
    s->block = must_realloc(s->block, (s->block_n + 1) * sizeof(*s->block));
    struct sealed *b = &s->block[s->block_n++];
    *b = (struct sealed){.first_id = line[0].id};
    log_batch_make(&b->batch, line, n, level);
    b->batch.line = NULL; /* the lines are freed at the end of this round */
    log_words_make(line, n, &b->words);
}

/* Cuts as many blocks as there are whole LOG_SEAL_BYTES, all of about the same size. With full blocks and a rest,
 * the small rest would stay a small block for ever. */
static void cut_blocks(struct log_seal *s, const struct store_log_line *line, size_t n, int level)
{
    size_t total = bytes_of(line, n), blocks = total / LOG_SEAL_BYTES, from = 0, bytes = 0;
    size_t each = total / (blocks ? blocks : 1), next = each;
    for (size_t i = 0; i + 1 < n; i++) {
        bytes += line[i].text_n;
        if (bytes < next || total - bytes < each / 2)
            continue;
        add_block(s, line + from, i + 1 - from, level);
        from = i + 1;
        while (next <= bytes)
            next += each;
    }
    add_block(s, line + from, n - from, level);
}

int store_log_seal_make(struct store *reader, const char *task_id, enum log_seal_pace pace, bool rest,
                        struct log_seal **ret, struct error *err)
{
    struct log_seal *s = must_calloc(1, sizeof(*s));
    struct lines all = {0};
    s->task_id = must_strdup(task_id);
    int rc = read_heads(reader, s, &all, err);
    size_t bytes = bytes_of(all.line, all.n);
    bool worth_it = rest || bytes >= LOG_SEAL_BYTES || s->size.heads >= LOG_SEAL_HEADS;
    s->size.text_bytes = (int64_t)bytes;
    if (rc == 0 && all.n > 0 && worth_it) {
        cut_blocks(s, all.line, all.n, pace == LOG_SEAL_QUICK ? LOG_BLOCK_QUICK : LOG_BLOCK_DENSE);
        *ret = s;
    } else {
        log_seal_free(s);
        *ret = NULL;
    }
    lines_release(&all);
    return rc;
}

int store_log_seal_put(struct store *st, const struct log_seal *s, struct error *err)
{
    int64_t gone;
    if (query_exec(st, Q_TASK_LOG_HEADS_DELETE,
                   SQL_ARGS(sql_text(s->task_id), sql_int(s->first_id), sql_int(s->last_id)), &gone, err) < 0)
        return -1;
    if (gone != s->size.heads)
        return error_set(err, ERR_CONFLICT, "task %s: %lld of %lld heads of its log are gone", s->task_id,
                         (long long)(s->size.heads - gone), (long long)s->size.heads);
    for (size_t i = 0; i < s->block_n; i++) {
        const struct sealed *b = &s->block[i];
        if (insert_log_block(st, s->task_id, b->first_id, &b->batch, /* sealed= */ true, &b->words, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- heads that wait to be sealed -------------------------------------------------------------------------------- */
