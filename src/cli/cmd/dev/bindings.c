#include "cli/cmd/dev/bindings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/strbuf.h"

enum { NESTED_MAX = 4, PARAMS_MAX = 128 };

static const char *scalar_type(const struct codec_field *f)
{
    switch (f->type) {
    case CODEC_BOOL:
        return "bool";
    case CODEC_INT32:
    case CODEC_UINT32:
    case CODEC_INT64:
    case CODEC_UINT64:
        return "int";
    case CODEC_FLOAT:
    case CODEC_DOUBLE:
        return "float";
    case CODEC_ENUM:
        return f->enumeration->name;
    case CODEC_MESSAGE:
        return f->message->name;
    case CODEC_RAW:
        return "JSON";
    default:
        return "str";
    }
}

/* In the form of the released client: what is not a plain type is in quotes. */
static const char *shown_type(const struct codec_field *f, bool required, struct arena *a)
{
    const char *type = scalar_type(f);
    if (f->flags & CODEC_REPEATED)
        type = arena_printf(a, "Sequence[%s]", type);
    if (!required)
        return arena_printf(a, "'Optional[%s]' = None", type);
    return f->flags & CODEC_REPEATED || strchr(type, '.') ? arena_printf(a, "'%s'", type) : type;
}

static const char *joined_by(const char *dotted, char joint, struct arena *a)
{
    char *name = arena_strdup(a, dotted);
    for (char *c = name; *c; c++)
        if (*c == '.')
            *c = joint;
    return name;
}

static void add_param(struct binding *b, const char *dotted, struct binding_param p, struct arena *a)
{
    if (b->param_n == PARAMS_MAX)
        return;
    p.dotted = dotted;
    p.name = joined_by(dotted, '_', a);
    b->param[b->param_n++] = p;
}

static const struct codec_field *nested_field(const struct codec_message *m, const char *dotted)
{
    size_t n = strcspn(dotted, ".");
    const struct codec_field *f = codec_field_by_name(m, dotted, n);
    return f && dotted[n] ? nested_field(f->message, dotted + n + 1) : f;
}

static bool is_in_path(const struct route *r, const char *json, const char *snake)
{
    for (size_t i = 0; i < r->segment_n; i++)
        if (r->segment[i].param && (strcmp(r->segment[i].param, json) == 0 || strcmp(r->segment[i].param, snake) == 0))
            return true;
    return false;
}

static void add_path(struct binding *b, const struct route *r, struct arena *a)
{
    for (size_t i = 0; i < r->segment_n; i++) {
        const char *dotted = r->segment[i].param;
        const struct codec_field *f = dotted ? nested_field(r->request, dotted) : NULL;
        if (f)
            add_param(b, dotted,
                      (struct binding_param){.type = shown_type(f, true, a), .required = true, .in_path = true}, a);
    }
}

static void add_body(struct binding *b, const struct route *r, struct arena *a)
{
    const char *type = r->body == ROUTE_BODY_STAR ? arena_printf(a, "'%s'", r->request->name)
                                                  : shown_type(&r->request->field[r->body_field], true, a);
    add_param(b, "body", (struct binding_param){.type = type, .required = true, .body = true}, a);
}

/* A field that is a message gives a parameter for each field of that message. */
static void add_query(struct binding *b, const struct codec_message *m, const char *prefix, int depth,
                      const struct route *r, struct arena *a)
{
    for (size_t i = 0; i < m->field_n; i++) {
        const struct codec_field *f = &m->field[i];
        bool top = depth == 0, list = f->flags & CODEC_REPEATED;
        const char *dotted = arena_printf(a, "%s%s", prefix, f->json);
        if (f->flags & CODEC_MAP || is_in_path(r, dotted, top ? f->snake : dotted) || (top && (int)i == r->body_field))
            continue;
        if (f->type == CODEC_MESSAGE) {
            if (!list && depth < NESTED_MAX)
                add_query(b, f->message, arena_printf(a, "%s.", dotted), depth + 1, r, a);
            continue;
        }
        add_param(b, dotted, (struct binding_param){.type = shown_type(f, false, a), .list = list}, a);
    }
}

static int by_need_and_name(const void *left, const void *right)
{
    const struct binding_param *a = left, *b = right;
    return a->required != b->required ? b->required - a->required : strcmp(a->name, b->name);
}

static struct binding binding_of(enum route_id id, struct arena *a)
{
    const struct route *r = &routes[id];
    char *name = arena_printf(a, "%s_%s", r->method, r->rpc);
    for (char *c = name; *c != '_'; c++)
        *c = (char)tolower((unsigned char)*c);
    struct binding b = {.name = name, .id = id, .param = arena_array(a, struct binding_param, PARAMS_MAX)};
    add_path(&b, r, a);
    if (r->body != ROUTE_BODY_NONE)
        add_body(&b, r, a);
    if (r->body != ROUTE_BODY_STAR)
        add_query(&b, r->request, "", 0, r, a);
    qsort(b.param, b.param_n, sizeof(*b.param), by_need_and_name);
    return b;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct binding *)a)->name, ((const struct binding *)b)->name);
}

size_t bindings_list(struct arena *a, bool planned, struct binding **ret)
{
    size_t n = 0;
    *ret = arena_array(a, struct binding, ROUTES_N);
    for (int id = 0; id < ROUTES_N; id++)
        if (planned || routes[id].kind != ROUTE_PLANNED)
            (*ret)[n++] = binding_of((enum route_id)id, a);
    qsort(*ret, n, sizeof(**ret), by_name);
    return n;
}

const char *binding_signature(const struct binding *b, struct arena *a)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_adds(&text, b->name);
    for (size_t i = 0; i < b->param_n; i++)
        strbuf_addf(&text, "%s%s: %s", i ? ", " : " <= ", b->param[i].name, b->param[i].type);
    const char *ret = arena_strdup(a, strbuf_str(&text));
    strbuf_release(&text);
    return ret;
}
