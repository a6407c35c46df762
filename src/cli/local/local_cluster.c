#include "cli/local/local_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd/experiment.h"
#include "cli/connection/api.h"
#include "cli/connection/logins.h"
#include "cli/local/daemon.h"
#include "cli/terminal/terminal.h"
#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"
#include "common/system/process.h"

const char *local_file(const struct local_cluster *c, const char *name)
{
    return arena_printf(&c->cli->arena, "%s/%s", c->directory, name);
}

/* For root, a directory outside of root's home, which the user that tasks run as cannot enter. */
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

int local_program(struct local_cluster *c, const char *name, const char **ret, struct error *err)
{
    struct arena *a = &c->cli->arena;
    cleanup_free char *beside = path_beside_program(name);
    *ret = arena_strdup(a, beside);
    if (access(*ret, X_OK) == 0)
        return 0;
    for (const char *path = getenv("PATH"); path && *path;) {
        size_t length = strcspn(path, ":");
        *ret = arena_printf(a, "%.*s/%s", (int)length, path, name);
        if (length && access(*ret, X_OK) == 0)
            return 0;
        path += length + (path[length] == ':');
    }
    return error_set(err, ERR_NOT_FOUND, "%s is neither beside det nor in PATH", name);
}

/* The last lines of a log file, for an error message. */
const char *local_log_tail(struct local_cluster *c, const char *path)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (file_read(path, 64 << 20, &text, NULL) < 0 || text.n == 0)
        return "(its log is empty)";
    size_t from = text.n;
    for (int lines = 0; from > 0 && lines < 6; from--)
        lines += text.s[from - 1] == '\n' && from != text.n;
    return arena_strdup(&c->cli->arena, text.s + from + (text.s[from] == '\n'));
}

/* ---- ending a cluster -------------------------------------------------------------------------------------------- */

static bool find_login(struct local_cluster *c)
{
    cleanup_strbuf struct strbuf url = STRBUF_INIT;
    struct logins l;
    const char *directory, *password, *token;
    pid_t pid;
    if (!daemon_find(local_file(c, "master.pid"), &pid) || file_read(local_file(c, "master.url"), 1024, &url, NULL) < 0)
        return false;
    c->cli->master = arena_strdup(&c->cli->arena, strbuf_str(&url));
    if (config_directory(&c->cli->arena, &directory, NULL) == 0 &&
        logins_load(&l, directory, c->cli->master, &c->cli->arena, NULL) == 0 && l.active_user &&
        api_token_works(c->cli, logins_token(&l, l.active_user))) {
        api_use_token(c->cli, l.active_user, logins_token(&l, l.active_user));
        return true;
    }
    if (local_master_password(c, &password) < 0 || api_login(c->cli, "admin", password, &token, NULL) < 0)
        return false;
    api_use_token(c->cli, "admin", token);
    return true;
}

static bool tasks_left(struct local_cluster *c)
{
    struct wire_get_tasks_response tasks;
    return api_call(c->cli, ROUTE_ID_GET_TASKS, NULL, &tasks, NULL) == 0 && tasks.allocation_id_to_summary_n > 0;
}

static bool is_running(const struct wire_experiment *e)
{
    return !experiment_is_final(e->state) && e->state != WIRE_EXPERIMENT_STATE_PAUSED && !e->unmanaged;
}

/* Waits until the tasks have saved their state, if they can, and ended. A task that does not end is ended with its
 * agent. */
static void wait_for_tasks(struct local_cluster *c)
{
    enum { PATIENCE_MS = 30000, PATIENCE_QUIET_MS = 2000, STEP_MS = 20 };
    for (int waited = 0; tasks_left(c) && waited < PATIENCE_MS; waited += STEP_MS) {
        if (waited == PATIENCE_QUIET_MS)
            cli_say(c->cli, CLI_PLAIN, "Waiting up to %d s for the tasks to save their state.", PATIENCE_MS / 1000);
        sleep_ms(STEP_MS);
    }
}

static bool may_stop(struct local_cluster *c, const struct local_down *how, const char *ids, size_t n)
{
    const char *what =
        how->delete_db ? "They are lost with the master's data (--delete-db)."
        : how->kill    ? "They are killed (--kill), for good."
                       : "They are paused; when the cluster is up again, 'det experiment activate' goes on with them.";
    if (how->yes || !c->cli->in_terminal)
        return true;
    return terminal_ask_yes(c->cli,
                            arena_printf(&c->cli->arena,
                                         "%zu experiment%s running on the cluster '%s': %s. %s\nStop the cluster?", n,
                                         n == 1 ? " is" : "s are", c->name, ids, what));
}

static void stop_experiment(struct local_cluster *c, int32_t id, bool kill)
{
    cleanup_error struct error failed = ERROR_INIT;
    struct wire_kill_experiment_request to_kill = {.id = id};
    struct wire_pause_experiment_request to_pause = {.id = id};
    int rc = kill ? api_call(c->cli, ROUTE_ID_KILL_EXPERIMENT, &to_kill, NULL, &failed)
                  : api_call(c->cli, ROUTE_ID_PAUSE_EXPERIMENT, &to_pause, NULL, &failed);
    if (rc < 0) /* the experiment may have ended meanwhile */
        cli_say(c->cli, CLI_YELLOW, "Experiment %d: %s", id, error_msg(&failed));
    else
        fprintf(c->cli->out, "%s experiment %d\n", kill ? "Killed" : "Paused", id);
}

bool local_cluster_stop_experiments(struct local_cluster *c, const struct local_down *how)
{
    cleanup_strbuf struct strbuf ids = STRBUF_INIT;
    struct wire_get_experiments_request in = {.limit = -1};
    struct wire_get_experiments_response out;
    size_t n = 0;
    if (!find_login(c) || api_call(c->cli, ROUTE_ID_GET_EXPERIMENTS, &in, &out, NULL) < 0)
        return true;
    for (size_t i = 0; i < out.experiments_n; i++)
        if (is_running(&out.experiments[i]))
            strbuf_addf(&ids, "%s%d", n++ ? ", " : "", out.experiments[i].id);
    if (n == 0)
        return true;
    if (!may_stop(c, how, strbuf_str(&ids), n))
        return false;
    for (size_t i = 0; i < out.experiments_n; i++)
        if (is_running(&out.experiments[i]))
            stop_experiment(c, out.experiments[i].id, how->kill || how->delete_db);
    wait_for_tasks(c);
    return true;
}

/* ---- logs -------------------------------------------------------------------------------------------------------- */

struct log_view {
    const char *name, *path;
    FILE *file;
};

/* Prints what was added to the log since the last call; true if there was anything. */
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
    size_t n = local_agent_list(c, &agent);
    struct log_view *view = arena_array(&c->cli->arena, struct log_view, n + 1);
    view[0] = (struct log_view){.name = "master", .path = local_file(c, "master.log")};
    for (size_t i = 0; i < n; i++)
        view[i + 1] = (struct log_view){.name = agent[i], .path = local_agent_file(c, agent[i], ".log")};
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
