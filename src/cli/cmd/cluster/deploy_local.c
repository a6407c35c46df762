/* det deploy local …: options and messages around cli/local/local_cluster.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/connection/address.h"
#include "cli/connection/api.h"
#include "cli/local/local_cluster.h"

/* Uses the given password if it is strong enough; otherwise the master makes one. */
static void choose_password(struct cli *cli, const char *given)
{
    struct error weak = ERROR_INIT;
    if (given && password_check(given, &weak) < 0) {
        cli_say(cli, CLI_YELLOW, "The initial password is not used: %s. The master makes one instead.",
                error_msg(&weak));
        given = NULL;
    }
    error_release(&weak);
    cli->initial_password = given;
}

static void print_up(struct local_cluster *c, bool logged_in)
{
    struct cli *cli = c->cli;
    const char *password = local_master_password_file(c);
    fprintf(cli->out, "Cluster '%s' is up at %s\n", c->name, cli->master);
    fprintf(cli->out, "Data and logs: %s\n", c->directory);
    if (password)
        fprintf(cli->out, "First password of the users determined and admin: in %s\n", password);
    if (logged_in)
        fprintf(cli->out, "You are logged in%s%s.\n",
                strcmp(cli->master, "http://localhost:8080") == 0 ? "" : "; say DET_MASTER=",
                strcmp(cli->master, "http://localhost:8080") == 0 ? "" : cli->master);
    else
        fputs("Log in with 'det user login determined'.\n", cli->out);
}

static const char *numbered_agent(struct cli *cli, int64_t i)
{
    return arena_printf(&cli->arena, "agent-%" PRId64, i);
}

static bool all_agents_run(struct local_cluster *c, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!local_agent_runs(c, numbered_agent(c->cli, i)))
            return false;
    return true;
}

/* Agents that have outlived a crash of the master reconnect by themselves and are not started again. */
static int start_agents(struct local_cluster *c, const struct args_deploy_local_cluster_up *args, int64_t port,
                        bool logged_in, struct error *err)
{
    for (int64_t i = 0; i < args->agents; i++) {
        struct local_agent agent = {.name = numbered_agent(c->cli, i),
                                    .master_host = "localhost",
                                    .master_port = port,
                                    .runtime = args->runtime,
                                    .no_gpu = !args->gpu};
        if (local_agent_runs(c, agent.name)) {
            cli_say(c->cli, CLI_PLAIN, "Agent '%s' runs already.", agent.name);
            continue;
        }
        if (local_agent_up(c, &agent, err) < 0)
            return -1;
    }
    return logged_in ? local_agents_wait(c, (size_t)args->agents, err) : 0;
}

/* Starts the master, or uses the one that runs if agents are missing: what a crash has left is kept. If the master runs
 * and nothing is missing, local_master_up() refuses. If the database is to be deleted, the agents are removed, too,
 * since they know the old database's cluster and token. */
static int bring_up_master(struct local_cluster *c, const struct local_master *m, int64_t agents, int64_t *port,
                           struct error *err)
{
    int n;
    if (!m->delete_db && local_master_runs(c, port) && !all_agents_run(c, agents)) {
        cli_say(c->cli, CLI_PLAIN,
                "The master of cluster '%s' runs already, at %s; only the missing agents are started.", c->name,
                c->cli->master);
        return 0;
    }
    int64_t of_running;
    if (m->delete_db && !local_master_runs(c, &of_running) && local_agents_down(c, NULL, &n, err) < 0)
        return -1;
    return local_master_up(c, m, err);
}

int cmd_deploy_local_cluster_up(struct cli *cli, const struct args_deploy_local_cluster_up *args, struct error *err)
{
    struct local_cluster c;
    bool logged_in = false;
    if (args->agents < 0 || args->agents > 100)
        return error_set(err, ERR_USAGE, "argument --agents: %" PRId64 " is not allowed; give a number from 0 to 100",
                         args->agents);
    choose_password(cli, args->initial_user_password);
    struct local_master master = {.port = args->master_port,
                                  .config_path = args->master_config_path,
                                  .storage_path = args->storage_host_path,
                                  .initial_password = cli->initial_password,
                                  .work_dir = args->auto_work_dir,
                                  .delete_db = args->delete_db};
    int64_t port = args->master_port;
    if (local_cluster_init(&c, cli, args->cluster_name, err) < 0 ||
        bring_up_master(&c, &master, args->agents, &port, err) < 0 || local_master_log_in(&c, &logged_in, err) < 0 ||
        start_agents(&c, args, port, logged_in, err) < 0)
        return -1;
    print_up(&c, logged_in);
    fprintf(cli->out, "Stop it with: det deploy local cluster-down%s%s\n",
            strcmp(c.name, "determined") == 0 ? "" : " --cluster-name ",
            strcmp(c.name, "determined") == 0 ? "" : c.name);
    return 0;
}

int cmd_deploy_local_cluster_down(struct cli *cli, const struct args_deploy_local_cluster_down *args, struct error *err)
{
    struct local_cluster c;
    int agents;
    if (local_cluster_init(&c, cli, args->cluster_name, err) < 0)
        return -1;
    if (!local_cluster_stop_experiments(&c, &(struct local_down){args->yes, args->kill, args->delete_db})) {
        fputs("The cluster stays up.\n", cli->out);
        return 0;
    }
    if (local_agents_down(&c, NULL, &agents, err) < 0 || local_master_down(&c, args->delete_db, err) < 0 ||
        local_launched_down(&c, err) < 0)
        return -1;
    fprintf(cli->out, "Cluster '%s' is down.\n", c.name);
    return 0;
}

int cmd_deploy_local_master_up(struct cli *cli, const struct args_deploy_local_master_up *args, struct error *err)
{
    struct local_cluster c;
    bool logged_in;
    choose_password(cli, args->initial_user_password);
    struct local_master master = {.port = args->master_port,
                                  .config_path = args->master_config_path,
                                  .storage_path = args->storage_host_path,
                                  .initial_password = cli->initial_password,
                                  .work_dir = args->auto_work_dir,
                                  .delete_db = args->delete_db};
    if (local_cluster_init(&c, cli, args->cluster_name, err) < 0 || local_master_up(&c, &master, err) < 0 ||
        local_master_log_in(&c, &logged_in, err) < 0)
        return -1;
    print_up(&c, logged_in);
    return 0;
}

int cmd_deploy_local_master_down(struct cli *cli, const struct args_deploy_local_master_down *args, struct error *err)
{
    struct local_cluster c;
    if (local_cluster_init(&c, cli, args->cluster_name, err) < 0 || local_master_down(&c, args->delete_db, err) < 0)
        return -1;
    fprintf(cli->out, "The master of cluster '%s' is down.\n", c.name);
    return 0;
}

static const char *own_agent_name(struct cli *cli, const char *given)
{
    char host[256] = "localhost";
    if (given)
        return given;
    gethostname(host, sizeof(host) - 1);
    return arena_printf(&cli->arena, "det-agent-%s", host);
}

static bool is_this_machine(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0 || strcmp(host, "[::1]") == 0 ||
           strcmp(host, "::1") == 0;
}

/* Uses DET_MASTER as the agent's master address if it names the same master. */
static int reach_master(struct cli *cli, struct local_agent *g, struct error *err)
{
    const char *given = getenv("DET_MASTER"), *url;
    if (!given || !*given)
        return 0;
    if (address_canonical(given, &cli->arena, &url, err) < 0)
        return -1;
    const char *host_at = strstr(url, "://") + 3, *colon = strrchr(url, ':');
    const char *host = arena_strndup(&cli->arena, host_at, (size_t)(colon - host_at));
    if (strcasecmp(host, g->master_host) != 0 && !(is_this_machine(host) && is_this_machine(g->master_host)))
        return 0;
    g->master_port = strtoll(colon + 1, NULL, 10);
    g->tls = address_is_tls(url);
    return 0;
}

int cmd_deploy_local_agent_up(struct cli *cli, const struct args_deploy_local_agent_up *args, struct error *err)
{
    struct local_cluster c;
    struct local_agent agent = {.name = own_agent_name(cli, args->agent_name),
                                .master_host = args->master_host,
                                .master_port = 8080,
                                .config_path = args->agent_config_path,
                                .resource_pool = args->agent_resource_pool,
                                .runtime = args->runtime,
                                .no_gpu = !args->gpu};
    if (!args->has_master_port && reach_master(cli, &agent, err) < 0)
        return -1;
    if (args->has_master_port)
        agent.master_port = args->master_port;
    if (local_cluster_init(&c, cli, args->cluster_name, err) < 0 || local_agent_up(&c, &agent, err) < 0)
        return -1;
    fprintf(cli->out, "Agent '%s' is up; its log is %s/%s.log\n", agent.name, c.directory, agent.name);
    return 0;
}

int cmd_deploy_local_agent_down(struct cli *cli, const struct args_deploy_local_agent_down *args, struct error *err)
{
    struct local_cluster c;
    const char *name = own_agent_name(cli, args->agent_name);
    int n;
    if (local_cluster_init(&c, cli, args->cluster_name, err) < 0 ||
        local_agents_down(&c, args->all ? NULL : name, &n, err) < 0)
        return -1;
    if (args->all)
        fprintf(cli->out, "Stopped %d agents.\n", n);
    else
        fprintf(cli->out, n ? "Agent '%s' is down.\n" : "Agent '%s' was not running.\n", name);
    return 0;
}

int cmd_deploy_local_logs(struct cli *cli, const struct args_deploy_local_logs *args, struct error *err)
{
    struct local_cluster c;
    if (local_cluster_init(&c, cli, args->cluster_name, err) < 0)
        return -1;
    return local_cluster_logs(&c, !args->no_follow, err);
}
