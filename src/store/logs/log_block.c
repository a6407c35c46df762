#include "store/logs/log_block.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/base/must.h"
#include "store/logs/log_block_v1.h"
#include "store/logs/log_bytes.h"

enum {
    VERSION_1 = 1,
    VERSION = 2,
    /* A part shorter than this is not compressed: zstd's frame would take what compression saves. */
    COMPRESS_FROM = 200,
    PLAIN_MAX = 1 << 30,
    STRING_COLUMNS = 5, /* five columns refer to the table of strings; the columns of level and rank follow them */
    LEVEL_COLUMN = STRING_COLUMNS,
    RANK_COLUMN,
    RUN_COLUMNS,
};

/* Where a line keeps the strings of the first five columns. */
static const size_t string_at[STRING_COLUMNS] = {offsetof(struct store_log_line, allocation_id),
                                                 offsetof(struct store_log_line, agent_id),
                                                 offsetof(struct store_log_line, container_id),
                                                 offsetof(struct store_log_line, source),
                                                 offsetof(struct store_log_line, stdtype)};

static const char **string_of(struct store_log_line *l, int column)
{
    return (const char **)((char *)l + string_at[column]);
}

/* ---- encoding ---------------------------------------------------------------------------------------------------- */

/* The distinct strings of a batch. They are few, so looking through a list is quicker than a hash table. After
 * TABLE_SCAN strings the search stops, and a string may be written a second time, which takes space but is correct. */
enum { TABLE_SCAN = 32 };
struct table {
    const char **s;
    size_t n, cap;
};

static uint64_t intern_field(struct table *t, const char *s)
{
    if (!s)
        return 0;
    for (size_t i = t->n, seen = 0; i > 0 && seen < TABLE_SCAN; i--, seen++)
        if (t->s[i - 1] == s || strcmp(t->s[i - 1], s) == 0)
            return i;
    if (t->n == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 16;
        t->s = must_realloc(t->s, t->cap * sizeof(*t->s));
    }
    t->s[t->n++] = s;
    return t->n;
}

static uint64_t value_of(const struct store_log_line *l, int column, struct table *t)
{
    if (column == LEVEL_COLUMN)
        return (uint32_t)l->level;
    if (column == RANK_COLUMN)
        return l->has_rank ? (uint64_t)(uint32_t)l->rank + 1 : 0;
    return intern_field(t, *string_of((struct store_log_line *)l, column));
}

/* Whether two neighbouring lines have the same value. Mostly they have, down to the same pointer, so the pointers
 * are compared first. */
static bool same_field(const struct store_log_line *a, const struct store_log_line *b, int column)
{
    if (column == LEVEL_COLUMN)
        return a->level == b->level;
    if (column == RANK_COLUMN)
        return a->has_rank == b->has_rank && (!a->has_rank || a->rank == b->rank);
    const char *x = *string_of((struct store_log_line *)a, column), *y = *string_of((struct store_log_line *)b, column);
    return x == y || (x && y && strcmp(x, y) == 0);
}

static void add_runs(const struct store_log_line *line, size_t n, int column, struct table *t, struct strbuf *out)
{
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && same_field(&line[i], &line[end], column); end++)
            ;
        log_bytes_add_varint(out, value_of(&line[i], column, t));
        log_bytes_add_varint(out, end - i);
    }
}

static void encode_meta(const struct store_log_line *line, size_t n, struct strbuf *out)
{
    cleanup_strbuf struct strbuf columns = STRBUF_INIT;
    struct table t = {0};
    for (int column = 0; column < RUN_COLUMNS; column++)
        add_runs(line, n, column, &t, &columns);
    for (size_t i = 0; i < n; i++)
        log_bytes_add_varint(&columns, log_bytes_zigzag((int64_t)((uint64_t)line[i].time_us -
                                                                  (i ? (uint64_t)line[i - 1].time_us : 0))));
    for (size_t i = 0; i < n; i++)
        log_bytes_add_varint(&columns, line[i].text_n);
    log_bytes_add_varint(out, t.n);
    for (size_t i = 0; i < t.n; i++) {
        size_t length = strlen(t.s[i]);
        log_bytes_add_varint(out, length);
        strbuf_add(out, t.s[i], length + 1);
    }
    log_bytes_add_varint(out, n);
    strbuf_add(out, strbuf_str(&columns), columns.n);
    free(t.s);
}

/* Writes a part compressed if that makes it smaller, else plain. */
static void pack_part(const struct strbuf *plain, int level, struct strbuf *out)
{
    size_t bound = ZSTD_compressBound(plain->n), n = plain->n;
    strbuf_reserve(out, bound + 1);
    if (plain->n >= COMPRESS_FROM)
        n = ZSTD_compress(out->s, bound, plain->s, plain->n, level);
    if (plain->n < COMPRESS_FROM || ZSTD_isError(n) || n >= plain->n) {
        strbuf_add(out, strbuf_str(plain), plain->n);
        return;
    }
    out->n = n;
    out->s[n] = '\0';
}

void log_block_encode(const struct store_log_line *line, size_t line_n, int level, struct strbuf *out)
{
    cleanup_strbuf struct strbuf meta = STRBUF_INIT, text = STRBUF_INIT;
    cleanup_strbuf struct strbuf meta_packed = STRBUF_INIT, text_packed = STRBUF_INIT;
    encode_meta(line, line_n, &meta);
    for (size_t i = 0; i < line_n; i++)
        strbuf_add(&text, line[i].text, line[i].text_n);
    pack_part(&meta, level, &meta_packed);
    pack_part(&text, level, &text_packed);
    strbuf_addc(out, VERSION);
    log_bytes_add_varint(out, meta.n);
    log_bytes_add_varint(out, meta_packed.n);
    log_bytes_add_varint(out, text.n);
    log_bytes_add_varint(out, text_packed.n);
    strbuf_add(out, strbuf_str(&meta_packed), meta_packed.n);
    strbuf_add(out, strbuf_str(&text_packed), text_packed.n);
}

/* ---- decoding ---------------------------------------------------------------------------------------------------- */

struct part {
    const uint8_t *stored;
    uint64_t plain_n, stored_n;
};

struct log_block {
    ZSTD_DCtx *zstd;
    const void *data; /* the bytes of a block of version 1; NULL for other versions */
    size_t data_n;
    struct part meta_part;
    struct strbuf meta_memory, text_memory;
    const char *text;
    size_t text_n;
    struct store_log_line *line;
    size_t line_cap;
    const char **string;
    size_t string_cap;
    struct arena v1;
};

struct log_block *log_block_new(void)
{
    struct log_block *b = must_calloc(1, sizeof(*b));
    b->zstd = must(ZSTD_createDCtx());
    return b;
}

void log_block_free(struct log_block *b)
{
    if (!b)
        return;
    ZSTD_freeDCtx(b->zstd);
    strbuf_release(&b->meta_memory);
    strbuf_release(&b->text_memory);
    arena_release(&b->v1);
    free(b->line);
    free(b->string);
    free(b);
}

static void *grown_buffer(void *p, size_t *cap, size_t n, size_t size)
{
    if (n <= *cap)
        return p;
    *cap = n + n / 4;
    p = must_realloc(p, *cap * size);
    return p;
}

static int take_sizes(struct log_bytes *c, struct part *p)
{
    if (log_bytes_varint(c, &p->plain_n) < 0 || log_bytes_varint(c, &p->stored_n) < 0 || p->plain_n > PLAIN_MAX ||
        p->stored_n > p->plain_n)
        return -1;
    return 0;
}

static int take_part(struct log_bytes *c, struct part *p)
{
    if (p->stored_n > (uint64_t)(c->end - c->p))
        return -1;
    p->stored = c->p;
    c->p += p->stored_n;
    return 0;
}

/* Unpacks a part into `memory`. A part that is not compressed is copied as well, since the stored bytes may be freed
 * before the lines are read. */
static int unpack_part(struct log_block *b, const struct part *p, struct strbuf *memory, const char **ret)
{
    bool packed = p->stored_n != p->plain_n;
    if (packed && ZSTD_getFrameContentSize(p->stored, p->stored_n) != p->plain_n)
        return -1; /* checked before memory is taken for the size that the block names */
    strbuf_reset(memory);
    strbuf_reserve(memory, p->plain_n + 1);
    *ret = memory->s;
    if (!packed) {
        memcpy(memory->s, p->stored, p->stored_n);
        return 0;
    }
    return ZSTD_decompressDCtx(b->zstd, memory->s, p->plain_n, p->stored, p->stored_n) == p->plain_n ? 0 : -1;
}

int log_block_open(struct log_block *b, const void *data, size_t n, const char **ret_text, size_t *ret_text_n,
                   struct error *err)
{
    struct log_bytes c = {data, (const uint8_t *)data + n};
    struct part text;
    b->data = NULL;
    if (n > 0 && c.p[0] == VERSION_1) {
        b->data = data;
        b->data_n = n;
        *ret_text = NULL;
        return 0;
    }
    if (n == 0 || *c.p++ != VERSION || take_sizes(&c, &b->meta_part) < 0 || take_sizes(&c, &text) < 0 ||
        take_part(&c, &b->meta_part) < 0 || take_part(&c, &text) < 0 || c.p != c.end ||
        unpack_part(b, &text, &b->text_memory, &b->text) < 0)
        return log_block_damaged(err);
    *ret_text = b->text;
    *ret_text_n = b->text_n = text.plain_n;
    return 0;
}

static int take_strings(struct log_block *b, struct log_bytes *c, uint64_t *ret_n)
{
    uint64_t length;
    if (log_bytes_count(c, ret_n) < 0)
        return -1;
    b->string = grown_buffer(b->string, &b->string_cap, *ret_n + 1, sizeof(*b->string));
    b->string[0] = NULL;
    for (uint64_t i = 1; i <= *ret_n; i++) {
        if (log_bytes_count(c, &length) < 0 || length >= (uint64_t)(c->end - c->p) || c->p[length] != 0)
            return -1;
        b->string[i] = (const char *)c->p;
        c->p += length + 1;
    }
    return 0;
}

static void set_column(struct log_block *b, size_t from, size_t to, int column, uint64_t value)
{
    for (size_t i = from; i < to; i++) {
        struct store_log_line *l = &b->line[i];
        if (column == LEVEL_COLUMN) {
            l->level = (int32_t)value;
        } else if (column == RANK_COLUMN) {
            l->has_rank = value != 0;
            l->rank = value ? (int32_t)(value - 1) : 0;
        } else {
            *string_of(l, column) = b->string[value];
        }
    }
}

static int take_runs(struct log_block *b, struct log_bytes *c, size_t n, uint64_t string_n, int column)
{
    for (uint64_t at = 0, value, count; at < n; at += count) {
        if (log_bytes_varint(c, &value) < 0 || log_bytes_varint(c, &count) < 0 || count == 0 || count > n - at ||
            (column < STRING_COLUMNS && value > string_n))
            return -1;
        set_column(b, at, at + count, column, value);
    }
    return 0;
}

static int take_times_and_texts(struct log_block *b, struct log_bytes *c, size_t n, int64_t first_id)
{
    uint64_t v, time_us = 0;
    for (size_t i = 0; i < n; i++) {
        if (log_bytes_varint(c, &v) < 0)
            return -1;
        time_us += (uint64_t)log_bytes_unzigzag(v);
        b->line[i].time_us = (int64_t)time_us;
        b->line[i].id = first_id + (int64_t)i;
    }
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (log_bytes_varint(c, &v) < 0 || v > b->text_n - at)
            return -1;
        b->line[i].text = b->text + at;
        b->line[i].text_n = v;
        at += v;
    }
    return at == b->text_n && c->p == c->end ? 0 : -1;
}

int log_block_lines(struct log_block *b, int64_t first_id, struct store_log_line **ret, size_t *ret_n,
                    struct error *err)
{
    if (b->data) {
        arena_release(&b->v1);
        return log_block_v1_decode(b->data, b->data_n, first_id, &b->v1, ret, ret_n, err);
    }
    const char *meta;
    uint64_t string_n, n;
    if (unpack_part(b, &b->meta_part, &b->meta_memory, &meta) < 0)
        return log_block_damaged(err);
    struct log_bytes c = {(const uint8_t *)meta, (const uint8_t *)meta + b->meta_part.plain_n};
    if (take_strings(b, &c, &string_n) < 0 || log_bytes_count(&c, &n) < 0)
        return log_block_damaged(err);
    b->line = grown_buffer(b->line, &b->line_cap, n + 1, sizeof(*b->line));
    for (int column = 0; column < RUN_COLUMNS; column++)
        if (take_runs(b, &c, n, string_n, column) < 0)
            return log_block_damaged(err);
    if (take_times_and_texts(b, &c, n, first_id) < 0)
        return log_block_damaged(err);
    *ret = b->line;
    *ret_n = n;
    return 0;
}
