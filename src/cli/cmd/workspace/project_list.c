#include "cli/cmd/show.h"
#include "cli/cmd/workspace.h"
#include "cli/terminal/output.h"

void project_row(struct table *t, const struct wire_project *p)
{
    table_int(t, p->id);
    table_text(t, p->key);
    table_text(t, p->name);
    table_text(t, p->description);
    table_int(t, p->num_experiments);
    table_int(t, p->num_active_experiments);
}

/* Keeps only the keys of the document that scripts know. */
static struct json_object *project_document(struct json_object *p)
{
    static const char *const key[] = {"archived",       "description", "id",
                                      "name",           "notes",       "numActiveExperiments",
                                      "numExperiments", "workspaceId", "username"};
    struct json_object *v = json_object_new_object();
    for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++)
        json_object_object_add(v, key[i], json_object_get(json_object_object_get(p, key[i])));
    return v;
}

static int print_documents(struct cli *cli, struct wire_get_workspace_projects_request *in, const char *pages,
                           struct error *err)
{
    cleanup_json struct json_object *list = NULL, *all = json_object_new_array();
    if (documents_fetch(cli, ROUTE_ID_GET_WORKSPACE_PROJECTS, in, &in->offset, "projects", pages, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < json_object_array_length(list); i++)
        json_object_array_add(all, project_document(json_object_array_get_idx(list, i)));
    output_json(cli, all);
    return 0;
}

void project_columns(struct table *t)
{
    table_columns(t, (const char *const[]){"ID", "Key", "Name", "Description", "# Experiments", "# Active Experiments",
                                           NULL});
}

int project_list(struct cli *cli, const char *workspace, const struct project_list_form *form, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct wire_get_workspace_projects_request in = {.limit = (int32_t)form->limit, .offset = (int32_t)form->offset};
    const char *pages = form->has_offset ? "1" : "all";
    in.order_by = strcmp(form->order_by, "desc") == 0 ? WIRE_ORDER_BY_DESC : WIRE_ORDER_BY_ASC;
    in.sort_by = strcmp(form->sort_by, "name") == 0 ? WIRE_GET_WORKSPACE_PROJECTS_REQUEST_SORT_BY_NAME
                                                    : WIRE_GET_WORKSPACE_PROJECTS_REQUEST_SORT_BY_ID;
    if (workspace_by_name(cli, workspace, &in.id, err) < 0)
        return -1;
    if (form->json)
        return print_documents(cli, &in, pages, err);
    project_columns(&t);
    for (;;) {
        struct wire_get_workspace_projects_response out;
        if (api_call(cli, ROUTE_ID_GET_WORKSPACE_PROJECTS, &in, &out, err) < 0)
            return -1;
        for (size_t i = 0; i < out.projects_n; i++)
            project_row(&t, &out.projects[i]);
        if (is_last_page(out.pagination, pages) || out.projects_n == 0)
            break;
        in.offset = out.pagination->end_index;
    }
    table_show(cli, &t, false);
    return 0;
}

int cmd_project_list(struct cli *cli, const struct args_project_list *args, struct error *err)
{
    struct project_list_form form = {.sort_by = args->sort_by,
                                     .order_by = args->order_by,
                                     .limit = args->limit,
                                     .offset = args->offset,
                                     .has_offset = args->has_offset,
                                     .json = args->json};
    return project_list(cli, args->workspace_name, &form, err);
}

int cmd_workspace_list_projects(struct cli *cli, const struct args_workspace_list_projects *args, struct error *err)
{
    struct project_list_form form = {.sort_by = args->sort_by,
                                     .order_by = args->order_by,
                                     .limit = args->limit,
                                     .offset = args->offset,
                                     .has_offset = args->has_offset,
                                     .json = args->json};
    return project_list(cli, args->workspace_name, &form, err);
}
