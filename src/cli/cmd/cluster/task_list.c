#include <stdlib.h>
#include <string.h>

#include "cli/cmd/cluster/agent.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "common/base/compare.h"

typedef struct wire_task_allocation_summary allocation;

static bool runs_on(const allocation *s, const struct tasks_form *form)
{
    for (size_t i = 0; i < s->resources_n; i++)
        for (size_t k = 0; k < s->resources[i].agent_devices_n; k++)
            for (size_t j = 0; j < form->agent_n; j++)
                if (strcmp(s->resources[i].agent_devices[k].key, form->agent[j]) == 0)
                    return true;
    return form->agent_n == 0;
}

size_t tasks_count(const struct tasks_form *form, const struct wire_get_tasks_response *tasks)
{
    size_t n = 0;
    for (size_t i = 0; i < tasks->allocation_id_to_summary_n; i++)
        n += runs_on(&tasks->allocation_id_to_summary[i].value, form);
    return n;
}

/* The agent's name, or several names as Python prints a list; *ret_brief has only the names. */
static const char *agents_of(struct arena *a, const allocation *s, const char **ret_brief)
{
    struct strbuf all = STRBUF_INIT, brief = STRBUF_INIT;
    size_t n = 0;
    const char *only = NULL;
    for (size_t i = 0; i < s->resources_n; i++) {
        for (size_t k = 0; k < s->resources[i].agent_devices_n; k++) {
            only = s->resources[i].agent_devices[k].key;
            strbuf_addf(&all, "%s'%s'", n ? ", " : "", only);
            strbuf_addf(&brief, "%s%s", n++ ? ", " : "", only);
        }
    }
    const char *ret = n == 1 ? only : arena_printf(a, "[%s]", strbuf_str(&all));
    *ret_brief = arena_strdup(a, strbuf_str(&brief));
    strbuf_release(&all);
    strbuf_release(&brief);
    return ret;
}

static const char *ports_of(struct arena *a, const allocation *s)
{
    struct strbuf all = STRBUF_INIT;
    int32_t *port = arena_array(a, int32_t, s->proxy_ports_n + 1);
    for (size_t i = 0; i < s->proxy_ports_n; i++)
        port[i] = s->proxy_ports[i].port;
    qsort(port, s->proxy_ports_n, sizeof(*port), compare_int32);
    for (size_t i = 0; i < s->proxy_ports_n; i++)
        strbuf_addf(&all, "%s%d", i ? "," : "", port[i]);
    const char *ret = arena_strdup(a, strbuf_str(&all));
    strbuf_release(&all);
    return ret;
}

static void task_row(struct table *t, const allocation *s)
{
    table_text(t, s->task_id);
    table_text(t, s->allocation_id);
    table_text(t, s->name);
    table_int(t, s->slots_needed);
    table_time(t, s->has_registered_time, s->registered_time);
    const char *brief, *agents = agents_of(&t->arena, s, &brief);
    table_brief(t, agents, brief);
    if (s->scheduler_type && strcmp(s->scheduler_type, "priority") == 0)
        table_text(t, s->has_priority ? arena_printf(&t->arena, "%d", s->priority) : NULL);
    else
        table_text(t, "N/A");
    table_text(t, s->resource_pool);
    table_text(t, ports_of(&t->arena, s));
}

static int by_registered_time(const void *a, const void *b)
{
    /* compare whole seconds, as they are printed, so that tasks of the same second stay in order of arrival */
    int64_t x = (*(const allocation *const *)a)->registered_time / 1000000,
            y = (*(const allocation *const *)b)->registered_time / 1000000;
    if (x == y)
        return (*(const allocation *const *)a > *(const allocation *const *)b) -
               (*(const allocation *const *)a < *(const allocation *const *)b);
    return x < y ? -1 : 1;
}

static struct json_object *task_document(const allocation *s)
{
    struct strbuf text = STRBUF_INIT;
    struct json_object *v = NULL;
    codec_encode(&wire_msg_task_allocation_summary, s, &text);
    json_parse(strbuf_str(&text), text.n, &v, NULL);
    output_fill_absent(&wire_msg_task_allocation_summary, v);
    strbuf_release(&text);
    return v;
}

size_t tasks_print(struct cli *cli, const struct tasks_form *form, const struct wire_get_tasks_response *tasks)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_json struct json_object *all = json_object_new_object();
    const allocation **row = arena_array(&cli->arena, const allocation *, tasks->allocation_id_to_summary_n + 1);
    size_t n = 0;
    for (size_t i = 0; i < tasks->allocation_id_to_summary_n; i++) {
        const struct wire_map_task_allocation_summary *e = &tasks->allocation_id_to_summary[i];
        if (!runs_on(&e->value, form))
            continue;
        row[n++] = &e->value;
        if (form->json)
            json_object_object_add(all, e->key, task_document(&e->value));
    }
    if (form->json) {
        output_json(cli, all);
        return n;
    }
    qsort(row, n, sizeof(*row), by_registered_time);
    table_columns(&t, (const char *const[]){"Task ID", "Allocation ID", "Name", "Slots Needed", "Registered Time",
                                            "Agent", "Priority", "Resource Pool", "Ports", NULL});
    for (size_t i = 0; i < n; i++)
        task_row(&t, row[i]);
    table_show(cli, &t, form->csv);
    return n;
}

int cmd_task_list(struct cli *cli, const struct args_task_list *args, struct error *err)
{
    struct wire_get_tasks_response tasks;
    if (api_call(cli, ROUTE_ID_GET_TASKS, NULL, &tasks, err) < 0)
        return -1;
    tasks_print(cli, &(struct tasks_form){.csv = args->csv, .json = args->json}, &tasks);
    return 0;
}
