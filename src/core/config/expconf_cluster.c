/* What the cluster adds to the configurations of experiments and of other tasks: the pool, and its defaults for tasks.
 */
#include <string.h>

#include "common/base/cleanup.h"
#include "common/json/json.h"
#include "core/config/expconf_internal.h"
#include "gen/config_tables.h"

/* ---- the pool ---------------------------------------------------------------------------------------------------- */

static const struct expconf_pool *find_pool(const struct expconf_context *ctx, const char *name)
{
    for (size_t i = 0; i < ctx->pool_n; i++) {
        if (strcmp(ctx->pool[i].name, name) == 0)
            return &ctx->pool[i];
    }
    return NULL;
}

static int no_such_pool(const struct expconf_context *ctx, const char *name, struct error *err)
{
    cleanup_strbuf struct strbuf all = STRBUF_INIT;
    for (size_t i = 0; i < ctx->pool_n; i++)
        strbuf_addf(&all, "%s%s", i ? ", " : "", ctx->pool[i].name);
    return error_set(err, ERR_INVALID, "<config>.resources.resource_pool: there is no pool \"%s\" (pools: %s)", name,
                     strbuf_str(&all));
}

int cluster_find_pool(struct json_object *resources, bool with_slots, const struct expconf_context *ctx,
                      const struct expconf_pool **ret, struct error *err)
{
    struct json_object *named = schema_get(exp_resources, resources, resource_pool);
    const char *name = named ? json_object_get_string(named) : "";
    if (!*name)
        name = with_slots ? ctx->default_compute_pool : ctx->default_aux_pool;
    if (!name)
        return error_set(err, ERR_INVALID,
                         "<config>.resources.resource_pool must be set: this cluster has no default pool");
    const struct expconf_pool *pool = find_pool(ctx, name);
    if (!pool)
        return no_such_pool(ctx, name, err);
    schema_put(exp_resources, resources, resource_pool, json_object_new_string(pool->name));
    *ret = pool;
    return 0;
}

/* ---- task_container_defaults ------------------------------------------------------------------------------------- */

static struct json_object *registry_auth_of(struct json_object *v)
{
    return json_object_is_type(v, json_type_object) ? json_object_object_get(v, "registry_auth") : NULL;
}

/* Merges registry credentials as a whole. Credentials of which one half is from one document and the other half from
 * another do not work. */
static struct json_object *merge_whole_credentials(const struct schema_key *key, struct json_object *upper,
                                                   struct json_object *lower)
{
    struct json_object *merged = schema_merge(key, upper, lower), *auth = registry_auth_of(upper);
    if (auth)
        json_object_object_add(merged, "registry_auth", json_copy(auth));
    return merged;
}

static struct json_object *merged_defaults(const struct expconf_context *ctx, const struct expconf_pool *pool)
{
    const struct schema_key *key = schema_find(master_config_keys, "task_container_defaults");
    cleanup_json struct json_object *cluster = json_copy(ctx->task_container_defaults);
    cleanup_json struct json_object *own = json_copy(pool ? pool->task_container_defaults : NULL);
    expconf_normalize_task_defaults(cluster);
    expconf_normalize_task_defaults(own);
    struct json_object *merged = own ? merge_whole_credentials(key, own, cluster) : take_ptr(cluster);
    return merged ? merged : json_object_new_object();
}

static void copy_member(struct json_object *from, const char *name, struct json_object *to, const char *to_name)
{
    struct json_object *v = json_object_object_get(from, name);
    if (v)
        json_object_object_add(to, to_name, json_copy(v));
}

/* Brings task_container_defaults into the form of a configuration. A key is put where the table has a key of that name:
 * at the top, or in one of the sections about tasks. Other keys do not concern these configurations. */
static struct json_object *config_of_defaults(const struct schema_key *table, struct json_object *defaults,
                                              bool with_slots)
{
    struct json_object *config = json_object_new_object();
    struct json_object *environment = schema_section(exp_values, config, environment),
                       *resources = schema_section(exp_values, config, resources);
    const struct schema_key *environment_keys = schema_find(table, "environment"),
                            *resource_keys = schema_find(table, "resources");
    json_object_object_foreach(defaults, name, value)
    {
        struct json_object *place = schema_member(table, name, NULL)              ? config
                                    : schema_member(environment_keys, name, NULL) ? environment
                                    : schema_member(resource_keys, name, NULL)    ? resources
                                                                                  : NULL;
        if (value && place)
            copy_member(defaults, name, place, name);
    }
    copy_member(defaults, with_slots ? "gpu_pod_spec" : "cpu_pod_spec", environment, "pod_spec");
    return config;
}

struct json_object *cluster_task_defaults(const struct schema_key *table, struct json_object *config,
                                          const struct expconf_context *ctx, const struct expconf_pool *pool,
                                          bool with_slots)
{
    cleanup_json struct json_object *defaults = merged_defaults(ctx, pool);
    struct json_object *lower = config_of_defaults(table, defaults, with_slots);
    if (registry_auth_of(json_object_object_get(config, "environment")))
        json_object_object_del(schema_section(exp_values, lower, environment), "registry_auth");
    return lower;
}
