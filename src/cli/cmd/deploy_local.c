/* det deploy local …: the words around cli/local_cluster.h. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/api.h"
#include "cli/local_cluster.h"

/* A weak password is not taken, as ever: the master makes one of its own. */
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

static const char *numbered_agent(struct cli *cli, int64_t i) { return arena_printf(&cli->arena, "agent-%" PRId64, i); }

static int start_agents(struct local_cluster *c, const struct args_deploy_local_cluster_up *args, bool logged_in,
                        struct error *err)
{
    for (int64_t i = 0; i < args->agents; i++) {
        struct local_agent agent = {.name = numbered_agent(c->cli, i),
                                    .master_host = "localhost",
                                    .master_port = args->master_port,
                                    .no_gpu = !args->gpu};
        if (local_agent_up(c, &agent, err) < 0)
            return -1;
    }
    return logged_in ? local_agents_wait(c, (size_t)args->agents, err) : 0;
}

int cmd_deploy_local_cluster_up(struct cli *cli, const struct args_deploy_local_cluster_up *args, struct error *err)
{
    struct local_cluster c;
    bool logged_in = false;
    if (args->agents < 0 || args->agents > 100)
        return error_set(err, ERR_USAGE, "argument --agents: %" PRId64 " is not within 0 and 100", args->agents);
    choose_password(cli, args->initial_user_password);
    struct local_master master = {.port = args->master_port, .config_path = args->master_config_path, .storage_path = args->storage_host_path,
                                  .initial_password = cli->initial_password, .work_dir = args->auto_work_dir, .delete_db = args->delete_db};
    if (local_cluster_init(&c, cli, args->cluster_name, err) < 0 || local_master_up(&c, &master, err) < 0 ||
        local_master_log_in(&c, &logged_in, err) < 0 || start_agents(&c, args, logged_in, err) < 0)
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
    local_cluster_kill_experiments(&c);
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
    struct local_master master = {.port = args->master_port, .config_path = args->master_config_path, .storage_path = args->storage_host_path,
                                  .initial_password = cli->initial_password, .work_dir = args->auto_work_dir, .delete_db = args->delete_db};
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

int cmd_deploy_local_agent_up(struct cli *cli, const struct args_deploy_local_agent_up *args, struct error *err)
{
    struct local_cluster c;
    struct local_agent agent = {.name = own_agent_name(cli, args->agent_name), .master_host = args->master_host, .master_port = args->master_port,
                                .config_path = args->agent_config_path, .resource_pool = args->agent_resource_pool, .no_gpu = !args->gpu};
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
