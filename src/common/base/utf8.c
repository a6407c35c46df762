#include "common/base/utf8.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

/* Whether the second byte is valid after the first one. It decides about overlong forms, surrogates and the upper end
 * (RFC 3629, section 4, the ABNF). */
static int second_is_fine(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0;
    case 0xed:
        return second < 0xa0;
    case 0xf0:
        return second >= 0x90;
    case 0xf4:
        return second < 0x90;
    default:
        return 1;
    }
}

size_t utf8_sequence(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    if (n == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    size_t len = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (len == 0 || len > n || !second_is_fine(s[0], s[1]))
        return 0;
    for (size_t i = 1; i < len; i++)
        if (!utf8_is_tail(text[i]))
            return 0;
    return len;
}

size_t utf8_check(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint64_t word;
        if (n - i >= sizeof(word)) { /* eight bytes of ASCII at once */
            memcpy(&word, s + i, sizeof(word));
            if ((word & 0x8080808080808080u) == 0) {
                i += sizeof(word);
                continue;
            }
        }
        size_t len = utf8_sequence(s + i, n - i);
        if (len == 0)
            return i;
        i += len;
    }
    return n;
}

size_t utf8_count(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += !utf8_is_tail(*s);
    return n;
}

size_t utf8_cut(const char *s, size_t n, size_t max)
{
    if (n <= max)
        return n;
    while (max > 0 && utf8_is_tail(s[max]))
        max--;
    return max;
}

const char *text_find_control(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 0x7f)
            return s;
    return NULL;
}

size_t utf8_put(uint32_t code, char out[4])
{
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char mark[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(mark[len] | code);
    return len;
}

char *utf8_with_zeros(const char *s, size_t n, size_t *ret_n)
{
    const char *nul = memchr(s, UTF8_NUL[0], n); /* this byte is in no well-formed text, so it is found fastest */
    nul = nul ? memmem(nul, n - (size_t)(nul - s), UTF8_NUL, 2) : NULL;
    if (!nul)
        return NULL;
    char *text = must_malloc(n), *out = text;
    for (const char *end = s + n; nul; nul = memmem(s, (size_t)(end - s), UTF8_NUL, 2)) {
        out = mempcpy(out, s, (size_t)(nul - s));
        *out++ = '\0';
        s = nul + 2;
        n = (size_t)(end - s);
    }
    out = mempcpy(out, s, n);
    *ret_n = (size_t)(out - text);
    return text;
}
