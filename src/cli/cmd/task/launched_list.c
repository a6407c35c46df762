/* det command|notebook|shell|tensorboard list and describe. */
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/task/launched.h"
#include "cli/cmd/workspace.h"
#include "cli/connection/address.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"

/* ---- what the tables add to an answer ---------------------------------------------------------------------------- */

static const char *workspace_name(struct cli *cli, const struct wire_get_workspaces_response *all, int32_t id)
{
    for (size_t i = 0; i < all->workspaces_n; i++)
        if (all->workspaces[i].id == id)
            return all->workspaces[i].name;
    return arena_printf(&cli->arena, "missing workspace id %d", id);
}

/* Shortens the state, and names the workspace. */
static void complete_task(struct cli *cli, const struct wire_get_workspaces_response *workspaces,
                          struct json_object *task)
{
    struct json_object *id;
    const char *state = arena_strdup(&cli->arena, launched_state(task));
    json_object_object_add(task, "state", json_object_new_string(state));
    if (json_object_object_get_ex(task, "workspaceId", &id))
        json_object_object_add(task, "workspaceName",
                               json_object_new_string(workspace_name(cli, workspaces, json_object_get_int(id))));
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static const char *cell_text(struct arena *a, struct json_object *v)
{
    if (json_object_is_type(v, json_type_string))
        return arena_strdup(a, json_object_get_string(v));
    if (!json_object_is_type(v, json_type_array))
        return v ? arena_strdup(a, json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN)) : NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT; /* "[1, 2]" */
    for (size_t i = 0; i < json_object_array_length(v); i++)
        strbuf_addf(&text, "%s%s", i ? ", " : "", json_object_get_string(json_object_array_get_idx(v, i)));
    return arena_printf(a, "[%s]", strbuf_str(&text));
}

static void add_row(struct table *t, const struct launched_kind *k, struct json_object *task)
{
    for (const char *const *column = k->column; *column; column++) {
        struct json_object *v;
        table_text(t, json_object_object_get_ex(task, *column, &v) ? cell_text(&t->arena, v) : "N/A");
    }
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

struct sorted {
    struct json_object *task;
    const char *text; /* what to sort by */
    int64_t time_us;
    size_t at; /* keeps the order of equal ones */
    bool descending;
};

static int compare(const void *left, const void *right)
{
    const struct sorted *a = left, *b = right;
    int order = a->time_us != b->time_us ? (a->time_us < b->time_us ? -1 : 1) : strcmp(a->text, b->text);
    if (order == 0)
        return a->at < b->at ? -1 : 1;
    return a->descending ? -order : order;
}

static struct json_object *sort_tasks(struct cli *cli, struct json_object *list, const char *key, bool descending)
{
    size_t n = json_object_array_length(list);
    struct sorted *item = arena_array(&cli->arena, struct sorted, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_object *task = json_object_array_get_idx(list, i);
        const char *text = launched_text(task, key);
        item[i] = (struct sorted){.task = task, .text = text, .at = i, .descending = descending};
        if (strcmp(key, "startTime") == 0 && clock_parse(text, strlen(text), &item[i].time_us) == 0)
            item[i].text = "";
    }
    qsort(item, n, sizeof(*item), compare);
    struct json_object *ret = json_object_new_array();
    for (size_t i = 0; i < n; i++)
        json_object_array_add(ret, json_object_get(item[i].task));
    return ret;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static int make_query(struct cli *cli, const struct args_launched_list *args, const char **ret, struct error *err)
{
    cleanup_strbuf struct strbuf query = STRBUF_INIT;
    const char *user;
    int32_t workspace;
    if (args->workspace_name) {
        if (workspace_by_name(cli, args->workspace_name, &workspace, err) < 0)
            return -1;
        strbuf_addf(&query, "?workspaceId=%d", workspace);
    }
    if (!args->all) {
        if (api_username(cli, &user, err) < 0)
            return -1;
        strbuf_addf(&query, "%cusers=%s", query.n ? '&' : '?', address_escape(user, &cli->arena));
    }
    *ret = arena_strdup(&cli->arena, strbuf_str(&query));
    return 0;
}

static void print_list(struct cli *cli, const struct launched_kind *k, const struct args_launched_list *args,
                       struct json_object *list)
{
    if (args->quiet) {
        for (size_t i = 0; i < json_object_array_length(list); i++)
            fprintf(cli->out, "%s\n", launched_text(json_object_array_get_idx(list, i), "id"));
    } else if (args->json) {
        output_json(cli, list);
    } else {
        cleanup_table struct table t = TABLE_INIT;
        table_columns(&t, k->column);
        for (size_t i = 0; i < json_object_array_length(list); i++)
            add_row(&t, k, json_object_array_get_idx(list, i));
        table_show(cli, &t, args->csv);
    }
}

int cmd_launched_list(struct cli *cli, const struct args_launched_list *args, struct error *err)
{
    const struct launched_kind *k = launched_kind_of(cli);
    cleanup_json struct json_object *list = NULL, *sorted = NULL;
    struct wire_get_workspaces_response workspaces;
    const char *query;
    if (make_query(cli, args, &query, err) < 0 || launched_fetch_all(cli, k, query, &list, err) < 0)
        return -1;
    if (!args->quiet && api_call(cli, ROUTE_ID_GET_WORKSPACES, NULL, &workspaces, err) < 0)
        return -1;
    for (size_t i = 0; !args->quiet && i < json_object_array_length(list); i++)
        complete_task(cli, &workspaces, json_object_array_get_idx(list, i));
    sorted = sort_tasks(cli, list, args->sort_by, strcmp(args->order_by, "desc") == 0);
    print_list(cli, k, args, sorted);
    return 0;
}

int cmd_launched_describe(struct cli *cli, const struct args_launched_describe *args, struct error *err)
{
    const struct launched_kind *k = launched_kind_of(cli);
    cleanup_json struct json_object *answer = NULL;
    struct wire_get_workspaces_response workspaces;
    const char *id;
    if (launched_id(cli, k, args->task_id, &id, err) < 0 || launched_fetch(cli, k, id, &answer, err) < 0 ||
        api_call(cli, ROUTE_ID_GET_WORKSPACES, NULL, &workspaces, err) < 0)
        return -1;
    struct json_object *task = json_object_object_get(answer, k->noun);
    complete_task(cli, &workspaces, task);
    if (args->json) {
        output_json(cli, task);
        return 0;
    }
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, k->column);
    add_row(&t, k, task);
    table_show_record(cli, &t, args->csv);
    return 0;
}
