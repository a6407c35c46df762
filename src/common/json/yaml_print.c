/* Writes YAML in block style, with sorted keys and lists not indented below their key: the form that `det` has always
 * shown. */
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/utf8.h"
#include "common/json/json.h"
#include "common/json/yaml_scalar.h"

static bool is_plain_byte(unsigned char c)
{
    return c >= 0x20 && c < 0x7f;
}

static size_t digits_at(const char *s)
{
    return strspn(s, "0123456789");
}

/* YAML 1.1 reads 2026-11-21 and 2026-11-21T07:12:00Z as points in time. */
static bool looks_like_time(const char *s)
{
    size_t month, day;
    if (digits_at(s) != 4 || s[4] != '-')
        return false;
    month = digits_at(s + 5);
    if (month < 1 || month > 2 || s[5 + month] != '-')
        return false;
    s += 6 + month;
    day = digits_at(s);
    return day >= 1 && day <= 2 && strchr("Tt \t", s[day]); /* a blank, or the end of the text */
}

/* Whether a text can stand without quotes: nothing in it means something to YAML. */
static bool can_be_plain(const char *s, size_t n)
{
    if (n == 0 || !yaml_scalar_is_text(s, n) || isspace((unsigned char)s[0]) || isspace((unsigned char)s[n - 1]))
        return false;
    if (strchr("!&*|>%@`\"'#{}[],=<", s[0]) || strncmp(s, "---", 3) == 0 || strncmp(s, "...", 3) == 0)
        return false;
    if (looks_like_time(s))
        return false;
    if (strchr("-?:", s[0]) && (n == 1 || s[1] == ' '))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_plain_byte((unsigned char)s[i]) || (s[i] == ':' && (i + 1 == n || s[i + 1] == ' ')) ||
            (s[i] == '#' && i && s[i - 1] == ' '))
            return false;
    }
    return true;
}

/* The code point of a well-formed sequence of `n` bytes. */
static uint32_t code_of(const char *s, size_t n)
{
    static const unsigned char first[5] = {0, 0x7f, 0x1f, 0x0f, 0x07}; /* the bits of the first byte that count */
    uint32_t code = (unsigned char)s[0] & first[n];
    for (size_t i = 1; i < n; i++)
        code = code << 6 | ((unsigned char)s[i] & 0x3f);
    return code;
}

/* Whether a character stands for itself within quotes: YAML 1.1's c-printable without what ends a line, and without the
 * byte order mark. */
static bool is_printable(uint32_t c)
{
    if (c == 0x2028 || c == 0x2029 || c == 0xfeff)
        return false;
    return (c >= 0x20 && c < 0x7f) || (c >= 0xa0 && c < 0xfffe) || c >= 0x10000;
}

static void print_double_quoted(const char *s, size_t n, struct strbuf *out)
{
    strbuf_addc(out, '"');
    for (size_t i = 0, len; i < n; i += len ? len : 1) {
        len = utf8_sequence(s + i, n - i);
        uint32_t c = len ? code_of(s + i, len) : 0xfffd;
        if (c == '"' || c == '\\')
            strbuf_addf(out, "\\%c", (int)c);
        else if (c == '\n')
            strbuf_adds(out, "\\n");
        else if (c == '\t')
            strbuf_adds(out, "\\t");
        else if (is_printable(c))
            strbuf_add(out, len ? s + i : UTF8_REPLACEMENT, len ? len : sizeof(UTF8_REPLACEMENT) - 1);
        else
            strbuf_addf(out, "\\u%04x", (unsigned)c);
    }
    strbuf_addc(out, '"');
}

static bool all_printable(const char *s, size_t n)
{
    for (size_t i = 0, len; i < n; i += len) {
        len = utf8_sequence(s + i, n - i);
        if (len == 0 || !is_printable(code_of(s + i, len)))
            return false;
    }
    return true;
}

static void print_text(const char *s, size_t n, struct strbuf *out)
{
    if (can_be_plain(s, n)) {
        strbuf_add(out, s, n);
    } else if (!all_printable(s, n)) {
        print_double_quoted(s, n, out);
    } else {
        strbuf_addc(out, '\'');
        for (size_t i = 0; i < n; i++)
            strbuf_addf(out, "%s%c", s[i] == '\'' ? "'" : "", s[i]);
        strbuf_addc(out, '\'');
    }
}

static bool is_empty_collection(struct json_object *v)
{
    return (json_object_is_type(v, json_type_object) && json_object_object_length(v) == 0) ||
           (json_object_is_type(v, json_type_array) && json_object_array_length(v) == 0);
}

static bool is_collection(struct json_object *v)
{
    return json_object_is_type(v, json_type_object) || json_object_is_type(v, json_type_array);
}

static void print_scalar(struct json_object *v, struct strbuf *out)
{
    char number[JSON_DOUBLE_MAX];
    double d;
    switch (json_object_get_type(v)) {
    case json_type_string:
        print_text(json_object_get_string(v), (size_t)json_object_get_string_len(v), out);
        break;
    case json_type_double:
        d = json_object_get_double(v);
        json_format_double(d, number);
        strbuf_adds(out, isnan(d) ? ".nan" : isinf(d) ? (d > 0 ? ".inf" : "-.inf") : number);
        break;
    case json_type_object:
        strbuf_adds(out, "{}");
        break;
    case json_type_array:
        strbuf_adds(out, "[]");
        break;
    default:
        strbuf_adds(out, json_object_to_json_string(v));
    }
}

static void print_block(struct json_object *v, int indent, bool begun, struct strbuf *out);

static void print_list(struct json_object *v, int indent, bool begun, struct strbuf *out)
{
    for (size_t i = 0; i < json_object_array_length(v); i++) {
        strbuf_addf(out, "%*s- ", begun && i == 0 ? 0 : indent, "");
        print_block(json_object_array_get_idx(v, i), indent + 2, true, out);
    }
}

static void print_mapping(struct json_object *v, int indent, bool begun, struct strbuf *out)
{
    size_t n;
    cleanup_free const char **name = json_sorted_names(v, &n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *value = json_object_object_get(v, name[i]);
        strbuf_addf(out, "%*s", begun && i == 0 ? 0 : indent, "");
        print_text(name[i], strlen(name[i]), out);
        strbuf_addc(out, ':');
        if (is_collection(value) && !is_empty_collection(value)) {
            strbuf_addc(out, '\n');
            print_block(value, json_object_is_type(value, json_type_array) ? indent : indent + 2, false, out);
        } else {
            strbuf_addc(out, ' ');
            print_block(value, indent, true, out);
        }
    }
}

/* Prints a value as a block. `begun`: the output is already at the place of the first line. */
static void print_block(struct json_object *v, int indent, bool begun, struct strbuf *out)
{
    if (!is_collection(v) || is_empty_collection(v)) {
        print_scalar(v, out);
        strbuf_addc(out, '\n');
    } else if (json_object_is_type(v, json_type_array)) {
        print_list(v, indent, begun, out);
    } else {
        print_mapping(v, indent, begun, out);
    }
}

void yaml_print(struct json_object *v, struct strbuf *out)
{
    print_block(v, 0, false, out);
}
