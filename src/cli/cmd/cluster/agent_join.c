/* Agents that wait to be let in, and tokens with which agents join. */
#include <string.h>

#include "cli/cmd/cluster/agent.h"
#include "cli/cmd/show.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"

/* ---- agents that wait -------------------------------------------------------------------------------------------- */

int cmd_agent_pending(struct cli *cli, const struct args_agent_pending *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_json struct json_object *v = NULL;
    struct wire_get_pending_agents_request in = {0};
    if (api_call_document(cli, ROUTE_ID_GET_PENDING_AGENTS, &in, &v, err) < 0)
        return -1;
    struct json_object *agents = json_object_object_get(v, "agents");
    if (args->json) {
        output_json(cli, agents);
        return 0;
    }
    table_columns(&t, (const char *const[]){"Agent ID", "Fingerprint", "Address", "Host", "Version", "Resource Pool",
                                            "First Seen", "Last Seen", NULL});
    for (size_t i = 0; agents && i < json_object_array_length(agents); i++)
        table_values(&t, json_object_array_get_idx(agents, i),
                     (const char *const[]){"id", "fingerprint", "address", "hostname", "version", "resourcePool",
                                           "firstSeen", "lastSeen", NULL},
                     NULL);
    table_show(cli, &t, args->csv);
    return 0;
}

/* Finds the fingerprint of the only agent that waits under this id. */
static int find_fingerprint(struct cli *cli, const char *agent_id, const struct wire_agent_pending_agent **ret,
                            struct error *err)
{
    struct wire_get_pending_agents_request in = {0};
    struct wire_get_pending_agents_response out;
    size_t n = 0;
    if (api_call(cli, ROUTE_ID_GET_PENDING_AGENTS, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.agents_n; i++)
        if (strcmp(out.agents[i].id, agent_id) == 0) {
            *ret = &out.agents[i];
            n++;
        }
    if (n == 0)
        return error_set(err, ERR_NOT_FOUND,
                         "agent '%s' does not wait to be let in ('det agent pending' lists who does)", agent_id);
    if (n > 1)
        return error_set(
            err, ERR_CONFLICT,
            "%zu machines ask under the id '%s': name the right one with --fingerprint, as its log shows it "
            "('det agent pending' lists all)",
            n, agent_id);
    return 0;
}

int cmd_agent_accept(struct cli *cli, const struct args_agent_accept *args, struct error *err)
{
    const struct wire_agent_pending_agent *p;
    struct wire_accept_agent_request in = {.agent_id = args->agent_id,
                                           .fingerprint = args->fingerprint,
                                           .resource_pool = args->resource_pool};
    if (!args->fingerprint) {
        if (find_fingerprint(cli, args->agent_id, &p, err) < 0)
            return -1;
        in.fingerprint = p->fingerprint;
        const char *question =
            arena_printf(&cli->arena,
                         "Agent %s asks from %s (host %s).\nFingerprint: %s\nDoes its log show the same "
                         "fingerprint, and should it get tasks of this cluster?",
                         p->id, p->address, p->hostname, p->fingerprint);
        if (!args->yes && !terminal_ask_yes(cli, question))
            return error_set(err, ERR_CANCELED, "Agent %s was not accepted.", args->agent_id);
    }
    if (api_call(cli, ROUTE_ID_ACCEPT_AGENT, &in, NULL, err) < 0)
        return -1;
    cli_say(cli, CLI_PLAIN, "Accepted agent %s. It connects within a few seconds.", args->agent_id);
    return 0;
}

int cmd_agent_reject(struct cli *cli, const struct args_agent_reject *args, struct error *err)
{
    const struct wire_agent_pending_agent *p;
    struct wire_reject_agent_request in = {.agent_id = args->agent_id, .fingerprint = args->fingerprint};
    if (!args->fingerprint) {
        if (find_fingerprint(cli, args->agent_id, &p, err) < 0)
            return -1;
        in.fingerprint = p->fingerprint;
    }
    if (api_call(cli, ROUTE_ID_REJECT_AGENT, &in, NULL, err) < 0)
        return -1;
    cli_say(cli, CLI_PLAIN, "Rejected agent %s.", args->agent_id);
    return 0;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

int cmd_agent_join_token_create(struct cli *cli, const struct args_agent_join_token_create *args, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    struct wire_post_join_token_request in = {.lifespan = args->lifespan,
                                              .resource_pool = args->resource_pool,
                                              .uses = (int32_t)args->uses,
                                              .has_uses = true,
                                              .description = args->description};
    if (args->uses > INT32_MAX)
        return error_set(err, ERR_USAGE, "--uses is too large a number; 0 stands for any number of agents");
    if (api_call_document(cli, ROUTE_ID_POST_JOIN_TOKEN, &in, &v, err) < 0)
        return -1;
    if (cli->format)
        output_json(cli, v);
    else
        fprintf(cli->out, "TokenID: %d\nJoin-Token: %s\n",
                json_object_get_int(json_object_object_get(json_object_object_get(v, "joinToken"), "id")),
                json_object_get_string(json_object_object_get(v, "token")));
    return 0;
}

int cmd_agent_join_token_list(struct cli *cli, const struct args_agent_join_token_list *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_json struct json_object *v = NULL;
    struct wire_get_join_tokens_request in = {0};
    if (api_call_document(cli, ROUTE_ID_GET_JOIN_TOKENS, &in, &v, err) < 0)
        return -1;
    struct json_object *tokens = json_object_object_get(v, "joinTokens");
    if (args->json) {
        output_json(cli, tokens);
        return 0;
    }
    table_columns(&t, (const char *const[]){"ID", "Description", "Resource Pool", "Uses", "Most Uses", "User ID",
                                            "Created At", "Expires At", NULL});
    for (size_t i = 0; tokens && i < json_object_array_length(tokens); i++)
        table_values(&t, json_object_array_get_idx(tokens, i),
                     (const char *const[]){"id", "description", "resourcePool", "uses", "usesMax", "userId",
                                           "createdAt", "expiry", NULL},
                     NULL);
    table_show(cli, &t, args->csv);
    return 0;
}

int cmd_agent_join_token_revoke(struct cli *cli, const struct args_agent_join_token_revoke *args, struct error *err)
{
    struct wire_delete_join_token_request in = {.token_id = (int32_t)args->token_id};
    if (args->token_id <= 0 || args->token_id > INT32_MAX)
        return error_set(err, ERR_USAGE, "token_id must be a number as 'det agent join-token list' shows it");
    if (api_call(cli, ROUTE_ID_DELETE_JOIN_TOKEN, &in, NULL, err) < 0)
        return -1;
    cli_say(cli, CLI_PLAIN, "Revoked join token %d. Agents that have joined with it stay.", in.token_id);
    return 0;
}
