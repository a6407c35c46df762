/* Namespaces of Kubernetes, to which release 0.38.1 binds workspaces. This master has no resource manager for
 * Kubernetes: its lists are therefore empty, and nothing can be bound. */
#include "api/accounts/workspaces.h"
#include "api/pipeline/internal.h"
#include "gen/handlers.h"
#include "store/accounts/workspaces.h"

int refuse_namespaces(struct error *err)
{
    return error_set(err, ERR_INVALID,
                     "this cluster has no Kubernetes resource manager: namespaces and their quotas cannot be set");
}

static int check_workspace(struct req *r, struct store *db, int32_t id, struct error *err)
{
    struct store_workspace w;
    return store_workspace_get(db, id, r->who.user_id, &r->arena, &w, err);
}

int api_list_workspace_namespace_bindings(struct req *r, struct store *db,
                                          const struct wire_list_workspace_namespace_bindings_request *in,
                                          struct wire_list_workspace_namespace_bindings_response *ret,
                                          struct error *err)
{
    return check_workspace(r, db, in->id, err);
}

int api_set_workspace_namespace_bindings(struct req *r, struct store *db,
                                         const struct wire_set_workspace_namespace_bindings_request *in,
                                         struct wire_set_workspace_namespace_bindings_response *ret, struct error *err)
{
    return check_workspace(r, db, in->workspace_id, err) < 0 ? -1 : refuse_namespaces(err);
}

int api_delete_workspace_namespace_bindings(struct req *r, struct store *db,
                                            const struct wire_delete_workspace_namespace_bindings_request *in,
                                            struct wire_delete_workspace_namespace_bindings_response *ret,
                                            struct error *err)
{
    return check_workspace(r, db, in->workspace_id, err) < 0 ? -1 : refuse_namespaces(err);
}

int api_bulk_auto_create_workspace_namespace_bindings(
    struct req *r, struct store *db, const struct wire_bulk_auto_create_workspace_namespace_bindings_request *in,
    struct wire_bulk_auto_create_workspace_namespace_bindings_response *ret, struct error *err)
{
    return refuse_namespaces(err);
}

int api_get_kubernetes_resource_managers(struct req *r, struct core *core,
                                         const struct wire_get_kubernetes_resource_managers_request *in,
                                         struct wire_get_kubernetes_resource_managers_response *ret, struct error *err)
{
    return 0;
}

int api_get_workspaces_with_default_namespace_bindings(
    struct req *r, struct core *core, const struct wire_get_workspaces_with_default_namespace_bindings_request *in,
    struct wire_get_workspaces_with_default_namespace_bindings_response *ret, struct error *err)
{
    return 0;
}
