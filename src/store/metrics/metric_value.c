#include "store/metrics/metric_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/number.h"
#include "common/json/json.h"
#include "common/json/json_reader.h"

/* ---- values ------------------------------------------------------------------------------------------------------ */

static bool is_text(const char *json, size_t n, const char *text)
{
    return n == strlen(text) && memcmp(json, text, n) == 0;
}

static bool read_int(const char *json, size_t n, struct metric_value *ret)
{
    char text[NUMBER_TEXT_MAX];
    int64_t v;
    if (n == 0 || n >= NUMBER_TEXT_MAX || json[n - 1] < '0' || json[n - 1] > '9' || number_to_int64(json, n, &v) < 0)
        return false;
    if (number_put_int64(v, text) != n || memcmp(text, json, n) != 0)
        return false; /* 007 is no number in JSON; -0 and 1e2 are, but would not be written again as they were */
    *ret = (struct metric_value){.kind = METRIC_INT, .integer = v};
    return true;
}

static bool read_double(const char *json, size_t n, struct metric_value *ret)
{
    char text[JSON_DOUBLE_MAX];
    double v;
    if (n == 0 || n >= JSON_DOUBLE_MAX || number_to_double(json, n, &v) < 0)
        return false;
    json_format_double(v, text);
    if (!is_text(json, n, text))
        return false;
    *ret = (struct metric_value){.kind = METRIC_DOUBLE, .number = v};
    return true;
}

struct metric_value metric_value_of(const char *json, size_t n, struct arena *a)
{
    struct metric_value v;
    bool number = n > 0 && (json[0] == '-' || (json[0] >= '0' && json[0] <= '9'));
    if (number && (read_int(json, n, &v) || read_double(json, n, &v)))
        return v;
    if (is_text(json, n, "\"NaN\""))
        return (struct metric_value){.kind = METRIC_NAN};
    if (is_text(json, n, "\"Infinity\""))
        return (struct metric_value){.kind = METRIC_INFINITY};
    if (is_text(json, n, "\"-Infinity\""))
        return (struct metric_value){.kind = METRIC_MINUS_INFINITY};
    return (struct metric_value){.kind = METRIC_JSON, .json = arena_strndup(a, json, n)};
}

void metric_value_print(const struct metric_value *v, struct strbuf *out)
{
    char text[JSON_DOUBLE_MAX > NUMBER_TEXT_MAX ? JSON_DOUBLE_MAX : NUMBER_TEXT_MAX];
    switch (v->kind) {
    case METRIC_DOUBLE:
        json_format_double(v->number, text);
        strbuf_adds(out, text);
        break;
    case METRIC_INT:
        strbuf_add(out, text, number_put_int64(v->integer, text));
        break;
    case METRIC_NAN:
        strbuf_adds(out, "\"NaN\"");
        break;
    case METRIC_INFINITY:
        strbuf_adds(out, "\"Infinity\"");
        break;
    case METRIC_MINUS_INFINITY:
        strbuf_adds(out, "\"-Infinity\"");
        break;
    case METRIC_JSON:
        strbuf_adds(out, v->json);
        break;
    case METRIC_ABSENT:
    case METRIC_KIND_NR:
        break;
    }
}

bool metric_value_number(const struct metric_value *v, double *ret)
{
    switch (v->kind) {
    case METRIC_DOUBLE:
        *ret = v->number;
        return true;
    case METRIC_INT:
        *ret = (double)v->integer;
        return true;
    case METRIC_NAN:
        *ret = NAN;
        return true;
    case METRIC_INFINITY:
    case METRIC_MINUS_INFINITY:
        *ret = v->kind == METRIC_INFINITY ? INFINITY : -INFINITY;
        return true;
    case METRIC_JSON: /* a number in a form such as 1E5 */
        if (v->json[0] != '-' && (v->json[0] < '0' || v->json[0] > '9'))
            return false;
        return number_to_double(v->json, strlen(v->json), ret) == 0;
    default:
        return false;
    }
}

static bool equal_documents(const char *a, const char *b)
{
    cleanup_json struct json_object *x = NULL, *y = NULL;
    return json_parse(a, strlen(a), &x, NULL) == 0 && json_parse(b, strlen(b), &y, NULL) == 0 &&
           json_object_equal(x, y);
}

bool metric_value_equal(const struct metric_value *a, const struct metric_value *b)
{
    double x, y;
    bool a_number = metric_value_number(a, &x), b_number = metric_value_number(b, &y);
    if (a_number || b_number)
        return a_number && b_number && (x == y || (isnan(x) && isnan(y)));
    if (a->kind != METRIC_JSON || b->kind != METRIC_JSON)
        return a->kind == b->kind;
    return strcmp(a->json, b->json) == 0 || equal_documents(a->json, b->json);
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

static struct reader reader_at(const char *p, const char *end, struct arena *a)
{
    return (struct reader){.start = p, .p = p, .end = end, .a = a};
}

const char *metric_text_of(const char *quoted, size_t n, struct arena *a)
{
    struct reader r = reader_at(quoted, quoted + n, a);
    struct reader_slice text;
    return reader_string(&r, &text) < 0 ? arena_strndup(a, quoted + 1, n - 2) : reader_text(&r, &text);
}

struct metric_members metric_members_of(const char *json)
{
    struct metric_members m = {.end = json + strlen(json), .first = true};
    struct reader r = reader_at(json, m.end, NULL);
    char opening = reader_peek(&r);
    m.list = opening == '[';
    m.p = opening == '{' || m.list ? r.p + 1 : m.end;
    return m;
}

bool metric_members_next(struct metric_members *m, struct arena *a)
{
    struct reader r = reader_at(m->p, m->end, a);
    struct reader_slice name;
    if (reader_next(&r, m->list ? ']' : '}', m->first, m->list ? NULL : &name) <= 0)
        return false;
    m->name = m->list ? NULL : reader_text(&r, &name);
    m->first = false;
    reader_peek(&r);
    m->value = r.p;
    if (reader_skip(&r) < 0)
        return false;
    m->value_n = (size_t)(r.p - m->value);
    m->p = r.p;
    return true;
}
