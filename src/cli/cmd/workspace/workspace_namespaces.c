/* The Kubernetes namespaces that a workspace is bound to. */
#include "cli/cmd/show.h"
#include "cli/cmd/workspace.h"

/* The cluster without a name is the only one there is. */
static const char *cluster_of(const char *name)
{
    return name ? name : "";
}

int cmd_workspace_bindings_list(struct cli *cli, const struct args_workspace_bindings_list *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct wire_list_workspace_namespace_bindings_request in = {0};
    struct wire_list_workspace_namespace_bindings_response out;
    if (workspace_by_name(cli, args->workspace_name, &in.id, err) < 0)
        return -1;
    if (args->json)
        return document_show(cli, ROUTE_ID_LIST_WORKSPACE_NAMESPACE_BINDINGS, &in, "namespaceBindings", err);
    if (api_call(cli, ROUTE_ID_LIST_WORKSPACE_NAMESPACE_BINDINGS, &in, &out, err) < 0)
        return -1;
    if (out.namespace_bindings_n == 0 && !args->csv) {
        fprintf(cli->out, "No workspace-namespace bindings for workspace %s\n", args->workspace_name);
        return 0;
    }
    if (!args->csv)
        fprintf(cli->out, "workspace-namespace bindings for workspace %s\n", args->workspace_name);
    table_columns(&t, (const char *const[]){"Cluster", "Namespace", NULL});
    for (size_t i = 0; i < out.namespace_bindings_n; i++) {
        table_text(&t, out.namespace_bindings[i].key);
        table_text(&t, out.namespace_bindings[i].value.namespace);
    }
    table_show(cli, &t, args->csv);
    return 0;
}

static int check_binding(const struct args_workspace_bindings_set *args, struct error *err)
{
    if (args->namespace || args->auto_create_namespace || args->auto_create_namespace_all_clusters)
        return 0;
    return error_set(err, ERR_USAGE,
                     "must provide --namespace NAMESPACE or --auto-create-namespace, or %sspecify "
                     "--auto-create-namespace-all-clusters",
                     args->cluster_name ? "remove --cluster-name CLUSTER_NAME and " : "");
}

int cmd_workspace_bindings_set(struct cli *cli, const struct args_workspace_bindings_set *args, struct error *err)
{
    struct wire_map_workspace_namespace_meta meta = {
        .key = cluster_of(args->cluster_name),
        .value = {.namespace = args->namespace,
                  .auto_create_namespace = args->auto_create_namespace,
                  .auto_create_namespace_all_clusters = args->auto_create_namespace_all_clusters,
                  .cluster_name = cluster_of(args->cluster_name)},
    };
    struct wire_set_workspace_namespace_bindings_request in = {.cluster_namespace_meta = &meta,
                                                               .cluster_namespace_meta_n = 1};
    struct wire_set_workspace_namespace_bindings_response out;
    if (check_binding(args, err) < 0 || workspace_by_name(cli, args->workspace_name, &in.workspace_id, err) < 0 ||
        api_call(cli, ROUTE_ID_SET_WORKSPACE_NAMESPACE_BINDINGS, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.namespace_bindings_n; i++) {
        const char *cluster = out.namespace_bindings[i].key;
        fprintf(cli->out, "Workspace %s is bound to namespace %s %s%s%s\n", args->workspace_name,
                out.namespace_bindings[i].value.namespace, *cluster ? "for cluster " : "", cluster,
                *cluster ? "." : "");
    }
    return 0;
}

int cmd_workspace_bindings_delete(struct cli *cli, const struct args_workspace_bindings_delete *args, struct error *err)
{
    const char *cluster = cluster_of(args->cluster_name);
    struct wire_delete_workspace_namespace_bindings_request in = {.cluster_names = &cluster, .cluster_names_n = 1};
    if (workspace_by_name(cli, args->workspace_name, &in.workspace_id, err) < 0 ||
        api_call(cli, ROUTE_ID_DELETE_WORKSPACE_NAMESPACE_BINDINGS, &in, NULL, err) < 0)
        return -1;
    fputs("Successfully deleted binding.\n", cli->out);
    return 0;
}
