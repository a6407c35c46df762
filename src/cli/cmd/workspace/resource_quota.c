/* Quotas of workspaces, of users, and of users within workspaces. */
#include "cli/cmd/show.h"
#include "cli/cmd/workspace.h"

static int find_user(struct cli *cli, const char *name, int32_t *ret, struct error *err)
{
    struct wire_get_user_by_username_request in = {.username = name};
    struct wire_get_user_by_username_response out;
    if (api_call(cli, ROUTE_ID_GET_USER_BY_USERNAME, &in, &out, err) < 0)
        return -1;
    *ret = out.user->id;
    return 0;
}

/* Finds whose quota it is: of a workspace, of a user, or of a user within a workspace. */
static int find_whose(struct cli *cli, const char *workspace, const char *user, struct wire_set_quota_request *ret,
                      struct error *err)
{
    if (workspace && workspace_by_name(cli, workspace, &ret->workspace_id, err) < 0)
        return -1;
    return user ? find_user(cli, user, &ret->user_id, err) : 0;
}

/* The request of release 0.38.1, which also says to which cluster it belongs. */
static int set_in_cluster(struct cli *cli, const struct args_workspace_resource_quota_set *args, struct error *err)
{
    struct wire_map_int32 quota = {.key = args->cluster_name ? args->cluster_name : "",
                                   .value = (int32_t)args->resource_quota};
    struct wire_set_resource_quotas_request in = {.cluster_quota_pairs = &quota, .cluster_quota_pairs_n = 1};
    if (workspace_by_name(cli, args->workspace_name, &in.id, err) < 0)
        return -1;
    return api_call(cli, ROUTE_ID_SET_RESOURCE_QUOTAS, &in, NULL, err);
}

int cmd_workspace_resource_quota_set(struct cli *cli, const struct args_workspace_resource_quota_set *args,
                                     struct error *err)
{
    struct wire_set_quota_request in = {.slots = (int32_t)args->resource_quota,
                                        .has_limit = args->has_limit,
                                        .limit = (int32_t)args->limit};
    if (!args->has_limit && !args->user) {
        if (set_in_cluster(cli, args, err) < 0)
            return -1;
    } else if (find_whose(cli, args->workspace_name, args->user, &in, err) < 0 ||
               api_call(cli, ROUTE_ID_SET_QUOTA, &in, NULL, err) < 0) {
        return -1;
    }
    fprintf(cli->out, "Resource quota %d is set on workspace %s %s%s\n", (int)args->resource_quota,
            args->workspace_name, args->cluster_name ? "for cluster " : "",
            args->cluster_name ? args->cluster_name : "");
    return 0;
}

int cmd_workspace_resource_quota_remove(struct cli *cli, const struct args_workspace_resource_quota_remove *args,
                                        struct error *err)
{
    struct wire_set_quota_request in = {.remove = true};
    if (find_whose(cli, args->workspace_name, args->user, &in, err) < 0 ||
        api_call(cli, ROUTE_ID_SET_QUOTA, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "The resource quota of workspace %s is removed.\n", args->workspace_name);
    return 0;
}

int cmd_user_resource_quota_set(struct cli *cli, const struct args_user_resource_quota_set *args, struct error *err)
{
    struct wire_set_quota_request in = {.slots = (int32_t)args->resource_quota,
                                        .has_limit = args->has_limit,
                                        .limit = (int32_t)args->limit};
    if (find_whose(cli, NULL, args->username, &in, err) < 0 || api_call(cli, ROUTE_ID_SET_QUOTA, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Resource quota %d is set on user %s\n", in.slots, args->username);
    return 0;
}

int cmd_user_resource_quota_remove(struct cli *cli, const struct args_user_resource_quota_remove *args,
                                   struct error *err)
{
    struct wire_set_quota_request in = {.remove = true};
    if (find_whose(cli, NULL, args->username, &in, err) < 0 || api_call(cli, ROUTE_ID_SET_QUOTA, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "The resource quota of user %s is removed.\n", args->username);
    return 0;
}

int cmd_workspace_resource_quota_show(struct cli *cli, const struct args_workspace_resource_quota_show *args,
                                      struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct wire_get_quotas_request in = {0};
    struct wire_get_quotas_response out;
    if (args->workspace_name && workspace_by_name(cli, args->workspace_name, &in.workspace_id, err) < 0)
        return -1;
    if (args->json)
        return document_show(cli, ROUTE_ID_GET_QUOTAS, &in, "quotas", err);
    if (api_call(cli, ROUTE_ID_GET_QUOTAS, &in, &out, err) < 0)
        return -1;
    table_columns(&t, (const char *const[]){"Quota of", "Slots", "Limit", "In Use", "Borrowed", NULL});
    for (size_t i = 0; i < out.quotas_n; i++) {
        table_text(&t, out.quotas[i].name);
        table_int(&t, out.quotas[i].slots);
        table_int(&t, out.quotas[i].limit);
        table_int(&t, out.quotas[i].used);
        table_int(&t, out.quotas[i].borrowed);
    }
    table_show(cli, &t, args->csv);
    return 0;
}
