/* Encodes JSON: fields in the order of declaration. Rules: common/codec/codec.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/base64.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/base/number.h"
#include "common/codec/codec.h"
#include "common/codec/codec_internal.h"

static void put_message(const struct codec_message *m, const void *msg, struct strbuf *out);

static void put_string(const char *s, struct strbuf *out)
{
    if (!s)
        strbuf_add(out, "\"\"", 2);
    else
        strbuf_add_json(out, s, strlen(s));
}

static void put_string_with_nul(const char *s, struct strbuf *out)
{
    strbuf_add_json_with_nul(out, s ? s : "", s ? strlen(s) : 0);
}

/* 64-bit integers are strings, because JavaScript's numbers cannot hold them. */
static void put_quoted(const char *text, size_t n, struct strbuf *out)
{
    strbuf_addc(out, '"');
    strbuf_add(out, text, n);
    strbuf_addc(out, '"');
}

static void put_bytes(const struct wire_bytes *bytes, struct strbuf *out)
{
    strbuf_addc(out, '"');
    base64_encode(bytes->data, bytes->n, out);
    strbuf_addc(out, '"');
}

static void put_enum(const struct codec_enum *e, int32_t number, struct strbuf *out)
{
    const char *name = codec_enum_name(e, number);
    char text[NUMBER_TEXT_MAX];
    if (name)
        put_quoted(name, strlen(name), out);
    else
        strbuf_add(out, text, number_put_int64(number, text));
}

static void put_time(int64_t us, struct strbuf *out)
{
    char text[CLOCK_TEXT_MAX];
    put_quoted(text, clock_format(us, text), out);
}

static void put_real(double v, const char *text, size_t n, struct strbuf *out)
{
    if (isfinite(v))
        strbuf_add(out, text, n);
    else
        put_quoted(text, n, out);
}

/* Writes a value. `slot` is as in the decoder: messages in lists and maps are structs in place. */
static void put_value(const struct codec_field *f, const void *slot, struct strbuf *out)
{
    char text[NUMBER_TEXT_MAX];
    const char *raw;
    switch (f->type) {
    case CODEC_STRING:
        if (f->flags & CODEC_NUL)
            put_string_with_nul(*(const char *const *)slot, out);
        else
            put_string(*(const char *const *)slot, out);
        break;
    case CODEC_BYTES:
        put_bytes(slot, out);
        break;
    case CODEC_BOOL:
        strbuf_adds(out, *(const bool *)slot ? "true" : "false");
        break;
    case CODEC_INT32:
        strbuf_add(out, text, number_put_int64(*(const int32_t *)slot, text));
        break;
    case CODEC_UINT32:
        strbuf_add(out, text, number_put_uint64(*(const uint32_t *)slot, text));
        break;
    case CODEC_INT64:
        put_quoted(text, number_put_int64(*(const int64_t *)slot, text), out);
        break;
    case CODEC_UINT64:
        put_quoted(text, number_put_uint64(*(const uint64_t *)slot, text), out);
        break;
    case CODEC_FLOAT:
        put_real(*(const float *)slot, text, number_put_float(*(const float *)slot, text), out);
        break;
    case CODEC_DOUBLE:
        put_real(*(const double *)slot, text, number_put_double(*(const double *)slot, text), out);
        break;
    case CODEC_ENUM:
        put_enum(f->enumeration, *(const int32_t *)slot, out);
        break;
    case CODEC_TIME:
        put_time(*(const int64_t *)slot, out);
        break;
    case CODEC_MESSAGE:
        put_message(f->message, slot, out);
        break;
    case CODEC_RAW:
        raw = *(const char *const *)slot;
        strbuf_adds(out, raw ? raw : "null");
        break;
    }
}

static void put_list(const struct codec_field *f, const void *msg, struct strbuf *out)
{
    const char *element = *(const char *const *)codec_at(msg, f->offset);
    size_t n = *codec_count(f, msg);
    strbuf_addc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            strbuf_addc(out, ',');
        put_value(f, element + i * f->elem_size, out);
    }
    strbuf_addc(out, ']');
}

static const char *key_of(const char *entry)
{
    const char *key = *(const char *const *)entry;
    return key ? key : "";
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(key_of(*(const char *const *)a), key_of(*(const char *const *)b));
}

/* The entries sorted by key, or NULL if they are sorted already. The caller frees the array. */
static const char **sorted_entries(const struct codec_field *f, const char *entry, size_t n)
{
    size_t i = 1;
    while (i < n && strcmp(key_of(entry + (i - 1) * f->elem_size), key_of(entry + i * f->elem_size)) <= 0)
        i++;
    if (i >= n)
        return NULL;
    const char **order = must_calloc(n, sizeof(*order));
    for (i = 0; i < n; i++)
        order[i] = entry + i * f->elem_size;
    qsort(order, n, sizeof(*order), compare_entries);
    return order;
}

static void put_map(const struct codec_field *f, const void *msg, struct strbuf *out)
{
    const char *entry = *(const char *const *)codec_at(msg, f->offset);
    size_t n = *codec_count(f, msg);
    const char **order = sorted_entries(f, entry, n);
    strbuf_addc(out, '{');
    for (size_t i = 0; i < n; i++) {
        const char *e = order ? order[i] : entry + i * f->elem_size;
        if (i > 0)
            strbuf_addc(out, ',');
        put_string(key_of(e), out);
        strbuf_addc(out, ':');
        put_value(f, e + f->value_offset, out);
    }
    strbuf_addc(out, '}');
    free(order);
}

static bool is_set(const struct codec_field *f, const void *msg)
{
    if (!codec_is_single(f))
        return true;
    if (codec_is_pointer(f->type))
        return *(void *const *)codec_at(msg, f->offset) != NULL;
    return f->has_offset == 0 || *(const bool *)codec_at(msg, f->has_offset);
}

static void put_field(const struct codec_field *f, const void *msg, bool set, struct strbuf *out)
{
    if (f->flags & CODEC_REPEATED)
        put_list(f, msg, out);
    else if (f->flags & CODEC_MAP)
        put_map(f, msg, out);
    else if (!set && (f->flags & CODEC_WRAPPER || f->type == CODEC_MESSAGE))
        strbuf_add(out, "null", 4);
    else if (f->type == CODEC_MESSAGE)
        put_message(f->message, *(const void *const *)codec_at(msg, f->offset), out);
    else
        put_value(f, codec_at(msg, f->offset), out);
}

/* A list whose elements were encoded before, in a message that also has other fields. */
struct listing {
    const char *field;
    const struct codec_text *element;
    size_t n;
};

static void put_texts(const struct listing *l, struct strbuf *out)
{
    size_t all = l->n;
    for (size_t i = 0; i < l->n; i++)
        all += l->element[i].n;
    strbuf_reserve(out, all);
    strbuf_addc(out, '[');
    for (size_t i = 0; i < l->n; i++) {
        if (i > 0)
            strbuf_addc(out, ',');
        strbuf_add(out, l->element[i].s, l->element[i].n);
    }
    strbuf_addc(out, ']');
}

static void put_fields(const struct codec_message *m, const void *msg, const struct listing *listing,
                       struct strbuf *out)
{
    char before = '{';
    for (size_t i = 0; i < m->field_n; i++) {
        const struct codec_field *f = &m->field[i];
        bool set = is_set(f, msg);
        if (!set && f->flags & CODEC_OPTIONAL)
            continue;
        strbuf_addc(out, before);
        put_quoted(f->json, strlen(f->json), out);
        strbuf_addc(out, ':');
        if (listing && strcmp(f->json, listing->field) == 0)
            put_texts(listing, out);
        else
            put_field(f, msg, set, out);
        before = ',';
    }
    if (before == '{')
        strbuf_addc(out, '{');
    strbuf_addc(out, '}');
}

static void put_message(const struct codec_message *m, const void *msg, struct strbuf *out)
{
    put_fields(m, msg, /* listing= */ NULL, out);
}

void codec_encode(const struct codec_message *m, const void *msg, struct strbuf *out)
{
    put_message(m, msg, out);
}

void codec_encode_listing(const struct codec_message *m, const void *msg, const char *list,
                          const struct codec_text *element, size_t n, struct strbuf *out)
{
    struct listing listing = {list, element, n};
    put_fields(m, msg, &listing, out);
}
