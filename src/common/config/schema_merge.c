/* Combines documents: one over another, and over the defaults of the table. */
#include <string.h>

#include "common/base/cleanup.h"
#include "common/config/schema.h"
#include "common/json/json.h"

static bool is_object(struct json_object *v)
{
    return json_object_is_type(v, json_type_object);
}

static bool is_list(struct json_object *v)
{
    return json_object_is_type(v, json_type_array);
}

/* ---- Merging ----------------------------------------------------------------------------------------------------- */

/* How values below a row combine: by the row's rule, which untyped values inherit from the row above them. */
struct rule {
    enum schema_merge_rule merge;
    const char *merge_key;
};

static struct json_object *merge_values(const struct schema_key *key, struct rule rule, struct json_object *upper,
                                        struct json_object *lower);

static struct json_object *concatenate_lists(struct json_object *upper, struct json_object *lower)
{
    struct json_object *list = json_copy(lower);
    for (size_t i = 0; i < json_object_array_length(upper); i++)
        json_object_array_add(list, json_copy(json_object_array_get_idx(upper, i)));
    return list;
}

static bool list_contains(struct json_object *list, struct json_object *v)
{
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        if (json_object_equal(json_object_array_get_idx(list, i), v))
            return true;
    }
    return false;
}

/* Compares whole numbers by their value, before everything else, and other values by their text. A valid set holds only
 * one of the two, but it is not checked yet. */
static int compare_items(const void *a, const void *b)
{
    struct json_object *x = *(struct json_object *const *)a, *y = *(struct json_object *const *)b;
    bool x_int = json_object_is_type(x, json_type_int), y_int = json_object_is_type(y, json_type_int);
    if (x_int != y_int)
        return x_int ? -1 : 1;
    if (x_int) {
        int64_t m = json_object_get_int64(x), n = json_object_get_int64(y);
        return m < n ? -1 : m > n;
    }
    return strcmp(x ? json_object_get_string(x) : "null", y ? json_object_get_string(y) : "null");
}

static struct json_object *unite_lists(struct json_object *upper, struct json_object *lower)
{
    struct json_object *both[] = {lower, upper}, *list = json_object_new_array();
    for (size_t b = 0; b < 2; b++) {
        for (size_t i = 0; i < json_object_array_length(both[b]); i++) {
            struct json_object *v = json_object_array_get_idx(both[b], i);
            if (!list_contains(list, v))
                json_object_array_add(list, json_copy(v));
        }
    }
    json_object_array_sort(list, compare_items);
    return list;
}

/* Whether two items have the same key. Items without the key are compared as a whole. */
static bool same_item(struct json_object *a, struct json_object *b, const char *merge_key)
{
    struct json_object *x = is_object(a) ? json_object_object_get(a, merge_key) : NULL;
    struct json_object *y = is_object(b) ? json_object_object_get(b, merge_key) : NULL;
    return x || y ? json_object_equal(x, y) : json_object_equal(a, b);
}

static struct json_object *unite_keyed(struct json_object *upper, struct json_object *lower, const char *merge_key)
{
    struct json_object *list = json_copy(upper);
    size_t n = json_object_array_length(upper);
    for (size_t i = 0; i < json_object_array_length(lower); i++) {
        struct json_object *v = json_object_array_get_idx(lower, i);
        bool taken = false;
        for (size_t j = 0; j < n && !taken; j++)
            taken = same_item(json_object_array_get_idx(upper, j), v, merge_key);
        if (!taken)
            json_object_array_add(list, json_copy(v));
    }
    return list;
}

static struct json_object *merge_lists(struct rule rule, struct json_object *upper, struct json_object *lower)
{
    switch (rule.merge) {
    case SCHEMA_MERGE_SET:
        return unite_lists(upper, lower);
    case SCHEMA_MERGE_KEYED:
        return unite_keyed(upper, lower, rule.merge_key);
    case SCHEMA_MERGE_REPLACE:
    case SCHEMA_MERGE_MEMBERS:
        return json_copy(upper);
    default:
        return concatenate_lists(upper, lower);
    }
}

/* Whether a member of `lower` is kept beside `upper`: if both are unions of different kinds, only members that all
 * kinds have are kept. */
static bool member_survives(const struct schema_key *key, const struct schema_key *member, struct json_object *upper,
                            struct json_object *lower)
{
    if (!key || key->merge != SCHEMA_MERGE_UNION || !member || !member->only)
        return true;
    const char *a = schema_kind(key, upper), *b = schema_kind(key, lower);
    return !a || !b || strcmp(a, b) == 0;
}

static const struct schema_key *member_row(const struct schema_key *key, const char *name, struct json_object *upper,
                                           struct json_object *lower)
{
    if (!key)
        return NULL;
    const char *kind = schema_kind(key, upper);
    if (!kind)
        kind = schema_kind(key, lower);
    const struct schema_key *row = schema_member(key, name, kind);
    return row ? row : key->item ? key->item : schema_member(key, name, NULL);
}

static struct json_object *merge_objects(const struct schema_key *key, struct rule rule, struct json_object *upper,
                                         struct json_object *lower)
{
    struct json_object *object = json_object_new_object();
    json_object_object_foreach(upper, name, value)
    {
        const struct schema_key *row = member_row(key, name, upper, lower);
        struct json_object *other = json_object_object_get(lower, name);
        if (!member_survives(key, row, upper, lower))
            other = NULL;
        json_object_object_add(object, name, merge_values(row, rule, value, other));
    }
    json_object_object_foreach(lower, lower_name, lower_value)
    {
        const struct schema_key *row = member_row(key, lower_name, upper, lower);
        if (!json_object_object_get_ex(upper, lower_name, NULL) && member_survives(key, row, upper, lower))
            json_object_object_add(object, lower_name, json_copy(lower_value));
    }
    return object;
}

static struct json_object *merge_values(const struct schema_key *key, struct rule rule, struct json_object *upper,
                                        struct json_object *lower)
{
    if (!upper || !lower)
        return json_copy(upper ? upper : lower);
    if (key)
        rule = (struct rule){.merge = key->merge, .merge_key = key->merge_key};
    if (rule.merge == SCHEMA_MERGE_REPLACE)
        return json_copy(upper);
    if (is_object(upper) && is_object(lower))
        return merge_objects(key, rule, upper, lower);
    if (is_list(upper) && is_list(lower))
        return merge_lists(rule, upper, lower);
    return json_copy(upper);
}

struct json_object *schema_merge(const struct schema_key *key, struct json_object *upper, struct json_object *lower)
{
    return merge_values(key, (struct rule){.merge = key->merge, .merge_key = key->merge_key}, upper, lower);
}

/* ---- Filling ----------------------------------------------------------------------------------------------------- */

static struct json_object *default_of(const struct schema_key *key)
{
    return key->def && strcmp(key->def, "null") != 0 ? json_tokener_parse(key->def) : NULL;
}

static void fill_member(const struct schema_key *member, struct json_object *from, struct json_object *to)
{
    struct json_object *value = json_object_object_get(from, member->name);
    if (member->flags & SCHEMA_DROP)
        return;
    struct json_object *filled = schema_fill(member, value);
    if (filled || !(member->flags & SCHEMA_OMIT))
        json_object_object_add(to, member->name, filled);
}

/* Fills an object. The default of an object applies to the object as a whole: {epochs: 2} in a document gets no
 * {batches: 0} from it. */
static struct json_object *fill_object(const struct schema_key *key, struct json_object *v)
{
    const char *kind = schema_kind(key, v);
    struct json_object *object = json_object_new_object();
    for (size_t i = 0; i < key->child_n; i++) {
        const struct schema_key *c = &key->child[i];
        if (schema_member(key, c->name, kind) == c &&
            !(c->only && key->selector && !kind && !json_object_object_get(v, c->name)))
            fill_member(c, v, object);
    }
    if (!(key->types & SCHEMA_MAP))
        return object;
    json_object_object_foreach(v, name, value)
    {
        if (!schema_member(key, name, NULL))
            json_object_object_add(object, name, key->item ? schema_fill(key->item, value) : json_copy(value));
    }
    return object;
}

static struct json_object *fill_list(const struct schema_key *key, struct json_object *v)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < json_object_array_length(v); i++) {
        struct json_object *item = json_object_array_get_idx(v, i);
        json_object_array_add(list, key->item ? schema_fill(key->item, item) : json_copy(item));
    }
    return list;
}

struct json_object *schema_fill(const struct schema_key *key, struct json_object *v)
{
    cleanup_json struct json_object *value = v ? json_object_get(v) : default_of(key);
    if (is_object(value) && (key->types & (SCHEMA_OBJECT | SCHEMA_MAP)))
        return fill_object(key, value);
    if (is_list(value) && (key->types & SCHEMA_LIST))
        return fill_list(key, value);
    return json_copy(value);
}
