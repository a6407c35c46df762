/* Resource pools and defaults of the configuration, as the core and the API want them. */
#include <string.h>

#include "common/json.h"
#include "master/master.h"

enum { AUX_CONTAINERS_DEFAULT = 100, PRIORITY_DEFAULT = 42 };

static struct json_object *member(struct json_object *o, const char *name)
{
    struct json_object *v = NULL;
    return o && json_object_object_get_ex(o, name, &v) ? v : NULL;
}

static int member_int(struct json_object *o, const char *name, int otherwise)
{
    struct json_object *v = member(o, name);
    return v ? json_object_get_int(v) : otherwise;
}

static struct sched_opts scheduler_of(struct json_object *scheduler)
{
    struct json_object *fitting = member(scheduler, "fitting_policy"), *type = member(scheduler, "type");
    bool fair = type != NULL && strcmp(json_object_get_string(type), "fair_share") == 0;
    return (struct sched_opts){
        .policy = fair ? SCHED_BY_FAIR_SHARE : SCHED_BY_PRIORITY,
        .preemption = json_object_get_boolean(member(scheduler, "preemption")),
        .fitting = fitting && strcmp(json_object_get_string(fitting), "worst") == 0 ? FITTING_WORST : FITTING_BEST,
        .allow_heterogeneous_fits = json_object_get_boolean(member(scheduler, "allow_heterogeneous_fits"))};
}

static struct core_pool_opts pool_of(struct json_object *pool, struct json_object *manager_scheduler, struct arena *a)
{
    struct json_object *scheduler = member(pool, "scheduler") ? member(pool, "scheduler") : manager_scheduler;
    struct core_pool_opts p = {
        .name = arena_strdup(a, json_object_get_string(member(pool, "pool_name"))),
        .max_aux_containers_per_agent = member_int(pool, "max_aux_containers_per_agent", AUX_CONTAINERS_DEFAULT),
        .sched = scheduler_of(scheduler)};
    p.max_aux_containers_per_agent = member_int(pool, "max_cpu_containers_per_agent", p.max_aux_containers_per_agent);
    return p;
}

void core_options(struct master *m, struct core_opts *ret)
{
    struct json_object *list = config_get(m->config, "resource_pools");
    struct json_object *scheduler = config_get(m->config, "resource_manager.scheduler");
    size_t n = list ? json_object_array_length(list) : 0;
    struct core_pool_opts *pool = arena_array(&m->texts, struct core_pool_opts, n + 1);
    for (size_t i = 0; i < n; i++)
        pool[i] = pool_of(json_object_array_get_idx(list, i), scheduler, &m->texts);
    if (n == 0)
        pool[n++] = (struct core_pool_opts){.name = "default", .max_aux_containers_per_agent = AUX_CONTAINERS_DEFAULT};

    struct json_object *reserved = config_get(m->config, "reserved_ports");
    size_t port_n = reserved ? json_object_array_length(reserved) : 0;
    int32_t *port = arena_array(&m->texts, int32_t, port_n + 1);
    for (size_t i = 0; i < port_n; i++)
        port[i] = json_object_get_int(json_object_array_get_idx(reserved, i));
    *ret = (struct core_opts){.pool = pool, .pool_n = n, .agent_reconnect_wait_us = CORE_AGENT_RECONNECT_WAIT_US,
                              .restore_wait_us = CORE_RESTORE_WAIT_US, .reserved_port = port, .reserved_port_n = port_n};
}

/* ---- for the API ---- */

static const char *json_text(struct json_object *v, struct arena *a)
{
    if (!v)
        return NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    json_print(v, &text);
    return arena_strdup(a, strbuf_str(&text));
}

static const char *member_text(struct json_object *o, const char *name, const char *otherwise, struct arena *a)
{
    struct json_object *v = member(o, name);
    return v ? arena_strdup(a, json_object_get_string(v)) : otherwise;
}

static struct api_pool_defaults pool_defaults(struct json_object *pool, const struct core_pool_opts *opts,
                                              struct json_object *scheduler, struct arena *a)
{
    struct json_object *own = member(pool, "scheduler") ? member(pool, "scheduler") : scheduler;
    return (struct api_pool_defaults){
        .name = opts->name, .description = member_text(pool, "description", "", a),
        .default_priority = member_int(own, "default_priority", PRIORITY_DEFAULT),
        .aux_per_agent = opts->max_aux_containers_per_agent, .fitting_worst = opts->sched.fitting == FITTING_WORST,
        .task_container_defaults = json_text(member(pool, "task_container_defaults"), a)};
}

void api_defaults_of_config(struct master *m, const struct core_opts *opts, struct api_defaults *ret)
{
    struct json_object *list = config_get(m->config, "resource_pools"),
                       *manager = config_get(m->config, "resource_manager");
    struct api_pool_defaults *pool = arena_array(&m->texts, struct api_pool_defaults, opts->pool_n);
    for (size_t i = 0; i < opts->pool_n; i++) {
        struct json_object *o = list && i < json_object_array_length(list) ? json_object_array_get_idx(list, i) : NULL;
        pool[i] = pool_defaults(o, &opts->pool[i], member(manager, "scheduler"), &m->texts);
    }
    bool named = json_object_get_boolean(member(manager, "no_default_resource_pools"));
    *ret = (struct api_defaults){
        .checkpoint_storage = json_text(config_get(m->config, "checkpoint_storage"), &m->texts),
        .task_container_defaults = json_text(config_get(m->config, "task_container_defaults"), &m->texts),
        .compute_pool = named ? NULL : member_text(manager, "default_compute_resource_pool", "default", &m->texts),
        .aux_pool = named ? NULL : member_text(manager, "default_aux_resource_pool", "default", &m->texts),
        .pool = pool, .pool_n = opts->pool_n, .launch_error = config_bool(m->config, "launch_error")};
}
