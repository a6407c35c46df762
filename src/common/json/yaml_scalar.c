#include "common/json/yaml_scalar.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "common/base/compare.h"
#include "common/json/json.h"

#define NUMBER_MAX 400 /* a longer text is not a number */

static bool is_null(const char *s)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};
    return text_is_one_of(s, words);
}

static bool is_bool(const char *s, bool *ret)
{
    static const char *const yes[] = {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", NULL};
    static const char *const no[] = {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF", NULL};
    *ret = text_is_one_of(s, yes);
    return *ret || text_is_one_of(s, no);
}

/* Returns the digits of 0b101, 0o17, 017, 0x1f or 1_000, and sets the base. */
static const char *number_base(const char *s, int *base)
{
    *base = 10;
    if (s[0] != '0' || !s[1])
        return s;
    switch (s[1]) {
    case 'x':
    case 'X':
        *base = 16;
        return s + 2;
    case 'o':
    case 'O':
        *base = 8;
        return s + 2;
    case 'b':
    case 'B':
        *base = 2;
        return s + 2;
    default:
        *base = 8;
        return s + 1;
    }
}

static bool only_digits_of(const char *s, int base)
{
    if (!*s)
        return false;
    for (; *s; s++) {
        int d = isdigit((unsigned char)*s)    ? *s - '0'
                : isxdigit((unsigned char)*s) ? tolower((unsigned char)*s) - 'a' + 10
                                              : 99;
        if (d >= base)
            return false;
    }
    return true;
}

static bool is_int(const char *s, struct json_object **ret)
{
    bool negative = *s == '-';
    if (*s == '-' || *s == '+')
        s++;
    int base;
    s = number_base(s, &base);
    if (!only_digits_of(s, base))
        return false;
    errno = 0;
    unsigned long long u = strtoull(s, NULL, base);
    if (errno && base != 10)
        return false;
    if (errno)
        *ret = json_new_double((negative ? -1 : 1) * strtod(s, NULL)); /* the number does not fit into 64 bits */
    else if (negative)
        *ret = u <= (unsigned long long)INT64_MAX + 1 ? json_object_new_int64((int64_t)(0 - u))
                                                      : json_new_double(-(double)u);
    else
        *ret = u <= INT64_MAX ? json_object_new_int64((int64_t)u) : json_object_new_uint64(u);
    return true;
}

static bool is_float_text(const char *s)
{
    bool digits = false;
    if (*s == '-' || *s == '+')
        s++;
    for (; isdigit((unsigned char)*s); s++)
        digits = true;
    if (*s == '.') {
        for (s++; isdigit((unsigned char)*s); s++)
            digits = true;
    }
    if (!digits)
        return false;
    if (*s == 'e' || *s == 'E') {
        s++;
        if (*s == '-' || *s == '+')
            s++;
        if (!isdigit((unsigned char)*s))
            return false;
        while (isdigit((unsigned char)*s))
            s++;
    }
    return *s == '\0';
}

static bool is_float(const char *s, struct json_object **ret)
{
    static const char *const inf[] = {".inf", ".Inf", ".INF", NULL}, *const nan_words[] = {".nan", ".NaN", ".NAN",
                                                                                           NULL};
    bool sign = *s == '-' || *s == '+';
    if (text_is_one_of(s + sign, inf))
        *ret = json_new_double(*s == '-' ? -INFINITY : INFINITY);
    else if (text_is_one_of(s, nan_words))
        *ret = json_new_double(NAN);
    else if (is_float_text(s))
        *ret = json_new_double(strtod(s, NULL));
    else
        return false;
    return true;
}

/* Whether the text has a leading zero and is no octal number: "08" is a text, not 8. */
static bool is_zero_led_text(const char *s)
{
    s += *s == '-' || *s == '+';
    return s[0] == '0' && isdigit((unsigned char)s[1]) && !strpbrk(s, ".eE");
}

static bool is_number(const char *s, size_t n, bool want_int, bool want_float, struct json_object **ret)
{
    char bare[NUMBER_MAX];
    size_t m = 0;
    if (n >= sizeof(bare) || *s == '_')
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] != '_')
            bare[m++] = s[i];
    }
    bare[m] = '\0';
    if (want_int && is_int(bare, ret))
        return true;
    return want_float && !is_zero_led_text(bare) && is_float(bare, ret);
}

static int resolve_tag(const char *s, size_t n, const char *tag, struct json_object **ret)
{
    bool b;
    if (strcmp(tag, YAML_STR_TAG) == 0 || strcmp(tag, "!") == 0)
        *ret = json_object_new_string_len(s, (int)n);
    else if (strcmp(tag, YAML_NULL_TAG) == 0 && is_null(s))
        *ret = NULL;
    else if (strcmp(tag, YAML_BOOL_TAG) == 0 && is_bool(s, &b))
        *ret = json_object_new_boolean(b);
    else if (strcmp(tag, YAML_INT_TAG) == 0)
        return is_number(s, n, true, false, ret) ? 0 : -1;
    else if (strcmp(tag, YAML_FLOAT_TAG) == 0)
        return is_number(s, n, false, true, ret) ? 0 : -1;
    else
        return -1;
    return 0;
}

int yaml_scalar_resolve(const char *s, size_t n, bool plain, const char *tag, struct json_object **ret)
{
    if (tag && *tag)
        return resolve_tag(s, n, tag, ret);
    bool b;
    if (plain && is_null(s))
        *ret = NULL;
    else if (plain && is_bool(s, &b))
        *ret = json_object_new_boolean(b);
    else if (!plain || !is_number(s, n, true, true, ret))
        *ret = json_object_new_string_len(s, (int)n);
    return 0;
}

bool yaml_scalar_is_text(const char *s, size_t n)
{
    bool b;
    struct json_object *number = NULL;
    if (is_null(s) || is_bool(s, &b))
        return false;
    if (is_number(s, n, true, true, &number)) {
        json_object_put(number);
        return false;
    }
    return true;
}
