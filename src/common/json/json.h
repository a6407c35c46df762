/* JSON trees, where a tree is really needed (configurations, agent documents without a fixed shape): json-c with strict
 * parsing, and YAML read into the same trees. Messages of the contract go through common/codec/codec.h instead.
 *
 * YAML is read by libyaml events, YAML 1.1 scalars (y, yes, on, off … are booleans; 0o17, 0x1f, 1_000 are integers;
 * .inf, .nan are doubles), anchors and aliases within a budget of nodes, merge keys (<<). Duplicate keys, more than one
 * document and tabs as indentation are errors. Every error names line and column, counted from 1.
 *
 * Positions: yaml_parse() can fill a position table, so that later checks of the tree can say where a value stood. */
#ifndef DET_COMMON_JSON_JSON_H
#define DET_COMMON_JSON_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"

/* Strict JSON: no comments, no single quotes, no NaN, no trailing garbage, depth at most 100. Caller puts *ret. */
int json_parse(const char *text, size_t n, struct json_object **ret, struct error *err);
void json_print(struct json_object *v, struct strbuf *out); /* compact, keys in insertion order */
/* Python's json.dumps(sort_keys=True, indent=…) */
void json_print_sorted(struct json_object *v, int indent, struct strbuf *out);

/* The value of that name, which still belongs to the object; NULL: there is none, or `object` is NULL or no object. */
static inline struct json_object *json_member(struct json_object *object, const char *name)
{
    return json_object_object_get(object, name);
}
struct json_object *json_copy(struct json_object *v); /* deep; NULL of NULL, which is null */
/* The text of that name, copied into the arena; "" if there is none, or something else. */
const char *json_get_text(struct json_object *object, const char *name, struct arena *a);
/* The list of texts of that name, copied into the arena; an item that is no text is "", and something that is no list
 * is an empty one. The list is followed by a NULL. */
const char **json_get_texts(struct json_object *object, const char *name, struct arena *a, size_t *ret_n);

struct yaml_positions; /* JSON path → line and column */
struct yaml_mark {
    int line, column;
};
/* `positions` may be NULL; else caller frees *positions. An empty document gives a null tree. */
int yaml_parse(const char *text, size_t n, struct json_object **ret, struct yaml_positions **positions,
               struct error *err);
/* Where the value of a path stands in the document, and where its key does (for an item of a list: the item). -1 if
 * unknown; the caller may then ask for the value above. Values that come from an alias have no place of their own. */
int yaml_position(const struct yaml_positions *p, const char *json_path, struct yaml_mark *ret);
int yaml_key_position(const struct yaml_positions *p, const char *json_path, struct yaml_mark *ret);
void yaml_positions_free(struct yaml_positions *p);

/* A plain y, n, yes, no, on or off, in any case: YAML 1.1 reads it as true or false, YAML 1.2 and many people as a
 * text. The first twenty of a document are kept with its positions. */
struct yaml_word {
    char *path; /* path of the value, or of the mapping that has the key */
    bool is_key, value;
    char text[4]; /* as it is written */
    struct yaml_mark mark;
};
typedef void yaml_word_fn(void *ctx, const struct yaml_word *word);
void yaml_each_word(const struct yaml_positions *p, yaml_word_fn *fn, void *ctx); /* p may be NULL */
/* Writes a sentence without its full stop: where the word stands, how it is read, and how to write the text. */
void yaml_word_describe(const struct yaml_word *word, struct strbuf *out);

void yaml_print(struct json_object *v, struct strbuf *out); /* block style, keys sorted, as `det … config` prints it */

/* A double as Python's repr() writes it, the shortest text that reads back the same; NaN, Infinity, -Infinity. */
#define JSON_DOUBLE_MAX 40
void json_format_double(double d, char ret[JSON_DOUBLE_MAX]);
struct json_object *json_new_double(double d);                             /* prints in that form */
const char **json_sorted_names(struct json_object *object, size_t *ret_n); /* caller frees the array, not the names */

static inline void json_put_p(struct json_object **o)
{
    if (*o)
        json_object_put(*o);
}
#define cleanup_json __attribute__((cleanup(json_put_p)))

#endif
