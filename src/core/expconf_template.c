/* Templates: a configuration that lies below the one of the request. The rule is that of the table's rows (`merge`), on
 * the two documents as they were written, before defaults; the whole is what gets checked. */
#include <stdlib.h>

#include "common/cleanup.h"
#include "core/expconf.h"
#include "core/expconf_checks.h"
#include "core/expconf_internal.h"
#include "gen/config_tables.h"

static struct json_object *normal_copy(struct json_object *v)
{
    struct json_object *copy = NULL;
    if (v && json_object_deep_copy(v, &copy, NULL) < 0)
        abort();
    expconf_normalize(copy);
    return copy;
}

int expconf_merge(struct json_object *config, struct json_object *template_config, struct json_object **ret,
                  struct error *err)
{
    cleanup_json struct json_object *upper = normal_copy(config), *lower = normal_copy(template_config);
    cleanup_json struct json_object *merged = schema_merge(experiment_config_keys, upper, lower);
    if (expconf_check_present(merged, NULL, err) < 0)
        return error_wrap(err, "with the template merged");
    expconf_normalize_hyperparameters(merged);
    *ret = take_ptr(merged);
    return 0;
}

int expconf_check_template(struct json_object *config, const char *name, struct error *err)
{
    if (!json_object_is_type(config, json_type_object))
        return error_set(err, ERR_INVALID, "template '%s' must hold a configuration: keys and values", name);
    if (json_object_object_get_ex(config, "template", NULL))
        return error_set(err, ERR_INVALID, "template '%s' must not name a template: templates cannot be nested", name);
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    struct schema_place place = {.root = "<template>"};
    schema_validate(experiment_config_keys, config, SCHEMA_PARTIAL, expconf_checks, &place, &problems);
    int r = schema_problems_error(&problems, err);
    schema_problems_release(&problems);
    return r;
}
