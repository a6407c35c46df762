#include "cli/local/local_internal.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/connection/api.h"
#include "cli/local/daemon.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/strbuf.h"
#include "common/base/word_list.h"
#include "common/system/files.h"
#include "common/system/process.h"

enum { REGISTER_MS = 10000, SUPERVISORS_MS = 3000 };

const char *local_agent_file(struct local_cluster *c, const char *agent, const char *suffix)
{
    return arena_printf(&c->cli->arena, "%s/%s%s", c->directory, agent, suffix);
}

/* Tasks use the Python that is active where the agent is started, because the agent passes its PATH on to them. */
static const char *path_variable(struct arena *a)
{
    const char *venv = getenv("VIRTUAL_ENV"), *path = getenv("PATH");
    if (!venv || !*venv)
        return NULL;
    return arena_printf(a, "PATH=%s/bin:%s", venv, path && *path ? path : "/usr/local/bin:/usr/bin:/bin");
}

bool local_agent_runs(struct local_cluster *c, const char *name)
{
    pid_t pid;
    return daemon_find(local_agent_file(c, name, ".pid"), &pid);
}

/* DET_MASTER_CERT_FILE says for the agent, too, whom det trusts. */
static void add_tls(struct word_list *w)
{
    const char *cert = getenv("DET_MASTER_CERT_FILE");
    word_list_add_copy(w, "--security-tls-enabled=true");
    if (cert && *cert)
        word_list_add_copy(w, strcasecmp(cert, "noverify") == 0
                                  ? "--security-tls-skip-verify=true"
                                  : arena_printf(w->arena, "--security-tls-master-cert=%s", cert));
}

int local_agent_up(struct local_cluster *c, const struct local_agent *g, struct error *err)
{
    struct arena *a = &c->cli->arena;
    const char *program, *env[2] = {path_variable(a), NULL};
    const char *token = local_file(c, "master/agent.token");
    struct word_list w = {.arena = a};
    pid_t pid;
    if (daemon_find(local_agent_file(c, g->name, ".pid"), &pid))
        return error_set(err, ERR_CONFLICT, "agent '%s' runs already: process %d", g->name, (int)pid);
    if (local_program(c, "determined-agent", &program, err) < 0)
        return -1;
    word_list_add_copy(&w, program);
    word_list_add_copy(&w, "run");
    word_list_add_option(&w, "--master-host", g->master_host);
    word_list_add_option(&w, "--master-port", arena_printf(a, "%" PRId64, g->master_port));
    word_list_add_option(&w, "--agent-id", g->name);
    word_list_add_option(&w, "--data-dir", local_agent_file(c, g->name, ""));
    if (access(token, R_OK) == 0) /* otherwise the token is in the agent's configuration, or in DET_TOKEN */
        word_list_add_option(&w, "--token-file", token);
    word_list_add_option(&w, "--config-file", g->config_path);
    word_list_add_option(&w, "--resource-pool", g->resource_pool);
    word_list_add_option(&w, "--container-runtime", g->runtime);
    if (g->tls)
        add_tls(&w);
    word_list_add_option(&w, "--slot-type", g->no_gpu ? "cpu" : NULL);
    struct daemon_start d = {.argv = (const char *const *)w.item,
                             .env = env,
                             .pid_file = local_agent_file(c, g->name, ".pid"),
                             .log_file = local_agent_file(c, g->name, ".log")};
    return daemon_start(&d, &pid, err);
}

size_t local_agent_list(struct local_cluster *c, const char ***ret)
{
    DIR *d = opendir(c->directory);
    size_t n = 0;
    *ret = NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t length = strlen(e->d_name);
        if (length <= 4 || strcmp(e->d_name + length - 4, ".pid") != 0 || strcmp(e->d_name, "master.pid") == 0)
            continue;
        const char **all = arena_array(&c->cli->arena, const char *, n + 1);
        if (n)
            memcpy(all, *ret, n * sizeof(*all));
        all[n++] = arena_strndup(&c->cli->arena, e->d_name, length - 4);
        *ret = all;
    }
    if (d)
        closedir(d);
    return n;
}

/* Whether the process is a supervisor of this agent. Supervisors outlive their agent on purpose; those of an agent
 * that is removed must end as well. */
static bool is_supervisor(const struct process *p, void *ctx)
{
    return process_supervises_below(p, ctx);
}

static int stop_agent(struct local_cluster *c, const char *name, struct error *err)
{
    if (daemon_stop(local_agent_file(c, name, ".pid"), LOCAL_PATIENCE_MS, err) < 0)
        return -1;
    process_end(is_supervisor, (void *)local_agent_file(c, name, ""), SUPERVISORS_MS, NULL);
    return 0;
}

static bool is_launched(const struct process *p, void *ctx)
{
    const char *own = process_option(p, "--data-dir"), *directory = ctx;
    return own && strncmp(own, directory, strlen(directory)) == 0 && own[strlen(directory)] == '/';
}

int local_launched_down(struct local_cluster *c, struct error *err)
{
    const char *directory = local_file(c, "master-instances");
    if (!process_end(is_launched, (void *)directory, LOCAL_PATIENCE_MS, NULL) ||
        !process_end(is_supervisor, (void *)directory, SUPERVISORS_MS, NULL))
        return error_set(err, ERR_DEADLINE, "agents in %s do not end", directory);
    return tree_remove(directory, err);
}

int local_agents_down(struct local_cluster *c, const char *name, int *ret_n, struct error *err)
{
    const char **agent;
    size_t n = local_agent_list(c, &agent);
    *ret_n = 0;
    for (size_t i = 0; i < n; i++) {
        if (name && strcmp(name, agent[i]) != 0)
            continue;
        if (stop_agent(c, agent[i], err) < 0)
            return -1;
        (*ret_n)++;
    }
    return 0;
}

static int check_agents_alive(struct local_cluster *c, struct error *err)
{
    const char **agent;
    size_t n = local_agent_list(c, &agent);
    pid_t pid;
    for (size_t i = 0; i < n; i++) {
        const char *log = local_agent_file(c, agent[i], ".log");
        if (!daemon_find(local_agent_file(c, agent[i], ".pid"), &pid))
            return error_set(err, ERR_INTERNAL,
                             "agent '%s' ended right after its start (the master is up). The end of its log %s:\n%s",
                             agent[i], log, local_log_tail(c, log));
    }
    return 0;
}

int local_agents_wait(struct local_cluster *c, size_t n, struct error *err)
{
    int64_t deadline = clock_monotonic_us() + REGISTER_MS * INT64_C(1000);
    for (;;) {
        struct wire_get_agents_response out;
        if (api_call(c->cli, ROUTE_ID_GET_AGENTS, NULL, &out, err) < 0)
            return -1;
        size_t here = 0; /* agents that are here; others are away or lost */
        for (size_t i = 0; i < out.agents_n; i++)
            here += out.agents[i].has_registered_time;
        if (here >= n)
            return 0;
        if (check_agents_alive(c, err) < 0)
            return -1;
        if (clock_monotonic_us() > deadline)
            return error_set(err, ERR_DEADLINE, "%zu of %zu agents have registered; see the logs in %s", here, n,
                             c->directory);
        sleep_ms(LOCAL_POLL_MS);
    }
}
