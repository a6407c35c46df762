/* Sets fields from path and query parameters, one name and one text at a time. Rules:
 * docs/spec/wire.md#path-and-query. */
#include <string.h>
#include <strings.h>

#include "common/base/number.h"
#include "common/base/utf8.h"
#include "common/codec/codec.h"
#include "common/codec/codec_internal.h"

static bool one_of(const char *s, const char *const *list)
{
    while (*list && strcmp(s, *list) != 0)
        list++;
    return *list != NULL;
}

/* Reads a bool as Go's ParseBool does; a nullable one must be true or false. */
static int set_bool(const struct codec_field *f, const char *s, bool *slot)
{
    static const char *const yes[] = {"true", "1", "t", "T", "TRUE", "True", NULL};
    static const char *const no[] = {"false", "0", "f", "F", "FALSE", "False", NULL};
    bool strict = (f->flags & CODEC_WRAPPER) != 0;
    bool is_yes = strict ? strcmp(s, "true") == 0 : one_of(s, yes);
    bool is_no = strict ? strcmp(s, "false") == 0 : one_of(s, no);
    if (!is_yes && !is_no)
        return -1;
    *slot = is_yes;
    return 0;
}

static int set_int(const struct codec_field *f, const char *s, void *slot)
{
    int64_t v;
    if (f->type == CODEC_UINT64)
        return number_parse_any_base(s, 0, UINT64_MAX, slot);
    return number_parse_any_base(s, INT64_MIN, INT64_MAX, &v) < 0 ? -1 : codec_set_int(f, v, slot);
}

static int set_real(const struct codec_field *f, const char *s, void *slot)
{
    size_t n = strlen(s);
    if (codec_set_special_real(f, s, n, slot) == 0)
        return 0;
    return n > 0 && number_scan(s, n) == n ? codec_set_number(f, s, n, slot) : -1;
}

static int set_value(const struct codec_field *f, const char *s, struct arena *a, void *slot)
{
    switch (f->type) {
    case CODEC_STRING:
        *(const char **)slot = arena_strdup(a, s);
        return 0;
    case CODEC_BYTES:
        return codec_set_bytes(s, strlen(s), a, slot);
    case CODEC_BOOL:
        return set_bool(f, s, slot);
    case CODEC_FLOAT:
    case CODEC_DOUBLE:
        return set_real(f, s, slot);
    case CODEC_ENUM:
        return codec_enum_number(f->enumeration, s, slot) == 0 ? 0 : set_int(f, s, slot);
    case CODEC_TIME:
        return codec_set_time(s, strlen(s), slot);
    case CODEC_RAW:
    case CODEC_MESSAGE:
        return -1;
    default:
        return set_int(f, s, slot);
    }
}

/* Finds the message that a dotted name leads into, and makes it if it does not exist yet. NULL if there is no such
 * field. */
static void *descend_to_message(const struct codec_message **m, void *msg, const char **name, struct arena *a)
{
    const char *dot;
    while ((dot = strchr(*name, '.'))) {
        const struct codec_field *f = codec_field_by_name(*m, *name, (size_t)(dot - *name));
        if (!f || f->type != CODEC_MESSAGE || !codec_is_single(f))
            return NULL;
        void **slot = codec_at(msg, f->offset);
        if (!*slot)
            *slot = arena_alloc(a, f->message->size);
        msg = *slot;
        *m = f->message;
        *name = dot + 1;
    }
    return msg;
}

static int set_value_error(const struct codec_field *f, const char *name, const char *value, struct error *err)
{
    if (f->flags & CODEC_MAP || f->type == CODEC_RAW || f->type == CODEC_MESSAGE)
        return error_set(err, ERR_INVALID, "%s: cannot be given in a query", name);
    if (f->type == CODEC_ENUM)
        return error_set(err, ERR_INVALID, "%s: \"%.100s\" is not a valid %s", name, value, f->enumeration->name);
    return error_set(err, ERR_INVALID, "%s: expected %s, found \"%.100s\"", name, codec_expected(f), value);
}

/* Appends a value to a list; an invalid value leaves no element behind. */
static int append_element(const struct codec_field *f, void *msg, const char *name, const char *value, struct arena *a,
                          struct error *err)
{
    _Alignas(16) char element[sizeof(struct wire_bytes)] = {0};
    if (set_value(f, value, a, element) < 0)
        return set_value_error(f, name, value, err);
    memcpy(codec_push(f, msg, a), element, f->elem_size);
    return 0;
}

int codec_bind(const struct codec_message *m, void *msg, const char *name, const char *value, struct arena *a,
               struct error *err)
{
    const char *whole_name = name;
    if (utf8_check(value, strlen(value)) != strlen(value))
        return error_set(err, ERR_INVALID, "%s: not valid UTF-8", name);
    msg = descend_to_message(&m, msg, &name, a);
    const struct codec_field *f = msg ? codec_field_by_name(m, name, strlen(name)) : NULL;
    if (!f)
        return 0;
    if (f->flags & CODEC_MAP)
        return set_value_error(f, whole_name, value, err);
    if (f->flags & CODEC_REPEATED)
        return append_element(f, msg, whole_name, value, a, err);
    if (set_value(f, value, a, codec_at(msg, f->offset)) < 0)
        return set_value_error(f, whole_name, value, err);
    codec_mark_present(f, msg);
    return 0;
}
