#include "common/base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_group(char *p, uint32_t bits)
{
    for (int i = 3; i >= 0; i--, bits >>= 6)
        p[i] = alphabet[bits & 63];
}

void base64_encode(const void *data, size_t n, struct strbuf *out)
{
    const uint8_t *in = data;
    size_t groups = (n + 2) / 3;
    strbuf_reserve(out, groups * 4);
    char *p = out->s + out->n;
    size_t i = 0;
    for (; i + 3 <= n; i += 3, p += 4)
        put_group(p, (uint32_t)in[i] << 16 | (uint32_t)in[i + 1] << 8 | in[i + 2]);
    if (i < n) {
        put_group(p, (uint32_t)in[i] << 16 | (i + 1 < n ? (uint32_t)in[i + 1] << 8 : 0));
        p[3] = '=';
        if (i + 1 == n)
            p[2] = '=';
    }
    out->n += groups * 4;
    out->s[out->n] = '\0';
}

void base64_url_encode(const void *data, size_t n, struct strbuf *out)
{
    size_t first = out->n;
    base64_encode(data, n, out);
    for (size_t i = first; i < out->n; i++) {
        char *c = &out->s[i];
        if (*c == '=') {
            strbuf_truncate(out, i);
            break;
        }
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    }
}

/* For each character its value plus one; 0 for characters that base64 does not use. */
static const uint8_t values[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,  ['I'] = 9,
    ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16, ['Q'] = 17, ['R'] = 18,
    ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24, ['Y'] = 25, ['Z'] = 26, ['a'] = 27,
    ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32, ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36,
    ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40, ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45,
    ['t'] = 46, ['u'] = 47, ['v'] = 48, ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54,
    ['2'] = 55, ['3'] = 56, ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63,
    ['-'] = 63, ['/'] = 64, ['_'] = 64,
};

/* Decodes a group: 2 … 4 characters become 1 … 3 bytes. */
static int take_group(const char *s, size_t n, uint8_t *out)
{
    uint32_t bits = 0, bad = 0;
    for (size_t i = 0; i < 4; i++) {
        uint32_t v = i < n ? values[(uint8_t)s[i]] : 1;
        bad |= v == 0;
        bits = bits << 6 | ((v - 1) & 63);
    }
    for (size_t i = 0; i + 1 < n; i++)
        out[i] = (uint8_t)(bits >> (16 - 8 * i));
    return bad ? -1 : 0;
}

int base64_decode(const char *s, size_t n, uint8_t *out, size_t *ret_n)
{
    if (n % 4 == 0)
        for (int i = 0; i < 2 && n > 0 && s[n - 1] == '='; i++)
            n--;
    if (n % 4 == 1)
        return -1;
    uint8_t *p = out;
    for (size_t i = 0; i < n; i += 4) {
        size_t len = n - i < 4 ? n - i : 4;
        if (take_group(s + i, len, p) < 0)
            return -1;
        p += len - 1;
    }
    *ret_n = (size_t)(p - out);
    return 0;
}
