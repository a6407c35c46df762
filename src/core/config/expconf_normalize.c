/* Shorthands to normal form, and defaults. Whatever is not of the form a shorthand has is left alone: validation tells
 * about it. */
#include <string.h>

#include "common/base/cleanup.h"
#include "common/config/schema.h"
#include "common/json/json.h"
#include "core/config/expconf.h"
#include "core/config/expconf_internal.h"
#include "gen/config_tables.h"

/* Replaces one value for all devices by an object that has the value for each type of device. The record has a field
 * for each type. */
static void spread_over_devices(struct json_object *environment, const char *name, enum json_type shorthand,
                                const struct schema_record *record)
{
    struct json_object *v = json_member(environment, name);
    if (!v || !json_object_is_type(v, shorthand))
        return;
    struct json_object *each = json_object_new_object();
    for (size_t i = 0; i < record->field_n; i++)
        json_object_object_add(each, record->field[i].name, json_copy(v));
    json_object_object_add(environment, name, each);
}

/* Renames `gpu`, which is the former name of `cuda`. */
static void rename_gpu(struct json_object *by_device)
{
    struct json_object *gpu = json_member(by_device, "gpu");
    if (gpu)
        json_object_object_add(by_device, "cuda", json_object_get(gpu));
    if (json_object_is_type(by_device, json_type_object))
        json_object_object_del(by_device, "gpu");
}

static void add_part(struct json_object *object, const char *name, const char *s, size_t n)
{
    json_object_object_add(object, name, s ? json_object_new_string_len(s, (int)n) : NULL);
}

/* Splits a device such as "/dev/a:/dev/b:rw" into its three parts. */
static struct json_object *parse_device(const char *s)
{
    const char *container = strchr(s, ':'), *mode = container ? strchr(container + 1, ':') : NULL;
    if (!container)
        return NULL;
    struct json_object *device = json_object_new_object();
    size_t container_n = mode ? (size_t)(mode - container - 1) : strlen(container + 1);
    add_part(device, "host_path", s, (size_t)(container - s));
    add_part(device, "container_path", container + 1, container_n);
    add_part(device, "mode", mode ? mode + 1 : NULL, mode ? strlen(mode + 1) : 0);
    return device;
}

static void normalize_devices(struct json_object *list)
{
    for (size_t i = 0; json_object_is_type(list, json_type_array) && i < json_object_array_length(list); i++) {
        struct json_object *v = json_object_array_get_idx(list, i);
        struct json_object *device = json_object_is_type(v, json_type_string) ? parse_device(json_object_get_string(v))
                                                                              : NULL;
        if (device)
            json_object_array_put_idx(list, i, device);
    }
}

static void normalize_log_policies(struct json_object *list)
{
    for (size_t i = 0; json_object_is_type(list, json_type_array) && i < json_object_array_length(list); i++) {
        struct json_object *policy = json_object_array_get_idx(list, i);
        struct json_object *type = json_member(json_member(policy, "action"), "type");
        if (type)
            json_object_object_add(policy, "action", json_object_get(type));
    }
}

static void normalize_sizes(struct json_object *resources)
{
    for (size_t i = 0; i < exp_resources_record.field_n; i++) {
        const struct schema_field *f = &exp_resources_record.field[i];
        struct json_object *size = f->type == SCHEMA_FIELD_SIZE ? json_member(resources, f->name) : NULL;
        int64_t bytes;
        if (json_object_is_type(size, json_type_string) && size_parse(json_object_get_string(size), &bytes) == 0)
            json_object_object_add(resources, f->name, json_object_new_int64(bytes));
    }
}

/* The lines of a text as a list. */
static struct json_object *lines_of(const char *text)
{
    struct json_object *list = json_object_new_array();
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = text + strcspn(text, "\n");
        json_object_array_add(list, json_object_new_string_len(text, (int)(end - text)));
    }
    return list;
}

/* Turns an interpreter's path or a list of requirements into an object, and a requirements text into a list. */
static void normalize_python(struct json_object *environment)
{
    struct json_object *v = json_member(environment, "python"), *requirements = json_member(v, "requirements");
    if (json_object_is_type(requirements, json_type_string))
        json_object_object_add(v, "requirements", lines_of(json_object_get_string(requirements)));
    const char *name = json_object_is_type(v, json_type_string)  ? "interpreter"
                       : json_object_is_type(v, json_type_array) ? "requirements"
                                                                 : NULL;
    if (!name)
        return;
    struct json_object *object = json_object_new_object();
    json_object_object_add(object, name, json_object_get(v));
    json_object_object_add(environment, "python", object);
}

static void normalize_environment(struct json_object *environment)
{
    normalize_python(environment);
    spread_over_devices(environment, "image", json_type_string, &exp_image_record);
    spread_over_devices(environment, "environment_variables", json_type_array, &exp_environment_variables_record);
    rename_gpu(json_member(environment, "image"));
    rename_gpu(json_member(environment, "environment_variables"));
}

void expconf_normalize(struct json_object *config)
{
    normalize_environment(json_member(config, "environment"));
    normalize_devices(json_member(json_member(config, "resources"), "devices"));
    normalize_sizes(json_member(config, "resources"));
    normalize_log_policies(json_member(config, "log_policies"));
}

void expconf_normalize_task_defaults(struct json_object *defaults)
{
    normalize_environment(defaults);
    normalize_devices(json_member(defaults, "devices"));
    normalize_log_policies(json_member(defaults, "log_policies"));
}

static struct json_object *normal_hyperparameter(struct json_object *v)
{
    if (json_object_is_type(v, json_type_object)) {
        if (!json_object_object_get(v, "type")) {
            json_object_object_foreach(v, name, value) json_object_object_add(v, name, normal_hyperparameter(value));
        }
        return json_object_get(v);
    }
    struct json_object *constant = json_object_new_object();
    json_object_object_add(constant, "type", json_object_new_string("const"));
    json_object_object_add(constant, "val", json_object_get(v));
    return constant;
}

void expconf_normalize_hyperparameters(struct json_object *config)
{
    struct json_object *all = json_member(config, "hyperparameters");
    if (!json_object_is_type(all, json_type_object))
        return;
    json_object_object_foreach(all, name, value) json_object_object_add(all, name, normal_hyperparameter(value));
}

struct json_object *expconf_fill(struct json_object *config)
{
    cleanup_json struct json_object *rest = json_object_new_object(), *merged = NULL;
    const struct schema_key *policies = schema_find(experiment_config_keys, "log_policies");
    json_object_object_add(rest, "log_policies", json_tokener_parse(policies->def));
    merged = schema_merge(experiment_config_keys, config, rest);
    expconf_normalize_hyperparameters(merged);
    return schema_fill(experiment_config_keys, merged);
}
