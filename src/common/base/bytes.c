#include "common/base/bytes.h"

#include <string.h>

void bytes_u8(struct strbuf *b, uint8_t v)
{
    strbuf_add(b, &v, 1);
}

static void put_le(uint8_t *out, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = (uint8_t)(v >> (8 * i));
}

void bytes_u32(struct strbuf *b, uint32_t v)
{
    uint8_t out[4];
    put_le(out, v, 4);
    strbuf_add(b, out, 4);
}

void bytes_u64(struct strbuf *b, uint64_t v)
{
    uint8_t out[8];
    put_le(out, v, 8);
    strbuf_add(b, out, 8);
}

void bytes_string(struct strbuf *b, const char *s, size_t n)
{
    bytes_u32(b, (uint32_t)n);
    strbuf_add(b, s, n);
    bytes_u8(b, 0);
}

void bytes_set_u32(struct strbuf *b, size_t at, uint32_t v)
{
    put_le((uint8_t *)b->s + at, v, 4);
}

static const uint8_t *take_bytes(struct cursor *c, size_t n)
{
    if (c->bad || c->n < n) {
        c->bad = true;
        return NULL;
    }
    const uint8_t *p = c->p;
    c->p += n;
    c->n -= n;
    return p;
}

static uint64_t get_le(struct cursor *c, int n)
{
    const uint8_t *p = take_bytes(c, (size_t)n);
    uint64_t v = 0;
    for (int i = 0; p && i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

uint8_t cursor_u8(struct cursor *c)
{
    return (uint8_t)get_le(c, 1);
}

uint32_t cursor_u32(struct cursor *c)
{
    return (uint32_t)get_le(c, 4);
}

uint64_t cursor_u64(struct cursor *c)
{
    return get_le(c, 8);
}

const char *cursor_string(struct cursor *c, size_t *ret_n)
{
    uint32_t n = cursor_u32(c);
    const uint8_t *p = take_bytes(c, (size_t)n + 1);
    if (p && (p[n] != 0 || (!ret_n && memchr(p, 0, n)))) {
        c->bad = true;
        p = NULL;
    }
    if (ret_n)
        *ret_n = p ? n : 0;
    return p ? (const char *)p : "";
}

uint32_t cursor_count(struct cursor *c, size_t elem_min)
{
    uint32_t n = cursor_u32(c);
    if (n > c->n / (elem_min ? elem_min : 1)) {
        c->bad = true;
        return 0;
    }
    return n;
}

bool cursor_done(const struct cursor *c)
{
    return !c->bad && c->n == 0;
}
