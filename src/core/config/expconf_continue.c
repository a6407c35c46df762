/* The configuration of an experiment that goes on: a few words over the effective form that held until now. */
#include <string.h>

#include "common/base/cleanup.h"
#include "common/json/json.h"
#include "core/config/expconf.h"
#include "core/config/expconf_internal.h"
#include "core/config/policies.h"
#include "gen/config_tables.h"

static bool is_object(struct json_object *v)
{
    return json_object_is_type(v, json_type_object);
}

static bool has_check(const struct schema_key *key, const char *name)
{
    return key && key->check && strcmp(key->check, name) == 0;
}

/* Returns whether the member belongs only to the kind that `upper` replaces by another kind. Such members are
 * dropped. */
static bool is_foreign(const struct schema_key *key, const char *name, struct json_object *upper)
{
    const char *kind = key ? schema_kind(key, upper) : NULL;
    return kind && json_object_object_get(upper, key->selector) && schema_member(key, name, NULL) &&
           !schema_member(key, name, kind);
}

/* Lays `upper` over `lower`. A length or a hyperparameter is replaced as a whole, although it is written as a mapping.
 * Below `hyperparameters` and `data` there are no table rows, so key is NULL. */
static struct json_object *overlay(const struct schema_key *key, bool hyperparameters, struct json_object *upper,
                                   struct json_object *lower)
{
    if (!upper)
        return json_copy(lower);
    if (!is_object(upper) || !is_object(lower) || has_check(key, "length") ||
        (hyperparameters && json_object_object_get_ex(upper, "type", NULL)))
        return json_copy(upper);
    struct json_object *object = json_object_new_object();
    hyperparameters = hyperparameters || has_check(key, "hyperparameters");
    json_object_object_foreach(lower, lower_name, lower_value)
    {
        if (!is_foreign(key, lower_name, upper))
            json_object_object_add(object, lower_name, json_copy(lower_value));
    }
    json_object_object_foreach(upper, name, value)
    {
        const struct schema_key *row = key ? schema_member(key, name, schema_kind(key, upper)) : NULL;
        struct json_object *below = json_object_object_get(lower, name);
        json_object_object_add(object, name, overlay(row, hyperparameters, value, below));
    }
    return object;
}

static const char *searcher_name(struct json_object *config)
{
    struct json_object *searcher = json_object_object_get(config, "searcher");
    struct json_object *name = is_object(searcher) ? json_object_object_get(searcher, "name") : NULL;
    return json_object_is_type(name, json_type_string) ? json_object_get_string(name) : "";
}

static bool is_single(struct json_object *config)
{
    return strcmp(searcher_name(config), "single") == 0;
}

static int check_override(struct json_object *effective, struct json_object *override, struct error *err)
{
    static const char *const fixed[] = {"workspace", "project"};
    if (json_object_object_length(override) > 0 && !is_single(effective))
        return error_set(
            err, ERR_INVALID,
            "only an experiment with the searcher single can be continued with another configuration; this "
            "one has %s",
            searcher_name(effective));
    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
        if (json_object_object_get(override, fixed[i]))
            return error_set(err, ERR_INVALID,
                             "<config>.%s: an experiment is continued where it is; 'det experiment move' moves it",
                             fixed[i]);
    }
    if (*searcher_name(override) && !is_single(override))
        return error_set(err, ERR_INVALID, "<config>.searcher.name: must stay single, found \"%s\"",
                         searcher_name(override));
    return 0;
}

static int read_override(const char *yaml, size_t n, struct json_object *effective, struct json_object **ret,
                         struct json_object **warnings, struct error *err)
{
    cleanup_json struct json_object *override = NULL;
    struct yaml_positions *positions = NULL;
    if (expconf_read(yaml, n, &override, &positions, err) < 0)
        return -1;
    int rc = is_object(override) ? check_override(effective, override, err) : 0;
    if (rc == 0)
        rc = expconf_check_present(override, positions, err);
    expconf_warn_words(positions, warnings);
    yaml_positions_free(positions);
    if (rc < 0)
        return -1;
    expconf_normalize(override);
    expconf_normalize_hyperparameters(override);
    expconf_warn_unserved(experiment_config_keys, override, warnings);
    *ret = take_ptr(override);
    return 0;
}

static int check_capabilities(struct json_object *config, struct error *err)
{
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    struct schema_place place = {.root = "<config>"};
    expconf_check_capabilities(config, &place, &problems);
    int r = schema_problems_error(&problems, err);
    schema_problems_release(&problems);
    return r;
}

int expconf_continue(struct json_object *effective, const char *override, size_t n, const struct expconf_context *ctx,
                     struct exp_config **ret, struct error *err)
{
    cleanup_json struct json_object *upper = NULL, *config = NULL, *warnings = NULL;
    const struct expconf_pool *pool;
    if (expconf_check_text(n, ctx, err) < 0 || read_override(override, n, effective, &upper, &warnings, err) < 0)
        return -1;
    cleanup_json struct json_object *laid = overlay(experiment_config_keys, false, upper, effective);
    struct json_object *resources = schema_get(exp_values, upper, resources);
    bool priority_asked = is_object(upper) && schema_get(exp_resources, resources, priority) != NULL;
    config = policies_lay(ctx->policies, experiment_config_keys, laid);
    expconf_normalize_hyperparameters(config);
    if (expconf_resolve_pool(config, ctx, &pool, err) < 0 || expconf_check_complete(config, true, err) < 0 ||
        expconf_check_runnable(config, err) < 0 || check_capabilities(config, err) < 0 ||
        policies_limit(ctx->policies, POLICY_EXPERIMENT, config, priority_asked, err) < 0)
        return -1;
    cleanup_exp_config struct exp_config *view = expconf_view(expconf_fill(config), NULL, 0);
    if (expconf_check_limits(view, ctx, err) < 0)
        return -1;
    view->warnings = take_ptr(warnings);
    *ret = take_ptr(view);
    return 0;
}
