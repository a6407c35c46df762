#include "cli/local/local_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/connection/api.h"
#include "cli/connection/logins.h"
#include "cli/local/daemon.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/strbuf.h"
#include "common/base/word_list.h"
#include "common/system/files.h"
#include "common/system/process.h"
#include "net/client/http_client.h"

#define USER "determined"
enum { START_MS = 30000, ACCOUNTS_MS = 5000 };

/* The port must be free: otherwise another program on it might answer /health in place of our master. */
static int check_port(int64_t port, struct error *err)
{
    int yes = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    cleanup_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (port < 1 || port > 65535)
        return error_set(err, ERR_USAGE,
                         "argument --master-port: %" PRId64 " is not a port; give a number from 1 to 65535", port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
        return 0;
    if (errno != EADDRINUSE)
        return error_errno(err, "port %" PRId64, port);
    return error_set(err, ERR_CONFLICT,
                     "port %" PRId64 " is taken by another program; choose another one with --master-port", port);
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
            return error_set(err, ERR_INTERNAL, "the master ended right after its start. The end of its log %s:\n%s",
                             log_file, local_log_tail(c, log_file));
        if (clock_monotonic_us() > deadline)
            return error_set(err, ERR_DEADLINE, "the master does not answer at %s; its log is %s", url, log_file);
        sleep_ms(LOCAL_POLL_MS);
    }
    return 0;
}

/* Tasks write checkpoints. If the agent runs as root, they run as other users, so that everybody may write there, as
 * in /tmp. */
static int make_storage(struct local_cluster *c, const char **ret, struct error *err)
{
    *ret = local_file(c, "checkpoints");
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

/* {"work_dir": DIRECTORY} */
static const char *work_dir_option(const char *directory, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    strbuf_adds(&text, "{\"work_dir\": ");
    strbuf_add_json(&text, directory, strlen(directory));
    strbuf_addc(&text, '}');
    return arena_strdup(a, text.s);
}

static int start_master(struct local_cluster *c, const struct local_master *m, pid_t *ret_pid, struct error *err)
{
    struct arena *a = &c->cli->arena;
    const char *program, *env[2] = {NULL}, *storage = NULL;
    cleanup_free char *config = NULL;
    struct word_list w = {.arena = a};
    if (local_program(c, "determined-master", &program, err) < 0)
        return -1;
    if (m->config_path && !(config = realpath(m->config_path, NULL)))
        return error_errno(err, "%s", m->config_path);
    if (!config && storage_option(c, m, &storage, err) < 0)
        return -1;
    word_list_add_copy(&w, program);
    word_list_add_option(&w, "--data-dir", local_file(c, "master"));
    word_list_add_option(&w, "--port", arena_printf(a, "%" PRId64, m->port));
    word_list_add_option(&w, "--cluster-name", c->name);
    word_list_add_option(&w, "--config-file", config);
    word_list_add_option(&w, "--checkpoint-storage", storage);
    word_list_add_option(&w, "--task-container-defaults", m->work_dir ? work_dir_option(m->work_dir, a) : NULL);
    if (m->initial_password) /* in the environment, since everybody on the machine can read command lines */
        env[0] = arena_printf(a, "DET_SECURITY_INITIAL_USER_PASSWORD=%s", m->initial_password);
    struct daemon_start d = {.argv = (const char *const *)w.item,
                             .env = env,
                             .pid_file = local_file(c, "master.pid"),
                             .log_file = local_file(c, "master.log")};
    return daemon_start(&d, ret_pid, err);
}

bool local_master_runs(struct local_cluster *c, int64_t *ret_port)
{
    pid_t pid;
    cleanup_strbuf struct strbuf url = STRBUF_INIT;
    if (!daemon_find(local_file(c, "master.pid"), &pid) || file_read(local_file(c, "master.url"), 1024, &url, NULL) < 0)
        return false;
    const char *port = strrchr(strbuf_str(&url), ':');
    *ret_port = port ? strtoll(port + 1, NULL, 10) : 0;
    c->cli->master = arena_strdup(&c->cli->arena, strbuf_str(&url));
    return *ret_port > 0;
}

int local_master_up(struct local_cluster *c, const struct local_master *m, struct error *err)
{
    pid_t pid;
    const char *url;
    if (daemon_find(local_file(c, "master.pid"), &pid))
        return error_set(err, ERR_CONFLICT,
                         "cluster '%s' is up already: its master is process %d; 'det deploy local cluster-down "
                         "--cluster-name %s' stops it",
                         c->name, (int)pid, c->name);
    if (check_port(m->port, err) < 0 || (m->delete_db && tree_remove(local_file(c, "master"), err) < 0))
        return -1;
    c->fresh = access(local_file(c, "master/agent.token"), F_OK) < 0;
    url = arena_printf(&c->cli->arena, "http://localhost:%" PRId64, m->port);
    if (file_write(local_file(c, "master.url"), url, strlen(url), 0644, err) < 0 || start_master(c, m, &pid, err) < 0)
        return -1;
    c->cli->master = url;
    return wait_healthy(c, pid, local_file(c, "master.log"), err);
}

int local_master_down(struct local_cluster *c, bool delete_db, struct error *err)
{
    if (daemon_stop(local_file(c, "master.pid"), LOCAL_PATIENCE_MS, err) < 0)
        return -1;
    return delete_db ? tree_remove(local_file(c, "master"), err) : 0;
}

const char *local_master_password_file(const struct local_cluster *c)
{
    const char *path = local_file(c, "master/initial_password");
    return access(path, R_OK) == 0 ? path : NULL;
}

/* ---- the first login --------------------------------------------------------------------------------------------- */

int local_master_password(struct local_cluster *c, const char **ret)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    const char *path = local_master_password_file(c);
    if (!path || file_read(path, 1024, &text, NULL) < 0)
        return -1;
    *ret = arena_strndup(&c->cli->arena, strbuf_str(&text), strcspn(strbuf_str(&text), "\r\n"));
    return 0;
}

/* A new master makes its first accounts just after it has begun to answer, so that logging in is tried several
 * times. */
static int log_in_soon(struct local_cluster *c, const char **ret_token)
{
    int64_t deadline = clock_monotonic_us() + ACCOUNTS_MS * INT64_C(1000);
    do {
        const char *password = c->cli->initial_password;
        if ((password || local_master_password(c, &password) == 0) &&
            api_login(c->cli, USER, password, ret_token, NULL) == 0)
            return 0;
        sleep_ms(LOCAL_POLL_MS);
    } while (c->fresh && clock_monotonic_us() < deadline);
    return -1;
}

int local_master_log_in(struct local_cluster *c, bool *ret_logged_in, struct error *err)
{
    struct logins l;
    const char *directory, *token = NULL;
    *ret_logged_in = false;
    if (config_directory(&c->cli->arena, &directory, err) < 0 ||
        logins_load(&l, directory, c->cli->master, &c->cli->arena, err) < 0)
        return -1;
    if (l.active_user && api_token_works(c->cli, logins_token(&l, l.active_user))) {
        *ret_logged_in = true;
        return 0;
    }
    if (log_in_soon(c, &token) < 0)
        return 0; /* the password was changed meanwhile */
    *ret_logged_in = true;
    if (logins_set_token(&l, USER, token, err) < 0)
        return -1;
    return logins_set_active(&l, USER, err);
}
