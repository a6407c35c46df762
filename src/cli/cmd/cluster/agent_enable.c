#include "cli/cmd/cluster/agent.h"

/* The agent that was named, or all agents. */
static int choose_agents(struct cli *cli, const char *agent_id, bool all, const char ***ret, size_t *ret_n,
                         struct error *err)
{
    struct wire_get_agents_response out;
    if (!all && !agent_id)
        return error_set(err, ERR_INVALID, "Please name an agent, or give --all; see 'det %s --help'",
                         cli->command->path);
    if (!all) {
        *ret = arena_array(&cli->arena, const char *, 1);
        (*ret)[0] = agent_id;
        *ret_n = 1;
        return 0;
    }
    if (agents_fetch(cli, &out, err) < 0)
        return -1;
    *ret = arena_array(&cli->arena, const char *, out.agents_n + 1);
    for (*ret_n = 0; *ret_n < out.agents_n; (*ret_n)++)
        (*ret)[*ret_n] = agent_local_id(out.agents[*ret_n].id);
    return 0;
}

int cmd_agent_enable(struct cli *cli, const struct args_agent_enable *args, struct error *err)
{
    const char **agent;
    size_t n;
    if (choose_agents(cli, args->agent_id, args->all, &agent, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct wire_enable_agent_request in = {.agent_id = agent[i]};
        if (api_call(cli, ROUTE_ID_ENABLE_AGENT, &in, NULL, err) < 0)
            return -1;
        cli_say(cli, CLI_PLAIN, "Enabled agent %s.", agent[i]);
    }
    return 0;
}

int cmd_agent_remove(struct cli *cli, const struct args_agent_remove *args, struct error *err)
{
    struct wire_remove_agent_request in = {.agent_id = args->agent_id};
    if (api_call(cli, ROUTE_ID_REMOVE_AGENT, &in, NULL, err) < 0)
        return -1;
    cli_say(cli, CLI_PLAIN, "Removed agent %s.", args->agent_id);
    return 0;
}

int cmd_agent_label(struct cli *cli, const struct args_agent_label *args, struct error *err)
{
    struct wire_label_agent_request in = {.agent_id = args->agent_id, .label = args->label};
    if (api_call(cli, ROUTE_ID_LABEL_AGENT, &in, NULL, err) < 0)
        return -1;
    if (*args->label)
        cli_say(cli, CLI_PLAIN, "Agent %s is labelled '%s'.", args->agent_id, args->label);
    else
        cli_say(cli, CLI_PLAIN, "Agent %s has no label any more.", args->agent_id);
    return 0;
}

int cmd_agent_disable(struct cli *cli, const struct args_agent_disable *args, struct error *err)
{
    const char **agent;
    size_t n;
    struct wire_get_tasks_response tasks;
    if (choose_agents(cli, args->agent_id, args->all, &agent, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct wire_disable_agent_request in = {.agent_id = agent[i], .drain = args->drain, .reason = args->reason};
        if (api_call(cli, ROUTE_ID_DISABLE_AGENT, &in, NULL, err) < 0)
            return -1;
        cli_say(cli, CLI_PLAIN, "Disabled agent %s.", agent[i]);
    }
    if (!args->drain)
        return 0;
    struct tasks_form form = {.csv = args->csv, .json = args->json, .agent = agent, .agent_n = n};
    if (api_call(cli, ROUTE_ID_GET_TASKS, NULL, &tasks, err) < 0)
        return -1;
    if (!args->csv && !args->json)
        fputs(tasks_count(&form, &tasks) ? "Tasks still in progress on draining nodes.\n"
                                         : "No tasks in progress on draining nodes.\n",
              cli->out);
    tasks_print(cli, &form, &tasks);
    return 0;
}

int cmd_agent_revoke_key(struct cli *cli, const struct args_agent_revoke_key *args, struct error *err)
{
    struct wire_revoke_agent_key_request in = {.agent_id = args->agent_id};
    if (api_call(cli, ROUTE_ID_REVOKE_AGENT_KEY, &in, NULL, err) < 0)
        return -1;
    cli_say(cli, CLI_PLAIN,
            "Revoked key and certificates of agent %s. It joins again if it still has the agents' token.",
            args->agent_id);
    return 0;
}
