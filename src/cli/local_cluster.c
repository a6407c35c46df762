#include "cli/local_cluster.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/address.h"
#include "cli/api.h"
#include "cli/cmd/experiment.h"
#include "cli/daemon.h"
#include "cli/logins.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/strbuf.h"
#include "net/http_client.h"

#define USER "determined"
enum { START_MS = 30000, POLL_MS = 5, PATIENCE_MS = 10000, REGISTER_MS = 10000, ACCOUNTS_MS = 5000 };

static const char *in_cluster(const struct local_cluster *c, const char *name)
{
    return arena_printf(&c->cli->arena, "%s/%s", c->directory, name);
}

/* Root's home is closed to the user that tasks run as. */
static const char *data_root(struct arena *a)
{
    const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (xdg && *xdg == '/')
        return arena_printf(a, "%s/determined", xdg);
    if (geteuid() == 0 || !home || !*home)
        return "/var/lib/determined";
    return arena_printf(a, "%s/.local/share/determined", home);
}

int local_cluster_init(struct local_cluster *c, struct cli *cli, const char *name, struct error *err)
{
    if (!*name || *name == '.' || strchr(name, '/'))
        return error_set(err, ERR_USAGE, "argument --cluster-name: '%s' cannot be the name of a directory", name);
    *c = (struct local_cluster){.cli = cli, .name = name};
    c->directory = arena_printf(&cli->arena, "%s/%s", data_root(&cli->arena), name);
    return dir_make(c->directory, 0755, err);
}

/* The program beside det, else the first in PATH. */
static int find_program(struct local_cluster *c, const char *name, const char **ret, struct error *err)
{
    struct arena *a = &c->cli->arena;
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n > 0) {
        self[n] = '\0';
        *strrchr(self, '/') = '\0';
        *ret = arena_printf(a, "%s/%s", self, name);
        if (access(*ret, X_OK) == 0)
            return 0;
    }
    for (const char *path = getenv("PATH"); path && *path;) {
        size_t length = strcspn(path, ":");
        *ret = arena_printf(a, "%.*s/%s", (int)length, path, name);
        if (length && access(*ret, X_OK) == 0)
            return 0;
        path += length + (path[length] == ':');
    }
    return error_set(err, ERR_NOT_FOUND, "%s is neither beside det nor in PATH", name);
}

/* The last lines of a log, for the error that sends one there. */
static const char *log_tail(struct local_cluster *c, const char *path)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (file_read(path, 64 << 20, &text, NULL) < 0 || text.n == 0)
        return "(its log is empty)";
    size_t from = text.n;
    for (int lines = 0; from > 0 && lines < 6; from--)
        lines += text.s[from - 1] == '\n' && from != text.n;
    return arena_strdup(&c->cli->arena, text.s + from + (text.s[from] == '\n'));
}

/* The master */

/* Otherwise /health might be answered by whoever holds the port, and pass for ours. */
static int check_port(int64_t port, struct error *err)
{
    int yes = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    cleanup_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (port < 1 || port > 65535)
        return error_set(err, ERR_USAGE, "argument --master-port: %" PRId64 " is no port", port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
        return 0;
    if (errno != EADDRINUSE)
        return error_errno(err, "port %" PRId64, port);
    return error_set(err, ERR_CONFLICT, "port %" PRId64 " is taken by another program; choose another one with --master-port", port);
}

static bool is_healthy(const char *url)
{
    struct http_client *http = http_client_new();
    struct http_fetch_reply reply = {0};
    struct http_fetch f = {.method = "GET", .url = url, .connect_timeout_s = 2, .timeout_s = 5};
    bool ok = http_fetch(http, &f, &reply, NULL) == 0 && reply.status == 200;
    http_fetch_reply_release(&reply);
    http_client_free(http);
    return ok;
}

static int wait_healthy(struct local_cluster *c, pid_t pid, const char *log_file, struct error *err)
{
    const char *url = arena_printf(&c->cli->arena, "%s/health", c->cli->master);
    int64_t deadline = clock_monotonic_us() + START_MS * INT64_C(1000);
    while (!is_healthy(url)) {
        if (!process_alive(pid))
            return error_set(err, ERR_INTERNAL, "the master has ended at its start. Its log %s says:\n%s", log_file, log_tail(c, log_file));
        if (clock_monotonic_us() > deadline)
            return error_set(err, ERR_DEADLINE, "the master does not answer at %s; its log is %s", url, log_file);
        sleep_ms(POLL_MS);
    }
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

static int remove_tree(const char *path, struct error *err)
{
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) < 0 && errno != ENOENT)
        return error_errno(err, "deleting %s", path);
    return 0;
}

/* Checkpoints are written by the tasks' user, who for a root agent is not root: like /tmp, then. */
static int make_storage(struct local_cluster *c, const char **ret, struct error *err)
{
    *ret = in_cluster(c, "checkpoints");
    if (dir_make(*ret, 0755, err) < 0)
        return -1;
    if (geteuid() == 0 && chmod(*ret, 01777) < 0)
        return error_errno(err, "%s", *ret);
    return 0;
}

static int storage_option(struct local_cluster *c, const struct local_master *m, const char **ret, struct error *err)
{
    const char *path = m->storage_path;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_free char *real = NULL;
    if (!path && make_storage(c, &path, err) < 0)
        return -1;
    if (!(real = realpath(path, NULL)))
        return error_errno(err, "%s", path);
    strbuf_adds(&text, "{\"type\": \"shared_fs\", \"host_path\": ");
    strbuf_add_json(&text, real, strlen(real));
    strbuf_adds(&text, ", \"save_experiment_best\": 0, \"save_trial_best\": 1, \"save_trial_latest\": 1}");
    *ret = arena_strdup(&c->cli->arena, text.s);
    return 0;
}

static int start_master(struct local_cluster *c, const struct local_master *m, pid_t *ret_pid, struct error *err)
{
    struct arena *a = &c->cli->arena;
    const char *argv[16] = {NULL}, *env[4] = {NULL}, *storage = NULL;
    size_t n = 0, env_n = 0;
    if (find_program(c, "determined-master", &argv[n++], err) < 0)
        return -1;
    argv[n++] = "--data-dir";
    argv[n++] = in_cluster(c, "master");
    argv[n++] = "--port";
    argv[n++] = arena_printf(a, "%" PRId64, m->port);
    argv[n++] = "--cluster-name";
    argv[n++] = c->name;
    if (m->config_path) {
        cleanup_free char *real = realpath(m->config_path, NULL);
        if (!real)
            return error_errno(err, "%s", m->config_path);
        argv[n++] = "--config-file";
        argv[n++] = arena_strdup(a, real);
    } else if (storage_option(c, m, &storage, err) == 0) {
        argv[n++] = "--checkpoint-storage";
        argv[n++] = storage;
    } else {
        return -1;
    }
    if (m->work_dir) {
        cleanup_strbuf struct strbuf defaults = STRBUF_INIT;
        strbuf_adds(&defaults, "{\"work_dir\": ");
        strbuf_add_json(&defaults, m->work_dir, strlen(m->work_dir));
        strbuf_addc(&defaults, '}');
        argv[n++] = "--task-container-defaults";
        argv[n++] = arena_strdup(a, defaults.s);
    }
    if (m->initial_password) /* not on the command line, which everybody on the machine can read */
        env[env_n++] = arena_printf(a, "DET_SECURITY_INITIAL_USER_PASSWORD=%s", m->initial_password);
    struct daemon_start d = {.argv = argv, .env = env, .pid_file = in_cluster(c, "master.pid"), .log_file = in_cluster(c, "master.log")};
    return daemon_start(&d, ret_pid, err);
}

int local_master_up(struct local_cluster *c, const struct local_master *m, struct error *err)
{
    pid_t pid;
    const char *url;
    if (daemon_find(in_cluster(c, "master.pid"), &pid))
        return error_set(err, ERR_CONFLICT, "cluster '%s' is up already: its master is process %d; 'det deploy local cluster-down "
                         "--cluster-name %s' stops it", c->name, (int)pid, c->name);
    if (check_port(m->port, err) < 0 || (m->delete_db && remove_tree(in_cluster(c, "master"), err) < 0))
        return -1;
    c->fresh = access(in_cluster(c, "master/agent.token"), F_OK) < 0;
    url = arena_printf(&c->cli->arena, "http://localhost:%" PRId64, m->port);
    if (file_write(in_cluster(c, "master.url"), url, strlen(url), 0644, err) < 0 || start_master(c, m, &pid, err) < 0)
        return -1;
    c->cli->master = url;
    return wait_healthy(c, pid, in_cluster(c, "master.log"), err);
}

int local_master_down(struct local_cluster *c, bool delete_db, struct error *err)
{
    if (daemon_stop(in_cluster(c, "master.pid"), PATIENCE_MS, err) < 0)
        return -1;
    return delete_db ? remove_tree(in_cluster(c, "master"), err) : 0;
}

const char *local_master_password_file(const struct local_cluster *c)
{
    const char *path = in_cluster(c, "master/initial_password");
    return access(path, R_OK) == 0 ? path : NULL;
}

static int read_password(struct local_cluster *c, const char **ret)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    const char *path = local_master_password_file(c);
    if (!path || file_read(path, 1024, &text, NULL) < 0)
        return -1;
    *ret = arena_strndup(&c->cli->arena, strbuf_str(&text), strcspn(strbuf_str(&text), "\r\n"));
    return 0;
}

/* A new master makes its first accounts just after it has begun to answer: for a moment they are not there yet. */
static int log_in_soon(struct local_cluster *c, const char **ret_token)
{
    int64_t deadline = clock_monotonic_us() + ACCOUNTS_MS * INT64_C(1000);
    do {
        const char *password = c->cli->initial_password;
        if ((password || read_password(c, &password) == 0) && api_login(c->cli, USER, password, ret_token, NULL) == 0)
            return 0;
        sleep_ms(POLL_MS);
    } while (c->fresh && clock_monotonic_us() < deadline);
    return -1;
}

int local_master_log_in(struct local_cluster *c, bool *ret_logged_in, struct error *err)
{
    struct logins l;
    const char *directory, *token = NULL;
    *ret_logged_in = false;
    if (config_directory(&c->cli->arena, &directory, err) < 0 || logins_load(&l, directory, c->cli->master, &c->cli->arena, err) < 0)
        return -1;
    if (l.active_user && api_token_works(c->cli, logins_token(&l, l.active_user))) {
        *ret_logged_in = true;
        return 0;
    }
    if (log_in_soon(c, &token) < 0)
        return 0; /* the password has been changed since */
    *ret_logged_in = true;
    if (logins_set_token(&l, USER, token, err) < 0)
        return -1;
    return logins_set_active(&l, USER, err);
}

/* Agents */

static const char *agent_file(struct local_cluster *c, const char *agent, const char *suffix)
{
    return arena_printf(&c->cli->arena, "%s/%s%s", c->directory, agent, suffix);
}

/* Tasks find the Python that is active where the agent is started: the agent hands its PATH on. */
static const char *path_variable(struct arena *a)
{
    const char *venv = getenv("VIRTUAL_ENV"), *path = getenv("PATH");
    if (!venv || !*venv)
        return NULL;
    return arena_printf(a, "PATH=%s/bin:%s", venv, path && *path ? path : "/usr/local/bin:/usr/bin:/bin");
}

int local_agent_up(struct local_cluster *c, const struct local_agent *g, struct error *err)
{
    struct arena *a = &c->cli->arena;
    const char *argv[24] = {NULL}, *env[2] = {path_variable(a), NULL};
    const char *token = in_cluster(c, "master/agent.token");
    size_t n = 0;
    pid_t pid;
    if (daemon_find(agent_file(c, g->name, ".pid"), &pid))
        return error_set(err, ERR_CONFLICT, "agent '%s' runs already: process %d", g->name, (int)pid);
    if (find_program(c, "determined-agent", &argv[n++], err) < 0)
        return -1;
    argv[n++] = "run";
    argv[n++] = "--master-host";
    argv[n++] = g->master_host;
    argv[n++] = "--master-port";
    argv[n++] = arena_printf(a, "%" PRId64, g->master_port);
    argv[n++] = "--agent-id";
    argv[n++] = g->name;
    argv[n++] = "--data-dir";
    argv[n++] = agent_file(c, g->name, "");
    if (access(token, R_OK) == 0) { /* else it is in the agent's configuration, or in DET_TOKEN */
        argv[n++] = "--token-file";
        argv[n++] = token;
    }
    if (g->config_path) {
        argv[n++] = "--config-file";
        argv[n++] = g->config_path;
    }
    if (g->resource_pool) {
        argv[n++] = "--resource-pool";
        argv[n++] = g->resource_pool;
    }
    if (g->no_gpu) {
        argv[n++] = "--slot-type";
        argv[n++] = "cpu";
    }
    struct daemon_start d = {.argv = argv, .env = env, .pid_file = agent_file(c, g->name, ".pid"), .log_file = agent_file(c, g->name, ".log")};
    return daemon_start(&d, &pid, err);
}

/* Names of the agents that have a pid file. */
static size_t list_agents(struct local_cluster *c, const char ***ret)
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

/* Supervisors outlive their agent, which is what they are for; those of an agent that goes for good must not. Each has its
 * task's directory, below the agent's, as its last argument. */
static bool supervises_below(pid_t pid, const char *directory)
{
    char path[64];
    cleanup_strbuf struct strbuf line = STRBUF_INIT;
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    if (file_read(path, 1 << 20, &line, NULL) < 0 || line.n < 2)
        return false;
    const char *slash = strrchr(line.s, '/'), *program = slash ? slash + 1 : line.s;
    const char *last = line.s + line.n - 1;
    while (last > line.s && last[-1])
        last--;
    size_t n = strlen(directory);
    return strcmp(program, "determined-task") == 0 && strncmp(last, directory, n) == 0 && last[n] == '/';
}

static int signal_supervisors(const char *directory, int signo)
{
    DIR *d = opendir("/proc");
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        long pid = strtol(e->d_name, NULL, 10);
        if (pid > 1 && supervises_below((pid_t)pid, directory)) {
            kill((pid_t)pid, signo);
            n++;
        }
    }
    if (d)
        closedir(d);
    return n;
}

static void end_supervisors(const char *directory)
{
    if (signal_supervisors(directory, SIGTERM) == 0)
        return;
    for (int waited = 0; waited < 3000; waited += 20) {
        sleep_ms(20);
        if (signal_supervisors(directory, 0) == 0)
            return;
    }
    while (signal_supervisors(directory, SIGKILL) > 0)
        sleep_ms(20);
}

static int stop_agent(struct local_cluster *c, const char *name, struct error *err)
{
    if (daemon_stop(agent_file(c, name, ".pid"), PATIENCE_MS, err) < 0)
        return -1;
    end_supervisors(agent_file(c, name, ""));
    return 0;
}

int local_agents_down(struct local_cluster *c, const char *name, int *ret_n, struct error *err)
{
    const char **agent;
    size_t n = list_agents(c, &agent);
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
    size_t n = list_agents(c, &agent);
    pid_t pid;
    for (size_t i = 0; i < n; i++) {
        const char *log = agent_file(c, agent[i], ".log");
        if (!daemon_find(agent_file(c, agent[i], ".pid"), &pid))
            return error_set(err, ERR_INTERNAL, "agent '%s' has ended at its start (the master is up). Its log %s says:\n%s", agent[i], log,
                             log_tail(c, log));
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
        if (out.agents_n >= n)
            return 0;
        if (check_agents_alive(c, err) < 0)
            return -1;
        if (clock_monotonic_us() > deadline)
            return error_set(err, ERR_DEADLINE, "%zu of %zu agents have registered; see the logs in %s", out.agents_n, n, c->directory);
        sleep_ms(POLL_MS);
    }
}

/* Of a cluster that goes down */

static bool find_login(struct local_cluster *c)
{
    cleanup_strbuf struct strbuf url = STRBUF_INIT;
    struct logins l;
    const char *directory, *password, *token;
    pid_t pid;
    if (!daemon_find(in_cluster(c, "master.pid"), &pid) || file_read(in_cluster(c, "master.url"), 1024, &url, NULL) < 0)
        return false;
    c->cli->master = arena_strdup(&c->cli->arena, strbuf_str(&url));
    if (config_directory(&c->cli->arena, &directory, NULL) == 0 && logins_load(&l, directory, c->cli->master, &c->cli->arena, NULL) == 0 &&
        l.active_user && api_token_works(c->cli, logins_token(&l, l.active_user))) {
        api_use_token(c->cli, l.active_user, logins_token(&l, l.active_user));
        return true;
    }
    if (read_password(c, &password) < 0 || api_login(c->cli, "admin", password, &token, NULL) < 0)
        return false;
    api_use_token(c->cli, "admin", token);
    return true;
}

static bool tasks_left(struct local_cluster *c)
{
    struct wire_get_tasks_response tasks;
    return api_call(c->cli, ROUTE_ID_GET_TASKS, NULL, &tasks, NULL) == 0 && tasks.allocation_id_to_summary_n > 0;
}

void local_cluster_kill_experiments(struct local_cluster *c)
{
    struct wire_get_experiments_request in = {.limit = -1};
    struct wire_get_experiments_response out;
    bool any = false;
    if (!find_login(c) || api_call(c->cli, ROUTE_ID_GET_EXPERIMENTS, &in, &out, NULL) < 0)
        return;
    for (size_t i = 0; i < out.experiments_n; i++) {
        struct wire_kill_experiment_request kill = {.id = out.experiments[i].id};
        if (!experiment_is_final(out.experiments[i].state) && out.experiments[i].state != WIRE_EXPERIMENT_STATE_PAUSED)
            any = api_call(c->cli, ROUTE_ID_KILL_EXPERIMENT, &kill, NULL, NULL) == 0 || any;
    }
    for (int waited = 0; any && tasks_left(c) && waited < 5000; waited += 20)
        sleep_ms(20);
}

/* Logs */

struct log_view {
    const char *name, *path;
    FILE *file;
};

/* What has come since the last look; true if there was anything. */
static bool copy_new(struct cli *cli, struct log_view *v, bool several)
{
    char *line = NULL;
    size_t cap = 0;
    bool any = false;
    if (!v->file)
        v->file = fopen(v->path, "re");
    if (v->file)
        clearerr(v->file);
    while (v->file && getline(&line, &cap, v->file) > 0) {
        any = true;
        if (several)
            fprintf(cli->out, "%s | ", v->name);
        fputs(line, cli->out);
    }
    free(line);
    fflush(cli->out);
    return any;
}

int local_cluster_logs(struct local_cluster *c, bool follow, struct error *err)
{
    const char **agent;
    size_t n = list_agents(c, &agent);
    struct log_view *view = arena_array(&c->cli->arena, struct log_view, n + 1);
    view[0] = (struct log_view){.name = "master", .path = in_cluster(c, "master.log")};
    for (size_t i = 0; i < n; i++)
        view[i + 1] = (struct log_view){.name = agent[i], .path = agent_file(c, agent[i], ".log")};
    if (access(view[0].path, R_OK) < 0 && n == 0)
        return error_set(err, ERR_NOT_FOUND, "cluster '%s' has no logs in %s", c->name, c->directory);
    for (;;) {
        for (size_t i = 0; i <= n; i++)
            copy_new(c->cli, &view[i], n > 0);
        if (!follow)
            break;
        sleep_ms(200);
    }
    for (size_t i = 0; i <= n; i++)
        if (view[i].file)
            fclose(view[i].file);
    return 0;
}
