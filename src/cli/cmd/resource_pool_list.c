#include "cli/cmd/show.h"
#include "cli/output.h"

static const char *scheduler_text(enum wire_resourcepool_scheduler_type type)
{
    const char *name = codec_enum_name(&wire_enum_resourcepool_scheduler_type, (int32_t)type);
    static const char prefix[] = "SCHEDULER_TYPE_";
    return name && strncmp(name, prefix, sizeof(prefix) - 1) == 0 ? name + sizeof(prefix) - 1 : name;
}

int cmd_resource_pool_list(struct cli *cli, const struct args_resource_pool_list *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct wire_get_resource_pools_response out;
    if (args->json) {
        cleanup_json struct json_object *document = NULL;
        if (api_call_document(cli, ROUTE_ID_GET_RESOURCE_POOLS, NULL, &document, err) < 0)
            return -1;
        output_json(cli, json_object_object_get(document, "resourcePools"));
        return 0;
    }
    if (api_call(cli, ROUTE_ID_GET_RESOURCE_POOLS, NULL, &out, err) < 0)
        return -1;
    table_columns(&t, (const char *const[]){"Name", "Description", "Scheduler", "Agents", "Slots Used", "Slots",
                                            "Default Compute Pool", "Default Aux Pool", NULL});
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
    }
    table_print(&t, args->csv, cli->out);
    return 0;
}
