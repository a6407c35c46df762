#include "common/base/strbuf.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "common/base/utf8.h"

void strbuf_release(struct strbuf *b)
{
    free(b->s);
    *b = (struct strbuf)STRBUF_INIT;
}

void strbuf_reset(struct strbuf *b)
{
    strbuf_truncate(b, 0);
}

void strbuf_reserve(struct strbuf *b, size_t extra)
{
    if (extra < b->cap && b->n < b->cap - extra)
        return;
    if (extra >= SIZE_MAX / 4 - b->n)
        abort();
    size_t cap = b->cap < 64 ? 64 : b->cap;
    while (cap <= b->n + extra)
        cap *= 2;
    b->s = must_realloc(b->s, cap);
    b->cap = cap;
    b->s[b->n] = '\0';
}

void strbuf_add(struct strbuf *b, const void *data, size_t n)
{
    strbuf_reserve(b, n);
    if (n > 0)
        memcpy(b->s + b->n, data, n);
    b->n += n;
    b->s[b->n] = '\0';
}

void strbuf_adds(struct strbuf *b, const char *s)
{
    strbuf_add(b, s, strlen(s));
}

void strbuf_addc(struct strbuf *b, char c)
{
    strbuf_reserve(b, 1);
    b->s[b->n++] = c;
    b->s[b->n] = '\0';
}

void strbuf_addf(struct strbuf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(b, fmt, ap);
    va_end(ap);
}

void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    strbuf_reserve(b, 64);
    size_t room = b->cap - b->n;
    int n = vsnprintf(b->s + b->n, room, fmt, ap);
    if (n < 0)
        abort(); /* only an invalid format gets here */
    if ((size_t)n >= room) {
        strbuf_reserve(b, (size_t)n);
        vsnprintf(b->s + b->n, (size_t)n + 1, fmt, again);
    }
    b->n += (size_t)n;
    va_end(again);
}

/* How each byte is written inside a JSON string. 0: as it is; 1: it begins a longer UTF-8 sequence (or is stray); else
 * the letter of its short escape, or 'u' for \u00XX. < > & are escaped (docs/spec/wire.md#replies), so that a reply can
 * be placed in HTML. */
static const unsigned char json_class[256] = {
    [0 ... 7] = 'u',   ['\b'] = 'b', ['\t'] = 't',  ['\n'] = 'n', [11] = 'u',  ['\f'] = 'f', ['\r'] = 'r',
    [14 ... 31] = 'u', ['"'] = '"',  ['\\'] = '\\', ['<'] = 'u',  ['>'] = 'u', ['&'] = 'u',  [128 ... 255] = 1,
};

static void add_escape(struct strbuf *b, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = {'\\', (char)json_class[c], '0', '0', hex[c >> 4], hex[c & 15]};
    strbuf_add(b, text, text[1] == 'u' ? 6 : 2);
}

/* Adds one UTF-8 sequence of s[0 … n) and returns its length. U+2028 and U+2029, which end a line in JavaScript, are
 * escaped, too. */
static size_t add_multibyte(struct strbuf *b, const char *s, size_t n, bool nul)
{
    size_t len = utf8_sequence(s, n);
    if (nul && n >= 2 && memcmp(s, UTF8_NUL, 2) == 0) {
        strbuf_adds(b, "\\u0000");
        return 2;
    }
    if (len == 0) {
        strbuf_add(b, UTF8_REPLACEMENT, 3);
        return 1;
    }
    if (len == 3 && memcmp(s, "\xe2\x80\xa8", 3) == 0)
        strbuf_adds(b, "\\u2028");
    else if (len == 3 && memcmp(s, "\xe2\x80\xa9", 3) == 0)
        strbuf_adds(b, "\\u2029");
    else
        strbuf_add(b, s, len);
    return len;
}

static void add_json(struct strbuf *b, const char *s, size_t n, bool nul)
{
    strbuf_reserve(b, n + 2);
    strbuf_addc(b, '"');
    size_t from = 0, i = 0;
    while (i < n) {
        unsigned char class = json_class[(unsigned char)s[i]];
        if (class == 0) {
            i++;
            continue;
        }
        strbuf_add(b, s + from, i - from);
        if (class == 1)
            i += add_multibyte(b, s + i, n - i, nul);
        else
            add_escape(b, (unsigned char)s[i++]);
        from = i;
    }
    strbuf_add(b, s + from, n - from);
    strbuf_addc(b, '"');
}

void strbuf_add_json(struct strbuf *b, const char *s, size_t n)
{
    add_json(b, s, n, /* nul= */ false);
}

void strbuf_add_json_with_nul(struct strbuf *b, const char *s, size_t n)
{
    add_json(b, s, n, /* nul= */ true);
}

void strbuf_truncate(struct strbuf *b, size_t n)
{
    if (n > b->n || !b->s)
        return;
    b->n = n;
    b->s[n] = '\0';
}

void strbuf_consume(struct strbuf *b, size_t n)
{
    if (!b->s)
        return;
    if (n > b->n)
        n = b->n;
    memmove(b->s, b->s + n, b->n - n + 1);
    b->n -= n;
}

char *strbuf_detach(struct strbuf *b)
{
    strbuf_reserve(b, 0);
    char *s = b->s;
    *b = (struct strbuf)STRBUF_INIT;
    return s;
}

const char *strbuf_str(const struct strbuf *b)
{
    return b->s ? b->s : "";
}
