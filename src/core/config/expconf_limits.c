/* How large a configuration may be. Rows of contract/experiment-config.json bound single lists and texts; here is what
 * concerns the document as a whole, and what a task gets of it through its environment and its command line. */
#include <string.h>

#include "common/base/cleanup.h"
#include "core/config/expconf.h"
#include "core/config/expconf_internal.h"

/* Every task gets its hyperparameters in one variable of its environment, and every trial of a search has its own.
 * Linux allows 128 KiB for one string of execve(2). */
#define HYPERPARAMETERS_MAX (100 * 1024)
/* Linux allows 2 MiB in all, with the default stack limit. The rest of a task's environment is set by the agent and the
 * master; it includes the configuration itself, with up to 100 KiB. */
#define START_TEXT_MAX (512 * 1024)
#define VALUES_MAX 100000
#define PATH_MAX_BYTES 2048

int expconf_check_text(size_t n, const struct expconf_context *ctx, struct error *err)
{
    if (!ctx->config_max || n <= ctx->config_max)
        return 0;
    return error_set(err, ERR_INVALID,
                     "the configuration has %zu bytes, at most %zu are allowed (the master's "
                     "limits.config_size); keep large data in files of the model definition",
                     n, ctx->config_max);
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

struct measure {
    size_t values;
    size_t longest_path;
};

static void measure(struct json_object *v, size_t path, struct measure *m)
{
    m->values++;
    if (path > m->longest_path)
        m->longest_path = path;
    if (m->values > VALUES_MAX || m->longest_path > PATH_MAX_BYTES)
        return;
    if (json_object_is_type(v, json_type_object)) {
        json_object_object_foreach(v, name, value) measure(value, path + 1 + strlen(name), m);
    } else if (json_object_is_type(v, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(v); i++)
            measure(json_object_array_get_idx(v, i), path + 2, m);
    }
}

int expconf_check_values(struct json_object *document, struct error *err)
{
    struct measure m = {0};
    measure(document, 0, &m);
    if (m.values > VALUES_MAX)
        return error_set(err, ERR_INVALID, "the document is too large: more than %d values", VALUES_MAX);
    if (m.longest_path > PATH_MAX_BYTES)
        return error_set(err, ERR_INVALID,
                         "the document has a value whose names above it have more than %d bytes together",
                         PATH_MAX_BYTES);
    return 0;
}

/* ---- what a task gets -------------------------------------------------------------------------------------------- */

static size_t texts_of(struct json_object *v)
{
    if (json_object_is_type(v, json_type_string))
        return (size_t)json_object_get_string_len(v) + 1;
    size_t n = 0;
    for (size_t i = 0; json_object_is_type(v, json_type_array) && i < json_object_array_length(v); i++)
        n += texts_of(json_object_array_get_idx(v, i));
    return n;
}

int expconf_check_start(struct json_object *entrypoint, const char *const *variable, size_t variable_n,
                        const char *device_type, struct error *err)
{
    size_t n = texts_of(entrypoint);
    for (size_t i = 0; i < variable_n; i++)
        n += strlen(variable[i]) + 1;
    if (n <= START_TEXT_MAX)
        return 0;
    return error_set(
        err, ERR_INVALID,
        "<config>: entrypoint and environment.environment_variables (%s) have %zu bytes together, "
        "at most %d are allowed: no task could be started with more; put large values into files of the model "
        "definition",
        device_type, n, START_TEXT_MAX);
}

static int check_hyperparameters(const struct exp_config *c, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    json_print(c->values.hyperparameters, &text);
    if (text.n <= HYPERPARAMETERS_MAX)
        return 0;
    return error_set(err, ERR_INVALID,
                     "<config>.hyperparameters: %zu bytes as JSON, at most %d are allowed: each trial gets its "
                     "own in one variable of its environment; use `data` for large values that all trials share",
                     text.n, HYPERPARAMETERS_MAX);
}

int expconf_check_json(const char *json, const struct expconf_context *ctx, struct error *err)
{
    size_t n = strlen(json);
    if (!ctx->config_max || n <= ctx->config_max)
        return 0;
    return error_set(err, ERR_INVALID,
                     "the configuration has %zu bytes with templates and defaults, as JSON; at most %zu are "
                     "allowed (the master's limits.config_size)",
                     n, ctx->config_max);
}

int expconf_check_limits(const struct exp_config *c, const struct expconf_context *ctx, struct error *err)
{
    /* the record has a field for each type of device */
    const struct schema_record *by_device = &exp_environment_variables_record;
    if (expconf_check_json(c->json, ctx, err) < 0)
        return -1;
    for (size_t i = 0; i < by_device->field_n; i++) {
        const char *device_type = by_device->field[i].name;
        size_t n;
        const char *const *variable = exp_config_environment_variables(c, device_type, &n);
        if (expconf_check_start(c->values.entrypoint, variable, n, device_type, err) < 0)
            return -1;
    }
    return check_hyperparameters(c, err);
}
