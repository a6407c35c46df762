#include "cli/cmd/show.h"

/* The scheduler in the words of master.yaml. */
static const char *scheduler_text(const struct wire_resourcepool_resource_pool *p)
{
    const struct wire_resourcepool_resource_pool_priority_scheduler_detail *d = p->details
                                                                                    ? p->details->priority_scheduler
                                                                                    : NULL;
    switch (p->scheduler_type) {
    case WIRE_RESOURCEPOOL_SCHEDULER_TYPE_FAIR_SHARE:
        return "fair_share";
    case WIRE_RESOURCEPOOL_SCHEDULER_TYPE_ROUND_ROBIN:
        return "round_robin";
    default:
        return d && d->preemption ? "priority, preemption" : "priority";
    }
}

static const char *default_text(const struct wire_resourcepool_resource_pool *p)
{
    return p->default_compute_pool ? p->default_aux_pool ? "compute, aux" : "compute"
           : p->default_aux_pool   ? "aux"
                                   : "";
}

static void add_fraction(struct cli *cli, struct table *t, int part, int all)
{
    table_text(t, arena_printf(&cli->arena, "%d/%d", part, all));
}

/* Adds how the number of agents changes; a pool without a provider has the agents that connect. */
static void add_scaling(struct cli *cli, struct table *t, const struct wire_resourcepool_resource_pool *p)
{
    const char *starting = p->starting_instances > 0 ? arena_printf(&cli->arena, ", %d starting", p->starting_instances)
                                                     : "";
    table_text(t, p->max_agents > 0
                      ? arena_printf(&cli->arena, "%s, %d to %d%s", p->provider, p->min_agents, p->max_agents, starting)
                      : "");
    table_text(t, p->launch_problem ? p->launch_problem : "");
}

static bool any_elastic(const struct wire_get_resource_pools_response *out)
{
    for (size_t i = 0; i < out->resource_pools_n; i++)
        if (out->resource_pools[i].max_agents > 0)
            return true;
    return false;
}

static void print_pools(struct cli *cli, const struct wire_get_resource_pools_response *out, bool csv)
{
    cleanup_table struct table t = TABLE_INIT;
    bool elastic = any_elastic(out);
    table_columns(&t, (const char *const[]){"Name", "Description", "Scheduler", "Default", "Agents", "Slots (used/all)",
                                            "Aux Tasks (running/most)", "Jobs (running/waiting)",
                                            elastic ? "Elastic" : NULL, "Launch Problem", NULL});
    for (size_t i = 0; i < out->resource_pools_n; i++) {
        const struct wire_resourcepool_resource_pool *p = &out->resource_pools[i];
        table_text(&t, p->name);
        table_text(&t, p->description);
        table_text(&t, scheduler_text(p));
        table_text(&t, default_text(p));
        table_int(&t, p->num_agents);
        add_fraction(cli, &t, p->slots_used, p->slots_available);
        add_fraction(cli, &t, p->aux_containers_running, p->aux_container_capacity);
        add_fraction(cli, &t, p->stats ? p->stats->scheduled_count : 0, p->stats ? p->stats->queued_count : 0);
        if (elastic)
            add_scaling(cli, &t, p);
    }
    table_show(cli, &t, csv);
}

int cmd_resource_pool_list(struct cli *cli, const struct args_resource_pool_list *args, struct error *err)
{
    struct wire_get_resource_pools_response out;
    if (args->json)
        return document_show(cli, ROUTE_ID_GET_RESOURCE_POOLS, NULL, "resourcePools", err);
    if (api_call(cli, ROUTE_ID_GET_RESOURCE_POOLS, NULL, &out, err) < 0)
        return -1;
    print_pools(cli, &out, args->csv);
    return 0;
}
