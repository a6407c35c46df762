#include "api/sso/scim_user.h"

#include <string.h>
#include <strings.h>

#include "api/accounts/account_rules.h"

enum { ATTRIBUTES_MAX = 16 * 1024, OPERATIONS_MAX = 100 };

/* What is kept for the directory, with the kind that it must have. Everything else that it sends is passed over, as RFC
 * 7644, 3.3 says. */
static const struct kept {
    const char *name;
    enum json_type type;
} kept[] = {
    {"externalId", json_type_string},
    {"name", json_type_object},
    {"displayName", json_type_string},
    {"emails", json_type_array},
};

static const struct kept *find_kept(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        if (strlen(kept[i].name) == n && strncasecmp(kept[i].name, name, n) == 0)
            return &kept[i];
    return NULL;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Entra sends "True" and "False" as texts. */
static int read_active(struct json_object *doc, bool *ret, struct error *err)
{
    struct json_object *v;
    *ret = true;
    if (!json_object_object_get_ex(doc, "active", &v))
        return 0;
    const char *text = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
    if (json_object_is_type(v, json_type_boolean))
        *ret = json_object_get_boolean(v);
    else if (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0)
        *ret = strcasecmp(text, "true") == 0;
    else
        return error_set(err, ERR_INVALID, "active must be true or false");
    return 0;
}

static int keep_attributes(struct json_object *doc, struct arena *a, const char **ret, struct error *err)
{
    cleanup_json struct json_object *all = json_object_new_object();
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
        struct json_object *v = json_object_object_get(doc, kept[i].name);
        if (!v)
            continue;
        if (!json_object_is_type(v, kept[i].type))
            return error_set(err, ERR_INVALID, "%s must be %s", kept[i].name,
                             kept[i].type == json_type_string   ? "a text"
                             : kept[i].type == json_type_object ? "an object"
                                                                : "a list");
        json_object_object_add(all, kept[i].name, json_object_get(v));
    }
    json_print(all, &text);
    if (text.n > ATTRIBUTES_MAX)
        return error_set(err, ERR_INVALID, "the user has %zu bytes of attributes, at most %d are kept", text.n,
                         ATTRIBUTES_MAX);
    *ret = arena_strdup(a, strbuf_str(&text));
    return 0;
}

/* What is shown for the user: as the directory says it, or made of the names. */
static const char *shown_name(struct json_object *doc, struct arena *a)
{
    struct json_object *name = json_object_object_get(doc, "name");
    const char *shown = json_get_text(doc, "displayName", a), *ret = NULL;
    if (!*shown && json_object_is_type(name, json_type_object)) {
        const char *given = json_get_text(name, "givenName", a), *family = json_get_text(name, "familyName", a);
        shown = json_get_text(name, "formatted", a);
        if (!*shown)
            shown = arena_printf(a, "%s%s%s", given, *given && *family ? " " : "", family);
    }
    return *shown && account_display_name(shown, a, &ret, NULL) == 0 ? ret : NULL;
}

int scim_user_read(struct json_object *doc, struct arena *a, struct scim_user *ret, struct error *err)
{
    struct scim_user u;
    if (!json_object_is_type(doc, json_type_object))
        return error_set(err, ERR_INVALID, "a user is a JSON object");
    const char *name = json_get_text(doc, "userName", a);
    if (!*name)
        return error_set(err, ERR_INVALID, "userName is missing");
    if (account_username(name, a, &u.username, err) < 0 || read_active(doc, &u.active, err) < 0 ||
        keep_attributes(doc, a, &u.attributes, err) < 0)
        return -1;
    u.external_id = json_get_text(doc, "externalId", a);
    u.display_name = shown_name(doc, a);
    *ret = u;
    return 0;
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

/* The name of an attribute as the schema spells it, whatever the case of the given letters. NULL: it is not kept. */
static const char *attribute(const char *name, size_t n)
{
    static const char *const own[] = {"userName", "active"};
    const struct kept *k = find_kept(name, n);
    for (size_t i = 0; i < 2; i++)
        if (strlen(own[i]) == n && strncasecmp(own[i], name, n) == 0)
            return own[i];
    return k ? k->name : NULL;
}

static struct json_object *member_object(struct json_object *doc, const char *name)
{
    struct json_object *v = json_object_object_get(doc, name);
    if (json_object_is_type(v, json_type_object))
        return v;
    v = json_object_new_object();
    json_object_object_add(doc, name, v);
    return v;
}

/* emails[type eq "work"].value: the address of that type, which is added if there is none. */
static int set_email(struct json_object *doc, const char *path, struct json_object *value, struct error *err)
{
    char type[32] = "";
    int end = 0;
    if (sscanf(path, "emails[type eq \"%31[a-zA-Z]\"].value%n", type, &end) != 1 || path[end] || !end)
        return error_set(err, ERR_INVALID, "the path \"%.100s\" is not supported", path);
    struct json_object *all = json_object_object_get(doc, "emails"), *one = NULL;
    if (!json_object_is_type(all, json_type_array)) {
        all = json_object_new_array();
        json_object_object_add(doc, "emails", all);
    }
    for (size_t i = 0; i < json_object_array_length(all) && !one; i++) {
        struct json_object *v = json_object_array_get_idx(all, i), *of = json_object_object_get(v, "type");
        if (json_object_is_type(of, json_type_string) && strcasecmp(json_object_get_string(of), type) == 0)
            one = v;
    }
    if (!one) {
        one = json_object_new_object();
        json_object_object_add(one, "type", json_object_new_string(type));
        json_object_array_add(all, one);
    }
    json_object_object_add(one, "value", json_object_get(value));
    return 0;
}

/* value NULL: removes it. */
static int set_path(struct json_object *doc, const char *path, struct json_object *value, struct error *err)
{
    static const char core[] = "urn:ietf:params:scim:schemas:core:2.0:User:";
    if (strncasecmp(path, core, sizeof(core) - 1) == 0)
        path += sizeof(core) - 1;
    size_t n = strcspn(path, ".[");
    const char *name = attribute(path, n);
    if (!name)
        return error_set(err, ERR_INVALID, "the path \"%.100s\" is not supported", path);
    if (path[n] == '[')
        return set_email(doc, path, value, err);
    struct json_object *into = path[n] == '.' ? member_object(doc, name) : doc;
    const char *leaf = path[n] == '.' ? path + n + 1 : name;
    if (path[n] == '.' && strcmp(name, "name") != 0)
        return error_set(err, ERR_INVALID, "the path \"%.100s\" is not supported", path);
    if (value)
        json_object_object_add(into, leaf, json_object_get(value));
    else
        json_object_object_del(into, leaf);
    return 0;
}

/* Without a path the value is an object of attributes. Attributes that are not kept are passed over. */
static int set_all(struct json_object *doc, struct json_object *value, struct error *err)
{
    if (!json_object_is_type(value, json_type_object))
        return error_set(err, ERR_INVALID, "an operation without a path has an object of attributes as its value");
    json_object_object_foreach(value, name, v)
    {
        if (attribute(name, strcspn(name, ".[")) && set_path(doc, name, v, err) < 0)
            return -1;
    }
    return 0;
}

static int apply(struct json_object *doc, struct json_object *op, struct arena *a, struct error *err)
{
    const char *what = json_get_text(op, "op", a), *path = json_get_text(op, "path", a);
    struct json_object *value = json_object_object_get(op, "value");
    if (strcasecmp(what, "remove") == 0)
        return set_path(doc, path, NULL, err);
    if (strcasecmp(what, "add") != 0 && strcasecmp(what, "replace") != 0)
        return error_set(err, ERR_INVALID, "the operation \"%.50s\" is none of add, replace and remove", what);
    if (!value)
        return error_set(err, ERR_INVALID, "the operation \"%s\" has no value", what);
    return *path ? set_path(doc, path, value, err) : set_all(doc, value, err);
}

int scim_user_patch(struct json_object *doc, struct json_object *patch, struct arena *a, struct error *err)
{
    struct json_object *all = json_object_is_type(patch, json_type_object) ? json_object_object_get(patch, "Operations")
                                                                           : NULL;
    size_t n = json_object_is_type(all, json_type_array) ? json_object_array_length(all) : 0;
    if (n == 0 || n > OPERATIONS_MAX)
        return error_set(err, ERR_INVALID, "Operations must be a list of 1 to %d operations", OPERATIONS_MAX);
    for (size_t i = 0; i < n; i++) {
        struct json_object *op = json_object_array_get_idx(all, i);
        if (!json_object_is_type(op, json_type_object))
            return error_set(err, ERR_INVALID, "Operations[%zu] is no object", i);
        if (apply(doc, op, a, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

int scim_filter_read(const char *text, struct arena *a, struct scim_filter *ret, struct error *err)
{
    static const char *const names[] = {"userName eq ", "externalId eq "};
    *ret = (struct scim_filter){"", ""};
    if (!text || !*text)
        return 0;
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(names[i]);
        cleanup_json struct json_object *value = NULL;
        if (strncasecmp(text, names[i], n) != 0 || json_parse(text + n, strlen(text + n), &value, NULL) < 0 ||
            !json_object_is_type(value, json_type_string) || !*json_object_get_string(value))
            continue;
        *(i == 0 ? &ret->username : &ret->external_id) = arena_strdup(a, json_object_get_string(value));
        return 0;
    }
    return error_set(err, ERR_INVALID,
                     "the filter \"%.100s\" is not supported: userName eq \"NAME\" and externalId eq \"ID\" are", text);
}
