#include "helpers.h"

#include <stdarg.h>
#include <string.h>

void case_check(struct cases *c, bool ok, const char *fmt, ...)
{
    size_t i = c->n++;
    if (ok) {
        case_pass(c->results);
        return;
    }
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    case_fail(c->results, c->section, i, "%s", strbuf_str(&text));
}

struct json_object *member(struct json_object *o, const char *key)
{
    struct json_object *m = NULL;
    json_object_object_get_ex(o, key, &m);
    return m;
}

int64_t member_int(struct json_object *o, const char *key)
{
    return json_object_get_int64(member(o, key));
}

double member_double(struct json_object *o, const char *key)
{
    return json_object_get_double(member(o, key));
}

const char *member_string(struct json_object *o, const char *key)
{
    const char *s = json_object_get_string(member(o, key));
    return s ? s : "";
}

bool member_bool(struct json_object *o, const char *key)
{
    return json_object_get_boolean(member(o, key));
}

bool list_has(struct json_object *list, const char *text)
{
    for (size_t i = 0; list && i < json_object_array_length(list); i++)
        if (strcmp(json_object_get_string(json_object_array_get_idx(list, i)), text) == 0)
            return true;
    return false;
}
