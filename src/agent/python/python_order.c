#include "agent/python/python_order.h"

#include "common/json/json.h"

static void add_text(struct json_object *o, const char *name, const char *value)
{
    json_object_object_add(o, name, json_object_new_string(value ? value : ""));
}

static void add_texts(struct json_object *o, const char *name, const char *const *text, size_t n)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++)
        json_object_array_add(list, json_object_new_string(text[i]));
    json_object_object_add(o, name, list);
}

static int64_t get_number(struct json_object *o, const char *name)
{
    return json_object_get_int64(json_object_object_get(o, name));
}

static bool get_bool(struct json_object *o, const char *name)
{
    return json_object_get_boolean(json_object_object_get(o, name));
}

static int parse_object(const char *text, size_t n, struct json_object **ret, struct error *err)
{
    if (json_parse(text, n, ret, err) < 0)
        return -1;
    return json_object_is_type(*ret, json_type_object) ? 0 : error_set(err, ERR_INVALID, "a JSON object was expected");
}

void python_order_encode(const struct python_order *o, struct strbuf *ret)
{
    const struct python_settings *s = &o->settings;
    cleanup_json struct json_object *j = json_object_new_object();
    add_text(j, "dir", s->dir);
    json_object_object_add(j, "max_bytes", json_object_new_int64(s->max_bytes));
    add_text(j, "wheels", s->wheels);
    add_text(j, "index_url", s->index_url);
    add_text(j, "lists_dir", s->lists_dir);
    json_object_object_add(j, "only_wheels", json_object_new_boolean(s->only_wheels));
    json_object_object_add(j, "build_timeout_s", json_object_new_int64(s->build_timeout_s));
    json_object_object_add(j, "build_memory_bytes", json_object_new_int64(s->build_memory_bytes));
    json_object_object_add(j, "change_user", json_object_new_boolean(s->change_user));
    json_object_object_add(j, "uid", json_object_new_int64(s->uid));
    json_object_object_add(j, "gid", json_object_new_int64(s->gid));
    add_text(j, "http_proxy", s->http_proxy);
    add_text(j, "https_proxy", s->https_proxy);
    add_text(j, "no_proxy", s->no_proxy);
    add_text(j, "interpreter", o->interpreter);
    add_text(j, "path", o->path);
    add_text(j, "requirements", o->requirements);
    add_texts(j, "extras", o->extra, o->extra_n);
    json_print(j, ret);
}

int python_order_decode(const char *text, size_t n, struct arena *a, struct python_order *ret, struct error *err)
{
    cleanup_json struct json_object *j = NULL;
    if (parse_object(text, n, &j, err) < 0)
        return error_wrap(err, "the order of a Python environment");
    struct python_order o = {.settings = {.dir = json_get_text(j, "dir", a),
                                          .max_bytes = get_number(j, "max_bytes"),
                                          .wheels = json_get_text(j, "wheels", a),
                                          .index_url = json_get_text(j, "index_url", a),
                                          .lists_dir = json_get_text(j, "lists_dir", a),
                                          .only_wheels = get_bool(j, "only_wheels"),
                                          .build_timeout_s = (int32_t)get_number(j, "build_timeout_s"),
                                          .build_memory_bytes = get_number(j, "build_memory_bytes"),
                                          .change_user = get_bool(j, "change_user"),
                                          .uid = (uint32_t)get_number(j, "uid"),
                                          .gid = (uint32_t)get_number(j, "gid"),
                                          .http_proxy = json_get_text(j, "http_proxy", a),
                                          .https_proxy = json_get_text(j, "https_proxy", a),
                                          .no_proxy = json_get_text(j, "no_proxy", a)},
                             .interpreter = json_get_text(j, "interpreter", a),
                             .path = json_get_text(j, "path", a),
                             .requirements = json_get_text(j, "requirements", a)};
    o.extra = json_get_texts(j, "extras", a, &o.extra_n);
    *ret = o;
    return 0;
}

void python_place_encode(const struct python_place *p, struct strbuf *ret)
{
    cleanup_json struct json_object *j = json_object_new_object();
    add_text(j, "interpreter", p->interpreter);
    add_text(j, "environment", p->environment);
    add_texts(j, "bin", p->bin, p->bin_n);
    add_texts(j, "roots", p->root, p->root_n);
    add_texts(j, "locks", p->lock, p->lock_n);
    json_print(j, ret);
}

int python_place_decode(const char *text, size_t n, struct arena *a, struct python_place *ret, struct error *err)
{
    cleanup_json struct json_object *j = NULL;
    if (parse_object(text, n, &j, err) < 0)
        return error_wrap(err, "the place of a Python environment");
    struct python_place p = {.interpreter = json_get_text(j, "interpreter", a),
                             .environment = json_get_text(j, "environment", a)};
    p.bin = json_get_texts(j, "bin", a, &p.bin_n);
    p.root = json_get_texts(j, "roots", a, &p.root_n);
    p.lock = json_get_texts(j, "locks", a, &p.lock_n);
    *ret = p;
    return 0;
}
