#include "store/logs/log_block_v1.h"

#include <stdlib.h>
#include <zstd.h>

#include "common/base/must.h"
#include "store/logs/log_bytes.h"

enum { VERSION = 1, ZSTD = 1, PLAIN_MAX = 1 << 30 };

struct strings {
    const char **s;
    uint64_t n;
};

static int take_string(struct log_bytes *c, struct arena *a, const char **ret, size_t *ret_n)
{
    uint64_t n;
    if (log_bytes_count(c, &n) < 0)
        return -1;
    *ret = arena_strndup(a, (const char *)c->p, n);
    *ret_n = n;
    c->p += n;
    return 0;
}

static int decode_strings(struct log_bytes *c, struct arena *a, struct strings *ret)
{
    size_t ignored;
    if (log_bytes_count(c, &ret->n) < 0)
        return -1;
    ret->s = arena_array(a, const char *, ret->n + 1);
    for (uint64_t i = 0; i < ret->n; i++)
        if (take_string(c, a, &ret->s[i], &ignored) < 0)
            return -1;
    return 0;
}

static int take_ref(struct log_bytes *c, const struct strings *t, const char **ret)
{
    uint64_t k;
    if (log_bytes_varint(c, &k) < 0 || k > t->n)
        return -1;
    *ret = k ? t->s[k - 1] : NULL;
    return 0;
}

static int decode_line(struct log_bytes *c, const struct strings *t, struct arena *a, int64_t previous_us,
                       struct store_log_line *l)
{
    uint64_t time, level, rank;
    if (log_bytes_varint(c, &time) < 0 || log_bytes_varint(c, &level) < 0 || log_bytes_varint(c, &rank) < 0 ||
        take_ref(c, t, &l->allocation_id) < 0 || take_ref(c, t, &l->agent_id) < 0 ||
        take_ref(c, t, &l->container_id) < 0 || take_ref(c, t, &l->source) < 0 || take_ref(c, t, &l->stdtype) < 0 ||
        take_string(c, a, &l->text, &l->text_n) < 0)
        return -1;
    l->time_us = (int64_t)((uint64_t)previous_us + (uint64_t)log_bytes_unzigzag(time));
    l->level = (int32_t)level;
    l->has_rank = rank != 0;
    l->rank = rank ? (int32_t)(rank - 1) : 0;
    return 0;
}

static int decode_plain(struct log_bytes c, int64_t first_id, struct arena *a, struct store_log_line **ret,
                        size_t *ret_n, struct error *err)
{
    struct strings table;
    uint64_t n;
    if (decode_strings(&c, a, &table) < 0 || log_bytes_count(&c, &n) < 0)
        return log_block_damaged(err);
    struct store_log_line *line = arena_array(a, struct store_log_line, n + 1);
    for (uint64_t i = 0; i < n; i++) {
        line[i].id = first_id + (int64_t)i;
        if (decode_line(&c, &table, a, i ? line[i - 1].time_us : 0, &line[i]) < 0)
            return log_block_damaged(err);
    }
    *ret = line;
    *ret_n = n;
    return 0;
}

int log_block_v1_decode(const void *data, size_t n, int64_t first_id, struct arena *a, struct store_log_line **ret,
                        size_t *ret_n, struct error *err)
{
    struct log_bytes c = {data, (const uint8_t *)data + n};
    uint64_t plain_n;
    if (n < 3 || c.p[0] != VERSION || c.p[1] > ZSTD)
        return log_block_damaged(err);
    bool compressed = c.p[1] == ZSTD;
    c.p += 2;
    if (log_bytes_varint(&c, &plain_n) < 0 || plain_n > PLAIN_MAX)
        return log_block_damaged(err);
    if (!compressed)
        return decode_plain(c, first_id, a, ret, ret_n, err);
    if (ZSTD_getFrameContentSize(c.p, (size_t)(c.end - c.p)) != plain_n)
        return log_block_damaged(err);
    uint8_t *plain = must_malloc(plain_n + 1);
    int rc = ZSTD_decompress(plain, plain_n, c.p, (size_t)(c.end - c.p)) == plain_n
                 ? decode_plain((struct log_bytes){plain, plain + plain_n}, first_id, a, ret, ret_n, err)
                 : log_block_damaged(err);
    free(plain);
    return rc;
}
