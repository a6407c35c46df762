/* `det deploy ssh`: installs and starts agents on other machines over the user's own ssh. What is done on a host is one
 * script, which the host's sh runs. The join token reaches the host through a pipe, so that no list of processes shows
 * it.
 *
 *     D/programs -> versions/HASH     the version that the next agent is started from; replaced by one rename
 *     D/versions/HASH/                programs and library as they were copied, named by their content, never changed
 *     D/token, agent.pid, agent.log, data/
 *     D/deploy.lock                   held by the script (flock) from its beginning to its end; names who runs it
 *
 * Agent and tasks are told the paths of their own version, which stays as long as one of its programs runs. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/connection/address.h"
#include "cli/connection/api.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "common/system/child_program.h"
#include "common/system/files.h"
#include "common/system/process.h"

enum { REGISTER_MS = 30000, POLL_MS = 100 };

/* The beginning of every script: goes to $D, the directory of the programs on the host. */
#define SCRIPT_BEGIN \
    "set -e; D=%s; if [ -z \"$D\" ]; then if [ \"$(id -u)\" = 0 ]; then D=/var/lib/determined-ssh; else " \
    "D=${XDG_DATA_HOME:-$HOME/.local/share}/determined-ssh; fi; fi; mkdir -p \"$D\"; cd \"$D\"; "
/* Holds the lock of the directory until the script ends, however it ends. What the script leaves running must close
 * descriptor 9. */
#define SCRIPT_LOCK \
    "command -v flock >/dev/null || { echo \"install flock on this machine\" >&2; exit 1; }; exec 9>>deploy.lock; " \
    "if ! flock -n 9; then H=$(cat deploy.lock); echo \"another det deploy ssh works in $D of this machine: ${H:-it has just begun}. " \
    "Nothing was changed: wait until that one is done, then repeat the command\" >&2; exit 1; fi; " \
    "trap ': >deploy.lock' EXIT; printf '%%s, since %%s\\n' %s \"$(date -u '+%%Y-%%m-%%d %%H:%%M:%%S UTC')\" >deploy.lock; "
/* The agent runs if /proc/PID/exe names it. A zombie has no such link, and a later process with the same id another
 * program. */
#define SCRIPT_STOP \
    "runs() { case $(readlink \"/proc/$P/exe\" 2>/dev/null) in */determined-agent*) ;; *) return 1 ;; esac; }; " \
    "stop() { P=$(cat agent.pid 2>/dev/null || true); [ -n \"$P\" ] || return 0; if runs; then kill \"$P\"; fi; " \
    "N=0; while runs; do N=$((N + 1)); sleep 0.1; [ $N -lt 600 ] || { " \
    "echo \"the agent (process $P) still runs a minute after SIGTERM\" >&2; exit 1; }; done; rm -f agent.pid; }; "

/* What the script says to det, which shows all other lines to the user. */
#define LINE_STOPS "det deploy ssh: stops the agent"
#define LINE_STOPPED "det deploy ssh: has stopped the agent"

/* Removes the versions of which no program runs. A supervisor in a container shows another path, so files are compared
 * by device and inode. */
#define SCRIPT_PRUNE \
    "U=$(stat -L -c %%d:%%i /proc/[0-9]*/exe 2>/dev/null || true); for O in versions/* versions/*/programs; do " \
    "[ -x \"$O/determined-task\" ] && [ \"$D/$O\" != \"$V\" ] || continue; K=; " \
    "for F in \"$O/determined-agent\" \"$O/determined-task\"; do I=$(stat -c %%d:%%i \"$F\"); " \
    "case \" $(echo $U) \" in *\" $I \"*) K=1 ;; esac; done; [ -n \"$K\" ] || rm -rf \"$O\"; done; " \
    "rmdir versions/aside.* 2>/dev/null || true"
/* An earlier det has left a directory in the place of the link. It becomes a version, too, because tasks may run from
 * it. A version that is there is used again, unless a file of it was changed. */
static const char up_script[] = SCRIPT_BEGIN
    "for C in find xargs sha256sum stat; do command -v $C >/dev/null || { echo \"install $C on this machine\" >&2; exit 1; }; done; " SCRIPT_LOCK SCRIPT_STOP
    "IFS= read -r T; umask 022; N=$(mktemp -d \"$D/new.XXXXXX\"); trap 'rm -rf \"$N\"; : >deploy.lock' EXIT; chmod 755 \"$N\"; tar -xzf - -C \"$N\"; "
    "mkdir -p versions; content() { (cd \"$1\" && find . -type f ! -path '*/__pycache__/*' | LC_ALL=C sort | xargs sha256sum | "
    "sha256sum | cut -c1-16); }; aside() { U=$(mktemp -d versions/aside.XXXXXX); chmod 755 \"$U\"; mv \"$1\" \"$U/programs\"; }; "
    "H=$(content \"$N\"); if [ -d \"versions/$H\" ] && [ \"$(content \"versions/$H\")\" != \"$H\" ]; then aside \"versions/$H\"; fi; "
    "[ -d \"versions/$H\" ] || mv -T \"$N\" \"versions/$H\"; "
    "if [ -d programs ] && [ ! -L programs ]; then aside programs; fi; "
    "ln -s \"versions/$H\" \"programs.$$\"; mv -T \"programs.$$\" programs; "
    "umask 077; printf '%%s\\n' \"$T\" >token; umask 022; V=$D/$(readlink programs); "
    "\"$V/determined-agent\" --version >/dev/null || { echo 'determined-agent does not run here: install the libraries "
    "that the lines above name' >&2; exit 1; }; echo '" LINE_STOPS "'; stop; echo '" LINE_STOPPED "'; "
    "PATH=${PATH:-/usr/local/bin:/usr/bin:/bin}; export PATH; "
    "nohup setsid \"$V/determined-agent\" run %s --token-file \"$D/token\" --data-dir \"$D/data\" --python-path "
    "\"$V\" --task-program \"$V/determined-task\" </dev/null >>agent.log 2>&1 9>&- & echo $! >agent.pid; " SCRIPT_PRUNE;
static const char down_script[] = SCRIPT_BEGIN SCRIPT_LOCK SCRIPT_STOP "stop";

/* Scripts of this machine: "$@" is the command ssh with its options and the host, $REMOTE the script of the host. */
static const char send_all[] =
    "{ printf '%s\\n' \"$JOIN_TOKEN\"; tar -czf - --exclude=__pycache__ -C \"$FROM_PROGRAMS\" determined-agent determined-task "
    "-C \"$FROM_LIBRARY\" determined; } | \"$@\" \"$REMOTE\"";

struct ssh_host {
    const char *name;  /* as ssh knows it */
    const char *agent; /* the agent's name: that of the host, without the user */
    const char *directory;
};

static const char *quoted(const char *text, struct arena *a)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    strbuf_addc(&b, '\'');
    for (; *text; text++)
        strbuf_adds(&b, *text == '\'' ? "'\\''" : (char[]){*text, 0});
    strbuf_addc(&b, '\'');
    return arena_strdup(a, b.s);
}

/* The user of this det, in quotes, for somebody who finds the host's lock held. */
static const char *who_deploys(struct arena *a)
{
    const struct passwd *pw = getpwuid(getuid());
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    return quoted(pw ? arena_printf(a, "%s on %s", pw->pw_name, host)
                     : arena_printf(a, "user %u on %s", (unsigned)getuid(), host),
                  a);
}

static int host_init(struct ssh_host *h, const char *name, const char *directory, struct arena *a, struct error *err)
{
    const char *at = strrchr(name, '@');
    *h = (struct ssh_host){.name = name, .agent = at ? at + 1 : name, .directory = ""};
    if (*name == '-' || !*h->agent ||
        strspn(h->agent, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != strlen(h->agent))
        return error_set(err, ERR_USAGE, "argument HOST: '%s' is no name of a host; give NAME or USER@NAME", name);
    if (!directory)
        return 0;
    const char *mark = strstr(directory, "%h");
    h->directory = mark ? arena_printf(a, "%.*s%s%s", (int)(mark - directory), directory, h->agent, mark + 2)
                        : directory;
    return *h->directory == '/'
               ? 0
               : error_set(err, ERR_USAGE, "argument --directory: '%s' does not begin with a slash", directory);
}

/* Runs `local` with this machine's sh; it starts ssh, which runs `remote` on the host. `variable` holds variables of
 * the environment of `local`. Output goes to `out`, or to that of det if it is -1. */
static int start_there(struct cli *cli, const struct args_deploy_ssh *args, const struct ssh_host *h, const char *local,
                       const char *remote, const char *const *variable, int out, pid_t *ret, struct error *err)
{
    struct arena *a = &cli->arena;
    const char *argv[16];
    size_t n = 0, env_n = 0;
    posix_spawn_file_actions_t files;
    argv[n++] = "/bin/sh";
    argv[n++] = "-c";
    argv[n++] = local;
    argv[n++] = "sh";
    argv[n++] = "ssh";
    argv[n++] = "-oBatchMode=yes";
    argv[n++] = "-oConnectTimeout=10";
    if (args->ssh_config) {
        argv[n++] = "-F";
        argv[n++] = args->ssh_config;
    }
    argv[n++] = "--";
    argv[n++] = h->name;
    argv[n] = NULL;
    char **own = child_program_environment(NULL, a);
    while (own[env_n])
        env_n++;
    char **env = arena_array(a, char *, env_n + 8);
    memcpy(env, own, env_n * sizeof(*env));
    env[env_n++] = (char *)arena_printf(a, "REMOTE=exec sh -c %s", quoted(remote, a));
    for (; *variable; variable++)
        env[env_n++] = (char *)*variable;
    fflush(cli->out);
    posix_spawn_file_actions_init(&files);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    int rc = child_program_start((char *const *)argv, env, &files, /* own_session= */ false, ret);
    posix_spawn_file_actions_destroy(&files);
    return rc == 0 ? 0 : error_set(err, ERR_PRECONDITION, "cannot run /bin/sh: %s", strerror(rc));
}

static int wait_there(const struct ssh_host *h, pid_t pid, struct error *err)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status == 0
               ? 0
               : error_set(err, ERR_PRECONDITION, "ssh or its script failed on %s; its message is above", h->name);
}

/* ---- what an agent needs ----------------------------------------------------------------------------------------- */

/* The address of the master that this det uses, if other machines can know it. */
static int master_of(struct cli *cli, const struct args_deploy_ssh *args, const char **ret_host, const char **ret_port,
                     struct error *err)
{
    const char *begin = strstr(cli->master, "://"), *host = begin ? begin + 3 : cli->master,
               *colon = strrchr(host, ':');
    const char *own = arena_strndup(&cli->arena, host, colon ? (size_t)(colon - host) : strlen(host));
    *ret_port = colon ? arena_strndup(&cli->arena, colon + 1, strspn(colon + 1, "0123456789")) : "8080";
    *ret_host = args->master_host ? args->master_host : own;
    if (!args->master_host &&
        (strcmp(own, "localhost") == 0 || strncmp(own, "127.", 4) == 0 || strcmp(own, "[::1]") == 0))
        return error_set(
            err, ERR_USAGE,
            "det reaches the master at %s, an address of this machine only: give one that the hosts reach, with "
            "--master-host HOST",
            cli->master);
    return 0;
}

static int make_token(struct cli *cli, const struct args_deploy_ssh *args, const char **ret, struct error *err)
{
    struct wire_post_join_token_request in = {.lifespan = "1h",
                                              .resource_pool = args->resource_pool,
                                              .uses = (int32_t)args->hosts_n,
                                              .has_uses = true,
                                              .description = "det deploy ssh"};
    struct wire_post_join_token_response out;
    if (api_call(cli, ROUTE_ID_POST_JOIN_TOKEN, &in, &out, err) < 0)
        return -1;
    *ret = out.token;
    return 0;
}

static int find_programs(struct cli *cli, const char **ret_programs, const char **ret_library, struct error *err)
{
    cleanup_free char *agent = path_beside_program("determined-agent");
    cleanup_free char *task = path_beside_program("determined-task");
    cleanup_free char *directory = agent ? path_parent(agent) : NULL;
    *ret_library = path_of_library(&cli->arena);
    if (!agent || access(agent, X_OK) < 0 || !task || access(task, X_OK) < 0)
        return error_set(err, ERR_PRECONDITION,
                         "determined-agent and determined-task are not both in the directory of det, from which they "
                         "would be copied to the hosts: install them there");
    if (!**ret_library)
        return error_set(err, ERR_PRECONDITION,
                         "the Python library that belongs to det is not on this machine: run 'make install'");
    *ret_programs = arena_strdup(&cli->arena, directory);
    return 0;
}

/* The options of `determined-agent run` on the host. A token of a master with TLS of its own pins its certificate; with
 * a proxy in front that has the certificate, the agent must be told to use TLS. */
static const char *options_of(struct cli *cli, const struct args_deploy_ssh *args, const struct ssh_host *h,
                              const char *host, const char *port)
{
    struct arena *a = &cli->arena;
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    strbuf_addf(&b, "--master-host %s --master-port %s --agent-id %s", quoted(host, a), port, quoted(h->agent, a));
    if (address_is_tls(cli->master))
        strbuf_adds(&b, " --security-tls-enabled=true");
    if (args->resource_pool)
        strbuf_addf(&b, " --resource-pool %s", quoted(args->resource_pool, a));
    if (args->runtime)
        strbuf_addf(&b, " --container-runtime %s", args->runtime);
    return arena_strdup(a, b.s);
}

/* When the agent has connected; 0: it is not connected. */
static int find_registration(struct cli *cli, const struct ssh_host *h, int64_t *ret_us, struct error *err)
{
    struct wire_get_agents_response out;
    if (api_call(cli, ROUTE_ID_GET_AGENTS, NULL, &out, err) < 0)
        return -1;
    *ret_us = 0;
    for (size_t i = 0; i < out.agents_n; i++)
        if (strcmp(out.agents[i].id, h->agent) == 0 && out.agents[i].has_registered_time)
            *ret_us = out.agents[i].registered_time;
    return 0;
}

/* Waits until the agent is connected. before_us: when the agent that was there before had connected, if there was one;
 * the master may not know yet that it has gone. */
static int wait_for_agent(struct cli *cli, const struct ssh_host *h, int64_t before_us, struct error *err)
{
    int64_t deadline_us = clock_monotonic_us() + REGISTER_MS * INT64_C(1000), now_us;
    for (;;) {
        if (find_registration(cli, h, &now_us, err) < 0)
            return -1;
        if (now_us && now_us != before_us)
            return 0;
        if (clock_monotonic_us() > deadline_us)
            return error_set(
                err, ERR_DEADLINE,
                "the agent was started on %s and has not connected to the master: look into its agent.log there, "
                "and run 'determined-agent check' on the host",
                h->name);
        sleep_ms(POLL_MS);
    }
}

/* The script is about to stop the agent that was there: while programs were copied, this one may have connected anew.
 * Once the script has said more, the answer may tell of the new agent, and does not count. */
static void look_before_stop(struct cli *cli, const struct ssh_host *h, int fd, int64_t *before_us)
{
    cleanup_error struct error unknown = ERROR_INIT;
    struct pollfd more = {.fd = fd, .events = POLLIN};
    int64_t now_us;
    if (find_registration(cli, h, &now_us, &unknown) == 0 && poll(&more, 1, 0) == 0)
        *before_us = now_us;
}

/* Reads what the script says, to its end. Takes fd over. */
static void listen_to_script(struct cli *cli, const struct ssh_host *h, int fd, int64_t *before_us)
{
    char line[1024];
    FILE *said = must(fdopen(fd, "r"));
    setvbuf(said, NULL, _IONBF, 0); /* so that poll() sees what was not read */
    for (;;) {
        if (!fgets(line, sizeof(line), said)) {
            if (!ferror(said) || errno != EINTR)
                break;
            clearerr(said);
        } else if (strcmp(line, LINE_STOPS "\n") == 0) {
            look_before_stop(cli, h, fd, before_us);
        } else if (strcmp(line, LINE_STOPPED "\n") != 0) {
            fputs(line, cli->out);
        }
    }
    fclose(said);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

struct deployment {
    const char *master_host, *master_port, *programs, *library, *token;
};

static int deploy_to(struct cli *cli, const struct args_deploy_ssh *args, const struct ssh_host *h,
                     const struct deployment *d, struct error *err)
{
    struct arena *a = &cli->arena;
    const char *directory = quoted(h->directory, a);
    const char *sent[] = {arena_printf(a, "FROM_PROGRAMS=%s", d->programs),
                          arena_printf(a, "FROM_LIBRARY=%s", d->library), arena_printf(a, "JOIN_TOKEN=%s", d->token),
                          NULL};
    const char *up = arena_printf(a, up_script, directory, who_deploys(a),
                                  options_of(cli, args, h, d->master_host, d->master_port));
    int64_t before_us;
    int ends[2];
    pid_t pid;
    if (find_registration(cli, h, &before_us, err) < 0)
        return -1;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_errno(err, "pipe");
    int rc = start_there(cli, args, h, send_all, up, sent, ends[1], &pid, err);
    close(ends[1]);
    if (rc < 0) {
        close(ends[0]);
        return -1;
    }
    listen_to_script(cli, h, ends[0], &before_us);
    if (wait_there(h, pid, err) < 0 || wait_for_agent(cli, h, before_us, err) < 0)
        return -1;
    fprintf(cli->out, "Agent '%s' is up.\n", h->agent);
    return 0;
}

static int take_down(struct cli *cli, const struct args_deploy_ssh *args, const struct ssh_host *h, struct error *err)
{
    static const char *const none[] = {NULL};
    struct arena *a = &cli->arena;
    const char *down = arena_printf(a, down_script, quoted(h->directory, a), who_deploys(a));
    pid_t pid;
    if (start_there(cli, args, h, "\"$@\" \"$REMOTE\" </dev/null", down, none, -1, &pid, err) < 0 ||
        wait_there(h, pid, err) < 0)
        return -1;
    fprintf(cli->out, "Agent '%s' is down.\n", h->agent);
    return 0;
}

static int prepare(struct cli *cli, const struct args_deploy_ssh *args, struct deployment *d, struct error *err)
{
    if (args->down)
        return 0;
    return master_of(cli, args, &d->master_host, &d->master_port, err) < 0 ||
                   find_programs(cli, &d->programs, &d->library, err) < 0 || make_token(cli, args, &d->token, err) < 0
               ? -1
               : 0;
}

/* A failure on one host is reported at the end: the other hosts are deployed nevertheless. */
int cmd_deploy_ssh(struct cli *cli, const struct args_deploy_ssh *args, struct error *err)
{
    struct ssh_host *host = arena_array(&cli->arena, struct ssh_host, args->hosts_n + 1);
    struct deployment d = {0};
    cleanup_strbuf struct strbuf failed = STRBUF_INIT;
    for (size_t i = 0; i < args->hosts_n; i++)
        if (host_init(&host[i], args->hosts[i], args->directory, &cli->arena, err) < 0)
            return -1;
    if (prepare(cli, args, &d, err) < 0)
        return -1;
    for (size_t i = 0; i < args->hosts_n; i++) {
        cleanup_error struct error one = ERROR_INIT;
        int r = args->down ? take_down(cli, args, &host[i], &one) : deploy_to(cli, args, &host[i], &d, &one);
        if (r < 0)
            strbuf_addf(&failed, "%s%s", failed.n ? "; " : "", error_msg(&one));
    }
    return failed.n ? error_set(err, ERR_PRECONDITION, "%s", failed.s) : 0;
}
