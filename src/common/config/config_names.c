#include "common/config/config_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"

/* ---- Walking ----------------------------------------------------------------------------------------------------- */

static bool first_of_its_name(const struct schema_key *object, size_t i)
{
    for (size_t j = 0; j < i; j++) {
        if (strcmp(object->child[j].name, object->child[i].name) == 0)
            return false;
    }
    return true;
}

static void walk_keys(const struct schema_key *object, struct strbuf *path, config_each_fn *fn, void *ctx)
{
    for (size_t i = 0; i < object->child_n; i++) {
        const struct schema_key *key = &object->child[i];
        size_t length = path->n;
        strbuf_addf(path, "%s%s", length ? "." : "", key->name);
        if (first_of_its_name(object, i))
            fn(ctx, strbuf_str(path), key);
        walk_keys(key, path, fn, ctx);
        strbuf_truncate(path, length);
    }
}

void config_each_key(const struct schema_key *root, config_each_fn *fn, void *ctx)
{
    cleanup_strbuf struct strbuf path = STRBUF_INIT;
    walk_keys(root, &path, fn, ctx);
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

void config_variable_name(const char *path, struct strbuf *out)
{
    strbuf_adds(out, "DET_");
    for (; *path; path++)
        strbuf_addc(out, *path == '.' ? '_' : (char)toupper((unsigned char)*path));
}

void config_option_name(const char *path, struct strbuf *out)
{
    strbuf_adds(out, "--");
    for (path += strspn(path, "_"); *path; path++)
        strbuf_addc(out, *path == '.' || *path == '_' ? '-' : *path);
}

struct search {
    void (*spell)(const char *path, struct strbuf *out);
    size_t prefix; /* bytes that spell() writes before the name itself */
    char joint;    /* the character between the name of a map and the name of its entry */
    const char *rest;
    size_t n;
    size_t best;
    struct config_name *found;
};

static bool same_letter(char a, char b)
{
    return a == b || (a == '-' && b == '_');
}

static bool begins_with(const char *s, size_t n, const char *name, size_t name_n)
{
    for (size_t i = 0; i < name_n; i++) {
        if (i >= n || !same_letter(name[i], s[i]))
            return false;
    }
    return true;
}

static void consider_key(void *ctx, const char *path, const struct schema_key *key)
{
    struct search *s = ctx;
    cleanup_strbuf struct strbuf spelled = STRBUF_INIT;
    s->spell(path, &spelled);
    const char *name = spelled.s + s->prefix;
    size_t n = strlen(name);
    if (n < s->best || !begins_with(s->rest, s->n, name, n))
        return;
    bool whole = n == s->n;
    bool entry = !whole && (key->types & SCHEMA_MAP) && n + 1 < s->n && same_letter(s->joint, s->rest[n]);
    if (!whole && !entry)
        return;
    cleanup_strbuf struct strbuf full = STRBUF_INIT;
    strbuf_adds(&full, path);
    if (entry)
        strbuf_addf(&full, ".%.*s", (int)(s->n - n - 1), s->rest + n + 1);
    free(s->found->path);
    s->found->path = strbuf_detach(&full);
    s->found->key = entry ? key->item : key;
    s->best = n;
}

static bool find_key(const struct schema_key *root, struct search *s, struct config_name *ret)
{
    *ret = (struct config_name){0};
    s->found = ret;
    config_each_key(root, consider_key, s);
    return ret->path != NULL;
}

bool config_find_variable(const struct schema_key *root, const char *rest, struct config_name *ret)
{
    struct search s = {.spell = config_variable_name, .prefix = 4, .joint = '_', .rest = rest, .n = strlen(rest)};
    return find_key(root, &s, ret);
}

bool config_find_option(const struct schema_key *root, const char *rest, size_t n, struct config_name *ret)
{
    struct search s = {.spell = config_option_name, .prefix = 2, .joint = '-', .rest = rest, .n = n};
    return find_key(root, &s, ret);
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static bool takes_text(const struct schema_key *key, const char *text)
{
    if (!(key->types & (SCHEMA_STRING | SCHEMA_DURATION | SCHEMA_SIZE)))
        return false;
    bool structured = key->types & (SCHEMA_OBJECT | SCHEMA_MAP | SCHEMA_LIST);
    return !structured || !strchr("{[", *text);
}

static int read_yaml(const char *text, size_t n, struct json_object **ret, struct error *err)
{
    return yaml_parse(text, n, ret, NULL, err) < 0 ? error_wrap(err, "is not YAML") : 0;
}

int config_read_text(const struct schema_key *key, const char *text, struct json_object **ret, struct error *err)
{
    if (key && takes_text(key, text)) {
        int64_t ns;
        bool number = (key->types & SCHEMA_DURATION) && duration_parse(text, &ns) < 0;
        if (!number) {
            *ret = json_object_new_string(text);
            return 0;
        }
    }
    if (key && (key->types & SCHEMA_LIST) && *text && *text != '[') {
        cleanup_strbuf struct strbuf list = STRBUF_INIT;
        strbuf_addf(&list, "[%s]", text);
        return read_yaml(list.s, list.n, ret, err);
    }
    return read_yaml(text, strlen(text), ret, err);
}
