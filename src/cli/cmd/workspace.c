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

int project_by_name(struct cli *cli, const char *workspace, const char *name, const struct wire_project **ret,
                    struct error *err)
{
    /* the master also finds names that only contain this text */
    struct wire_get_workspace_projects_request in = {.name = name};
    struct wire_get_workspace_projects_response out;
    if (workspace_by_name(cli, workspace, &in.id, err) < 0 ||
        api_call(cli, ROUTE_ID_GET_WORKSPACE_PROJECTS, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.projects_n; i++) {
        if (strcmp(out.projects[i].name, name) == 0) {
            *ret = &out.projects[i];
            return 0;
        }
    }
    return error_set(err, ERR_NOT_FOUND, "Failed to %s: project '%s' not found in workspace '%s'", cli->command->help,
                     name, workspace);
}
