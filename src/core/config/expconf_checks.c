#include "core/config/expconf_checks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/json/json.h"
#include "core/config/log_policies.h"
#include "gen/config_tables.h"

#define CHECK(check) \
    static void check(struct json_object *v, const char *path, const struct schema_place *place, \
                      struct schema_problems *problems)
#define problem(...) schema_problem(problems, place, path, __VA_ARGS__)

static const char *text(struct json_object *v, const char *name)
{
    struct json_object *s = json_object_is_type(v, json_type_object) ? json_object_object_get(v, name) : NULL;
    return json_object_is_type(s, json_type_string) ? json_object_get_string(s) : NULL;
}

/* The document and the path of a member that is checked. Mistakes are reported there. */
struct site {
    const struct schema_place *place;
    struct schema_problems *problems;
};

static char *member_path(const char *path, const char *name)
{
    struct strbuf b = STRBUF_INIT;
    strbuf_addf(&b, "%s%s%s", path, *path ? "." : "", name);
    return strbuf_detach(&b);
}

/* ---- Hyperparameters --------------------------------------------------------------------------------------------- */

/* A table row for a value that no row describes. The value may have any type, but must be something that JSON can
 * hold. */
static const struct schema_key anything = {.name = "", .types = SCHEMA_ANY, .help = ""};

/* Checks of a hyperparameter what the rows of its type cannot say. */
CHECK(check_typed_hyperparameter)
{
    struct json_object *low = json_member(v, "minval"), *high = json_member(v, "maxval");
    if (low && high && json_object_get_double(low) >= json_object_get_double(high))
        problem("minval must be less than maxval, found %s and %s", json_object_get_string(low),
                json_object_get_string(high));
    if (strcmp(text(v, "type"), "const") == 0 && !json_object_object_get_ex(v, "val", NULL))
        problem("\"val\" must be set");
}

static void check_hyperparameter(const struct site *s, struct json_object *v, const char *path)
{
    bool is_object = json_object_is_type(v, json_type_object);
    if (!is_object || json_object_object_get(v, "type")) {
        schema_validate_at(is_object ? hyperparameter_config_keys : &anything, v, path, SCHEMA_PRESENT, expconf_checks,
                           s->place, s->problems);
        return;
    }
    json_object_object_foreach(v, name, value)
    {
        cleanup_free char *p = member_path(path, name);
        check_hyperparameter(s, value, p);
    }
}

CHECK(check_hyperparameters)
{
    struct site s = {place, problems};
    json_object_object_foreach(v, name, value)
    {
        cleanup_free char *p = member_path(path, name);
        check_hyperparameter(&s, value, p);
    }
}

static void check_counts(const struct site *s, struct json_object *v, const char *path)
{
    if (!json_object_is_type(v, json_type_object))
        return;
    const char *type = text(v, "type");
    if (type && schema_member(hyperparameter_config_keys, "count", type) && !json_object_object_get(v, "count"))
        schema_problem(s->problems, s->place, path, "a grid search needs \"count\" here");
    if (type)
        return;
    json_object_object_foreach(v, name, value)
    {
        cleanup_free char *p = member_path(path, name);
        check_counts(s, value, p);
    }
}

/* Reports every hyperparameter that has no `count` although a grid needs one. */
static void check_grid(struct json_object *hyperparameters, const struct schema_place *place,
                       struct schema_problems *problems)
{
    struct site s = {place, problems};
    check_counts(&s, hyperparameters, "hyperparameters");
}

/* ---- Lengths ----------------------------------------------------------------------------------------------------- */

CHECK(check_length)
{
    int n = 0;
    if (!json_object_is_type(v, json_type_object))
        return;
    json_object_object_foreach(v, name, value)
    {
        (void)name;
        n += value != NULL;
    }
    if (n != 1)
        problem("a length has exactly one of batches, records, epochs; found %d of them", n);
}

/* ---- Sections ---------------------------------------------------------------------------------------------------- */

/* Checks an experiment. If the document names no searcher, it is not known yet which one it gets, so counts are
 * required only if the document itself asks for a grid. */
CHECK(check_experiment)
{
    const char *name = text(json_object_object_get(v, "searcher"), "name");
    if (name && strcmp(name, "grid") == 0)
        check_grid(json_object_object_get(v, "hyperparameters"), place, problems);
}

/* Checks a searcher. Here a length needs a unit in some cases; everywhere else a bare number is a length whose unit the
 * training code knows. */
CHECK(check_searcher)
{
    const char *name = text(v, "name");
    struct json_object *max_length = json_object_object_get(v, "max_length");
    cleanup_free char *p = member_path(path, "max_length");
    if (name && strcmp(name, "async_halving") == 0 && json_object_is_type(max_length, json_type_int))
        schema_problem(problems, place, p, "async_halving needs a unit: {batches: %s}",
                       json_object_get_string(max_length));
}

CHECK(check_entrypoint)
{
    const char *s = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : NULL;
    if ((json_object_is_type(v, json_type_array) && json_object_array_length(v) == 0) ||
        (s && s[strspn(s, " \t\n")] == '\0'))
        problem("must name a program");
}

CHECK(check_profiling)
{
    struct json_object *begin = json_object_object_get(v, "begin_on_batch"),
                       *end = json_object_object_get(v, "end_after_batch");
    if (end && json_object_get_int64(begin) > json_object_get_int64(end))
        problem("begin_on_batch is %s, after end_after_batch, which is %s", json_object_get_string(begin),
                json_object_get_string(end));
}

/* Checks a device given as text: "/dev/a:/dev/b" or "/dev/a:/dev/b:rwm". */
CHECK(check_device)
{
    if (!json_object_is_type(v, json_type_string))
        return;
    const char *s = json_object_get_string(v), *colon = strchr(s, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
    bool good = colon && colon != s && colon[1] && colon[1] != ':';
    if (second)
        good = good && second[1] && strspn(second + 1, "rwm") == strlen(second + 1);
    if (!good)
        problem("must be HOST:CONTAINER or HOST:CONTAINER:MODE, found \"%s\"", s);
}

static const char *action_of(struct json_object *v)
{
    return json_object_is_type(v, json_type_object) ? text(v, "type") : json_object_get_string(v);
}

CHECK(check_log_policy_action)
{
    const char *action = action_of(v);
    if (action && strcmp(action, "cancel_retries") != 0 && strcmp(action, "exclude_node") != 0)
        problem("must be cancel_retries or exclude_node, found \"%s\"", action);
}

CHECK(check_log_policy)
{
    if (!text(v, "name") && (!text(v, "pattern") || !json_object_object_get(v, "action")))
        problem("\"name\" must be set (only a policy with pattern and action can do without)");
    cleanup_error struct error bad = ERROR_INIT;
    if (text(v, "pattern") && log_policy_check_pattern(text(v, "pattern"), &bad) < 0)
        problem("%s", error_msg(&bad));
}

CHECK(check_log_policies)
{
    for (size_t i = 0; i < json_object_array_length(v); i++) {
        const char *name = text(json_object_array_get_idx(v, i), "name");
        for (size_t j = 0; name && j < i; j++) {
            const char *other = text(json_object_array_get_idx(v, j), "name");
            if (other && strcmp(name, other) == 0)
                problem("two policies have the name \"%s\"", name);
        }
    }
}

/* Refuses members of a pod that the master itself sets. */
static void check_our_container(const struct site *s, struct json_object *container, const char *path)
{
    static const char *const ours[] = {"image", "command", "args", "tty", "stdin"};
    const char *name = text(container, "name");
    for (size_t i = 0; name && strcmp(name, "determined-container") == 0 && i < sizeof(ours) / sizeof(*ours); i++) {
        if (json_object_object_get(container, ours[i]))
            schema_problem(s->problems, s->place, path,
                           "%s of the container determined-container cannot be set in a pod", ours[i]);
    }
}

CHECK(check_pod_spec)
{
    struct site s = {place, problems};
    schema_validate_at(&anything, v, path, SCHEMA_PRESENT, NULL, place, problems);
    struct json_object *metadata = json_object_object_get(v, "metadata"), *spec = json_object_object_get(v, "spec");
    if (text(metadata, "name") || text(metadata, "namespace"))
        problem("metadata.name and metadata.namespace of a pod cannot be set");
    struct json_object *list = json_object_is_type(spec, json_type_object) ? json_object_object_get(spec, "containers")
                                                                           : NULL;
    for (size_t i = 0; json_object_is_type(list, json_type_array) && i < json_object_array_length(list); i++) {
        cleanup_strbuf struct strbuf p = STRBUF_INIT;
        strbuf_addf(&p, "%s.spec.containers[%zu]", path, i);
        check_our_container(&s, json_object_array_get_idx(list, i), p.s);
    }
}

const struct schema_check expconf_checks[] = {
    {"device", check_device},
    {"entrypoint", check_entrypoint},
    {"experiment", check_experiment},
    {"hyperparameter", check_typed_hyperparameter},
    {"hyperparameters", check_hyperparameters},
    {"length", check_length},
    {"log_policies", check_log_policies},
    {"log_policy", check_log_policy},
    {"log_policy_action", check_log_policy_action},
    {"pod_spec", check_pod_spec},
    {"profiling", check_profiling},
    {"searcher", check_searcher},
    {NULL, NULL},
};
