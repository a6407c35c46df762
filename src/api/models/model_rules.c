#include "api/models/model_rules.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/utf8.h"

/* The next character of a text in UTF-8, which the decoder of requests has checked. */
static uint32_t next_character(const char **at)
{
    const unsigned char *p = (const unsigned char *)*at;
    int more = p[0] < 0x80 ? 0 : p[0] < 0xe0 ? 1 : p[0] < 0xf0 ? 2 : 3;
    uint32_t c = more == 0 ? p[0] : p[0] & (0x3fu >> more);
    int i = 1;
    for (; i <= more && utf8_is_tail((*at)[i]); i++)
        c = c << 6 | (p[i] & 0x3fu);
    *at += i;
    return c;
}

/* Characters that a reader does not see, or that change how others look. */
static bool is_invisible(uint32_t c)
{
    static const uint32_t range[][2] = {
        {0x00, 0x1f},     {0x7f, 0xa0},     {0xad, 0xad},        {0x0300, 0x036f}, {0x034f, 0x034f}, {0x061c, 0x061c},
        {0x115f, 0x1160}, {0x1680, 0x1680}, {0x17b4, 0x17b5},    {0x180b, 0x180e}, {0x2000, 0x200f}, {0x2028, 0x202f},
        {0x205f, 0x206f}, {0x3000, 0x3000}, {0x3164, 0x3164},    {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0},
        {0xfff0, 0xffff}, {0xd800, 0xf8ff}, {0xe0000, 0x10ffff},
    };
    for (size_t i = 0; i < sizeof(range) / sizeof(range[0]); i++)
        if (c >= range[i][0] && c <= range[i][1])
            return true;
    return false;
}

static int check_characters(const char *name, struct error *err)
{
    uint32_t before = ' ';
    int n = 0;
    for (const char *p = name; *p; n++) {
        uint32_t c = next_character(&p);
        if (c == '/')
            return error_set(err, ERR_INVALID, "model names cannot contain '/': it separates the parts of a path");
        if (is_invisible(c))
            return error_set(err, ERR_INVALID,
                             "model names cannot contain control characters, invisible characters or combining "
                             "accents; character %d is U+%04X",
                             n + 1, (unsigned)c);
        if (c == ' ' && before == ' ')
            return error_set(err, ERR_INVALID, "model names cannot begin with a space or contain double spaces");
        before = c;
    }
    if (before == ' ')
        return error_set(err, ERR_INVALID, "model names cannot end with a space");
    if (n > MODEL_NAME_MAX)
        return error_set(err, ERR_INVALID, "model names have at most %d characters, this one has %d", MODEL_NAME_MAX,
                         n);
    return 0;
}

int model_check_name(const char *name, struct error *err)
{
    if (!name || !name[strspn(name, " ")])
        return error_set(err, ERR_INVALID, "model names cannot be blank");
    if (!name[strspn(name, "0123456789")])
        return error_set(err, ERR_INVALID,
                         "model names cannot consist of digits alone: digits stand for the id of a model");
    return check_characters(name, err);
}

int model_check_alias(const char *alias, struct error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz", others[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t n = strlen(alias);
    if (n > 0 && n <= MODEL_ALIAS_MAX && strchr(letters, alias[0]) && strspn(alias, others) == n)
        return 0;
    return error_set(err, ERR_INVALID,
                     "the alias '%.80s' is not allowed: an alias begins with a lower-case letter and has at most %d "
                     "lower-case letters, digits, '.', '_' and '-'",
                     alias, MODEL_ALIAS_MAX);
}
