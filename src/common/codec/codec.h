/* The table-driven JSON codec: walks generated message tables (src/gen/wire.c, made from the contract by
 * tools/gen-contract) to decode, encode and bind path and query parameters. It is the one place where our own code
 * reads and writes JSON, and only for messages of the contract; everything else uses json-c (common/json/json.h). The
 * rules are those of proto3 JSON with some differences (docs/spec/wire.md):
 *
 * out: every field is written in declaration order, also when zero: 0 "" false [] {} and null for singular messages,
 * except
 *      unset oneof members and unset `opt` fields, which are left out. int64 as strings. NaN and infinities as strings.
 *      Timestamps RFC 3339 Z. Map keys sorted. < > & escaped as \u003c … in strings.
 * in:  lowerCamelCase or snake_case names; unknown fields skipped; null means unset; numbers may be quoted; enums by
 * name
 *      or known number; depth at most 100; duplicate keys: the last wins; U+0000 becomes U+FFFD (but in texts of logs);
 *      bad UTF-8, trailing garbage and wrong types are ERR_INVALID with the JSON path: `experiment.labels[2]: expected
 *      a string, found 7`. An empty text is an empty message. More memory than 1 MiB and 32 times the text, or than the
 *      arena's decoded_max, is ERR_TOO_LARGE.
 *
 * C types of generated structs (struct wire_<message>, names by tools/gen-contract):
 *      string        const char *x                 NULL reads as "", and is written as ""
 *      bytes         struct wire_bytes x
 *      int32 …       int32_t/uint32_t/int64_t/uint64_t/bool/double/float x
 *      enum          enum wire_<enum> x            (int32 on the C side of the tables)
 *      Timestamp     int64_t x (µs UTC) with bool has_x
 *      *Value, opt   T x with bool has_x           (strings: NULL is unset; no has_ member)
 *      Struct/Value/ListValue   const char *x      raw JSON text, NULL is null; validated and freed of blanks on the
 *                                                  way in, copied out as is (so it must hold no newline: lines of
 *                                                  streams)
 *      message       const struct wire_y *x        NULL is null
 *      repeated T    T *x with size_t x_n          repeated messages: array of structs
 *      map<string,T> struct wire_map_<T> *x with size_t x_n   entries {const char *key; T value;}, messages as structs;
 *                                                  sorted after decoding, in any order for encoding
 * Everything a decoder makes lives in the given arena. */
#ifndef DET_COMMON_CODEC_CODEC_H
#define DET_COMMON_CODEC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"

struct wire_bytes {
    const uint8_t *data;
    size_t n;
};

enum codec_type {
    CODEC_STRING,
    CODEC_BYTES,
    CODEC_BOOL,
    CODEC_INT32,
    CODEC_UINT32,
    CODEC_INT64,
    CODEC_UINT64,
    CODEC_FLOAT,
    CODEC_DOUBLE,
    CODEC_ENUM,
    CODEC_TIME,
    CODEC_RAW,
    CODEC_MESSAGE,
};

enum codec_flag {
    CODEC_REPEATED = 1 << 0,
    CODEC_MAP = 1 << 1,      /* keys are strings; `type` is that of the values */
    CODEC_OPTIONAL = 1 << 2, /* not written when unset (proto3 optional, member of a oneof) */
    CODEC_WRAPPER = 1 << 3,  /* written as null when unset (wkt:*Value, Timestamp) */
    CODEC_REQUIRED = 1 << 4, /* the generated clients index it: never null or missing in replies (checked by tests) */
    CODEC_OBJECT = 1 << 5,   /* RAW that must be an object (Struct) */
    CODEC_LIST = 1 << 6,     /* RAW that must be an array (ListValue) */
    CODEC_ADDED = 1 << 7,    /* no field of release 0.38.1: its number is 1001 or higher */
    CODEC_NUL = 1 << 8,      /* a string that keeps U+0000: as UTF8_NUL (common/base/utf8.h) in C */
};

struct codec_enum {
    const char *name; /* contract name, e.g. "experiment.v1.State" */
    const struct codec_enum_value {
        const char *name;
        int32_t number;
    } *value;
    size_t value_n;
};

struct codec_message;
struct codec_field {
    const char *json, *snake; /* snake is json when they are the same */
    enum codec_type type;
    unsigned flags;
    uint32_t offset;     /* of x in the struct */
    uint32_t has_offset; /* of has_x, or of x_n for repeated and maps; 0 if there is none */
    const struct codec_message *message;
    const struct codec_enum *enumeration;
    uint32_t elem_size;    /* repeated and maps: size of one element or entry */
    uint32_t value_offset; /* maps: offset of `value` in the entry */
};

struct codec_message {
    const char *name; /* contract name, e.g. "api.v1.LoginRequest" */
    uint32_t size;
    const struct codec_field *field;
    size_t field_n;
};

/* *ret points to m->size zeroed bytes. On failure its contents are undefined, but safe to drop with the arena. */
int codec_decode(const struct codec_message *m, const char *json, size_t n, struct arena *a, void *ret,
                 struct error *err);
/* The value of one field as a whole document (routes with body = field). */
int codec_decode_field(const struct codec_message *m, const struct codec_field *f, const char *json, size_t n,
                       struct arena *a, void *ret, struct error *err);
/* Checks how many elements the lists of a decoded message have, those of its single members included: at most
 * scalars_max numbers or texts (ids, names), and at most messages_max messages (files, lines). A longer list is
 * ERR_INVALID with its name. */
int codec_check_lists(const struct codec_message *m, const void *msg, size_t scalars_max, size_t messages_max,
                      struct error *err);
void codec_encode(const struct codec_message *m, const void *msg, struct strbuf *out);
/* As codec_encode(), but the elements of the list `list` are these texts, which codec_encode() has made of the elements
 * before. */
struct codec_text {
    const char *s;
    size_t n;
};
void codec_encode_listing(const struct codec_message *m, const void *msg, const char *list,
                          const struct codec_text *element, size_t n, struct strbuf *out);
/* Sets one field from a path or query parameter. `name` may be dotted (filter.lt), in either spelling; a value of a
 * repeated field is appended. A name that the message does not have is ignored (returns 0). A value of the wrong form
 * is ERR_INVALID with the parameter's name. */
int codec_bind(const struct codec_message *m, void *msg, const char *name, const char *value, struct arena *a,
               struct error *err);

const struct codec_field *codec_field_by_name(const struct codec_message *m, const char *name, size_t n);
const char *codec_enum_name(const struct codec_enum *e, int32_t number);           /* NULL if unknown */
int codec_enum_number(const struct codec_enum *e, const char *name, int32_t *ret); /* -1 if unknown */

#endif
