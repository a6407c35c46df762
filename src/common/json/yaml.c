/* Makes json-c trees of libyaml's events. Scalars are resolved in yaml_scalar.c; yaml_print.c prints. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <uthash.h>
#include <yaml.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/json/json.h"
#include "common/json/yaml_scalar.h"

#define YAML_DEPTH_MAX 100
/* Limits of a document. Aliases and merge keys copy what they name, so a few lines can ask for billions of values or
 * gigabytes of text. Both limits count the whole resulting document, copies included, and are checked while it is
 * built. */
#define YAML_VALUES_MAX 100000
#define POSITIONS_MAX 20000              /* values whose positions are kept */
#define YAML_BYTES_MAX (8 * 1024 * 1024) /* bytes of all texts and names; also the limit of the YAML text itself */
#define YAML_PATH_MAX 2048               /* bytes of the path to one value; paths are copied for each value */

struct mark_entry {
    struct yaml_mark value, key;
    UT_hash_handle hh;
    char path[];
};

#define YAML_WORDS_MAX 20 /* further words of a document are not reported */

struct yaml_positions {
    struct mark_entry *entry;
    struct yaml_word word[YAML_WORDS_MAX];
    size_t word_n;
};

struct anchor {
    struct json_object *value; /* NULL stands for null */
    UT_hash_handle hh;
    char name[];
};

struct loader {
    yaml_parser_t parser;
    yaml_event_t event;               /* the current event */
    struct yaml_positions *positions; /* NULL: no positions are wanted */
    struct anchor *anchor;
    struct strbuf path;
    int depth;
    size_t values, bytes; /* counted in the document so far */
    size_t position_n, position_bytes;
    struct error *err;
};

/* ---- Positions --------------------------------------------------------------------------------------------------- */

static struct yaml_mark mark_of(yaml_mark_t m)
{
    return (struct yaml_mark){.line = (int)m.line + 1, .column = (int)m.column + 1};
}

static void remember_position(struct loader *l, struct yaml_mark key, struct yaml_mark value)
{
    const char *path = strbuf_str(&l->path);
    size_t n = l->path.n;
    struct mark_entry *e;
    /* Positions only improve messages, and cost more than the rest of reading. Paths that are long, or too many, are
     * not kept. */
    if (!l->positions || l->position_n == POSITIONS_MAX || l->position_bytes + n > YAML_BYTES_MAX)
        return;
    unsigned hash;
    HASH_VALUE(path, n, hash);
    HASH_FIND_BYHASHVALUE(hh, l->positions->entry, path, n, hash, e);
    if (e)
        return;
    l->position_n++;
    l->position_bytes += n;
    e = must_malloc(sizeof(*e) + n + 1);
    e->key = key;
    e->value = value;
    memcpy(e->path, path, n + 1);
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, l->positions->entry, e->path, n, hash, e);
}

static const struct mark_entry *find_mark(const struct yaml_positions *p, const char *path)
{
    struct mark_entry *e = NULL;
    if (p)
        HASH_FIND_STR(p->entry, path, e);
    return e;
}

int yaml_position(const struct yaml_positions *p, const char *json_path, struct yaml_mark *ret)
{
    const struct mark_entry *e = find_mark(p, json_path);
    if (!e)
        return -1;
    *ret = e->value;
    return 0;
}

int yaml_key_position(const struct yaml_positions *p, const char *json_path, struct yaml_mark *ret)
{
    const struct mark_entry *e = find_mark(p, json_path);
    if (!e)
        return -1;
    *ret = e->key;
    return 0;
}

void yaml_positions_free(struct yaml_positions *p)
{
    if (!p)
        return;
    struct mark_entry *e, *next;
    for (size_t i = 0; i < p->word_n; i++)
        free(p->word[i].path);
    HASH_ITER(hh, p->entry, e, next) {
        HASH_DEL(p->entry, e);
        free(e);
    }
    free(p);
}

/* ---- Words that YAML 1.1 takes for truth values ------------------------------------------------------------------ */

/* Keeps a plain scalar at the current path that was resolved to `v`, if it is such a word. */
static void remember_word(struct loader *l, bool is_key, const char *text, struct json_object *v)
{
    struct yaml_positions *p = l->positions;
    if (!p || !json_object_is_type(v, json_type_boolean) || strcasecmp(text, "true") == 0 ||
        strcasecmp(text, "false") == 0 || p->word_n == YAML_WORDS_MAX || l->path.n > YAML_PATH_MAX)
        return;
    struct yaml_word *word = &p->word[p->word_n++];
    *word = (struct yaml_word){.path = must_strdup(strbuf_str(&l->path)),
                               .is_key = is_key,
                               .value = json_object_get_boolean(v),
                               .mark = mark_of(l->event.start_mark)};
    if (!word->path)
        abort();
    snprintf(word->text, sizeof(word->text), "%s", text);
}

void yaml_each_word(const struct yaml_positions *p, yaml_word_fn *fn, void *ctx)
{
    for (size_t i = 0; p && i < p->word_n; i++)
        fn(ctx, &p->word[i]);
}

void yaml_word_describe(const struct yaml_word *w, struct strbuf *out)
{
    const char *value = w->value ? "true" : "false", *behind = *w->path ? ": " : "";
    if (w->is_key)
        strbuf_addf(
            out,
            "%s%sthe key %s (line %d) is read as \"%s\", as YAML 1.1 has it; write \"%s\" in quotes to keep the name",
            w->path, behind, w->text, w->mark.line, value, w->text);
    else
        strbuf_addf(
            out,
            "%s%s%s (line %d) is read as %s, as YAML 1.1 has it; write %s, or \"%s\" in quotes if the text is meant",
            w->path, behind, w->text, w->mark.line, value, value, w->text);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static int error_at(struct loader *l, yaml_mark_t mark, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int error_at(struct loader *l, yaml_mark_t mark, const char *fmt, ...)
{
    va_list ap;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    return error_set(l->err, ERR_INVALID, "line %zu, column %zu: %s", mark.line + 1, mark.column + 1,
                     strbuf_str(&text));
}

static int parser_error(struct loader *l)
{
    const yaml_parser_t *p = &l->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return error_set(l->err, ERR_NO_MEMORY, "not enough memory to read YAML");
    if (p->error == YAML_READER_ERROR)
        return error_set(l->err, ERR_INVALID, "byte %zu: %s", p->problem_offset,
                         p->problem ? p->problem : "unreadable text");
    const char *problem = p->problem ? p->problem : "not YAML";
    if (strstr(problem, "cannot start any token") && p->buffer.pointer && *p->buffer.pointer == '\t')
        return error_at(l, p->problem_mark, "a tab cannot indent; use blanks");
    if (p->context)
        return error_at(l, p->problem_mark, "%s (%s that begins at line %zu)", problem, p->context,
                        p->context_mark.line + 1);
    return error_at(l, p->problem_mark, "%s", problem);
}

static int next_event(struct loader *l)
{
    yaml_event_delete(&l->event);
    return yaml_parser_parse(&l->parser, &l->event) ? 0 : parser_error(l);
}

/* ---- Anchors and aliases ----------------------------------------------------------------------------------------- */

static int define_anchor(struct loader *l, const char *name, struct json_object *value)
{
    struct anchor *a;
    HASH_FIND_STR(l->anchor, name, a);
    if (a) { /* the last definition of an anchor counts */
        HASH_DEL(l->anchor, a);
        json_object_put(a->value);
        free(a);
    }
    size_t n = strlen(name);
    a = must_malloc(sizeof(*a) + n + 1);
    a->value = json_object_get(value);
    memcpy(a->name, name, n + 1);
    HASH_ADD_KEYPTR(hh, l->anchor, a->name, n, a);
    return 0;
}

static int spend_budget(struct loader *l, size_t values, size_t bytes, yaml_mark_t mark)
{
    l->values += values;
    l->bytes += bytes;
    if (l->values > YAML_VALUES_MAX)
        return error_at(l, mark, "the document is too large: more than %d values, copies by aliases included",
                        YAML_VALUES_MAX);
    if (l->bytes > YAML_BYTES_MAX)
        return error_at(l, mark, "the document is too large: more than %d bytes of text, copies by aliases included",
                        YAML_BYTES_MAX);
    return 0;
}

/* Counts what a copy of v adds to the document. Fails once a limit is reached. */
static int spend_copy(struct loader *l, struct json_object *v, yaml_mark_t mark)
{
    size_t text = json_object_is_type(v, json_type_string) ? (size_t)json_object_get_string_len(v) : 0;
    if (spend_budget(l, 1, text, mark) < 0)
        return -1;
    if (json_object_is_type(v, json_type_object)) {
        json_object_object_foreach(v, key, value)
        {
            if (spend_budget(l, 0, strlen(key), mark) < 0 || spend_copy(l, value, mark) < 0)
                return -1;
        }
    } else if (json_object_is_type(v, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(v); i++)
            if (spend_copy(l, json_object_array_get_idx(v, i), mark) < 0)
                return -1;
    }
    return 0;
}

static int depth_of(struct json_object *v)
{
    int deepest = 0;
    if (json_object_is_type(v, json_type_object)) {
        json_object_object_foreach(v, key, value)
        {
            (void)key;
            int d = 1 + depth_of(value);
            deepest = d > deepest ? d : deepest;
        }
    } else if (json_object_is_type(v, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(v); i++) {
            int d = 1 + depth_of(json_object_array_get_idx(v, i));
            deepest = d > deepest ? d : deepest;
        }
    }
    return deepest;
}

static int load_alias(struct loader *l, struct json_object **ret)
{
    const char *name = (const char *)l->event.data.alias.anchor;
    struct anchor *a;
    HASH_FIND_STR(l->anchor, name, a);
    if (!a)
        return error_at(l, l->event.start_mark, "alias *%s names no anchor above it", name);
    if (spend_copy(l, a->value, l->event.start_mark) < 0)
        return -1;
    if (l->depth + depth_of(a->value) > YAML_DEPTH_MAX)
        return error_at(l, l->event.start_mark, "nested deeper than %d levels", YAML_DEPTH_MAX);
    *ret = NULL;
    if (a->value && json_object_deep_copy(a->value, ret, NULL) < 0)
        return error_set(l->err, ERR_NO_MEMORY, "not enough memory to read YAML");
    return 0;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static int load_value(struct loader *l, struct yaml_mark key, struct json_object **ret);

static int load_scalar(struct loader *l, bool is_key, struct json_object **ret)
{
    const yaml_event_t *e = &l->event;
    const char *tag = (const char *)e->data.scalar.tag;
    const char *text = (const char *)e->data.scalar.value;
    size_t n = e->data.scalar.length;
    if (memchr(text, '\0', n))
        return error_at(l, e->start_mark, "a text may not contain the NUL character");
    if (spend_budget(l, 1, n, e->start_mark) < 0)
        return -1;
    bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && e->data.scalar.plain_implicit;
    if (yaml_scalar_resolve(text, n, plain, tag, ret) < 0)
        return error_at(l, e->start_mark, "tag %s does not fit \"%s\"", tag ? tag : "?", text);
    if (plain)
        remember_word(l, is_key, text, *ret);
    return 0;
}

static int check_collection_tag(struct loader *l, const yaml_char_t *tag, const char *allowed)
{
    if (!tag || strcmp((const char *)tag, allowed) == 0 || strcmp((const char *)tag, "!") == 0)
        return 0;
    return error_at(l, l->event.start_mark, "tag %s is not supported", (const char *)tag);
}

static int load_sequence(struct loader *l, struct json_object **ret)
{
    if (check_collection_tag(l, l->event.data.sequence_start.tag, YAML_SEQ_TAG) < 0 ||
        spend_budget(l, 1, 0, l->event.start_mark) < 0)
        return -1;
    cleanup_json struct json_object *list = json_object_new_array();
    size_t length = l->path.n;
    for (size_t i = 0;; i++) {
        if (next_event(l) < 0)
            return -1;
        if (l->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        strbuf_addf(&l->path, "[%zu]", i);
        struct json_object *item = NULL;
        if (load_value(l, mark_of(l->event.start_mark), &item) < 0)
            return -1;
        json_object_array_add(list, item);
        strbuf_truncate(&l->path, length);
    }
    *ret = take_ptr(list);
    return 0;
}

/* Reads the name of a member. In YAML any scalar may be a name; JSON has only texts, so `1:` becomes "1" and `no:`
 * becomes "false". */
static int load_key(struct loader *l, char **ret, bool *ret_merge)
{
    if (l->event.type != YAML_SCALAR_EVENT)
        return error_at(l, l->event.start_mark, "a key must be a single value, not a list, mapping or alias");
    const yaml_event_t *e = &l->event;
    *ret_merge = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                 strcmp((const char *)e->data.scalar.value, "<<") == 0;
    cleanup_json struct json_object *key = NULL;
    if (load_scalar(l, /* is_key= */ true, &key) < 0)
        return -1;
    *ret = must_strdup(key ? json_object_get_string(key) : "null");
    return 0;
}

static int merge_mapping(struct loader *l, struct json_object *from, struct json_object *merged, yaml_mark_t mark)
{
    if (!json_object_is_type(from, json_type_object))
        return error_at(l, mark, "<< takes a mapping or a list of mappings");
    if (spend_copy(l, from, mark) < 0)
        return -1;
    json_object_object_foreach(from, name, value)
    {
        if (!json_object_object_get_ex(merged, name, NULL))
            json_object_object_add(merged, name, json_object_get(value));
    }
    return 0;
}

/* Applies a merge key, `<<: value`. Earlier mappings of a list win over later ones. */
static int load_merge(struct loader *l, struct json_object *merged)
{
    yaml_mark_t mark = l->event.start_mark;
    cleanup_json struct json_object *value = NULL;
    size_t length = l->path.n;
    strbuf_adds(&l->path, ".<<");
    if (load_value(l, mark_of(mark), &value) < 0)
        return -1;
    strbuf_truncate(&l->path, length);
    if (!json_object_is_type(value, json_type_array))
        return merge_mapping(l, value, merged, mark);
    for (size_t i = 0; i < json_object_array_length(value); i++) {
        if (merge_mapping(l, json_object_array_get_idx(value, i), merged, mark) < 0)
            return -1;
    }
    return 0;
}

static int load_member(struct loader *l, struct json_object *object, struct json_object *merged)
{
    cleanup_free char *name = NULL;
    bool merge = false;
    yaml_mark_t mark = l->event.start_mark;
    if (load_key(l, &name, &merge) < 0 || next_event(l) < 0)
        return -1;
    if (merge)
        return load_merge(l, merged);
    size_t length = l->path.n;
    strbuf_addf(&l->path, "%s%s", length ? "." : "", name);
    if (l->path.n > YAML_PATH_MAX)
        return error_at(l, mark, "the names that lead here have more than %d bytes together", YAML_PATH_MAX);
    if (json_object_object_get_ex(object, name, NULL)) {
        struct yaml_mark first = {0};
        if (yaml_key_position(l->positions, strbuf_str(&l->path), &first) < 0)
            return error_at(l, mark, "the key \"%s\" is already there", name);
        return error_at(l, mark, "the key \"%s\" is already there, at line %d, column %d", name, first.line,
                        first.column);
    }
    struct json_object *value = NULL;
    if (load_value(l, mark_of(mark), &value) < 0)
        return -1;
    json_object_object_add(object, name, value);
    strbuf_truncate(&l->path, length);
    return 0;
}

static int load_mapping(struct loader *l, struct json_object **ret)
{
    if (check_collection_tag(l, l->event.data.mapping_start.tag, YAML_MAP_TAG) < 0 ||
        spend_budget(l, 1, 0, l->event.start_mark) < 0)
        return -1;
    cleanup_json struct json_object *object = json_object_new_object();
    cleanup_json struct json_object *merged = json_object_new_object();
    for (;;) {
        if (next_event(l) < 0)
            return -1;
        if (l->event.type == YAML_MAPPING_END_EVENT)
            break;
        if (load_member(l, object, merged) < 0)
            return -1;
    }
    json_object_object_foreach(merged, name, value)
    {
        if (!json_object_object_get_ex(object, name, NULL))
            json_object_object_add(object, name, json_object_get(value));
    }
    *ret = take_ptr(object);
    return 0;
}

/* Reads the value that begins with the current event, up to its end event. */
static int load_value(struct loader *l, struct yaml_mark key, struct json_object **ret)
{
    cleanup_free char *anchor = NULL;
    const yaml_char_t *name = l->event.type == YAML_SCALAR_EVENT           ? l->event.data.scalar.anchor
                              : l->event.type == YAML_SEQUENCE_START_EVENT ? l->event.data.sequence_start.anchor
                              : l->event.type == YAML_MAPPING_START_EVENT  ? l->event.data.mapping_start.anchor
                                                                           : NULL;
    if (name)
        anchor = must_strdup((const char *)name);
    remember_position(l, key, mark_of(l->event.start_mark));
    if (++l->depth > YAML_DEPTH_MAX)
        return error_at(l, l->event.start_mark, "nested deeper than %d levels", YAML_DEPTH_MAX);
    struct json_object *value = NULL;
    int r = l->event.type == YAML_ALIAS_EVENT            ? load_alias(l, &value)
            : l->event.type == YAML_SCALAR_EVENT         ? load_scalar(l, /* is_key= */ false, &value)
            : l->event.type == YAML_SEQUENCE_START_EVENT ? load_sequence(l, &value)
            : l->event.type == YAML_MAPPING_START_EVENT  ? load_mapping(l, &value)
                                                         : error_at(l, l->event.start_mark, "expected a value");
    l->depth--;
    if (r < 0)
        return -1;
    if (anchor)
        define_anchor(l, anchor, value);
    *ret = value;
    return 0;
}

static int load_stream(struct loader *l, struct json_object **ret)
{
    if (next_event(l) < 0 || next_event(l) < 0) /* stream start, document start */
        return -1;
    if (l->event.type == YAML_STREAM_END_EVENT) {
        *ret = NULL;
        return 0;
    }
    cleanup_json struct json_object *root = NULL;
    if (next_event(l) < 0 || load_value(l, mark_of(l->event.start_mark), &root) < 0)
        return -1;
    if (next_event(l) < 0 || next_event(l) < 0) /* document end, stream end */
        return -1;
    if (l->event.type != YAML_STREAM_END_EVENT)
        return error_at(l, l->event.start_mark, "a second document begins here; only one is allowed");
    *ret = take_ptr(root);
    return 0;
}

static void loader_release(struct loader *l)
{
    struct anchor *a, *next;
    HASH_ITER(hh, l->anchor, a, next) {
        HASH_DEL(l->anchor, a);
        json_object_put(a->value);
        free(a);
    }
    yaml_event_delete(&l->event);
    yaml_parser_delete(&l->parser);
    strbuf_release(&l->path);
}

static int parse_document(const char *text, size_t n, struct json_object **ret, struct yaml_positions *positions,
                          struct error *err)
{
    struct loader l = {.err = err, .positions = positions};
    if (!yaml_parser_initialize(&l.parser))
        abort();
    yaml_parser_set_input_string(&l.parser, (const unsigned char *)text, n);
    int r = load_stream(&l, ret);
    loader_release(&l);
    return r;
}

/* Parses when the caller wants no positions. Only the message about a duplicate key needs them, so a document that
 * cannot be read is read again for that message. */
static int parse_without_positions(const char *text, size_t n, struct json_object **ret, struct error *err)
{
    if (parse_document(text, n, ret, NULL, NULL) == 0)
        return 0;
    struct yaml_positions *positions = must_calloc(1, sizeof(*positions));
    int r = parse_document(text, n, ret, positions, err);
    yaml_positions_free(positions);
    return r;
}

int yaml_parse(const char *text, size_t n, struct json_object **ret, struct yaml_positions **positions,
               struct error *err)
{
    if (n > YAML_BYTES_MAX)
        return error_set(err, ERR_TOO_LARGE, "the text has %zu bytes; at most %d bytes of YAML are read", n,
                         YAML_BYTES_MAX);
    if (!positions)
        return parse_without_positions(text, n, ret, err);
    struct yaml_positions *found = must_calloc(1, sizeof(*found));
    if (parse_document(text, n, ret, found, err) < 0) {
        yaml_positions_free(found);
        return -1;
    }
    *positions = found;
    return 0;
}
