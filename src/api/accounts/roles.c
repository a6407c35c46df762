/* Roles: which there are, who has which, giving them and taking them away. The roles themselves are predefined
 * (contract/roles.json). Admins have the role ClusterAdmin in the whole cluster without it being stored, so that there
 * is always somebody who can give roles. */
#include <string.h>

#include "api/accounts/actor.h"
#include "api/accounts/groups.h"
#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/rights/permissions.h"
#include "gen/handlers.h"
#include "store/accounts/workspaces.h"
#include "store/functions.h"

enum { LIMIT_DEFAULT = 500 };

/* ---- the messages ------------------------------------------------------------------------------------------------ */

static const struct wire_rbac_scope_type_mask *mask_to_wire(bool workspace, struct arena *a)
{
    struct wire_rbac_scope_type_mask *w = arena_new(a, struct wire_rbac_scope_type_mask);
    *w = (struct wire_rbac_scope_type_mask){.cluster = true, .workspace = workspace};
    return w;
}

static const struct wire_rbac_role *role_to_wire(const struct role_row *role, struct arena *a)
{
    struct wire_rbac_role *w = arena_new(a, struct wire_rbac_role);
    *w = (struct wire_rbac_role){.role_id = role->id,
                                 .name = role->name,
                                 .permissions = arena_array(a, struct wire_rbac_permission, PERMISSIONS_N),
                                 .scope_type_mask = mask_to_wire(role->workspace, a)};
    for (int i = 0; i < PERMISSIONS_N; i++)
        if (role->permissions & PERMISSION_BIT(i))
            w->permissions[w->permissions_n++] =
                (struct wire_rbac_permission){.id = (enum wire_rbac_permission_type)permission_rows[i].id,
                                              .name = permission_rows[i].name,
                                              .scope_type_mask = mask_to_wire(permission_rows[i].workspace, a)};
    return w;
}

static const struct wire_rbac_role_assignment *
assignment_to_wire(const struct wire_rbac_role *role, const struct store_role_assignment *g, struct arena *a)
{
    struct wire_rbac_role_assignment *w = arena_new(a, struct wire_rbac_role_assignment);
    *w = (struct wire_rbac_role_assignment){.role = role,
                                            .scope_workspace_id = g->workspace_id,
                                            .has_scope_workspace_id = g->workspace_id != 0,
                                            .scope_cluster = g->workspace_id == 0};
    return w;
}

/* The assignments of this role among those given. */
static void role_with_assignments(const struct role_row *role, const struct store_role_assignment *given, size_t n,
                                  struct arena *a, struct wire_rbac_role_with_assignments *ret)
{
    const struct wire_rbac_role *w = role_to_wire(role, a);
    *ret = (struct wire_rbac_role_with_assignments){
        .role = w,
        .group_role_assignments = arena_array(a, struct wire_rbac_group_role_assignment, n + 1),
        .user_role_assignments = arena_array(a, struct wire_rbac_user_role_assignment, n + 1)};
    for (size_t i = 0; i < n; i++) {
        if (given[i].role_id != role->id)
            continue;
        const struct wire_rbac_role_assignment *assignment = assignment_to_wire(w, &given[i], a);
        if (given[i].group_id)
            ret->group_role_assignments[ret->group_role_assignments_n++] =
                (struct wire_rbac_group_role_assignment){given[i].group_id, assignment};
        else
            ret->user_role_assignments[ret->user_role_assignments_n++] =
                (struct wire_rbac_user_role_assignment){given[i].user_id, assignment};
    }
}

static bool has_role(const struct store_role_assignment *given, size_t n, int32_t role_id)
{
    for (size_t i = 0; i < n; i++)
        if (given[i].role_id == role_id)
            return true;
    return false;
}

/* Each role among the assignments once, with its assignments. */
static struct wire_rbac_role_with_assignments *roles_with_assignments(const struct store_role_assignment *given,
                                                                      size_t n, struct arena *a, size_t *ret_n)
{
    struct wire_rbac_role_with_assignments *w = arena_array(a, struct wire_rbac_role_with_assignments, ROLES_N);
    *ret_n = 0;
    for (size_t i = 0; i < ROLES_N; i++)
        if (has_role(given, n, role_rows[i].id))
            role_with_assignments(&role_rows[i], given, n, a, &w[(*ret_n)++]);
    return w;
}

struct summary {
    struct wire_rbac_role *roles;
    struct wire_rbac_role_assignment_summary *assignments;
    size_t n;
};

static struct summary summarise(const struct store_role_assignment *given, size_t n, struct arena *a)
{
    struct summary s = {arena_array(a, struct wire_rbac_role, ROLES_N),
                        arena_array(a, struct wire_rbac_role_assignment_summary, ROLES_N), 0};
    for (size_t i = 0; i < ROLES_N; i++) {
        if (!has_role(given, n, role_rows[i].id))
            continue;
        struct wire_rbac_role_assignment_summary *w = &s.assignments[s.n];
        *w = (struct wire_rbac_role_assignment_summary){.role_id = role_rows[i].id,
                                                        .scope_workspace_ids = arena_array(a, int32_t, n + 1)};
        for (size_t k = 0; k < n; k++) {
            if (given[k].role_id != role_rows[i].id)
                continue;
            if (given[k].workspace_id == 0)
                w->scope_cluster = true;
            else if (!w->scope_workspace_ids_n ||
                     w->scope_workspace_ids[w->scope_workspace_ids_n - 1] != given[k].workspace_id)
                w->scope_workspace_ids[w->scope_workspace_ids_n++] = given[k].workspace_id;
        }
        s.roles[s.n++] = *role_to_wire(&role_rows[i], a);
    }
    return s;
}

/* ---- which roles there are --------------------------------------------------------------------------------------- */

static int list_roles(struct req *r, bool for_workspace, int32_t offset, int32_t limit, struct wire_rbac_role **ret,
                      size_t *ret_n, const struct wire_pagination **ret_pagination, struct error *err)
{
    const struct role_row *chosen[ROLES_N];
    struct page page = page_of(offset, limit ? limit : LIMIT_DEFAULT);
    struct page_window w;
    size_t n = 0;
    for (size_t i = 0; i < ROLES_N; i++)
        if (!for_workspace || role_rows[i].workspace)
            chosen[n++] = &role_rows[i];
    if (page_of_query_list(page, (int64_t)n, &w, err) < 0)
        return -1;
    *ret = arena_array(&r->arena, struct wire_rbac_role, n + 1);
    *ret_n = 0;
    for (int32_t i = w.start; i < w.end; i++)
        (*ret)[(*ret_n)++] = *role_to_wire(chosen[i], &r->arena);
    *ret_pagination = pagination(page, w, &r->arena);
    return 0;
}

int api_list_roles(struct req *r, struct core *core, const struct wire_list_roles_request *in,
                   struct wire_list_roles_response *ret, struct error *err)
{
    return list_roles(r, /* for_workspace= */ false, in->offset, in->limit, &ret->roles, &ret->roles_n,
                      &ret->pagination, err);
}

int api_search_roles_assignable_to_scope(struct req *r, struct core *core,
                                         const struct wire_search_roles_assignable_to_scope_request *in,
                                         struct wire_search_roles_assignable_to_scope_response *ret, struct error *err)
{
    return list_roles(r, in->has_workspace_id, in->offset, in->limit, &ret->roles, &ret->roles_n, &ret->pagination,
                      err);
}

static int role_get(int32_t id, const struct role_row **ret, struct error *err)
{
    *ret = role_by_id(id);
    return *ret ? 0 : error_set(err, ERR_NOT_FOUND, "role '%d' not found (det rbac list-roles shows all)", id);
}

/* Drops the assignments in workspaces that the one who asks may not see. Returns how many are left. */
static size_t keep_visible(const struct req *r, struct store_role_assignment *given, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!given[i].workspace_id || access_has(r, PERMISSION_VIEW_WORKSPACE, given[i].workspace_id))
            given[kept++] = given[i];
    return kept;
}

int api_get_roles_by_id(struct req *r, struct store *db, const struct wire_get_roles_by_id_request *in,
                        struct wire_get_roles_by_id_response *ret, struct error *err)
{
    if (in->role_ids_n > ROLES_N)
        return error_set(err, ERR_INVALID, "roleIds has %zu ids, and there are %d roles: name each once",
                         in->role_ids_n, ROLES_N);
    ret->roles = arena_array(&r->arena, struct wire_rbac_role_with_assignments, in->role_ids_n + 1);
    for (ret->roles_n = 0; ret->roles_n < in->role_ids_n; ret->roles_n++) {
        const struct role_row *role;
        struct store_role_assignment *given;
        size_t n;
        if (role_get(in->role_ids[ret->roles_n], &role, err) < 0 ||
            store_role_assignments_of_role(db, role->id, &r->arena, &given, &n, err) < 0)
            return -1;
        n = keep_visible(r, given, n);
        role_with_assignments(role, given, n, &r->arena, &ret->roles[ret->roles_n]);
    }
    return 0;
}

/* ---- who has which ----------------------------------------------------------------------------------------------- */

/* The roles of a user and of the user's groups, with the one that an admin has without an assignment. */
static int roles_of_user(struct req *r, struct store *db, int32_t user_id, struct store_role_assignment **ret,
                         size_t *ret_n, struct error *err)
{
    struct store_user u;
    struct store_role_assignment *given;
    if (store_user_get(db, user_id, &r->arena, &u, err) < 0 ||
        store_role_assignments_of_user(db, user_id, &r->arena, &given, ret_n, err) < 0)
        return -1;
    *ret = arena_array(&r->arena, struct store_role_assignment, *ret_n + 1);
    if (*ret_n > 0)
        memcpy(*ret, given, *ret_n * sizeof(*given));
    for (size_t i = 0; i < *ret_n; i++)
        if (given[i].user_id && given[i].role_id == ROLE_CLUSTER_ADMIN && !given[i].workspace_id)
            return 0;
    if (u.admin)
        (*ret)[(*ret_n)++] = (struct store_role_assignment){.user_id = user_id, .role_id = ROLE_CLUSTER_ADMIN};
    return 0;
}

int api_get_permissions_summary(struct req *r, struct store *db, const struct wire_get_permissions_summary_request *in,
                                struct wire_get_permissions_summary_response *ret, struct error *err)
{
    struct store_role_assignment *given;
    size_t n;
    if (roles_of_user(r, db, r->who.user_id, &given, &n, err) < 0)
        return -1;
    struct summary s = summarise(given, n, &r->arena);
    ret->roles = s.roles;
    ret->assignments = s.assignments;
    ret->roles_n = ret->assignments_n = s.n;
    return 0;
}

int api_get_roles_assigned_to_user(struct req *r, struct store *db,
                                   const struct wire_get_roles_assigned_to_user_request *in,
                                   struct wire_get_roles_assigned_to_user_response *ret, struct error *err)
{
    struct store_role_assignment *given;
    size_t n;
    if (roles_of_user(r, db, in->user_id, &given, &n, err) < 0)
        return -1;
    ret->roles = roles_with_assignments(given, n, &r->arena, &ret->roles_n);
    return 0;
}

int api_get_roles_assigned_to_group(struct req *r, struct store *db,
                                    const struct wire_get_roles_assigned_to_group_request *in,
                                    struct wire_get_roles_assigned_to_group_response *ret, struct error *err)
{
    struct store_group g;
    struct store_role_assignment *given;
    size_t n;
    if (store_group_get(db, in->group_id, &r->arena, &g, err) < 0 ||
        store_role_assignments_of_group(db, in->group_id, &r->arena, &given, &n, err) < 0)
        return -1;
    struct summary s = summarise(given, keep_visible(r, given, n), &r->arena);
    ret->roles = s.roles;
    ret->assignments = s.assignments;
    ret->roles_n = ret->assignments_n = s.n;
    return 0;
}

/* ---- the members of a workspace ---------------------------------------------------------------------------------- */

static bool matches(const char *name, const char *wanted)
{
    return !wanted || !*wanted || (name && strcasestr(name, wanted));
}

static int add_group(struct req *r, struct store *db, int32_t id, const char *wanted,
                     struct wire_get_groups_and_users_assigned_to_workspace_response *ret, struct error *err)
{
    const struct wire_group_details *g;
    for (size_t i = 0; i < ret->groups_n; i++)
        if (ret->groups[i].group_id == id)
            return 0;
    if (group_read(r, db, id, &g, err) < 0)
        return -1;
    if (matches(g->name, wanted))
        ret->groups[ret->groups_n++] = *g;
    return 0;
}

static int add_user(struct req *r, struct store *db, int32_t id, const char *wanted,
                    struct wire_get_groups_and_users_assigned_to_workspace_response *ret, struct error *err)
{
    struct store_user u;
    for (size_t i = 0; i < ret->users_assigned_directly_n; i++)
        if (ret->users_assigned_directly[i].id == id)
            return 0;
    if (store_user_get(db, id, &r->arena, &u, err) < 0)
        return -1;
    if (matches(u.username, wanted) || matches(u.display_name ? u.display_name : u.username, wanted))
        ret->users_assigned_directly[ret->users_assigned_directly_n++] = *user_to_wire(&u, &r->arena);
    return 0;
}

int api_get_groups_and_users_assigned_to_workspace(
    struct req *r, struct store *db, const struct wire_get_groups_and_users_assigned_to_workspace_request *in,
    struct wire_get_groups_and_users_assigned_to_workspace_response *ret, struct error *err)
{
    struct store_workspace w;
    struct store_role_assignment *given;
    size_t n;
    if (store_workspace_get(db, in->workspace_id, 0, &r->arena, &w, err) < 0 ||
        store_role_assignments_in(db, in->workspace_id, &r->arena, &given, &n, err) < 0)
        return -1;
    ret->groups = arena_array(&r->arena, struct wire_group_details, n + 1);
    ret->users_assigned_directly = arena_array(&r->arena, struct wire_user, n + 1);
    for (size_t i = 0; i < n; i++)
        if ((given[i].group_id ? add_group(r, db, given[i].group_id, in->name, ret, err)
                               : add_user(r, db, given[i].user_id, in->name, ret, err)) < 0)
            return -1;
    ret->assignments = roles_with_assignments(given, n, &r->arena, &ret->assignments_n);
    return 0;
}

/* ---- giving and taking ------------------------------------------------------------------------------------------- */

struct change {
    struct role_given *given;
    size_t n;
    bool take;
};

static int remember(struct req *r, struct core *core, struct error *err)
{
    const struct change *c = r->state;
    for (size_t i = 0; i < c->n; i++) {
        if (c->take)
            permissions_take(r->api->permissions, &c->given[i]);
        else
            permissions_give(r->api->permissions, &c->given[i]);
    }
    return 0;
}

static int take_assignment(struct change *c, int32_t user_id, int32_t group_id,
                           const struct wire_rbac_role_assignment *a, struct error *err)
{
    const struct role_row *role;
    if (!a || !a->role)
        return error_set(err, ERR_INVALID, "roleAssignment.role is missing: it names the role");
    if (a->has_scope_workspace_id && a->scope_cluster)
        return error_set(err, ERR_INVALID,
                         "scopeWorkspaceId and scopeCluster are both given: a role is for one workspace or for the "
                         "cluster");
    if (a->has_scope_workspace_id && a->scope_workspace_id <= 0)
        return error_set(err, ERR_INVALID, "scopeWorkspaceId %d is no id of a workspace", a->scope_workspace_id);
    if (role_get(a->role->role_id, &role, err) < 0)
        return -1;
    if (a->has_scope_workspace_id && !role->workspace)
        return error_set(err, ERR_INVALID,
                         "role %s has permissions that concern the whole cluster: it cannot be for workspace %d alone",
                         role->name, a->scope_workspace_id);
    c->given[c->n++] = (struct role_given){user_id, group_id, role->id, a->scope_workspace_id};
    return 0;
}

static int read_assignments(struct req *r, const struct wire_rbac_group_role_assignment *group, size_t group_n,
                            const struct wire_rbac_user_role_assignment *user, size_t user_n, struct change *c,
                            struct error *err)
{
    if (group_n + user_n == 0)
        return error_set(err, ERR_INVALID,
                         "groupRoleAssignments and userRoleAssignments are empty: name a role and "
                         "who is meant");
    c->given = arena_array(&r->arena, struct role_given, group_n + user_n);
    for (size_t i = 0; i < group_n; i++)
        if (take_assignment(c, 0, group[i].group_id, group[i].role_assignment, err) < 0)
            return -1;
    for (size_t i = 0; i < user_n; i++)
        if (take_assignment(c, user[i].user_id, 0, user[i].role_assignment, err) < 0)
            return -1;
    return 0;
}

static int check_holder_exists(struct req *r, struct store *db, const struct role_given *g, struct error *err)
{
    struct store_user u;
    struct store_group group;
    struct store_workspace w;
    if (g->workspace_id && store_workspace_get(db, g->workspace_id, 0, &r->arena, &w, err) < 0)
        return -1;
    return g->user_id ? store_user_get(db, g->user_id, &r->arena, &u, err)
                      : store_group_get(db, g->group_id, &r->arena, &group, err);
}

static int refuse_missing(struct req *r, struct store *db, const struct role_given *g, struct error *err)
{
    struct store_user u;
    const char *name = role_by_id(g->role_id)->name;
    if (g->user_id && g->role_id == ROLE_CLUSTER_ADMIN && !g->workspace_id &&
        store_user_get(db, g->user_id, &r->arena, &u, NULL) == 0 && u.admin)
        return error_set(err, ERR_PRECONDITION,
                         "user '%s' has the role %s because the user is an admin: take the rights of an admin away "
                         "(det user edit %s --admin false)",
                         u.username, name, u.username);
    return error_set(err, ERR_NOT_FOUND, "%s '%d' does not have the role %s there; nothing was changed",
                     g->user_id ? "user" : "group", g->user_id ? g->user_id : g->group_id, name);
}

static int store_one(struct req *r, struct store *db, const struct role_given *g, bool take, struct error *err)
{
    const struct store_role_assignment row = {g->user_id, g->group_id, g->role_id, g->workspace_id};
    int64_t n;
    if (check_holder_exists(r, db, g, err) < 0)
        return -1;
    if (!take)
        return store_role_assignment_add(db, &row, err);
    if (store_role_assignment_remove(db, &row, &n, err) < 0)
        return -1;
    return n ? 0 : refuse_missing(r, db, g, err);
}

/* Whoever gives or takes a role must have all its permissions there. Otherwise a WorkspaceAdmin of the whole cluster,
 * who may give roles in it, could become ClusterAdmin. */
static int check_has_role_permissions(const struct req *r, const struct role_given *g, struct error *err)
{
    const struct role_row *role = role_by_id(g->role_id);
    if (!r->may || !(role->permissions & ~permission_set_in(r->may, g->workspace_id)))
        return 0;
    return error_set(err, ERR_FORBIDDEN,
                     "forbidden: the role %s has permissions that user '%s' does not have there, and so cannot give or "
                     "take; ask an admin",
                     role->name, r->who.username);
}

/* All of the assignments are given, or taken, or none. */
static int change_assignments(struct req *r, struct store *db, bool take,
                              const struct wire_rbac_group_role_assignment *group, size_t group_n,
                              const struct wire_rbac_user_role_assignment *user, size_t user_n, struct error *err)
{
    struct change *c = arena_new(&r->arena, struct change);
    *c = (struct change){.take = take};
    if (read_assignments(r, group, group_n, user, user_n, c, err) < 0 ||
        actor_check_again(r, db, /* as_admin= */ r->who.admin, err) < 0)
        return -1;
    for (size_t i = 0; i < c->n; i++)
        if (access_may_assign(r, c->given[i].workspace_id, err) < 0 ||
            check_has_role_permissions(r, &c->given[i], err) < 0 || store_one(r, db, &c->given[i], take, err) < 0)
            return -1;
    r->state = c;
    return req_then_loop(r, remember);
}

int api_assign_roles(struct req *r, struct store *db, const struct wire_assign_roles_request *in,
                     struct wire_assign_roles_response *ret, struct error *err)
{
    return change_assignments(r, db, /* take= */ false, in->group_role_assignments, in->group_role_assignments_n,
                              in->user_role_assignments, in->user_role_assignments_n, err);
}

int api_remove_assignments(struct req *r, struct store *db, const struct wire_remove_assignments_request *in,
                           struct wire_remove_assignments_response *ret, struct error *err)
{
    return change_assignments(r, db, /* take= */ true, in->group_role_assignments, in->group_role_assignments_n,
                              in->user_role_assignments, in->user_role_assignments_n, err);
}
