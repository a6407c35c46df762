#include "common/config/schema.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/compare.h"
#include "common/base/must.h"
#include "common/json/json.h"

const struct schema_key *schema_member(const struct schema_key *object, const char *name, const char *kind)
{
    for (size_t i = 0; i < object->child_n; i++) {
        const struct schema_key *c = &object->child[i];
        if (strcmp(c->name, name) == 0 && (!kind || !c->only || text_is_one_of(kind, c->only)))
            return c;
    }
    return NULL;
}

/* The text of a default that is a JSON string. Defaults come from our tables and have no escapes, so removing the
 * quotes is enough. */
static const char *default_choice(const struct schema_key *key)
{
    for (const char *const *c = key->choice; key->def && c && *c; c++) {
        size_t n = strlen(*c);
        if (strlen(key->def) == n + 2 && strncmp(key->def + 1, *c, n) == 0)
            return *c;
    }
    return NULL;
}

const char *schema_kind(const struct schema_key *object, struct json_object *v)
{
    if (!object->selector)
        return NULL;
    struct json_object *kind = NULL;
    if (json_object_is_type(v, json_type_object))
        kind = json_object_object_get(v, object->selector);
    if (json_object_is_type(kind, json_type_string))
        return json_object_get_string(kind);
    return default_choice(schema_member(object, object->selector, NULL));
}

static const struct schema_key *find_step(const struct schema_key *key, const char *step, size_t n)
{
    if (n >= 1 && step[0] == '[')
        return key->item;
    for (size_t i = 0; i < key->child_n; i++) {
        if (strlen(key->child[i].name) == n && strncmp(key->child[i].name, step, n) == 0)
            return &key->child[i];
    }
    return (key->types & SCHEMA_MAP) ? key->item : NULL;
}

const struct schema_key *schema_find(const struct schema_key *root, const char *path)
{
    const struct schema_key *key = root;
    while (*path && key) {
        size_t n = *path == '[' ? strcspn(path, "]") + 1 : strcspn(path, ".[");
        key = find_step(key, path, n);
        path += n;
        path += *path == '.';
    }
    return key;
}

void schema_describe_types(unsigned types, struct strbuf *out)
{
    static const struct {
        unsigned type;
        const char *name;
    } names[] = {
        {SCHEMA_BOOL, "true or false"},
        {SCHEMA_INT, "a whole number"},
        {SCHEMA_NUMBER, "a number"},
        {SCHEMA_STRING, "a text"},
        {SCHEMA_DURATION, "a duration such as 20m"},
        {SCHEMA_SIZE, "a size in bytes or such as 512m"},
        {SCHEMA_LIST, "a list"},
        {SCHEMA_MAP | SCHEMA_OBJECT, "a mapping"},
        {SCHEMA_NULL, "nothing"},
    };
    const char *joint = "";
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (types & names[i].type) {
            strbuf_addf(out, "%s%s", joint, names[i].name);
            joint = " or ";
        }
    }
}

const struct schema_check *schema_find_check(const struct schema_check *checks, const char *name)
{
    for (; checks && checks->name; checks++) {
        if (strcmp(checks->name, name) == 0)
            return checks;
    }
    return NULL;
}

/* ---- Problems ---------------------------------------------------------------------------------------------------- */

/* The position of a path, or of the nearest value above it. */
static bool find_place(const struct yaml_positions *positions, const char *path, struct yaml_mark *ret)
{
    cleanup_free char *p = must_strdup(path);
    for (;;) {
        if (yaml_position(positions, p, ret) == 0)
            return true;
        size_t n = strlen(p);
        if (n == 0)
            return false;
        while (n > 0 && p[n - 1] != '.' && p[n - 1] != '[')
            n--;
        p[n ? n - 1 : 0] = '\0';
    }
}

static void add_place(struct strbuf *out, const struct schema_place *place, const char *path,
                      const struct yaml_mark *mark /* NULL: unknown */)
{
    if (place->source)
        strbuf_addf(out, "%s: ", place->source);
    else if (place->file && mark)
        strbuf_addf(out, "%s:%d:%d: ", place->file, mark->line, mark->column);
    else if (place->file)
        strbuf_addf(out, "%s: ", place->file);
    if (place->root)
        strbuf_addf(out, "%s%s", place->root, *path && *path != '[' ? "." : "");
    strbuf_adds(out, path);
    if (!place->file && !place->source && mark)
        strbuf_addf(out, " (line %d, column %d)", mark->line, mark->column);
    if (*path || place->root)
        strbuf_adds(out, ": ");
}

static void __attribute__((format(printf, 5, 0))) add_problem(struct schema_problems *p,
                                                              const struct schema_place *place, const char *path,
                                                              const struct yaml_mark *mark, const char *fmt, va_list ap)
{
    if (p->n++)
        strbuf_addc(&p->text, '\n');
    add_place(&p->text, place, path, mark);
    strbuf_vaddf(&p->text, fmt, ap);
}

void schema_problem(struct schema_problems *p, const struct schema_place *place, const char *path, const char *fmt, ...)
{
    struct yaml_mark mark;
    bool known = place->positions && find_place(place->positions, path, &mark);
    va_list ap;
    va_start(ap, fmt);
    add_problem(p, place, path, known ? &mark : NULL, fmt, ap);
    va_end(ap);
}

void schema_problem_member(struct schema_problems *p, const struct schema_place *place, const char *path,
                           const char *name, const char *fmt, ...)
{
    struct yaml_mark mark;
    cleanup_strbuf struct strbuf member = STRBUF_INIT;
    strbuf_addf(&member, "%s%s%s", path, *path ? "." : "", name);
    bool known = place->positions && yaml_key_position(place->positions, strbuf_str(&member), &mark) == 0;
    va_list ap;
    va_start(ap, fmt);
    add_problem(p, place, path, known ? &mark : NULL, fmt, ap);
    va_end(ap);
}

void schema_problems_release(struct schema_problems *p)
{
    strbuf_release(&p->text);
    p->n = 0;
}

int schema_problems_error(const struct schema_problems *p, struct error *err)
{
    return p->n == 0 ? 0 : error_set(err, ERR_INVALID, "%s", strbuf_str(&p->text));
}

/* ---- Secrets and older spellings --------------------------------------------------------------------------------- */

static bool is_empty_text(struct json_object *v)
{
    return json_object_is_type(v, json_type_string) && json_object_get_string_len(v) == 0;
}

/* What is shown instead of the secret `v`. */
static struct json_object *mask_of(struct json_object *v, const char *shown)
{
    if (!v || is_empty_text(v))
        return json_object_get(v);
    if (json_object_is_type(v, json_type_object)) {
        struct json_object *object = json_object_new_object();
        json_object_object_foreach(v, name, value) json_object_object_add(object, name, mask_of(value, shown));
        return object;
    }
    if (json_object_is_type(v, json_type_array)) {
        struct json_object *list = json_object_new_array();
        for (size_t i = 0; i < json_object_array_length(v); i++)
            json_object_array_add(list, mask_of(json_object_array_get_idx(v, i), shown));
        return list;
    }
    return shown ? json_object_new_string(shown) : NULL;
}

/* The row of a member, even if its object is of a kind that does not have the member: an incomplete document may be of
 * another kind than it says. */
static const struct schema_key *row_of_member(const struct schema_key *key, const char *name, const char *kind)
{
    const struct schema_key *row = schema_member(key, name, kind);
    if (!row)
        row = schema_member(key, name, NULL);
    return row ? row : key->item;
}

static void mask_in_place(const struct schema_key *key, struct json_object *v, const char *shown)
{
    if (json_object_is_type(v, json_type_object)) {
        const char *kind = schema_kind(key, v);
        json_object_object_foreach(v, name, value)
        {
            const struct schema_key *member = row_of_member(key, name, kind);
            if (!member || !value)
                continue;
            if (member->flags & SCHEMA_SECRET)
                json_object_object_add(v, name, mask_of(value, shown));
            else
                mask_in_place(member, value, shown);
        }
    } else if (key->item && json_object_is_type(v, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(v); i++)
            mask_in_place(key->item, json_object_array_get_idx(v, i), shown);
    }
}

struct json_object *schema_mask(const struct schema_key *key, struct json_object *v, const char *shown)
{
    struct json_object *copy = json_copy(v);
    mask_in_place(key, copy, shown);
    return copy;
}

static void rename_member(struct json_object *v, const struct schema_key *old)
{
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(v, old->name, &value))
        return;
    if (value)
        json_object_object_add(v, old->replaced_by, json_object_get(value));
    json_object_object_del(v, old->name);
}

void schema_rename(const struct schema_key *key, struct json_object *v)
{
    if (json_object_is_type(v, json_type_array)) {
        for (size_t i = 0; key->item && i < json_object_array_length(v); i++)
            schema_rename(key->item, json_object_array_get_idx(v, i));
        return;
    }
    if (!json_object_is_type(v, json_type_object))
        return;
    const char *kind = schema_kind(key, v);
    for (size_t i = 0; i < key->child_n; i++) {
        if (key->child[i].replaced_by && (!kind || !key->child[i].only || text_is_one_of(kind, key->child[i].only)))
            rename_member(v, &key->child[i]);
    }
    json_object_object_foreach(v, name, value)
    {
        const struct schema_key *member = schema_member(key, name, schema_kind(key, v));
        if (!member)
            member = key->item;
        if (member)
            schema_rename(member, value);
    }
}
