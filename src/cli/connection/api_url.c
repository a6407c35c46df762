#include "cli/connection/api_internal.h"

#include <inttypes.h>
#include <string.h>

#include "cli/connection/address.h"
#include "common/base/clock.h"

static bool is_path_param(const struct route *r, const struct codec_field *f)
{
    for (size_t i = 0; i < r->segment_n; i++)
        if (r->segment[i].param &&
            (strcmp(r->segment[i].param, f->json) == 0 || strcmp(r->segment[i].param, f->snake) == 0))
            return true;
    return false;
}

/* One value as text for a path or query; NULL if it is zero. */
static const char *scalar_text(struct arena *a, const struct codec_field *f, const void *at)
{
    char time[CLOCK_TEXT_MAX];
    switch (f->type) {
    case CODEC_STRING:
        return *(const char *const *)at && **(const char *const *)at ? *(const char *const *)at : NULL;
    case CODEC_BOOL:
        return *(const bool *)at ? "true" : NULL;
    case CODEC_INT32:
        return *(const int32_t *)at ? arena_printf(a, "%" PRId32, *(const int32_t *)at) : NULL;
    case CODEC_UINT32:
        return *(const uint32_t *)at ? arena_printf(a, "%" PRIu32, *(const uint32_t *)at) : NULL;
    case CODEC_INT64:
        return *(const int64_t *)at ? arena_printf(a, "%" PRId64, *(const int64_t *)at) : NULL;
    case CODEC_ENUM:
        return *(const int32_t *)at ? codec_enum_name(f->enumeration, *(const int32_t *)at) : NULL;
    case CODEC_TIME:
        clock_format(*(const int64_t *)at, time);
        return arena_strdup(a, time);
    default:
        return NULL; /* no route that det calls has a field of another type in its query */
    }
}

static bool field_is_set(const struct codec_field *f, const char *request)
{
    return !f->has_offset || f->flags & (CODEC_REPEATED | CODEC_MAP) || *(const bool *)(request + f->has_offset);
}

static const char *zero_text(const struct codec_field *f)
{
    return f->type == CODEC_BOOL ? "false" : f->type == CODEC_STRING ? "" : "0";
}

static void add_query(struct strbuf *url, struct arena *a, const char *name, const char *value)
{
    strbuf_addf(url, "%c%s=%s", strchr(strbuf_str(url), '?') ? '&' : '?', name, address_escape(value, a));
}

static void add_query_field(struct strbuf *url, struct arena *a, const struct codec_field *f, const char *request)
{
    if (f->flags & CODEC_REPEATED) {
        size_t n = *(const size_t *)(request + f->has_offset);
        const char *item = *(const char *const *)(request + f->offset);
        for (size_t i = 0; i < n; i++, item += f->elem_size) {
            const char *value = scalar_text(a, f, item);
            add_query(url, a, f->json, value ? value : zero_text(f));
        }
    } else if (field_is_set(f, request)) {
        const char *value = scalar_text(a, f, request + f->offset);
        if (value || (f->has_offset && f->type != CODEC_TIME))
            add_query(url, a, f->json, value ? value : zero_text(f));
    }
}

static void add_path(struct strbuf *url, struct arena *a, const struct route *r, const char *request)
{
    for (size_t i = 0; i < r->segment_n; i++) {
        const struct route_segment *s = &r->segment[i];
        strbuf_addc(url, '/');
        if (s->literal) {
            strbuf_add(url, s->literal, s->literal_n);
            continue;
        }
        const char *dot = strchr(s->param, '.'), *base = request;
        const struct codec_field *f = codec_field_by_name(r->request, s->param,
                                                          dot ? (size_t)(dot - s->param) : strlen(s->param));
        if (f && dot) {
            base = *(const char *const *)(request + f->offset);
            f = codec_field_by_name(f->message, dot + 1, strlen(dot + 1));
        }
        const char *value = f && base ? scalar_text(a, f, base + f->offset) : NULL;
        strbuf_adds(url, address_escape(value ? value : "0", a));
    }
}

void api_build_url(struct cli *cli, const struct route *r, const void *request, struct strbuf *url)
{
    const char *zeros = arena_alloc(&cli->arena, r->request->size ? r->request->size : 1);
    const char *from = request ? request : zeros;
    strbuf_adds(url, cli->master);
    add_path(url, &cli->arena, r, from);
    if (r->body == ROUTE_BODY_STAR)
        return;
    for (size_t i = 0; i < r->request->field_n; i++) {
        const struct codec_field *f = &r->request->field[i];
        if (!is_path_param(r, f) && (int)i != r->body_field && f->type != CODEC_MESSAGE)
            add_query_field(url, &cli->arena, f, from);
    }
}

void api_build_body(const struct route *r, const void *request, struct strbuf *body)
{
    if (!request || r->body == ROUTE_BODY_NONE)
        return;
    if (r->body == ROUTE_BODY_STAR) {
        codec_encode(r->request, request, body);
        return;
    }
    const struct codec_field *f = &r->request->field[r->body_field];
    const void *value = *(const void *const *)((const char *)request + f->offset);
    if (f->type == CODEC_MESSAGE)
        codec_encode(f->message, value, body);
    else if (f->type == CODEC_STRING)
        strbuf_add_json(body, value ? value : "", value ? strlen(value) : 0);
    else if (f->type == CODEC_RAW)
        strbuf_adds(body, value ? value : "null");
}
