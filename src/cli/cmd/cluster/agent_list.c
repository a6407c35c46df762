#include "cli/cmd/cluster/agent.h"

#include <stdlib.h>
#include <string.h>

#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "common/base/clock.h"

const char *agent_local_id(const char *address)
{
    const char *slash = address ? strrchr(address, '/') : NULL;
    return slash ? slash + 1 : address ? address : "";
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct wire_agent *)a)->id, ((const struct wire_agent *)b)->id);
}

int agents_fetch(struct cli *cli, struct wire_get_agents_response *ret, struct error *err)
{
    if (api_call(cli, ROUTE_ID_GET_AGENTS, NULL, ret, err) < 0)
        return -1;
    if (ret->agents_n)
        qsort(ret->agents, ret->agents_n, sizeof(*ret->agents), by_id);
    return 0;
}

const char *text_join(struct arena *a, const char *const *s, size_t n, const char *between)
{
    struct strbuf all = STRBUF_INIT;
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&all, "%s%s", i ? between : "", s[i]);
    const char *ret = arena_strdup(a, strbuf_str(&all));
    strbuf_release(&all);
    return ret;
}

const char *agent_cores(struct arena *a, const struct wire_agent *w)
{
    return w->has_cpus ? arena_printf(a, "%g of %g", w->cpus_used, w->cpus) : NULL;
}

const char *agent_memory(struct arena *a, const struct wire_agent *w)
{
    if (!w->has_memory_bytes)
        return NULL;
    return arena_printf(a, "%s of %s", format_size(a, (double)w->memory_used_bytes),
                        format_size(a, (double)w->memory_bytes));
}

const char *agent_certificate(const struct wire_agent *w)
{
    if (!w->has_certificate_expiry)
        return NULL;
    return w->certificate_expiry > clock_now_us() ? "valid" : "expired";
}

/* What release 0.38.1 does not tell; each only where there is something to tell. */
static void add_what_it_has(struct json_object *v, struct arena *a, const struct wire_agent *agent)
{
    if (agent->has_cpus) {
        json_object_object_add(v, "cpus", json_object_new_double(agent->cpus));
        json_object_object_add(v, "cpus_used", json_object_new_double(agent->cpus_used));
    }
    if (agent->has_memory_bytes) {
        json_object_object_add(v, "memory_bytes", json_object_new_int64(agent->memory_bytes));
        json_object_object_add(v, "memory_used_bytes", json_object_new_int64(agent->memory_used_bytes));
    }
    if (agent->has_certificate_expiry) {
        json_object_object_add(v, "certificate", json_object_new_string(agent_certificate(agent)));
        json_object_object_add(v, "certificate_until",
                               json_object_new_string(format_time(a, true, agent->certificate_expiry)));
    }
}

static struct json_object *agent_document(struct arena *a, const struct wire_agent *agent)
{
    struct json_object *v = json_object_new_object();
    const char *time = format_time(a, agent->has_registered_time, agent->registered_time);
    json_object_object_add(v, "id", json_object_new_string(agent_local_id(agent->id)));
    json_object_object_add(v, "version", json_object_new_string(agent->version ? agent->version : ""));
    json_object_object_add(v, "registered_time", time ? json_object_new_string(time) : NULL);
    if (agent->has_lost_time)
        json_object_object_add(v, "lost_since", json_object_new_string(format_time(a, true, agent->lost_time)));
    json_object_object_add(v, "num_slots", json_object_new_int64((int64_t)agent->slots_n));
    json_object_object_add(v, "num_containers", json_object_new_int64((int64_t)agent->containers_n));
    json_object_object_add(v, "resource_pools",
                           json_object_new_string(text_join(a, agent->resource_pools, agent->resource_pools_n, ", ")));
    json_object_object_add(v, "enabled", json_object_new_boolean(agent->enabled));
    json_object_object_add(v, "draining", json_object_new_boolean(agent->draining));
    json_object_object_add(v, "addresses",
                           json_object_new_string(text_join(a, agent->addresses, agent->addresses_n, ", ")));
    if (agent->has_isolated)
        json_object_object_add(v, "isolated", json_object_new_boolean(agent->isolated));
    if (agent->disabled_reason)
        json_object_object_add(v, "disabled_reason", json_object_new_string(agent->disabled_reason));
    if (agent->label)
        json_object_object_add(v, "label", json_object_new_string(agent->label));
    if (agent->isolation_gap)
        json_object_object_add(v, "isolation_gap", json_object_new_string(agent->isolation_gap));
    add_what_it_has(v, a, agent);
    return v;
}

static void join_cells(struct table *t, const struct wire_agent *agent)
{
    table_text(t, agent->version);
    table_time(t, agent->has_registered_time, agent->registered_time);
}

static void work_cells(struct table *t, const struct wire_agent *agent)
{
    table_int(t, (int64_t)agent->slots_n);
    table_int(t, (int64_t)agent->containers_n);
    table_text(t, text_join(&t->arena, agent->resource_pools, agent->resource_pools_n, ", "));
    table_bool(t, agent->enabled);
    table_bool(t, agent->draining);
}

/* Scripts count on the columns of release 0.38.1. A terminal may have no room for the columns on the right; there
 * the columns that tell whether an agent works come first. */
static void agent_row(struct table *t, const struct wire_agent *agent, bool for_people)
{
    table_text(t, agent_local_id(agent->id));
    if (!for_people)
        join_cells(t, agent);
    work_cells(t, agent);
    if (for_people) {
        table_text(t, agent->disabled_reason);
        table_text(t, agent->label);
        join_cells(t, agent);
    }
    table_text(t, text_join(&t->arena, agent->addresses, agent->addresses_n, ", "));
    if (for_people) {
        table_bool(t, agent->isolated);
        table_text(t, agent_cores(&t->arena, agent));
        table_text(t, agent_memory(&t->arena, agent));
        table_text(t, agent_certificate(agent));
        table_time(t, agent->has_certificate_expiry, agent->certificate_expiry);
    }
}

int cmd_agent_list(struct cli *cli, const struct args_agent_list *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct wire_get_agents_response out;
    if (agents_fetch(cli, &out, err) < 0)
        return -1;
    if (args->json) {
        cleanup_json struct json_object *all = json_object_new_array();
        for (size_t i = 0; i < out.agents_n; i++)
            json_object_array_add(all, agent_document(&cli->arena, &out.agents[i]));
        output_json(cli, all);
        return 0;
    }
    for (size_t i = 0; i < out.agents_n; i++)
        if (out.agents[i].has_lost_time)
            cli_say(cli, CLI_YELLOW, "Agent %s is lost since %s; 'det agent remove %s' takes it off the list.",
                    agent_local_id(out.agents[i].id), format_time(&cli->arena, true, out.agents[i].lost_time),
                    agent_local_id(out.agents[i].id));
    bool for_people = cli->out_terminal && !args->csv;
    static const char *const told[] = {
        "Agent ID",          "Slots",    "Containers",      "Resource Pool",    "Enabled",
        "Draining",          "Reason",   "Label",           "Version",          "Registered Time",
        "Addresses",         "Isolated", "Cores Requested", "Memory Requested", "Certificate",
        "Certificate Until", NULL};
    static const char *const as_released[] = {"Agent ID",      "Version", "Registered Time", "Slots",     "Containers",
                                              "Resource Pool", "Enabled", "Draining",        "Addresses", NULL};
    table_columns(&t, for_people ? told : as_released);
    for (size_t i = 0; i < out.agents_n; i++)
        agent_row(&t, &out.agents[i], for_people);
    table_show(cli, &t, args->csv);
    return 0;
}
