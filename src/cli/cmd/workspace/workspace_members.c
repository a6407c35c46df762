#include <string.h>

#include "cli/cmd/show.h"
#include "cli/cmd/workspace.h"
#include "cli/terminal/output.h"

static const char *group_name(const struct wire_get_groups_and_users_assigned_to_workspace_response *all, int32_t id)
{
    for (size_t i = 0; i < all->groups_n; i++)
        if (all->groups[i].group_id == id)
            return all->groups[i].name;
    return NULL;
}

static const char *user_name(const struct wire_get_groups_and_users_assigned_to_workspace_response *all, int32_t id)
{
    for (size_t i = 0; i < all->users_assigned_directly_n; i++)
        if (all->users_assigned_directly[i].id == id)
            return all->users_assigned_directly[i].username;
    return NULL;
}

static void member_row(struct table *t, const char *name, const char *kind, const char *role)
{
    table_text(t, name);
    table_text(t, kind);
    table_text(t, role);
}

int cmd_workspace_list_members(struct cli *cli, const struct args_workspace_list_members *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_json struct json_object *v = NULL;
    struct wire_get_groups_and_users_assigned_to_workspace_request in = {0};
    struct wire_get_groups_and_users_assigned_to_workspace_response out;
    enum route_id route = ROUTE_ID_GET_GROUPS_AND_USERS_ASSIGNED_TO_WORKSPACE;
    if (workspace_by_name(cli, args->workspace_name, &in.workspace_id, err) < 0)
        return -1;
    if (args->json) {
        if (api_call_document(cli, route, &in, &v, err) < 0)
            return -1;
        output_yaml(cli, v, true);
        return 0;
    }
    if (api_call(cli, route, &in, &out, err) < 0)
        return -1;
    table_columns(&t, (const char *const[]){"User/Group Name", "User/Group", "Role Name", NULL});
    for (size_t i = 0; i < out.assignments_n; i++) {
        const struct wire_rbac_role_with_assignments *a = &out.assignments[i];
        for (size_t k = 0; a->role && k < a->group_role_assignments_n; k++)
            member_row(&t, group_name(&out, a->group_role_assignments[k].group_id), "G", a->role->name);
        for (size_t k = 0; a->role && k < a->user_role_assignments_n; k++)
            member_row(&t, user_name(&out, a->user_role_assignments[k].user_id), "U", a->role->name);
    }
    table_show(cli, &t, args->csv);
    return 0;
}
