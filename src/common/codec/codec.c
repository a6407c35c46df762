#include "common/codec/codec.h"

#include <math.h>
#include <string.h>

#include "common/base/base64.h"
#include "common/base/clock.h"
#include "common/base/number.h"
#include "common/codec/codec_internal.h"

static const struct {
    uint32_t size;
    const char *expected;
} types[] = {
    [CODEC_STRING] = {sizeof(char *), "a string"},
    [CODEC_BYTES] = {sizeof(struct wire_bytes), "a string of base64"},
    [CODEC_BOOL] = {sizeof(bool), "true or false"},
    [CODEC_INT32] = {sizeof(int32_t), "a 32-bit integer"},
    [CODEC_UINT32] = {sizeof(uint32_t), "an unsigned 32-bit integer"},
    [CODEC_INT64] = {sizeof(int64_t), "a 64-bit integer"},
    [CODEC_UINT64] = {sizeof(uint64_t), "an unsigned 64-bit integer"},
    [CODEC_FLOAT] = {sizeof(float), "a number"},
    [CODEC_DOUBLE] = {sizeof(double), "a number"},
    [CODEC_ENUM] = {sizeof(int32_t), "a name"},
    [CODEC_TIME] = {sizeof(int64_t), "a time such as 2026-11-21T07:12:01.5Z"},
    [CODEC_RAW] = {sizeof(char *), "any value"},
    [CODEC_MESSAGE] = {sizeof(void *), "an object"},
};

static bool is_name(const char *known, const char *name, size_t n)
{
    return strncmp(known, name, n) == 0 && known[n] == '\0';
}

const struct codec_field *codec_field_by_name(const struct codec_message *m, const char *name, size_t n)
{
    for (size_t i = 0; i < m->field_n; i++) {
        const struct codec_field *f = &m->field[i];
        if (is_name(f->json, name, n) || is_name(f->snake, name, n))
            return f;
    }
    return NULL;
}

const char *codec_enum_name(const struct codec_enum *e, int32_t number)
{
    for (size_t i = 0; i < e->value_n; i++)
        if (e->value[i].number == number)
            return e->value[i].name;
    return NULL;
}

int codec_enum_number(const struct codec_enum *e, const char *name, int32_t *ret)
{
    for (size_t i = 0; i < e->value_n; i++)
        if (strcmp(e->value[i].name, name) == 0) {
            *ret = e->value[i].number;
            return 0;
        }
    return -1;
}

const char *codec_expected(const struct codec_field *f)
{
    if (f->flags & CODEC_OBJECT)
        return "an object";
    return f->flags & CODEC_LIST ? "a list" : types[f->type].expected;
}

void codec_clear(const struct codec_field *f, void *msg)
{
    if (!codec_is_single(f)) {
        *(void **)codec_at(msg, f->offset) = NULL;
        *codec_count(f, msg) = 0;
        return;
    }
    memset(codec_at(msg, f->offset), 0, types[f->type].size);
    if (f->has_offset != 0)
        *(bool *)codec_at(msg, f->has_offset) = false;
}

/* Lists have room for 4, 8, 16 … elements, so the number of elements alone tells when a list is full. */
size_t codec_push_cost(const struct codec_field *f, const void *msg)
{
    size_t n = *codec_count(f, msg);
    bool full = n == 0 || (n >= 4 && (n & (n - 1)) == 0);
    return full ? (n == 0 ? 4 : 2 * n) * (size_t)f->elem_size : 0;
}

void *codec_push(const struct codec_field *f, void *msg, struct arena *a)
{
    size_t *n = codec_count(f, msg), room = codec_push_cost(f, msg);
    char **list = codec_at(msg, f->offset);
    if (room != 0) {
        char *larger = arena_alloc(a, room);
        if (*n > 0)
            memcpy(larger, *list, *n * f->elem_size);
        *list = larger;
    }
    return *list + (*n)++ * f->elem_size;
}

int codec_set_time(const char *s, size_t n, void *slot)
{
    return clock_parse(s, n, slot);
}

int codec_set_bytes(const char *s, size_t n, struct arena *a, void *slot)
{
    struct wire_bytes bytes = {.data = arena_alloc(a, base64_decoded_max(n))};
    if (base64_decode(s, n, (uint8_t *)bytes.data, &bytes.n) < 0)
        return -1;
    *(struct wire_bytes *)slot = bytes;
    return 0;
}

int codec_set_int(const struct codec_field *f, int64_t v, void *slot)
{
    switch (f->type) {
    case CODEC_ENUM:
        if (v < INT32_MIN || v > INT32_MAX || !codec_enum_name(f->enumeration, (int32_t)v))
            return -1;
        *(int32_t *)slot = (int32_t)v;
        return 0;
    case CODEC_INT32:
        if (v < INT32_MIN || v > INT32_MAX)
            return -1;
        *(int32_t *)slot = (int32_t)v;
        return 0;
    case CODEC_UINT32:
        if (v < 0 || v > UINT32_MAX)
            return -1;
        *(uint32_t *)slot = (uint32_t)v;
        return 0;
    default:
        *(int64_t *)slot = v;
        return 0;
    }
}

int codec_set_number(const struct codec_field *f, const char *s, size_t n, void *slot)
{
    int64_t v;
    if (f->type == CODEC_DOUBLE)
        return number_to_double(s, n, slot);
    if (f->type == CODEC_FLOAT)
        return number_to_float(s, n, slot);
    if (f->type == CODEC_UINT64)
        return number_to_uint64(s, n, slot);
    return number_to_int64(s, n, &v) < 0 ? -1 : codec_set_int(f, v, slot);
}

/* The generated Python client of release 0.38.1 writes "Nan" in top-level fields. */
int codec_set_special_real(const struct codec_field *f, const char *s, size_t n, void *slot)
{
    static const struct {
        const char *text;
        double value;
    } special[] = {
        {"NaN", NAN},
        {"Nan", NAN},
        {"Infinity", INFINITY},
        {"-Infinity", -INFINITY},
    };
    for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++) {
        if (strlen(special[i].text) != n || memcmp(special[i].text, s, n) != 0)
            continue;
        if (f->type == CODEC_FLOAT)
            *(float *)slot = (float)special[i].value;
        else
            *(double *)slot = special[i].value;
        return 0;
    }
    return -1;
}
