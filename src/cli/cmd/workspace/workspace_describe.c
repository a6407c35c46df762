#include "cli/cmd/show.h"
#include "cli/cmd/workspace.h"
#include "cli/terminal/output.h"

void workspace_table(struct table *t, const struct wire_workspace *w)
{
    const char *storage = w->checkpoint_storage_config;
    workspace_columns(t);
    table_column(t, "Checkpoint Storage Config");
    workspace_row(t, w);
    table_text(t, storage ? output_dumps_raw(&t->arena, storage) : NULL);
}

int cmd_workspace_describe(struct cli *cli, const struct args_workspace_describe *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct wire_get_workspace_request in = {0};
    struct wire_get_workspace_response out;
    if (workspace_by_name(cli, args->workspace_name, &in.id, err) < 0)
        return -1;
    if (args->json)
        return document_show(cli, ROUTE_ID_GET_WORKSPACE, &in, "workspace", err);
    if (api_call(cli, ROUTE_ID_GET_WORKSPACE, &in, &out, err) < 0)
        return -1;
    workspace_table(&t, out.workspace);
    table_show_record(cli, &t, false);
    return 0;
}
