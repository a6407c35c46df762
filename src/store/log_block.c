#include "store/log_block.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
    VERSION = 1,
    PLAIN = 0,
    ZSTD = 1,
    /* Below this a frame's overhead eats what compression gains. */
    COMPRESS_FROM = 200,
    LEVEL = 1, /* of zstd: heads are written while somebody waits; sealing compresses better */
    PLAIN_MAX = 1 << 30,
};

/* ---- encoding ---- */

static void add_varint(struct strbuf *b, uint64_t v)
{
    while (v >= 0x80) {
        strbuf_addc(b, (char)(v | 0x80));
        v >>= 7;
    }
    strbuf_addc(b, (char)v);
}

static uint64_t zigzag(int64_t v) { return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63); }

static void add_string(struct strbuf *b, const char *s, size_t n)
{
    add_varint(b, n);
    strbuf_add(b, s, n);
}

/* The distinct strings of a batch: a handful, so a walk is quicker than a hash. Beyond TABLE_SCAN the walk stops and a
 * string may be written again, which costs room but is right. */
enum { TABLE_SCAN = 32 };
struct table {
    const char **s;
    size_t n, cap;
};

static uint64_t intern(struct table *t, const char *s)
{
    if (!s)
        return 0;
    for (size_t i = t->n, seen = 0; i > 0 && seen < TABLE_SCAN; i--, seen++)
        if (t->s[i - 1] == s || strcmp(t->s[i - 1], s) == 0)
            return i;
    if (t->n == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 16;
        t->s = realloc(t->s, t->cap * sizeof(*t->s));
        if (!t->s)
            abort();
    }
    t->s[t->n++] = s;
    return t->n;
}

static void add_line(struct strbuf *b, struct table *t, const struct store_log_line *l, int64_t previous_us)
{
    add_varint(b, zigzag((int64_t)((uint64_t)l->time_us - (uint64_t)previous_us)));
    add_varint(b, (uint64_t)(uint32_t)l->level);
    add_varint(b, l->has_rank ? (uint64_t)(uint32_t)l->rank + 1 : 0);
    add_varint(b, intern(t, l->allocation_id));
    add_varint(b, intern(t, l->agent_id));
    add_varint(b, intern(t, l->container_id));
    add_varint(b, intern(t, l->source));
    add_varint(b, intern(t, l->stdtype));
    add_string(b, l->text, l->text_n);
}

static void encode_plain(const struct store_log_line *line, size_t line_n, struct strbuf *out)
{
    cleanup_strbuf struct strbuf lines = STRBUF_INIT;
    struct table t = {0};
    for (size_t i = 0; i < line_n; i++)
        add_line(&lines, &t, &line[i], i ? line[i - 1].time_us : 0);
    add_varint(out, t.n);
    for (size_t i = 0; i < t.n; i++)
        add_string(out, t.s[i], strlen(t.s[i]));
    add_varint(out, line_n);
    strbuf_add(out, lines.s, lines.n);
    free(t.s);
}

static bool add_compressed(const struct strbuf *plain, struct strbuf *out)
{
    size_t bound = ZSTD_compressBound(plain->n), start = out->n;
    strbuf_reserve(out, bound + 1);
    size_t n = ZSTD_compress(out->s + start, bound, plain->s, plain->n, LEVEL);
    if (ZSTD_isError(n) || n >= plain->n)
        return false;
    out->n = start + n;
    out->s[out->n] = '\0';
    return true;
}

void log_block_encode(const struct store_log_line *line, size_t line_n, struct strbuf *out)
{
    cleanup_strbuf struct strbuf plain = STRBUF_INIT;
    encode_plain(line, line_n, &plain);
    strbuf_addc(out, VERSION);
    strbuf_addc(out, ZSTD);
    size_t how = out->n - 1;
    add_varint(out, plain.n);
    if (plain.n >= COMPRESS_FROM && add_compressed(&plain, out))
        return;
    out->s[how] = PLAIN;
    strbuf_add(out, plain.s, plain.n);
}

/* ---- decoding ---- */

struct cursor {
    const uint8_t *p, *end;
};

static int bad(struct error *err)
{
    return error_set(err, ERR_IO, "a block of task logs is damaged in the database");
}

static int take_varint(struct cursor *c, uint64_t *ret)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && c->p < c->end; shift += 7) {
        uint8_t byte = *c->p++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = v;
            return 0;
        }
    }
    return -1;
}

static int take_string(struct cursor *c, struct arena *a, const char **ret, size_t *ret_n)
{
    uint64_t n;
    if (take_varint(c, &n) < 0 || n > (uint64_t)(c->end - c->p))
        return -1;
    *ret = arena_strndup(a, (const char *)c->p, n);
    *ret_n = n;
    c->p += n;
    return 0;
}

/* A count that cannot be true: each of them takes at least one byte. */
static int take_count(struct cursor *c, uint64_t *ret)
{
    return take_varint(c, ret) < 0 || *ret > (uint64_t)(c->end - c->p) ? -1 : 0;
}

struct strings {
    const char **s;
    uint64_t n;
};

static int decode_table(struct cursor *c, struct arena *a, struct strings *ret)
{
    size_t ignored;
    if (take_count(c, &ret->n) < 0)
        return -1;
    ret->s = arena_array(a, const char *, ret->n + 1);
    for (uint64_t i = 0; i < ret->n; i++)
        if (take_string(c, a, &ret->s[i], &ignored) < 0)
            return -1;
    return 0;
}

static int take_ref(struct cursor *c, const struct strings *t, const char **ret)
{
    uint64_t k;
    if (take_varint(c, &k) < 0 || k > t->n)
        return -1;
    *ret = k ? t->s[k - 1] : NULL;
    return 0;
}

static int decode_line(struct cursor *c, const struct strings *t, struct arena *a, int64_t previous_us,
                       struct store_log_line *l)
{
    uint64_t time, level, rank;
    if (take_varint(c, &time) < 0 || take_varint(c, &level) < 0 || take_varint(c, &rank) < 0 ||
        take_ref(c, t, &l->allocation_id) < 0 || take_ref(c, t, &l->agent_id) < 0 ||
        take_ref(c, t, &l->container_id) < 0 || take_ref(c, t, &l->source) < 0 || take_ref(c, t, &l->stdtype) < 0 ||
        take_string(c, a, &l->text, &l->text_n) < 0)
        return -1;
    l->time_us = (int64_t)((uint64_t)previous_us + ((time >> 1) ^ (0 - (time & 1))));
    l->level = (int32_t)level;
    l->has_rank = rank != 0;
    l->rank = rank ? (int32_t)(rank - 1) : 0;
    return 0;
}

static int decode_plain(struct cursor c, int64_t first_id, struct arena *a, struct store_log_line **ret, size_t *ret_n,
                        struct error *err)
{
    struct strings table;
    uint64_t n;
    if (decode_table(&c, a, &table) < 0 || take_count(&c, &n) < 0)
        return bad(err);
    struct store_log_line *line = arena_array(a, struct store_log_line, n + 1);
    for (uint64_t i = 0; i < n; i++) {
        line[i].id = first_id + (int64_t)i;
        if (decode_line(&c, &table, a, i ? line[i - 1].time_us : 0, &line[i]) < 0)
            return bad(err);
    }
    *ret = line;
    *ret_n = n;
    return 0;
}

int log_block_decode(const void *data, size_t n, int64_t first_id, struct arena *a, struct store_log_line **ret,
                     size_t *ret_n, struct error *err)
{
    struct cursor c = {data, (const uint8_t *)data + n};
    uint64_t plain_n;
    if (n < 3 || c.p[0] != VERSION || c.p[1] > ZSTD)
        return bad(err);
    bool compressed = c.p[1] == ZSTD;
    c.p += 2;
    if (take_varint(&c, &plain_n) < 0 || plain_n > PLAIN_MAX)
        return bad(err);
    if (!compressed)
        return decode_plain(c, first_id, a, ret, ret_n, err);
    if (ZSTD_getFrameContentSize(c.p, (size_t)(c.end - c.p)) != plain_n)
        return bad(err);
    uint8_t *plain = malloc(plain_n + 1);
    if (!plain)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    int rc = ZSTD_decompress(plain, plain_n, c.p, (size_t)(c.end - c.p)) == plain_n
                 ? decode_plain((struct cursor){plain, plain + plain_n}, first_id, a, ret, ret_n, err)
                 : bad(err);
    free(plain);
    return rc;
}
