/* Commands that bind workspaces to resource pools, which limits who may use a pool. */
#include "cli/cmd/workspace.h"

/* ['a', 'b'], the form in which the released client prints lists */
static const char *list_of(struct cli *cli, const char *const *name, size_t n)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&text, "%s'%s'", i ? ", " : "", name[i]);
    return arena_printf(&cli->arena, "[%s]", strbuf_str(&text));
}

int cmd_resource_pool_bindings_add(struct cli *cli, const struct args_resource_pool_bindings_add *args,
                                   struct error *err)
{
    struct wire_bind_rp_to_workspace_request in = {.resource_pool_name = args->pool_name,
                                                   .workspace_names = args->workspace_names,
                                                   .workspace_names_n = args->workspace_names_n};
    if (api_call(cli, ROUTE_ID_BIND_RP_TO_WORKSPACE, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "added bindings between the resource pool \"%s\" and the following workspaces: %s\n",
            args->pool_name, list_of(cli, args->workspace_names, args->workspace_names_n));
    return 0;
}

int cmd_resource_pool_bindings_remove(struct cli *cli, const struct args_resource_pool_bindings_remove *args,
                                      struct error *err)
{
    struct wire_unbind_rp_from_workspace_request in = {.resource_pool_name = args->pool_name,
                                                       .workspace_names = args->workspace_names,
                                                       .workspace_names_n = args->workspace_names_n};
    if (api_call(cli, ROUTE_ID_UNBIND_RP_FROM_WORKSPACE, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "removed bindings between the resource pool \"%s\" and the following workspaces: %s\n",
            args->pool_name, list_of(cli, args->workspace_names, args->workspace_names_n));
    return 0;
}

int cmd_resource_pool_bindings_replace(struct cli *cli, const struct args_resource_pool_bindings_replace *args,
                                       struct error *err)
{
    struct wire_overwrite_rp_workspace_bindings_request in = {.resource_pool_name = args->pool_name,
                                                              .workspace_names = args->workspace_names,
                                                              .workspace_names_n = args->workspace_names_n};
    if (api_call(cli, ROUTE_ID_OVERWRITE_RP_WORKSPACE_BINDINGS, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "replaced bindings of the resource pool \"%s\" with those to the following workspaces: %s\n",
            args->pool_name, list_of(cli, args->workspace_names, args->workspace_names_n));
    return 0;
}

static bool is_among(int32_t id, const int32_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == id)
            return true;
    return false;
}

int cmd_resource_pool_bindings_list_workspaces(struct cli *cli,
                                               const struct args_resource_pool_bindings_list_workspaces *args,
                                               struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_strbuf struct strbuf names = STRBUF_INIT;
    struct wire_list_workspaces_bound_to_rp_request in = {.resource_pool_name = args->pool_name};
    struct wire_list_workspaces_bound_to_rp_response bound;
    struct wire_get_workspaces_request all_in = {0};
    struct wire_get_workspaces_response all;
    if (api_call(cli, ROUTE_ID_LIST_WORKSPACES_BOUND_TO_RP, &in, &bound, err) < 0 ||
        api_call(cli, ROUTE_ID_GET_WORKSPACES, &all_in, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < all.workspaces_n; i++)
        if (is_among(all.workspaces[i].id, bound.workspace_ids, bound.workspace_ids_n))
            strbuf_addf(&names, "%s%s", names.n > 0 ? ", " : "", all.workspaces[i].name);
    table_columns(&t, (const char *const[]){"resource pool", "workspaces", NULL});
    table_text(&t, args->pool_name);
    table_text(&t, strbuf_str(&names));
    table_show(cli, &t, false);
    return 0;
}

int cmd_workspace_list_pools(struct cli *cli, const struct args_workspace_list_pools *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_strbuf struct strbuf names = STRBUF_INIT;
    struct wire_list_r_ps_bound_to_workspace_request in = {0};
    struct wire_list_r_ps_bound_to_workspace_response out;
    if (workspace_by_name(cli, args->workspace_name, &in.workspace_id, err) < 0 ||
        api_call(cli, ROUTE_ID_LIST_R_PS_BOUND_TO_WORKSPACE, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.resource_pools_n; i++)
        strbuf_addf(&names, "%s%s", i ? ", " : "", out.resource_pools[i]);
    table_columns(&t, (const char *const[]){"Workspace", "Available Resource Pools", NULL});
    table_text(&t, args->workspace_name);
    table_text(&t, strbuf_str(&names));
    table_show(cli, &t, false);
    return 0;
}
