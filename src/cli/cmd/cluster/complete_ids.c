/* Prints what an argument may name, one per line, for the scripts of `det completion`. Somebody has pressed a key
 * and waits, so this asks for no password and gives up soon (cli.c). */
#include <string.h>

#include "cli/cmd/cluster/agent.h"

enum { NEWEST = 100 }; /* nobody reads through more */

static int print_experiments(struct cli *cli, struct error *err)
{
    struct wire_get_experiments_request in = {.limit = NEWEST,
                                              .sort_by = WIRE_GET_EXPERIMENTS_REQUEST_SORT_BY_ID,
                                              .order_by = WIRE_ORDER_BY_DESC,
                                              .has_archived = true};
    struct wire_get_experiments_response out;
    if (api_call(cli, ROUTE_ID_GET_EXPERIMENTS, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.experiments_n; i++)
        fprintf(cli->out, "%d\n", out.experiments[i].id);
    return 0;
}

static int print_trials(struct cli *cli, struct error *err)
{
    struct wire_search_runs_request in = {.limit = NEWEST, .sort = "id=desc"};
    struct wire_search_runs_response out;
    if (api_call(cli, ROUTE_ID_SEARCH_RUNS, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.runs_n; i++)
        fprintf(cli->out, "%d\n", out.runs[i].id);
    return 0;
}

static int print_agents(struct cli *cli, struct error *err)
{
    struct wire_get_agents_response out;
    if (agents_fetch(cli, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.agents_n; i++)
        fprintf(cli->out, "%s\n", agent_local_id(out.agents[i].id));
    return 0;
}

static int print_tasks(struct cli *cli, struct error *err)
{
    struct wire_get_tasks_response out;
    if (api_call(cli, ROUTE_ID_GET_TASKS, NULL, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.allocation_id_to_summary_n; i++)
        fprintf(cli->out, "%s\n", out.allocation_id_to_summary[i].value.task_id);
    return 0;
}

/* Commands, notebooks, shells or TensorBoards that have not ended. */
static int print_launched(struct cli *cli, enum route_id route, const char *list, struct error *err)
{
    cleanup_json struct json_object *answer = NULL;
    struct json_object *tasks, *id, *state;
    if (api_call_document(cli, route, NULL, &answer, err) < 0)
        return -1;
    size_t n = json_object_object_get_ex(answer, list, &tasks) && json_object_is_type(tasks, json_type_array)
                   ? json_object_array_length(tasks)
                   : 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *task = json_object_array_get_idx(tasks, i);
        if (json_object_object_get_ex(task, "id", &id) && json_object_object_get_ex(task, "state", &state) &&
            strcmp(json_object_get_string(state), "STATE_TERMINATED") != 0)
            fprintf(cli->out, "%s\n", json_object_get_string(id));
    }
    return 0;
}

static int print_commands(struct cli *cli, struct error *err)
{
    return print_launched(cli, ROUTE_ID_GET_COMMANDS, "commands", err);
}

static int print_notebooks(struct cli *cli, struct error *err)
{
    return print_launched(cli, ROUTE_ID_GET_NOTEBOOKS, "notebooks", err);
}

static int print_shells(struct cli *cli, struct error *err)
{
    return print_launched(cli, ROUTE_ID_GET_SHELLS, "shells", err);
}

static int print_tensorboards(struct cli *cli, struct error *err)
{
    return print_launched(cli, ROUTE_ID_GET_TENSORBOARDS, "tensorboards", err);
}

static int print_templates(struct cli *cli, struct error *err)
{
    struct wire_get_templates_request in = {.limit = -1, .sort_by = WIRE_GET_TEMPLATES_REQUEST_SORT_BY_NAME};
    struct wire_get_templates_response out;
    if (api_call(cli, ROUTE_ID_GET_TEMPLATES, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.templates_n; i++)
        fprintf(cli->out, "%s\n", out.templates[i].name);
    return 0;
}

static int print_workspaces(struct cli *cli, struct error *err)
{
    struct wire_get_workspaces_response out;
    if (api_call(cli, ROUTE_ID_GET_WORKSPACES, NULL, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.workspaces_n; i++)
        fprintf(cli->out, "%s\n", out.workspaces[i].name);
    return 0;
}

static int print_pools(struct cli *cli, struct error *err)
{
    struct wire_get_resource_pools_response out;
    if (api_call(cli, ROUTE_ID_GET_RESOURCE_POOLS, NULL, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.resource_pools_n; i++)
        fprintf(cli->out, "%s\n", out.resource_pools[i].name);
    return 0;
}

static int print_users(struct cli *cli, struct error *err)
{
    struct wire_get_users_response out;
    if (api_call(cli, ROUTE_ID_GET_USERS, NULL, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.users_n; i++)
        fprintf(cli->out, "%s\n", out.users[i].username);
    return 0;
}

static int print_checkpoints(struct cli *cli, struct error *err)
{
    struct wire_get_experiments_request newest = {.limit = 1,
                                                  .sort_by = WIRE_GET_EXPERIMENTS_REQUEST_SORT_BY_ID,
                                                  .order_by = WIRE_ORDER_BY_DESC};
    struct wire_get_experiments_response experiments;
    struct wire_get_experiment_checkpoints_request in = {.limit = NEWEST};
    struct wire_get_experiment_checkpoints_response out;
    /* there is no list of all checkpoints: those of the newest experiment are the likeliest */
    if (api_call(cli, ROUTE_ID_GET_EXPERIMENTS, &newest, &experiments, err) < 0)
        return -1;
    if (experiments.experiments_n == 0)
        return 0;
    in.id = experiments.experiments[0].id;
    if (api_call(cli, ROUTE_ID_GET_EXPERIMENT_CHECKPOINTS, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.checkpoints_n; i++)
        fprintf(cli->out, "%s\n", out.checkpoints[i].uuid);
    return 0;
}

static int print_models(struct cli *cli, struct error *err)
{
    struct wire_get_models_request in = {.limit = NEWEST};
    struct wire_get_models_response out;
    if (api_call(cli, ROUTE_ID_GET_MODELS, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.models_n; i++)
        fprintf(cli->out, "%s\n", out.models[i].name);
    return 0;
}

static int print_groups(struct cli *cli, struct error *err)
{
    struct wire_get_groups_request in = {.limit = NEWEST};
    struct wire_get_groups_response out;
    if (api_call(cli, ROUTE_ID_GET_GROUPS, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.groups_n; i++)
        fprintf(cli->out, "%s\n", out.groups[i].group ? out.groups[i].group->name : "");
    return 0;
}

static int print_roles(struct cli *cli, struct error *err)
{
    struct wire_list_roles_request in = {.limit = NEWEST};
    struct wire_list_roles_response out;
    if (api_call(cli, ROUTE_ID_LIST_ROLES, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.roles_n; i++)
        fprintf(cli->out, "%s\n", out.roles[i].name);
    return 0;
}

static int print_tokens(struct cli *cli, struct error *err)
{
    struct wire_get_access_tokens_request in = {.limit = NEWEST};
    struct wire_get_access_tokens_response out;
    if (api_call(cli, ROUTE_ID_GET_ACCESS_TOKENS, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.token_info_n; i++)
        fprintf(cli->out, "%d\n", out.token_info[i].id);
    return 0;
}

static int print_oauth_clients(struct cli *cli, struct error *err)
{
    cleanup_json struct json_object *all = NULL;
    if (api_path_document(cli, &(struct api_path){.method = "GET", .path = "/oauth2/clients"}, &all, err) < 0)
        return -1;
    for (size_t i = 0; json_object_is_type(all, json_type_array) && i < json_object_array_length(all); i++)
        fprintf(cli->out, "%s\n",
                json_object_get_string(json_object_object_get(json_object_array_get_idx(all, i), "id")));
    return 0;
}

int cmd_complete_ids(struct cli *cli, const struct args_complete_ids *args, struct error *err)
{
    static const struct {
        const char *kind;
        int (*print)(struct cli *, struct error *);
    } kinds[] = {
        {"agent", print_agents},       {"checkpoint", print_checkpoints},
        {"command", print_commands},   {"experiment", print_experiments},
        {"group", print_groups},       {"model", print_models},
        {"notebook", print_notebooks}, {"oauth-client", print_oauth_clients},
        {"pool", print_pools},         {"role", print_roles},
        {"shell", print_shells},       {"task", print_tasks},
        {"template", print_templates}, {"tensorboard", print_tensorboards},
        {"token", print_tokens},       {"trial", print_trials},
        {"user", print_users},         {"workspace", print_workspaces},
    };
    size_t i = 0;
    while (strcmp(kinds[i].kind, args->kind) != 0) /* contract/cli.json allows no other kind */
        i++;
    return kinds[i].print(cli, err);
}
