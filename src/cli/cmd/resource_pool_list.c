#include "cli/cmd/show.h"

static const char *scheduler_text(enum wire_resourcepool_scheduler_type type)
{
    const char *name = codec_enum_name(&wire_enum_resourcepool_scheduler_type, (int32_t)type);
    static const char prefix[] = "SCHEDULER_TYPE_";
    return name && strncmp(name, prefix, sizeof(prefix) - 1) == 0 ? name + sizeof(prefix) - 1 : name;
}

/* How the number of agents changes; a pool without a provider has the agents that connect. */
static void add_scaling(struct cli *cli, struct table *t, const struct wire_resourcepool_resource_pool *p)
{
    bool elastic = p->max_agents > 0;
    table_text(t, elastic ? p->provider : "static");
    table_text(t, elastic ? arena_printf(&cli->arena, "%d to %d", p->min_agents, p->max_agents) : "");
    table_int(t, p->starting_instances);
    table_text(t, p->launch_problem ? p->launch_problem : "");
}

int cmd_resource_pool_list(struct cli *cli, const struct args_resource_pool_list *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct wire_get_resource_pools_response out;
    if (args->json)
        return document_show(cli, ROUTE_ID_GET_RESOURCE_POOLS, NULL, "resourcePools", err);
    if (api_call(cli, ROUTE_ID_GET_RESOURCE_POOLS, NULL, &out, err) < 0)
        return -1;
    table_columns(&t, (const char *const[]){"Name", "Description", "Scheduler", "Agents", "Slots Used", "Slots",
                                            "Default Compute Pool", "Default Aux Pool", "Provider", "Scaling",
                                            "Starting", "Launch Problem", NULL});
    for (size_t i = 0; i < out.resource_pools_n; i++) {
        const struct wire_resourcepool_resource_pool *p = &out.resource_pools[i];
        table_text(&t, p->name);
        table_text(&t, p->description);
        table_text(&t, scheduler_text(p->scheduler_type));
        table_int(&t, p->num_agents);
        table_int(&t, p->slots_used);
        table_int(&t, p->slots_available);
        table_bool(&t, p->default_compute_pool);
        table_bool(&t, p->default_aux_pool);
        add_scaling(cli, &t, p);
    }
    table_print(&t, args->csv, cli->out);
    return 0;
}
