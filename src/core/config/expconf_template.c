/* Templates: a configuration that lies below the one of the request, for experiments and tasks alike. The rule is that
 * of the table's rows (`merge`), on the two documents as they were written, before defaults; the whole is what gets
 * checked. */

#include "common/base/cleanup.h"
#include "common/json/json.h"
#include "core/config/expconf.h"
#include "core/config/expconf_checks.h"
#include "core/config/expconf_internal.h"
#include "core/config/taskconf.h"
#include "gen/config_tables.h"

static struct json_object *normal_copy(struct json_object *v)
{
    struct json_object *copy = json_copy(v);
    expconf_normalize(copy);
    return copy;
}

struct json_object *template_lay(const struct schema_key *table, struct json_object *config,
                                 struct json_object *template_config)
{
    cleanup_json struct json_object *upper = normal_copy(config), *lower = normal_copy(template_config);
    return schema_merge(table, upper, lower);
}

static int check(const struct schema_key *table, struct json_object *config, enum schema_phase phase, const char *root,
                 int *ret_problems, struct error *err)
{
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    struct schema_place place = {.root = root};
    schema_validate(table, config, phase, expconf_checks, &place, &problems);
    int r = schema_problems_error(&problems, err);
    *ret_problems = problems.n;
    schema_problems_release(&problems);
    return r;
}

static int merge(const struct schema_key *table, struct json_object *config, struct json_object *template_config,
                 struct json_object **ret, struct error *err)
{
    cleanup_json struct json_object *merged = template_lay(table, config, template_config);
    int problems;
    if (check(table, merged, SCHEMA_PRESENT, "<config>", &problems, err) < 0)
        return error_wrap(err, "with the template merged");
    *ret = take_ptr(merged);
    return 0;
}

int expconf_merge(struct json_object *config, struct json_object *template_config, struct json_object **ret,
                  struct error *err)
{
    if (merge(experiment_config_keys, config, template_config, ret, err) < 0)
        return -1;
    expconf_normalize_hyperparameters(*ret);
    return 0;
}

int taskconf_merge(struct json_object *config, struct json_object *template_config, struct json_object **ret,
                   struct error *err)
{
    return merge(task_config_keys, config, template_config, ret, err);
}

/* Checks that the template fits experiments or tasks. If it fits neither, the mistakes reported are those of the kind
 * that it is nearer to. */
static int check_kinds(struct json_object *config, struct error *err)
{
    cleanup_error struct error of_task = ERROR_INIT, of_experiment = ERROR_INIT;
    int task, experiment;
    if (check(experiment_config_keys, config, SCHEMA_PARTIAL, "<template>", &experiment, &of_experiment) == 0 ||
        check(task_config_keys, config, SCHEMA_PARTIAL, "<template>", &task, &of_task) == 0)
        return 0;
    error_move(err, task < experiment ? &of_task : &of_experiment);
    return -1;
}

int expconf_check_template(struct json_object *config, const char *name, struct error *err)
{
    if (!json_object_is_type(config, json_type_object))
        return error_set(err, ERR_INVALID, "template '%s' must hold a configuration: keys and values", name);
    if (json_object_object_get_ex(config, "template", NULL))
        return error_set(err, ERR_INVALID, "template '%s' must not name a template: templates cannot be nested", name);
    return expconf_check_values(config, err) < 0 ? -1 : check_kinds(config, err);
}
