#include "common/json/json.h"

#include <stdio.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/compare.h"
#include "common/base/must.h"
#include "common/base/number.h"
#include "common/json/json_reader.h"

/* ---- Parsing ----------------------------------------------------------------------------------------------------- */

/* json-c's strict mode still lets through what RFC 8259 forbids (NaN, control characters within strings, numbers such
 * as "1."), and its errors name neither line nor column. So the text is read by common/json/json_reader.h first, and
 * json-c builds the tree of a text that is known to be good. */
static int check_text(const char *text, size_t n, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT; /* names that have escapes */
    struct reader r = {.start = text, .p = text, .end = text + n, .a = &a, .err = err};
    return reader_skip(&r) < 0 ? -1 : reader_end(&r);
}

int json_parse(const char *text, size_t n, struct json_object **ret, struct error *err)
{
    if (check_text(text, n, err) < 0)
        return -1;
    struct json_tokener *tok = json_tokener_new_ex(READER_DEPTH_MAX + 2);
    if (!tok)
        return error_set(err, ERR_NO_MEMORY, "not enough memory to read JSON");
    json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *v = json_tokener_parse_ex(tok, text, (int)n);
    enum json_tokener_error e = json_tokener_get_error(tok);
    if (e == json_tokener_continue) /* a number at the end of the text is complete only at the end of the input */
        v = json_tokener_parse_ex(tok, "", -1), e = json_tokener_get_error(tok);
    json_tokener_free(tok);
    if (e != json_tokener_success)
        return error_set(err, ERR_INVALID, "%s", json_tokener_error_desc(e));
    *ret = v;
    return 0;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

void json_format_double(double d, char ret[JSON_DOUBLE_MAX])
{
    number_put_repr(d, ret);
}

struct json_object *json_new_double(double d)
{
    char text[JSON_DOUBLE_MAX];
    json_format_double(d, text);
    return json_object_new_double_s(d, text);
}

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

void json_print(struct json_object *v, struct strbuf *out)
{
    strbuf_adds(out, json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
}

struct json_object *json_copy(struct json_object *v)
{
    struct json_object *copy = NULL;
    if (v)
        must(json_object_deep_copy(v, &copy, NULL) < 0 ? NULL : copy);
    return copy;
}

const char **json_sorted_names(struct json_object *object, size_t *ret_n)
{
    size_t n = 0;
    const char **name = must_calloc((size_t)json_object_object_length(object) + 1, sizeof(*name));
    json_object_object_foreach(object, key, value)
    {
        (void)value;
        name[n++] = key;
    }
    qsort(name, n, sizeof(*name), compare_texts);
    *ret_n = n;
    return name;
}

static void add_utf16(struct strbuf *out, unsigned code)
{
    if (code >= 0x10000) {
        code -= 0x10000;
        strbuf_addf(out, "\\u%04x\\u%04x", 0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff));
    } else {
        strbuf_addf(out, "\\u%04x", code);
    }
}

/* Decodes one character of UTF-8; a byte that is no UTF-8 counts as itself. */
static size_t utf8_next(const unsigned char *s, size_t n, unsigned *ret)
{
    size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 1;
    if (len == 1 || len > n) {
        *ret = s[0];
        return 1;
    }
    unsigned code = s[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++)
        code = code << 6 | (s[i] & 0x3f);
    *ret = code;
    return len;
}

static void print_ascii_string(const char *text, size_t n, struct strbuf *out)
{
    const unsigned char *s = (const unsigned char *)text;
    static const char escape[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    strbuf_addc(out, '"');
    for (size_t i = 0; i < n;) {
        const char *e = s[i] ? strchr(escape, s[i]) : NULL;
        if (e) {
            strbuf_addf(out, "\\%c", letter[e - escape]);
            i++;
        } else if (s[i] >= 0x20 && s[i] < 0x7f) {
            strbuf_addc(out, (char)s[i++]);
        } else {
            unsigned code;
            i += utf8_next(s + i, n - i, &code);
            add_utf16(out, code);
        }
    }
    strbuf_addc(out, '"');
}

static void new_line(struct strbuf *out, int blanks)
{
    strbuf_addf(out, "\n%*s", blanks, "");
}

static void print_sorted(struct json_object *v, int indent, int level, struct strbuf *out)
{
    char number[JSON_DOUBLE_MAX];
    switch (json_object_get_type(v)) {
    case json_type_object: {
        size_t n;
        cleanup_free const char **name = json_sorted_names(v, &n);
        strbuf_addc(out, '{');
        for (size_t i = 0; i < n; i++) {
            strbuf_adds(out, i ? "," : "");
            new_line(out, (level + 1) * indent);
            print_ascii_string(name[i], strlen(name[i]), out);
            strbuf_adds(out, ": ");
            print_sorted(json_object_object_get(v, name[i]), indent, level + 1, out);
        }
        if (n)
            new_line(out, level * indent);
        strbuf_addc(out, '}');
        break;
    }
    case json_type_array: {
        size_t n = json_object_array_length(v);
        strbuf_addc(out, '[');
        for (size_t i = 0; i < n; i++) {
            strbuf_adds(out, i ? "," : "");
            new_line(out, (level + 1) * indent);
            print_sorted(json_object_array_get_idx(v, i), indent, level + 1, out);
        }
        if (n)
            new_line(out, level * indent);
        strbuf_addc(out, ']');
        break;
    }
    case json_type_string:
        print_ascii_string(json_object_get_string(v), (size_t)json_object_get_string_len(v), out);
        break;
    case json_type_double:
        json_format_double(json_object_get_double(v), number);
        strbuf_adds(out, number);
        break;
    default:
        strbuf_adds(out, json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN));
    }
}

void json_print_sorted(struct json_object *v, int indent, struct strbuf *out)
{
    print_sorted(v, indent, 0, out);
}

static const char *copy_text(struct json_object *v, struct arena *a)
{
    return json_object_is_type(v, json_type_string) ? arena_strdup(a, json_object_get_string(v)) : "";
}

const char *json_get_text(struct json_object *object, const char *name, struct arena *a)
{
    return copy_text(json_object_object_get(object, name), a);
}

const char **json_get_texts(struct json_object *object, const char *name, struct arena *a, size_t *ret_n)
{
    struct json_object *list = json_object_object_get(object, name);
    size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    const char **text = arena_array(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = copy_text(json_object_array_get_idx(list, i), a);
    text[n] = NULL;
    *ret_n = n;
    return text;
}
