/* Roles: which there are, who has which, and assigning them. */
#include <string.h>

#include "cli/cmd/access/access.h"
#include "cli/cmd/show.h"
#include "cli/cmd/workspace.h"
#include "cli/terminal/output.h"

static const char *const permission_key[] = {"id", "name", "scopeTypeMask", NULL};

static void permission_columns(struct table *t)
{
    table_columns(t, (const char *const[]){"Id", "Name", "Scopetypemask", NULL});
}

static size_t length_of(struct json_object *list)
{
    return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

static struct json_object *item_of(struct json_object *object, const char *key, size_t i)
{
    return json_object_array_get_idx(json_object_object_get(object, key), i);
}

static int32_t number_of(struct json_object *object, const char *key)
{
    return json_object_get_int(json_object_object_get(object, key));
}

static bool is_true(struct json_object *object, const char *key)
{
    return json_object_get_boolean(json_object_object_get(object, key));
}

static int workspace_name(struct cli *cli, int32_t id, const char **ret, struct error *err)
{
    struct wire_get_workspace_request in = {.id = id};
    struct wire_get_workspace_response out;
    if (api_call(cli, ROUTE_ID_GET_WORKSPACE, &in, &out, err) < 0)
        return -1;
    *ret = out.workspace->name;
    return 0;
}

static int group_name(struct cli *cli, int32_t id, const char **ret, struct error *err)
{
    struct wire_get_group_request in = {.group_id = id};
    struct wire_get_group_response out;
    if (api_call(cli, ROUTE_ID_GET_GROUP, &in, &out, err) < 0)
        return -1;
    *ret = out.group->name;
    return 0;
}

static int user_name(struct cli *cli, int32_t id, const char **ret, struct error *err)
{
    struct wire_get_user_request in = {.user_id = id};
    struct wire_get_user_response out;
    if (api_call(cli, ROUTE_ID_GET_USER, &in, &out, err) < 0)
        return -1;
    *ret = out.user->username;
    return 0;
}

/* Adds the cells "workspace id, workspace name" of an assignment; it is global without a workspace. */
static int workspace_cells(struct cli *cli, struct table *t, struct json_object *assignment, bool name_first,
                           bool *ret_global, struct error *err)
{
    struct json_object *id = json_object_object_get(assignment, "scopeWorkspaceId");
    const char *name = "N/A", *number = id ? arena_printf(&t->arena, "%d", json_object_get_int(id)) : "N/A";
    if (id && workspace_name(cli, json_object_get_int(id), &name, err) < 0)
        return -1;
    table_text(t, name_first ? name : number);
    table_text(t, name_first ? number : name);
    *ret_global = !id;
    return 0;
}

/* ---- permissions ------------------------------------------------------------------------------------------------- */

static void show_permissions(struct cli *cli, struct json_object *permissions)
{
    cleanup_table struct table t = TABLE_INIT;
    permission_columns(&t);
    for (size_t i = 0; i < length_of(permissions); i++)
        table_values(&t, json_object_array_get_idx(permissions, i), permission_key, "N/A");
    table_show(cli, &t, false);
    fputc('\n', cli->out);
}

static struct json_object *role_of(struct json_object *summary, int32_t id)
{
    struct json_object *roles = json_object_object_get(summary, "roles");
    for (size_t i = 0; i < length_of(roles); i++)
        if (number_of(json_object_array_get_idx(roles, i), "roleId") == id)
            return json_object_array_get_idx(roles, i);
    return NULL;
}

/* Whether the assignment is for this workspace; 0: for the whole cluster. */
static bool is_for(struct json_object *assignment, int32_t workspace_id)
{
    struct json_object *ids = json_object_object_get(assignment, "scopeWorkspaceIds");
    if (workspace_id == 0)
        return is_true(assignment, "scopeCluster");
    for (size_t i = 0; i < length_of(ids); i++)
        if (json_object_get_int(json_object_array_get_idx(ids, i)) == workspace_id)
            return true;
    return false;
}

static bool has_permission(struct json_object *list, struct json_object *permission)
{
    const char *id = json_object_get_string(json_object_object_get(permission, "id"));
    for (size_t i = 0; i < length_of(list); i++) {
        const char *other = json_object_get_string(json_object_object_get(json_object_array_get_idx(list, i), "id"));
        if (id && other && strcmp(id, other) == 0)
            return true;
    }
    return false;
}

/* All permissions that the assignments give there, each of them once. The caller puts the result; NULL: there is no
 * such assignment. */
static struct json_object *permissions_for(struct json_object *summary, int32_t workspace_id)
{
    struct json_object *ret = NULL, *assignments = json_object_object_get(summary, "assignments");
    for (size_t i = 0; i < length_of(assignments); i++) {
        struct json_object *assignment = json_object_array_get_idx(assignments, i);
        if (!is_for(assignment, workspace_id))
            continue;
        ret = ret ? ret : json_object_new_array();
        struct json_object *given = json_object_object_get(role_of(summary, number_of(assignment, "roleId")),
                                                           "permissions");
        for (size_t k = 0; k < length_of(given); k++) {
            struct json_object *permission = json_object_array_get_idx(given, k);
            if (!has_permission(ret, permission))
                json_object_array_add(ret, json_object_get(permission));
        }
    }
    return ret;
}

static int show_permissions_for(struct cli *cli, struct json_object *summary, int32_t workspace_id, size_t *shown,
                                struct error *err)
{
    cleanup_json struct json_object *permissions = permissions_for(summary, workspace_id);
    const char *name;
    if (!permissions)
        return 0;
    if (workspace_id == 0) {
        fputs("global permissions assigned\n", cli->out);
    } else {
        if (workspace_name(cli, workspace_id, &name, err) < 0)
            return -1;
        fprintf(cli->out, "permissions assigned over workspace '%s' with ID '%d'\n", name, workspace_id);
    }
    show_permissions(cli, permissions);
    (*shown)++;
    return 0;
}

int cmd_rbac_my_permissions(struct cli *cli, const struct args_rbac_my_permissions *args, struct error *err)
{
    cleanup_json struct json_object *v = NULL, *done = json_object_new_object();
    size_t shown = 0;
    if (api_call_document(cli, ROUTE_ID_GET_PERMISSIONS_SUMMARY, NULL, &v, err) < 0)
        return -1;
    if (cli->format) {
        output_json(cli, args->csv ? json_object_object_get(v, "roles") : v);
        return 0;
    }
    if (show_permissions_for(cli, v, 0, &shown, err) < 0)
        return -1;
    struct json_object *assignments = json_object_object_get(v, "assignments");
    for (size_t i = 0; i < length_of(assignments); i++) {
        struct json_object *ids = json_object_object_get(json_object_array_get_idx(assignments, i),
                                                         "scopeWorkspaceIds");
        for (size_t k = 0; k < length_of(ids); k++) {
            struct json_object *id = json_object_array_get_idx(ids, k);
            const char *key = json_object_get_string(id);
            if (json_object_object_get_ex(done, key, NULL))
                continue;
            json_object_object_add(done, key, NULL);
            if (show_permissions_for(cli, v, json_object_get_int(id), &shown, err) < 0)
                return -1;
        }
    }
    if (shown == 0)
        fputs("no permissions assigned\n", cli->out);
    return 0;
}

/* ---- roles ------------------------------------------------------------------------------------------------------- */

static void show_role(struct cli *cli, struct json_object *role)
{
    struct json_object *permissions = json_object_object_get(role, "permissions");
    fprintf(cli->out, "role '%s' with ID %d with permissions\n",
            json_object_get_string(json_object_object_get(role, "name")), number_of(role, "roleId"));
    if (permissions)
        show_permissions(cli, permissions);
    else
        fputs("role has no permissions assigned\n", cli->out);
}

int cmd_rbac_list_roles(struct cli *cli, const struct args_rbac_list_roles *args, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    /* roles that can be assigned to a workspace are those that are not global */
    struct wire_search_roles_assignable_to_scope_request in = {.limit = (int32_t)args->limit,
                                                               .offset = (int32_t)args->offset,
                                                               .workspace_id = 1,
                                                               .has_workspace_id = args->exclude_global_roles};
    if (document_of_pages(cli, ROUTE_ID_SEARCH_ROLES_ASSIGNABLE_TO_SCOPE, &in, &in.offset, "roles", args->pages, &v,
                          err) < 0)
        return -1;
    if (cli->format) {
        output_json(cli, v);
        return 0;
    }
    struct json_object *roles = json_object_object_get(v, "roles");
    if (length_of(roles) == 0)
        fputs("no roles found\n", cli->out);
    for (size_t i = 0; i < length_of(roles); i++)
        show_role(cli, json_object_array_get_idx(roles, i));
    return 0;
}

/* Names a user or a group by its id. */
typedef int name_fn(struct cli *cli, int32_t id, const char **ret, struct error *err);

/* Whom the role is assigned to: one table for groups, one for users. */
struct holders {
    const char *list, *id; /* keys */
    name_fn *name;
    const char *none, *some;
    const char *id_title, *name_title;
};

static int show_holders(struct cli *cli, struct json_object *role, const struct holders *h, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    size_t n = length_of(json_object_object_get(role, h->list));
    fprintf(cli->out, "%s\n", n ? h->some : h->none);
    if (n == 0)
        return 0;
    table_columns(&t, (const char *const[]){h->id_title, h->name_title, "Workspaceid", "Workspacename",
                                            "Assignedglobally", NULL});
    for (size_t i = 0; i < n; i++) {
        struct json_object *holder = item_of(role, h->list, i);
        const char *name;
        bool global;
        if (h->name(cli, number_of(holder, h->id), &name, err) < 0)
            return -1;
        table_int(&t, number_of(holder, h->id));
        table_text(&t, name);
        if (workspace_cells(cli, &t, json_object_object_get(holder, "roleAssignment"), false, &global, err) < 0)
            return -1;
        table_bool(&t, global);
    }
    table_show(cli, &t, false);
    fputc('\n', cli->out);
    return 0;
}

int cmd_rbac_describe_role(struct cli *cli, const struct args_rbac_describe_role *args, struct error *err)
{
    static const struct holders groups = {.list = "groupRoleAssignments",
                                          .id = "groupId",
                                          .name = group_name,
                                          .none = "role is not assigned to any group",
                                          .some = "role is assigned to groups",
                                          .id_title = "Groupid",
                                          .name_title = "Groupname"},
                                users = {.list = "userRoleAssignments",
                                         .id = "userId",
                                         .name = user_name,
                                         .none = "role is not assigned to any users",
                                         .some = "role is assigned to users",
                                         .id_title = "Userid",
                                         .name_title = "Username"};
    cleanup_json struct json_object *v = NULL;
    int32_t id;
    if (role_id_by_name(cli, args->role_name, &id, err) < 0)
        return -1;
    struct wire_get_roles_by_id_request in = {.role_ids = &id, .role_ids_n = 1};
    if (api_call_document(cli, ROUTE_ID_GET_ROLES_BY_ID, &in, &v, err) < 0)
        return -1;
    if (length_of(json_object_object_get(v, "roles")) != 1)
        return error_set(err, ERR_NOT_FOUND, "Failed to %s: could not find role name %s", cli->command->help,
                         args->role_name);
    struct json_object *role = item_of(v, "roles", 0);
    if (cli->format) {
        output_json(cli, role);
        return 0;
    }
    show_role(cli, json_object_object_get(role, "role"));
    return show_holders(cli, role, &groups, err) < 0 || show_holders(cli, role, &users, err) < 0 ? -1 : 0;
}

/* ---- who has which ----------------------------------------------------------------------------------------------- */

static int role_cells(struct cli *cli, struct table *t, struct json_object *role, struct json_object *holder,
                      bool direct, struct error *err)
{
    struct json_object *assignment = json_object_object_get(holder, "roleAssignment");
    const char *group = "N/A", *id = "N/A";
    bool global;
    table_values(t, role, (const char *const[]){"name", "roleId", NULL}, "N/A");
    table_bool(t, direct);
    if (!direct) {
        id = arena_printf(&t->arena, "%d", number_of(holder, "groupId"));
        if (group_name(cli, number_of(holder, "groupId"), &group, err) < 0)
            return -1;
    }
    table_text(t, group);
    table_text(t, id);
    table_values(t, assignment, (const char *const[]){"scopeCluster", NULL}, "N/A");
    return workspace_cells(cli, t, assignment, /* name_first= */ true, &global, err);
}

int cmd_rbac_list_users_roles(struct cli *cli, const struct args_rbac_list_users_roles *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_json struct json_object *v = NULL;
    struct wire_get_roles_assigned_to_user_request in = {0};
    if (user_id_by_name(cli, args->username, &in.user_id, err) < 0 ||
        api_call_document(cli, ROUTE_ID_GET_ROLES_ASSIGNED_TO_USER, &in, &v, err) < 0)
        return -1;
    if (args->json) {
        output_json(cli, v);
        return 0;
    }
    struct json_object *roles = json_object_object_get(v, "roles");
    table_columns(&t, (const char *const[]){"Rolename", "Roleid", "Assigneddirectlytouser", "Assignedtogroupname",
                                            "Assignedtogroupid", "Scopecluster", "Scopeworkspacename",
                                            "Scopeworkspaceid", NULL});
    for (size_t i = 0; i < length_of(roles); i++) {
        struct json_object *entry = json_object_array_get_idx(roles, i), *role = json_object_object_get(entry, "role");
        for (size_t k = 0; k < length_of(json_object_object_get(entry, "userRoleAssignments")); k++)
            if (role_cells(cli, &t, role, item_of(entry, "userRoleAssignments", k), /* direct= */ true, err) < 0)
                return -1;
        for (size_t k = 0; k < length_of(json_object_object_get(entry, "groupRoleAssignments")); k++)
            if (role_cells(cli, &t, role, item_of(entry, "groupRoleAssignments", k), /* direct= */ false, err) < 0)
                return -1;
    }
    if (length_of(roles) == 0 && !args->csv)
        fputs("user has no role assignments\n", cli->out);
    else
        table_show(cli, &t, args->csv);
    return 0;
}

static int show_scopes(struct cli *cli, struct json_object *assignment, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct json_object *ids = json_object_object_get(assignment, "scopeWorkspaceIds");
    table_columns(&t, (const char *const[]){"Assignedglobally", "Workspaceid", "Workspacename", NULL});
    if (is_true(assignment, "scopeCluster")) {
        table_bool(&t, true);
        table_text(&t, "N/A");
        table_text(&t, "N/A");
    }
    for (size_t i = 0; i < length_of(ids); i++) {
        int32_t id = json_object_get_int(json_object_array_get_idx(ids, i));
        const char *name;
        if (workspace_name(cli, id, &name, err) < 0)
            return -1;
        table_bool(&t, false);
        table_int(&t, id);
        table_text(&t, name);
    }
    table_show(cli, &t, false);
    fputc('\n', cli->out);
    return 0;
}

int cmd_rbac_list_groups_roles(struct cli *cli, const struct args_rbac_list_groups_roles *args, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    struct wire_get_roles_assigned_to_group_request in = {0};
    if (group_id_by_name(cli, args->group_name, &in.group_id, err) < 0 ||
        api_call_document(cli, ROUTE_ID_GET_ROLES_ASSIGNED_TO_GROUP, &in, &v, err) < 0)
        return -1;
    struct json_object *roles = json_object_object_get(v, "roles");
    if (cli->format) {
        output_json(cli, args->csv ? roles : v);
        return 0;
    }
    if (length_of(roles) == 0)
        fputs("group has no role assignments\n", cli->out);
    for (size_t i = 0; i < length_of(roles); i++) {
        struct json_object *role = json_object_array_get_idx(roles, i);
        fprintf(cli->out, "role '%s' with ID %d assigned\n",
                json_object_get_string(json_object_object_get(role, "name")), number_of(role, "roleId"));
        if (show_scopes(cli, item_of(v, "assignments", i), err) < 0)
            return -1;
    }
    return 0;
}

/* ---- assigning --------------------------------------------------------------------------------------------------- */

struct assignment {
    const char *role, *user, *group, *workspace; /* one of user and group is NULL; workspace NULL: everywhere */
};

/* Assigns the role, or takes it away; the requests of the two routes have the same fields. */
static int change_assignment(struct cli *cli, const struct assignment *x, bool assign, struct error *err)
{
    struct wire_rbac_role role = {0};
    struct wire_rbac_role_assignment scope = {.role = &role, .has_scope_workspace_id = x->workspace != NULL};
    struct wire_rbac_user_role_assignment user = {.role_assignment = &scope};
    struct wire_rbac_group_role_assignment group = {.role_assignment = &scope};
    if (!x->user == !x->group)
        return error_set(err, ERR_INVALID,
                         "Failed to %s: must provide exactly one of --username-to-assign or "
                         "--group-name-to-assign",
                         cli->command->help);
    if (role_id_by_name(cli, x->role, &role.role_id, err) < 0 ||
        (x->workspace && workspace_by_name(cli, x->workspace, &scope.scope_workspace_id, err) < 0) ||
        (x->user && user_id_by_name(cli, x->user, &user.user_id, err) < 0) ||
        (x->group && group_id_by_name(cli, x->group, &group.group_id, err) < 0))
        return -1;
    struct wire_assign_roles_request add = {.user_role_assignments = &user,
                                            .user_role_assignments_n = x->user != NULL,
                                            .group_role_assignments = &group,
                                            .group_role_assignments_n = x->group != NULL};
    struct wire_remove_assignments_request remove = {.user_role_assignments = &user,
                                                     .user_role_assignments_n = x->user != NULL,
                                                     .group_role_assignments = &group,
                                                     .group_role_assignments_n = x->group != NULL};
    int rc = assign ? api_call(cli, ROUTE_ID_ASSIGN_ROLES, &add, NULL, err)
                    : api_call(cli, ROUTE_ID_REMOVE_ASSIGNMENTS, &remove, NULL, err);
    if (rc < 0)
        return -1;
    fprintf(cli->out, "%s role '%s' with ID %d %s %s '%s' with ID %d%s%s\n", assign ? "assigned" : "removed", x->role,
            role.role_id, assign ? "to" : "from", x->user ? "user" : "group", x->user ? x->user : x->group,
            x->user ? user.user_id : group.group_id, x->workspace ? " to workspace " : " globally",
            x->workspace ? x->workspace : "");
    return 0;
}

int cmd_rbac_assign_role(struct cli *cli, const struct args_rbac_assign_role *args, struct error *err)
{
    struct assignment x = {args->role_name, args->username_to_assign, args->group_name_to_assign, args->workspace_name};
    return change_assignment(cli, &x, /* assign= */ true, err);
}

int cmd_rbac_unassign_role(struct cli *cli, const struct args_rbac_unassign_role *args, struct error *err)
{
    struct assignment x = {args->role_name, args->username_to_assign, args->group_name_to_assign, args->workspace_name};
    return change_assignment(cli, &x, /* assign= */ false, err);
}
