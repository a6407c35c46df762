/* Walks over a document and its key table: finds values that ask for what is not served, and removes what cannot be
 * used. */
#include <string.h>

#include "common/base/cleanup.h"
#include "common/config/schema.h"

/* ---- what is not served ------------------------------------------------------------------------------------------ */

struct walk {
    schema_unserved_fn *fn;
    void *ctx;
    struct strbuf path;
};

/* The default, or nothing at all, asks for nothing. */
static bool asks_for_nothing(const struct schema_key *key, struct json_object *v)
{
    cleanup_json struct json_object *def = key->def ? json_tokener_parse(key->def) : NULL;
    if (!v || (def && json_object_equal(def, v)))
        return true;
    switch (json_object_get_type(v)) {
    case json_type_string:
        return json_object_get_string_len(v) == 0;
    case json_type_array:
        return json_object_array_length(v) == 0;
    case json_type_object:
        return json_object_object_length(v) == 0;
    default:
        return false;
    }
}

static void visit_value(struct walk *w, const struct schema_key *key, struct json_object *v);

static void look_at_members(struct walk *w, const struct schema_key *key, struct json_object *v)
{
    const char *kind = schema_kind(key, v);
    json_object_object_foreach(v, name, value)
    {
        const struct schema_key *member = schema_member(key, name, kind);
        if (!member)
            member = (key->types & SCHEMA_MAP) ? key->item : NULL;
        if (!member)
            continue;
        size_t length = w->path.n;
        strbuf_addf(&w->path, "%s%s", length ? "." : "", name);
        visit_value(w, member, value);
        strbuf_truncate(&w->path, length);
    }
}

static void look_at_items(struct walk *w, const struct schema_key *key, struct json_object *v)
{
    for (size_t i = 0; key->item && i < json_object_array_length(v); i++) {
        size_t length = w->path.n;
        strbuf_addf(&w->path, "[%zu]", i);
        visit_value(w, key->item, json_object_array_get_idx(v, i));
        strbuf_truncate(&w->path, length);
    }
}

static void visit_value(struct walk *w, const struct schema_key *key, struct json_object *v)
{
    if (asks_for_nothing(key, v))
        return;
    if (key->refused || key->ignored)
        w->fn(w->ctx, strbuf_str(&w->path), key);
    else if (json_object_is_type(v, json_type_object))
        look_at_members(w, key, v);
    else if (json_object_is_type(v, json_type_array))
        look_at_items(w, key, v);
}

void schema_each_unserved(const struct schema_key *key, struct json_object *v, schema_unserved_fn *fn, void *ctx)
{
    struct walk w = {.fn = fn, .ctx = ctx, .path = STRBUF_INIT};
    visit_value(&w, key, v);
    strbuf_release(&w.path);
}

/* ---- what cannot be used ----------------------------------------------------------------------------------------- */

static void prune_members(const struct schema_key *key, struct json_object *v)
{
    const char *kind = schema_kind(key, v);
    json_object_object_foreach(v, name, value)
    {
        const struct schema_key *member = schema_member(key, name, kind);
        if (!member)
            member = (key->types & SCHEMA_MAP) ? key->item : NULL;
        if (!member && (key->types & SCHEMA_MAP))
            continue;
        if (!member || !schema_has_type(member->types, value))
            json_object_object_del(v, name); /* the present member may be deleted in this loop */
        else
            schema_prune(member, value);
    }
}

static void prune_items(const struct schema_key *key, struct json_object *v)
{
    for (size_t i = json_object_array_length(v); key->item && i-- > 0;) {
        struct json_object *item = json_object_array_get_idx(v, i);
        if (!item || !schema_has_type(key->item->types, item))
            json_object_array_del_idx(v, i, 1);
        else
            schema_prune(key->item, item);
    }
}

void schema_prune(const struct schema_key *key, struct json_object *v)
{
    if (key->types & SCHEMA_ANY)
        return;
    if (json_object_is_type(v, json_type_object))
        prune_members(key, v);
    else if (json_object_is_type(v, json_type_array))
        prune_items(key, v);
}
