#include "cli/cmd/workspace.h"

#include <string.h>

int workspace_by_name(struct cli *cli, const char *name, int32_t *ret_id, struct error *err)
{
    struct wire_get_workspaces_request in = {.name_case_sensitive = name};
    struct wire_get_workspaces_response out;
    if (api_call(cli, ROUTE_ID_GET_WORKSPACES, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.workspaces_n; i++) {
        if (strcmp(out.workspaces[i].name, name) == 0) {
            *ret_id = out.workspaces[i].id;
            return 0;
        }
    }
    return error_set(err, ERR_NOT_FOUND, "Failed to %s: workspace '%s' not found", cli->command->help, name);
}
