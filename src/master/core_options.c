/* Resource pools and scheduling options of the configuration, as the core wants them. */
#include <string.h>

#include "common/json.h"
#include "master/master.h"

enum { AUX_CONTAINERS_DEFAULT = 100 };

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

static struct core_pool_opts pool_of(struct json_object *pool, struct json_object *manager_scheduler, struct arena *a)
{
    struct json_object *scheduler = member(pool, "scheduler") ? member(pool, "scheduler") : manager_scheduler;
    struct json_object *fitting = member(scheduler, "fitting_policy");
    struct core_pool_opts p = {
        .name = arena_strdup(a, json_object_get_string(member(pool, "pool_name"))),
        .max_aux_containers_per_agent = member_int(pool, "max_aux_containers_per_agent", AUX_CONTAINERS_DEFAULT),
        .fitting = fitting && strcmp(json_object_get_string(fitting), "worst") == 0 ? FITTING_WORST : FITTING_BEST,
        .allow_heterogeneous_fits = json_object_get_boolean(member(scheduler, "allow_heterogeneous_fits"))};
    p.max_aux_containers_per_agent = member_int(pool, "max_cpu_containers_per_agent", p.max_aux_containers_per_agent);
    return p;
}

int core_options(struct master *m, struct core_opts *ret, struct error *err)
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
    return 0;
}
