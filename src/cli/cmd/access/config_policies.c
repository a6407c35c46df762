/* Policies that an administrator sets for the configurations of experiments and of other tasks: show, set, delete. */
#include <string.h>

#include "cli/cmd/workspace.h"
#include "cli/files/config_file.h"
#include "cli/terminal/output.h"
#include "common/base/cleanup.h"

/* The master's name for a type of workloads. */
static const char *workload_of(const char *type)
{
    return strcmp(type, "tasks") == 0 ? "NTSC" : "EXPERIMENT";
}

int cmd_config_policies_describe(struct cli *cli, const struct args_config_policies_describe *args, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    struct wire_get_global_config_policies_request global = {.workload_type = workload_of(args->workload_type)};
    struct wire_get_workspace_config_policies_request of = {.workload_type = workload_of(args->workload_type)};
    if (args->workspace_name && workspace_by_name(cli, args->workspace_name, &of.workspace_id, err) < 0)
        return -1;
    int rc = args->workspace_name ? api_call_document(cli, ROUTE_ID_GET_WORKSPACE_CONFIG_POLICIES, &of, &v, err)
                                  : api_call_document(cli, ROUTE_ID_GET_GLOBAL_CONFIG_POLICIES, &global, &v, err);
    if (rc < 0)
        return -1;
    output_yaml(cli, json_object_object_get(v, "configPolicies"), true);
    return 0;
}

int cmd_config_policies_set(struct cli *cli, const struct args_config_policies_set *args, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_json struct json_object *config = NULL, *v = NULL;
    if (config_file_read(cli, args->config_file, &text, &config, err) < 0)
        return -1;
    struct wire_put_global_config_policies_request global = {.workload_type = workload_of(args->workload_type),
                                                             .config_policies = strbuf_str(&text)};
    struct wire_put_workspace_config_policies_request of = {.workload_type = workload_of(args->workload_type),
                                                            .config_policies = strbuf_str(&text)};
    if (args->workspace_name && workspace_by_name(cli, args->workspace_name, &of.workspace_id, err) < 0)
        return -1;
    int rc = args->workspace_name ? api_call_document(cli, ROUTE_ID_PUT_WORKSPACE_CONFIG_POLICIES, &of, &v, err)
                                  : api_call_document(cli, ROUTE_ID_PUT_GLOBAL_CONFIG_POLICIES, &global, &v, err);
    if (rc < 0)
        return config_file_blame(args->config_file, /* rewritten= */ false, err);
    if (args->workspace_name)
        fprintf(cli->out, "Set %s config policies for workspace %s:\n", args->workload_type, args->workspace_name);
    else
        fprintf(cli->out, "Set global %s config policies:\n", args->workload_type);
    output_yaml(cli, json_object_object_get(v, "configPolicies"), true);
    return 0;
}

int cmd_config_policies_delete(struct cli *cli, const struct args_config_policies_delete *args, struct error *err)
{
    const char *workload = workload_of(args->workload_type);
    struct wire_delete_global_config_policies_request global = {.workload_type = workload};
    struct wire_delete_workspace_config_policies_request of = {.workload_type = workload};
    if (!args->workspace_name) {
        if (api_call(cli, ROUTE_ID_DELETE_GLOBAL_CONFIG_POLICIES, &global, NULL, err) < 0)
            return -1;
        fprintf(cli->out, "Successfully deleted global %s config policies\n", workload);
        return 0;
    }
    if (workspace_by_name(cli, args->workspace_name, &of.workspace_id, err) < 0 ||
        api_call(cli, ROUTE_ID_DELETE_WORKSPACE_CONFIG_POLICIES, &of, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Successfully deleted %s config policies for workspace %s\n", workload, args->workspace_name);
    return 0;
}
