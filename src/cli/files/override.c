#include "cli/files/override.h"

#include <stdbool.h>
#include <string.h>

static int parse_yaml(const char *text, size_t n, struct json_object **ret, struct error *err)
{
    return yaml_parse(text, n, ret, NULL, err);
}

static int parse_list(const char *text, struct json_object **ret, struct error *err)
{
    struct json_object *list = json_object_new_array();
    for (;;) {
        size_t n = strcspn(text, ",");
        struct json_object *v = NULL;
        if (parse_yaml(text, n, &v, err) < 0) {
            json_object_put(list);
            return -1;
        }
        json_object_array_add(list, v);
        if (!text[n])
            break;
        text += n + 1;
    }
    *ret = list;
    return 0;
}

static int parse_value(const char *key, size_t key_n, const char *text, struct json_object **ret, struct error *err)
{
    bool always_list = key_n == strlen("bind_mounts") && memcmp(key, "bind_mounts", key_n) == 0;
    struct json_object *v = NULL;
    if (text[0] != '[' && text[0] != '{' && strchr(text, ','))
        return parse_list(text, ret, err);
    if (parse_yaml(text, strlen(text), &v, err) < 0)
        return -1;
    if (always_list && text[0] != '[') {
        struct json_object *list = json_object_new_array();
        json_object_array_add(list, v);
        v = list;
    }
    *ret = v;
    return 0;
}

static void merge_objects(struct json_object *into, const char *key, struct json_object *v)
{
    struct json_object *have = json_object_object_get(into, key);
    if (!json_object_is_type(have, json_type_object) || !json_object_is_type(v, json_type_object)) {
        json_object_object_add(into, key, v);
        return;
    }
    json_object_object_foreach(v, name, value)
    {
        merge_objects(have, name, json_object_get(value));
    }
    json_object_put(v);
}

int override_apply(struct json_object *config, const char *key_value, struct error *err)
{
    const char *equals = strchr(key_value, '=');
    struct json_object *v = NULL;
    if (!equals || equals == key_value)
        return error_set(err, ERR_INVALID, "--config %s: expected key=value, such as resources.slots_per_trial=2",
                         key_value);
    if (parse_value(key_value, (size_t)(equals - key_value), equals + 1, &v, err) < 0)
        return error_wrap(err, "--config %s", key_value);
    struct json_object *at = config;
    const char *key = key_value;
    for (;;) {
        size_t n = strcspn(key, ".=");
        cleanup_strbuf struct strbuf name = STRBUF_INIT;
        strbuf_add(&name, key, n);
        if (key[n] == '=') {
            merge_objects(at, strbuf_str(&name), v);
            return 0;
        }
        struct json_object *next = json_object_object_get(at, strbuf_str(&name));
        if (!json_object_is_type(next,
                                 json_type_object)) { /* a value that is absent, null or a scalar becomes an object */
            next = json_object_new_object();
            json_object_object_add(at, strbuf_str(&name), next);
        }
        at = next;
        key += n + 1;
    }
}
