#include "cli/cmd/show.h"
#include "cli/cmd/workspace.h"
#include "cli/terminal/output.h"

void workspace_row(struct table *t, const struct wire_workspace *w)
{
    const struct wire_user_agent_user_group *g = w->agent_user_group;
    table_int(t, w->id);
    table_text(t, w->name);
    table_int(t, w->num_projects);
    table_text(t, g && g->has_agent_uid ? arena_printf(&t->arena, "%d", g->agent_uid) : NULL);
    table_text(t, g && g->has_agent_gid ? arena_printf(&t->arena, "%d", g->agent_gid) : NULL);
    table_text(t, g ? g->agent_user : NULL);
    table_text(t, g ? g->agent_group : NULL);
    table_text(t, w->default_compute_pool);
    table_text(t, w->default_aux_pool);
}

void workspace_columns(struct table *t)
{
    table_columns(t, (const char *const[]){"ID", "Name", "# Projects", "Agent Uid", "Agent Gid", "Agent User",
                                           "Agent Group", "Default Compute Pool", "Default Aux Pool", NULL});
}

int cmd_workspace_list(struct cli *cli, const struct args_workspace_list *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct wire_get_workspaces_request in = {.limit = (int32_t)args->limit, .offset = (int32_t)args->offset};
    in.order_by = strcmp(args->order_by, "desc") == 0 ? WIRE_ORDER_BY_DESC : WIRE_ORDER_BY_ASC;
    in.sort_by = strcmp(args->sort_by, "name") == 0 ? WIRE_GET_WORKSPACES_REQUEST_SORT_BY_NAME
                                                    : WIRE_GET_WORKSPACES_REQUEST_SORT_BY_ID;
    const char *pages = args->has_offset ? "1" : "all";
    if (args->json) {
        cleanup_json struct json_object *list = NULL;
        if (documents_fetch(cli, ROUTE_ID_GET_WORKSPACES, &in, &in.offset, "workspaces", pages, &list, err) < 0)
            return -1;
        output_json(cli, list);
        return 0;
    }
    workspace_columns(&t);
    for (;;) {
        struct wire_get_workspaces_response out;
        if (api_call(cli, ROUTE_ID_GET_WORKSPACES, &in, &out, err) < 0)
            return -1;
        for (size_t i = 0; i < out.workspaces_n; i++)
            workspace_row(&t, &out.workspaces[i]);
        if (is_last_page(out.pagination, pages) || out.workspaces_n == 0)
            break;
        in.offset = out.pagination->end_index;
    }
    table_show(cli, &t, false);
    return 0;
}
