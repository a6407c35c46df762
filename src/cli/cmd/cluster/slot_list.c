#include <string.h>

#include "cli/cmd/cluster/agent.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"

struct slot_view {
    const char *agent, *pools, *slot, *allocation, *task, *type, *device;
    const char *reason; /* why the slot is disabled; NULL: there is none */
    bool enabled, draining;
};

static const struct wire_task_allocation_summary *allocation_of(const struct wire_get_tasks_response *tasks,
                                                                const char *container)
{
    for (size_t i = 0; i < tasks->allocation_id_to_summary_n; i++) {
        const struct wire_task_allocation_summary *s = &tasks->allocation_id_to_summary[i].value;
        for (size_t k = 0; k < s->resources_n; k++)
            if (s->resources[k].container_id && strcmp(s->resources[k].container_id, container) == 0)
                return s;
    }
    return NULL;
}

static const char *device_type(const struct wire_device *d)
{
    switch (d ? d->type : WIRE_DEVICE_TYPE_UNSPECIFIED) {
    case WIRE_DEVICE_TYPE_CUDA:
        return "cuda";
    case WIRE_DEVICE_TYPE_ROCM:
        return "rocm";
    case WIRE_DEVICE_TYPE_CPU:
        return "cpu";
    default:
        return "unknown";
    }
}

static struct slot_view slot_view(struct arena *a, const struct wire_agent *agent, const struct wire_agent_slot *slot,
                                  const struct wire_get_tasks_response *tasks)
{
    struct slot_view v = {.agent = agent_local_id(agent->id),
                          .slot = agent_local_id(slot->id),
                          .enabled = slot->enabled,
                          .draining = slot->draining,
                          .reason = slot->disabled_reason,
                          .type = device_type(slot->device)};
    v.pools = text_join(a, agent->resource_pools, agent->resource_pools_n, ", ");
    v.device = slot->device ? slot->device->brand : NULL;
    v.allocation = v.task = "FREE";
    if (!slot->container)
        return v;
    const char *id = slot->container->id ? slot->container->id : "";
    const struct wire_task_allocation_summary *s = allocation_of(tasks, id);
    v.allocation = s ? s->allocation_id : "OCCUPIED";
    v.task = slot->container->permission_denied ? "NO PERMISSIONS"
             : s                                ? s->name
                                                : arena_printf(a, "Non-Determined Task: %s", id);
    return v;
}

static struct json_object *text_or_null(const char *s)
{
    return s ? json_object_new_string(s) : NULL;
}

static struct json_object *slot_document(const struct slot_view *v)
{
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "agent_id", text_or_null(v->agent));
    json_object_object_add(o, "resource_pools", text_or_null(v->pools));
    json_object_object_add(o, "slot_id", text_or_null(v->slot));
    json_object_object_add(o, "enabled", json_object_new_boolean(v->enabled));
    json_object_object_add(o, "draining", json_object_new_boolean(v->draining));
    json_object_object_add(o, "allocation_id", text_or_null(v->allocation));
    json_object_object_add(o, "task_name", text_or_null(v->task));
    json_object_object_add(o, "type", text_or_null(v->type));
    json_object_object_add(o, "device", text_or_null(v->device));
    if (v->reason)
        json_object_object_add(o, "disabled_reason", text_or_null(v->reason));
    return o;
}

/* Scripts count on the columns of release 0.38.1: the reason comes after them, for people. */
static void slot_cells(struct table *t, const struct slot_view *v, bool for_people)
{
    table_text(t, v->slot);
    table_bool(t, v->enabled);
    table_bool(t, v->draining);
    table_text(t, v->allocation);
    table_text(t, v->task);
    table_text(t, v->type);
    table_text(t, v->device);
    if (for_people)
        table_text(t, v->reason);
}

static void slot_row(struct table *t, const struct slot_view *v, bool for_people)
{
    table_text(t, v->agent);
    table_text(t, v->pools);
    slot_cells(t, v, for_people);
}

void slots_show(struct cli *cli, const struct wire_agent *agent, const struct wire_get_tasks_response *tasks)
{
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, (const char *const[]){"Slot ID", "Enabled", "Draining", "Allocation ID", "Task Name", "Type",
                                            "Device", "Reason", NULL});
    for (size_t i = 0; i < agent->slots_n; i++) {
        struct slot_view v = slot_view(&cli->arena, agent, &agent->slots[i].value, tasks);
        slot_cells(&t, &v, /* for_people= */ true);
    }
    table_show(cli, &t, false);
}

int cmd_slot_list(struct cli *cli, const struct args_slot_list *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_json struct json_object *all = json_object_new_array();
    struct wire_get_tasks_response tasks;
    struct wire_get_agents_response agents;
    if (api_call(cli, ROUTE_ID_GET_TASKS, NULL, &tasks, err) < 0 || agents_fetch(cli, &agents, err) < 0)
        return -1;
    bool for_people = cli->out_terminal && !args->csv;
    table_columns(&t,
                  (const char *const[]){"Agent ID", "Resource Pool", "Slot ID", "Enabled", "Draining", "Allocation ID",
                                        "Task Name", "Type", "Device", for_people ? "Reason" : NULL, NULL});
    for (size_t i = 0; i < agents.agents_n; i++) {
        for (size_t k = 0; k < agents.agents[i].slots_n; k++) {
            struct slot_view v = slot_view(&cli->arena, &agents.agents[i], &agents.agents[i].slots[k].value, &tasks);
            if (args->json)
                json_object_array_add(all, slot_document(&v));
            else
                slot_row(&t, &v, for_people);
        }
    }
    if (args->json)
        output_json(cli, all);
    else
        table_show(cli, &t, args->csv);
    return 0;
}
