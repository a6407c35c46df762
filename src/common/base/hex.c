#include "common/base/hex.h"

#include <string.h>

void hex_encode(const void *data, size_t n, char *ret)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *byte = data;
    for (size_t i = 0; i < n; i++) {
        ret[2 * i] = digits[byte[i] >> 4];
        ret[2 * i + 1] = digits[byte[i] & 15];
    }
    ret[2 * n] = '\0';
}

int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

const char *hex_in_arena(const void *data, size_t n, struct arena *a)
{
    char *text = arena_alloc(a, 2 * n + 1);
    hex_encode(data, n, text);
    return text;
}

void uuid_encode(const unsigned char random[UUID_BYTES], char ret[UUID_TEXT_MAX])
{
    static const size_t group[] = {4, 2, 2, 2, 6}; /* bytes between the hyphens */
    unsigned char b[UUID_BYTES];
    memcpy(b, random, sizeof(b));
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40); /* the version */
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80); /* the variant */
    size_t at = 0;
    for (size_t i = 0; i < sizeof(group) / sizeof(*group); i++) {
        hex_encode(b + at, group[i], ret);
        ret += 2 * group[i];
        *ret++ = '-';
        at += group[i];
    }
    ret[-1] = '\0';
}
