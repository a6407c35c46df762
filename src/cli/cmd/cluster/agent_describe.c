/* Describes one agent: what it is, why it takes no work if it takes none, and what runs on its slots. */
#include "cli/cmd/cluster/agent.h"
#include "cli/cmd/show.h"

static const char *slots_in_use(struct arena *a, const struct wire_agent *w)
{
    size_t used = 0;
    for (size_t i = 0; i < w->slots_n; i++)
        used += w->slots[i].value.container != NULL;
    return arena_printf(a, "%zu of %zu", used, w->slots_n);
}

static const char *isolation_text(struct arena *a, const struct wire_agent *w)
{
    if (!w->has_isolated)
        return NULL;
    return w->isolated ? "True" : arena_printf(a, "False: %s", w->isolation_gap ? w->isolation_gap : "");
}

static void show_agent(struct cli *cli, const struct wire_agent *w)
{
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, (const char *const[]){"Agent ID", "Label", "Version", "Registered Time", "Lost Since",
                                            "Resource Pool", "Enabled", "Draining", "Reason", "Slots In Use",
                                            "Cores Requested", "Memory Requested", "Containers", "Addresses",
                                            "Isolated", "Certificate", "Certificate Until", NULL});
    table_text(&t, agent_local_id(w->id));
    table_text(&t, w->label);
    table_text(&t, w->version);
    table_time(&t, w->has_registered_time, w->registered_time);
    table_time(&t, w->has_lost_time, w->lost_time);
    table_text(&t, text_join(&t.arena, w->resource_pools, w->resource_pools_n, ", "));
    table_bool(&t, w->enabled);
    table_bool(&t, w->draining);
    table_text(&t, w->disabled_reason);
    table_text(&t, slots_in_use(&t.arena, w));
    table_text(&t, agent_cores(&t.arena, w));
    table_text(&t, agent_memory(&t.arena, w));
    table_int(&t, (int64_t)w->containers_n);
    table_text(&t, text_join(&t.arena, w->addresses, w->addresses_n, ", "));
    table_text(&t, isolation_text(&t.arena, w));
    table_text(&t, agent_certificate(w));
    table_time(&t, w->has_certificate_expiry, w->certificate_expiry);
    table_show_record(cli, &t, false);
}

int cmd_agent_describe(struct cli *cli, const struct args_agent_describe *args, struct error *err)
{
    struct wire_get_agent_request in = {.agent_id = args->agent_id};
    struct wire_get_agent_response out;
    struct wire_get_tasks_response tasks;
    if (cli->format)
        return document_show(cli, ROUTE_ID_GET_AGENT, &in, "agent", err);
    if (api_call(cli, ROUTE_ID_GET_AGENT, &in, &out, err) < 0 ||
        api_call(cli, ROUTE_ID_GET_TASKS, NULL, &tasks, err) < 0)
        return -1;
    show_agent(cli, out.agent);
    if (out.agent->slots_n == 0)
        return 0;
    fputs("\nSlots:\n", cli->out);
    slots_show(cli, out.agent, &tasks);
    return 0;
}
