/* Shared by decoder, encoder and binder; included by codec*.c only. */
#ifndef DET_COMMON_CODEC_CODEC_INTERNAL_H
#define DET_COMMON_CODEC_CODEC_INTERNAL_H

#include "common/codec/codec.h"

static inline void *codec_at(const void *msg, uint32_t offset)
{
    return (char *)msg + offset;
}

static inline bool codec_is_single(const struct codec_field *f)
{
    return !(f->flags & (CODEC_REPEATED | CODEC_MAP));
}
static inline bool codec_is_pointer(enum codec_type type)
{
    return type == CODEC_STRING || type == CODEC_RAW || type == CODEC_MESSAGE;
}

/* Where the length of a list or map is kept. */
static inline size_t *codec_count(const struct codec_field *f, const void *msg)
{
    return codec_at(msg, f->has_offset);
}

static inline void codec_mark_present(const struct codec_field *f, void *msg)
{
    if (codec_is_single(f) && f->has_offset != 0)
        *(bool *)codec_at(msg, f->has_offset) = true;
}

void codec_clear(const struct codec_field *f, void *msg);
/* Adds a zeroed element at the end of a list or map, and returns it. */
void *codec_push(const struct codec_field *f, void *msg, struct arena *a);
/* How many bytes codec_push() would take from the arena. */
size_t codec_push_cost(const struct codec_field *f, const void *msg);
const char *codec_expected(const struct codec_field *f); /* "a string", "a 32-bit integer" … */

/* Convert the text between the quotes, or of a parameter; -1 if it does not fit the type. */
int codec_set_time(const char *s, size_t n, void *slot);
int codec_set_bytes(const char *s, size_t n, struct arena *a, void *slot);
/* Converts the JSON number s[0 … n) for a field of a numeric type or an enum; -1 if it does not fit. */
int codec_set_number(const struct codec_field *f, const char *s, size_t n, void *slot);
int codec_set_int(const struct codec_field *f, int64_t v, void *slot);
int codec_set_special_real(const struct codec_field *f, const char *s, size_t n, void *slot); /* NaN, Infinity */

#endif
