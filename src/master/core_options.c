/* Resource pools and defaults of the configuration, as the core and the API want them. */
#include <string.h>

#include "common/config/schema.h"
#include "common/json/json.h"
#include "core/sched/policy.h"
#include "gen/config_numbers.h"
#include "master/master.h"
#include "master/pools/provider.h"

static int member_int(struct json_object *o, const char *name, int otherwise)
{
    struct json_object *v = json_member(o, name);
    return v ? json_object_get_int(v) : otherwise;
}

static const char *member_text(struct json_object *o, const char *name, const char *otherwise, struct arena *a)
{
    struct json_object *v = json_member(o, name);
    return v ? arena_strdup(a, json_object_get_string(v)) : otherwise;
}

static bool member_is(struct json_object *o, const char *name, const char *text)
{
    struct json_object *v = json_member(o, name);
    return v && strcmp(json_object_get_string(v), text) == 0;
}

/* Returns a duration in microseconds; 0: it is not set. */
static int64_t member_duration_us(struct json_object *o, const char *name)
{
    struct json_object *v = json_member(o, name);
    int64_t ns = 0;
    if (json_object_is_type(v, json_type_int))
        ns = json_object_get_int64(v);
    else if (v)
        duration_parse(json_object_get_string(v), &ns);
    return ns > 0 && ns < 1000 ? 1 : ns / 1000;
}

/* Returns the scheduler's section of a pool. If the pool has one, nothing of the resource manager's section counts for
 * the pool. */
static struct json_object *scheduler_of(struct json_object *pool, struct json_object *manager_scheduler)
{
    struct json_object *own = json_member(pool, "scheduler");
    return own ? own : manager_scheduler;
}

/* Finds the policy. The values that the contract allows for scheduler.type are the names of the policies. */
static enum sched_policy policy_of(struct json_object *scheduler)
{
    struct json_object *type = json_member(scheduler, "type");
    enum sched_policy policy = SCHED_BY_PRIORITY;
    if (type)
        sched_policy_find(json_object_get_string(type), &policy);
    return policy;
}

static struct sched_opts sched_opts_of(struct json_object *scheduler)
{
    return (struct sched_opts){.policy = policy_of(scheduler),
                               .preemption = json_object_get_boolean(json_member(scheduler, "preemption")),
                               .fitting = member_is(scheduler, "fitting_policy", "worst") ? FITTING_WORST
                                                                                          : FITTING_BEST,
                               .allow_heterogeneous_fits = json_object_get_boolean(
                                   json_member(scheduler, "allow_heterogeneous_fits")),
                               .aging_us = member_duration_us(scheduler, "aging")};
}

/* Returns a switch of task_container_defaults; that of the pool takes precedence over the cluster's. */
static bool default_is_on(struct json_object *pool, struct json_object *cluster, const char *name)
{
    struct json_object *own = json_member(json_member(pool, "task_container_defaults"), name);
    return json_object_get_boolean(own ? own : json_member(cluster, name));
}

static struct core_pool_opts pool_of(struct json_object *pool, const char *name, struct json_object *manager_scheduler,
                                     struct json_object *task_defaults)
{
    struct json_object *scheduler = scheduler_of(pool, manager_scheduler);
    struct core_pool_opts p = {.name = name,
                               .max_aux_containers_per_agent =
                                   member_int(pool, "max_aux_containers_per_agent",
                                              MASTER_CONFIG_RESOURCE_POOLS_MAX_AUX_CONTAINERS_PER_AGENT_DEFAULT),
                               .sched = sched_opts_of(scheduler),
                               .agent_reconnect_wait_us = member_duration_us(pool, "agent_reconnect_wait"),
                               .gang_probe = default_is_on(pool, task_defaults, "gang_probe")};
    p.max_aux_containers_per_agent = member_int(pool, "max_cpu_containers_per_agent", p.max_aux_containers_per_agent);
    return p;
}

/* Sets the options of an elastic pool. The settings have made sure that its provider exists (settings.c). */
static void make_elastic(struct core_pool_opts *p, struct json_object *provider)
{
    const struct provider_type *type = provider ? provider_find(json_object_get_string(json_member(provider, "type")))
                                                : NULL;
    if (!type)
        return;
    p->elastic = true;
    p->scale = (struct scale_opts){
        .min_instances = member_int(provider, "min_instances",
                                    MASTER_CONFIG_RESOURCE_POOLS_PROVIDER_MIN_INSTANCES_DEFAULT),
        .max_instances = member_int(provider, "max_instances",
                                    MASTER_CONFIG_RESOURCE_POOLS_PROVIDER_MAX_INSTANCES_DEFAULT),
        .slots_per_instance = type->slots_per_instance(provider),
        .max_idle_us = member_duration_us(provider, "max_idle_agent_period"),
        .max_starting_us = member_duration_us(provider, "max_agent_starting_period"),
        .max_disconnected_us = member_duration_us(provider, "max_agent_disconnected_period"),
        .launch_error_timeout_us = member_duration_us(provider, "launch_error_timeout"),
        .launch_error_retries = member_int(provider, "launch_error_retries",
                                           MASTER_CONFIG_RESOURCE_POOLS_PROVIDER_LAUNCH_ERROR_RETRIES_DEFAULT)};
}

void core_options(struct master *m, struct core_opts *ret)
{
    struct json_object *list = config_get(m->config, "resource_pools");
    struct json_object *scheduler = config_get(m->config, "resource_manager.scheduler"),
                       *task_defaults = config_get(m->config, "task_container_defaults");
    size_t n = list ? json_object_array_length(list) : 0;
    struct core_pool_opts *pool = arena_array(&m->texts, struct core_pool_opts, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        pool[i] = pool_of(o, member_text(o, "pool_name", "", &m->texts), scheduler, task_defaults);
        make_elastic(&pool[i], json_member(o, "provider"));
    }
    if (n == 0)
        pool[n++] = pool_of(NULL, "default", scheduler, task_defaults);

    struct json_object *reserved = config_get(m->config, "reserved_ports");
    size_t port_n = reserved ? json_object_array_length(reserved) : 0;
    int32_t *port = arena_array(&m->texts, int32_t, port_n + 1);
    for (size_t i = 0; i < port_n; i++)
        port[i] = json_object_get_int(json_object_array_get_idx(reserved, i));
    *ret = (struct core_opts){.pool = pool,
                              .pool_n = n,
                              .agent_reconnect_wait_us = CORE_AGENT_RECONNECT_WAIT_US,
                              .restore_wait_us = CORE_RESTORE_WAIT_US,
                              .quarantine = config_bool(m->config, "resource_manager.quarantine"),
                              .reserved_port = port,
                              .reserved_port_n = port_n};
}

/* ---- for the API ------------------------------------------------------------------------------------------------- */

static const char *json_text(struct json_object *v, struct arena *a)
{
    if (!v)
        return NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    json_print(v, &text);
    return arena_strdup(a, strbuf_str(&text));
}

/* Returns the priority of jobs that have none: the pool's default, otherwise the resource manager's default. */
static int default_priority(struct json_object *pool, struct json_object *manager_scheduler)
{
    return member_int(json_member(pool, "scheduler"), "default_priority",
                      member_int(manager_scheduler, "default_priority", SCHED_PRIORITY_DEFAULT));
}

static struct api_pool_defaults pool_defaults(struct json_object *pool, const struct core_pool_opts *opts,
                                              struct json_object *manager_scheduler, struct arena *a)
{
    struct json_object *provider = json_member(pool, "provider");
    return (
        struct api_pool_defaults){.name = opts->name,
                                  .description = member_text(pool, "description", "", a),
                                  .default_priority = default_priority(pool, manager_scheduler),
                                  .aux_per_agent = opts->max_aux_containers_per_agent,
                                  .sched = opts->sched,
                                  .task_container_defaults = json_text(json_member(pool, "task_container_defaults"), a),
                                  .provider = member_text(provider, "type", NULL, a),
                                  .master_url = member_text(provider, "master_url", "", a),
                                  .master_cert_name = member_text(provider, "master_cert_name", "", a)};
}

void api_defaults_of_config(struct master *m, const struct core_opts *opts, struct api_defaults *ret)
{
    struct json_object *list = config_get(m->config, "resource_pools"),
                       *manager = config_get(m->config, "resource_manager");
    struct api_pool_defaults *pool = arena_array(&m->texts, struct api_pool_defaults, opts->pool_n);
    for (size_t i = 0; i < opts->pool_n; i++) {
        struct json_object *o = list && i < json_object_array_length(list) ? json_object_array_get_idx(list, i) : NULL;
        pool[i] = pool_defaults(o, &opts->pool[i], json_member(manager, "scheduler"), &m->texts);
    }
    bool named = json_object_get_boolean(json_member(manager, "no_default_resource_pools"));
    *ret = (struct api_defaults){
        .checkpoint_storage = json_text(config_get(m->config, "checkpoint_storage"), &m->texts),
        .task_container_defaults = json_text(config_get(m->config, "task_container_defaults"), &m->texts),
        .compute_pool = named ? NULL : member_text(manager, "default_compute_resource_pool", "default", &m->texts),
        .aux_pool = named ? NULL : member_text(manager, "default_aux_resource_pool", "default", &m->texts),
        .pool = pool,
        .pool_n = opts->pool_n,
        .config_max = (size_t)config_int(m->config, "limits.config_size"),
        .default_task = {.set = true,
                         .uid = (int32_t)config_int(m->config, "security.default_task.uid"),
                         .gid = (int32_t)config_int(m->config, "security.default_task.gid"),
                         .user = config_str(m->config, "security.default_task.user"),
                         .group = config_str(m->config, "security.default_task.group")},
        .launch_error = config_bool(m->config, "launch_error")};
}
