#include "agent/check.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "agent/credentials.h"
#include "agent/machine/cgroup.h"
#include "agent/machine/local_address.h"
#include "agent/machine/slots.h"
#include "agent/machine/user_namespaces.h"
#include "agent/own_certificate.h"
#include "agent/python/interpreter.h"
#include "agent/task/runtime.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/json/json.h"
#include "common/system/files.h"
#include "net/client/http_client.h"
#include "net/client/no_proxy.h"

enum {
    TIMEOUT_S = 5,
    SKEW_S = 5,         /* a clock that is wrong by more makes logs hard to read */
    SKEW_BAD_S = 300,   /* … and certificates and tokens invalid */
    DISK_LOW_MB = 1024, /* free space below which few tasks can work */
    DISK_LOW_PERCENT = 5,
};

enum verdict { GOOD, WARNING, FAILURE };

struct check {
    const struct agent_config *c;
    struct arena *a;
    FILE *out;
    int failures;
};

/* ---- telling ----------------------------------------------------------------------------------------------------- */

/* remedy: what to do; NULL if there is nothing to do. */
__attribute__((format(printf, 5, 6))) static void tell(struct check *k, enum verdict v, const char *what,
                                                       const char *remedy, const char *format, ...)
{
    static const char *const word[] = {"ok", "warning", "failure"};
    va_list args;
    fprintf(k->out, "%-8s %-11s ", word[v], what);
    va_start(args, format);
    vfprintf(k->out, format, args);
    va_end(args);
    fputc('\n', k->out);
    if (remedy)
        fprintf(k->out, "%-20s → %s\n", "", remedy);
    k->failures += v == FAILURE;
}

/* ---- the master -------------------------------------------------------------------------------------------------- */

bool check_clock_skew(const char *date, int64_t now_s, int64_t *ret_s)
{
    struct tm tm = {0};
    const char *end = strptime(date, "%a, %d %b %Y %H:%M:%S", &tm);
    if (!end || strcmp(end, " GMT") != 0)
        return false;
    *ret_s = now_s - (int64_t)timegm(&tm);
    return true;
}

static void check_clock(struct check *k, const char *date)
{
    int64_t skew;
    if (!check_clock_skew(date, (int64_t)time(NULL), &skew)) {
        tell(k, WARNING, "clock", NULL, "the master does not say what time it is");
        return;
    }
    int64_t by = skew < 0 ? -skew : skew;
    if (by <= SKEW_S)
        tell(k, GOOD, "clock", NULL, "agrees with the master's");
    else
        tell(
            k, by > SKEW_BAD_S ? FAILURE : WARNING, "clock",
            "let both machines follow the same time servers: timedatectl set-ntp true, then timedatectl timesync-status",
            "%" PRId64 " s %s the master's: times in logs are wrong%s", by, skew > 0 ? "ahead of" : "behind",
            by > SKEW_BAD_S ? ", and certificates may seem to be out of date" : "");
}

static bool check_name(struct check *k)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    const char *host = k->c->master_host;
    size_t n = strlen(host), bracket = host[0] == '[' && n > 2;
    const char *name = arena_strndup(k->a, host + bracket, n - 2 * bracket);
    char text[128] = "";
    int r = getaddrinfo(name, NULL, &hints, &found);
    if (r != 0) {
        tell(k, FAILURE, "name",
             "correct master_host, or the name servers in /etc/resolv.conf, or name it in /etc/hosts",
             "%s has no address: %s", name, gai_strerror(r));
        return false;
    }
    getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST);
    freeaddrinfo(found);
    tell(k, GOOD, "name", NULL, "%s is %s", name, text);
    return true;
}

static void check_version(struct check *k, const struct http_fetch_reply *r)
{
    cleanup_json struct json_object *v = NULL;
    if (json_parse(r->body.s, r->body.n, &v, NULL) < 0)
        return;
    const char *version = json_object_get_string(json_object_object_get(v, "program_version"));
    if (!version)
        tell(k, FAILURE, "version", "correct master_host and master_port: this agent needs a master of Determined in C",
             "what answers there is no master that this agent can serve");
    else if (strcmp(version, DET_VERSION) != 0)
        tell(k, WARNING, "version", "install the same version on both; both go on as long as their link is the same",
             "the master has version %s, this agent " DET_VERSION, version);
    else
        tell(k, GOOD, "version", NULL, "%s, as the master", version);
}

static void check_master(struct check *k)
{
    const struct agent_config *c = k->c;
    bool known = !*c->pin ||
                 access(c->tls_cert, R_OK) == 0; /* a pinned certificate is kept once the agent has joined */
    struct http_fetch f = {.method = "GET",
                           .url = arena_printf(k->a, "%s/info", agent_config_master_url(c, k->a)),
                           .connect_timeout_s = TIMEOUT_S,
                           .timeout_s = TIMEOUT_S,
                           .ca_file = known && *c->tls_cert ? c->tls_cert : NULL,
                           .tls_name = *c->tls_cert_name ? c->tls_cert_name : NULL,
                           .tls_skip_verify = c->tls_skip_verify || !known};
    struct http_fetch_reply r = {0};
    cleanup_error struct error err = ERROR_INIT;
    if (!check_name(k))
        return;
    struct http_client *client = http_client_new();
    if (http_fetch(client, &f, &r, &err) < 0 || r.status != 200) {
        tell(
            k, FAILURE, "master",
            "start the master; let firewalls between the two pass TCP to this port; check master_port and security.tls",
            "%s", err.kind ? error_msg(&err) : arena_printf(k->a, "%s answers %d", f.url, r.status));
    } else {
        tell(k, GOOD, "master", NULL, "%s answers", agent_config_master_url(c, k->a));
        check_version(k, &r);
        check_clock(k, r.date);
    }
    http_fetch_reply_release(&r);
    http_client_free(client);
    if (!c->tls && !local_address_is_loopback(c->master_host))
        tell(k, WARNING, "tls", "set security.tls on the master, and join with a token (det agent join-token create)",
             "tokens cross the network in clear text");
}

static void check_credentials(struct check *k)
{
    struct credentials own;
    credentials_load(&own, k->c);
    if (*own.key)
        tell(k, GOOD, "credentials", NULL, "this agent has joined: %s/agent.key", k->c->data_dir);
    else if (*k->c->token)
        tell(k, GOOD, "credentials", NULL, "a token to join with");
    else
        tell(k, WARNING, "credentials",
             "det agent join-token create makes a token; or start the agent and let it in: det agent accept",
             "no token: unless the master is on this machine, the agent will wait until an admin accepts it");
}

#define LET_JOIN_AGAIN "start the agent; if the master refuses it, let it join again: det agent revoke-key, then accept"

/* Of the certificate that the master has given this agent; without one there is nothing to say. */
static void check_certificate(struct check *k)
{
    struct own_certificate own;
    char until[CLOCK_TEXT_MAX];
    cleanup_error struct error err = ERROR_INIT;
    if (own_certificate_load(&own, k->c, &err) == 0) {
        clock_format(own.until_us, until);
        if (own.until_us > clock_now_us())
            tell(k, GOOD, "certificate", NULL, "valid until %s: %s", until, own.file);
        else
            tell(k, WARNING, "certificate", LET_JOIN_AGAIN, "by this machine's clock it was valid until %s: %s", until,
                 own.file);
    } else if (err.kind != ERR_NOT_FOUND) {
        tell(k, WARNING, "certificate", err.kind == ERR_IO ? "run the check as the agent's user" : LET_JOIN_AGAIN, "%s",
             error_msg(&err));
    }
    own_certificate_release(&own);
}

/* ---- the proxy --------------------------------------------------------------------------------------------------- */

/* Whether something listens at the proxy: "http://host:port" or "host:port". */
static bool proxy_listens(struct check *k, const char *proxy, const char **ret_why)
{
    const char *rest = strstr(proxy, "://"), *at;
    rest = rest ? rest + 3 : proxy;
    if ((at = strrchr(rest, '@')))
        rest = at + 1;
    size_t n = strcspn(rest, "/");
    char *host = arena_strndup(k->a, rest, n), *colon = strrchr(host, ':');
    const char *port = colon ? colon + 1 : "1080";
    if (colon)
        *colon = 0;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    int r = getaddrinfo(host, port, &hints, &found);
    if (r != 0) {
        *ret_why = gai_strerror(r);
        return false;
    }
    cleanup_close int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_sec = TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)); /* holds for connect(), too */
    bool up = fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0;
    *ret_why = up ? "" : arena_strdup(k->a, strerror(errno));
    freeaddrinfo(found);
    return up;
}

static void check_proxy(struct check *k)
{
    const struct agent_config *c = k->c;
    const char *proxy = *c->https_proxy ? c->https_proxy : c->http_proxy, *why;
    if (!*proxy) {
        tell(k, GOOD, "proxy", NULL, "none is configured");
        return;
    }
    if (!proxy_listens(k, proxy, &why))
        tell(k, FAILURE, "proxy", "correct http_proxy and https_proxy, or start the proxy: tasks are told to use it",
             "the proxy does not answer: %s", why);
    else
        tell(k, GOOD, "proxy", NULL, "it answers");
    if (!no_proxy_excepts(c->no_proxy, c->container_master_host, c->container_master_port) &&
        !local_address_is_loopback(c->container_master_host))
        tell(k, WARNING, "no_proxy", arena_printf(k->a, "add %s to no_proxy", c->container_master_host),
             "tasks reach the master through the proxy, because no_proxy does not except %s", c->container_master_host);
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

static void check_disk(struct check *k, const char *what, const char *dir)
{
    cleanup_free char *at = must_strdup(dir);
    struct statvfs s;
    struct stat st;
    while (at && access(at, F_OK) < 0 && strcmp(at, "/") != 0) { /* the agent makes what is missing */
        char *up = path_parent(at);
        free(at);
        at = up;
    }
    errno = ENOTDIR;
    if (!at || stat(at, &st) < 0 || !S_ISDIR(st.st_mode) || statvfs(at, &s) < 0 || access(at, W_OK | X_OK) < 0) {
        tell(k, FAILURE, what, "let the agent's user write there, or set data_dir and run_root to another directory",
             "%s: %s", dir, strerror(errno));
        return;
    }
    uint64_t free_mb = (uint64_t)s.f_bavail * s.f_frsize >> 20, all_mb = (uint64_t)s.f_blocks * s.f_frsize >> 20;
    bool low = free_mb < DISK_LOW_MB || free_mb * 100 < all_mb * DISK_LOW_PERCENT;
    tell(k,
         free_mb == 0 ? FAILURE
         : low        ? WARNING
                      : GOOD,
         what, low ? "free some space: tasks write their files and packages there" : NULL, "%s has %" PRIu64 " MB free",
         at, free_mb);
}

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = strstr(text, word); p; p = strstr(p + n, word))
        if ((p == text || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\n' || p[n] == 0))
            return true;
    return false;
}

static void check_cgroup(struct check *k)
{
    cleanup_strbuf struct strbuf found = STRBUF_INIT;
    bool v2 = file_read(CGROUP_ROOT "/cgroup.controllers", 4096, &found, NULL) == 0;
    bool memory = v2 ? has_word(strbuf_str(&found), "memory") : access(CGROUP_ROOT "/memory", F_OK) == 0;
    bool pids = v2 ? has_word(strbuf_str(&found), "pids") : access(CGROUP_ROOT "/pids", F_OK) == 0;
    if (!memory || !pids)
        tell(k, WARNING, "cgroup", "mount cgroup2 at " CGROUP_ROOT ", and boot without cgroup_disable=memory",
             "control groups of this machine cannot limit %s: a task may take all of it",
             !memory ? "memory" : "processes");
    else if (geteuid() != 0)
        tell(k, WARNING, "cgroup", "run the agent as root, or as a systemd service with Delegate=yes",
             "this user may make control groups only where systemd has delegated some");
    else
        tell(k, GOOD, "cgroup", NULL, "version %d", v2 ? 2 : 1);
}

/* Whether the machine has a device of this vendor that is made for computing or display. */
static bool has_gpu_of(const char *vendor)
{
    DIR *d = opendir("/sys/bus/pci/devices");
    bool found = false;
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        cleanup_strbuf struct strbuf id = STRBUF_INIT, class = STRBUF_INIT;
        char path[512];
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/vendor", e->d_name);
        if (e->d_name[0] == '.' || file_read(path, 64, &id, NULL) < 0 || strncmp(strbuf_str(&id), vendor, 6) != 0)
            continue;
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/class", e->d_name);
        found = file_read(path, 64, &class, NULL) == 0 &&
                (strncmp(strbuf_str(&class), "0x03", 4) == 0 || strncmp(strbuf_str(&class), "0x12", 4) == 0);
    }
    if (d)
        closedir(d);
    return found;
}

static void check_slots(struct check *k)
{
    const struct agent_config *c = k->c;
    struct slots_request q = {.slot_type = c->slot_type,
                              .artificial = c->artificial_slots,
                              .visible_gpus = c->visible_gpus,
                              .cpuinfo = "/proc/cpuinfo"};
    struct slots s = {0};
    cleanup_error struct error err = ERROR_INIT;
    if (slots_find(&q, k->a, &s, &err) < 0) {
        tell(k, FAILURE, "slots",
             "install the driver (nvidia-smi or rocm-smi must list the GPUs), or set slot_type: auto", "%s",
             error_msg(&err));
        return;
    }
    const char *vendor = has_gpu_of("0x10de") ? "NVIDIA" : has_gpu_of("0x1002") ? "AMD" : NULL;
    if (vendor && !s.maker && !c->artificial_slots && strcmp(c->slot_type, "auto") == 0)
        tell(k, WARNING, "slots",
             "install the vendor's driver with its library (nvidia-smi or rocm-smi must list the GPUs)",
             "the machine has a GPU of %s, but its driver does not answer: the processors are offered instead", vendor);
    else
        tell(k, GOOD, "slots", NULL, "%zu%s%s", s.n, s.maker ? ", driver " : "", s.maker ? s.driver : "");
    slots_release(&s);
}

static void check_command(struct check *k, const char *name)
{
    const char *path = getenv("PATH"), *found = runtime_find_command(k->c, k->a);
    cleanup_error struct error err = ERROR_INIT;
    /* as root it asks for the first user of the range, whom every root agent runs tasks as */
    bool change = geteuid() == 0;
    uid_t uid = change ? k->c->accounts.own.first + 1 : 0;
    if (found && !k->c->setuid_starter && user_namespaces_try(change, uid, uid, &err) < 0)
        tell(k, FAILURE, "containers",
             "permit them, or install the setuid starter and set container_setuid_starter: true", "%s needs them: %s",
             name, error_msg(&err));
    else if (found)
        tell(k, GOOD, "containers", NULL, "%s is %s", name, found);
    else
        tell(k, FAILURE, "containers", "install it, or put its directory into the PATH of the agent's service",
             "there is no program %s on PATH (%s)", name, path ? path : "");
}

/* Images are pulled by the engine, with the proxies of its own service. */
static void check_engine_proxy(struct check *k, const struct engine *e)
{
    struct http_fetch f = {.method = "GET",
                           .url = "http://localhost/info",
                           .unix_socket = e->socket,
                           .connect_timeout_s = TIMEOUT_S,
                           .timeout_s = TIMEOUT_S};
    struct http_fetch_reply r = {0};
    cleanup_error struct error err = ERROR_INIT;
    cleanup_json struct json_object *info = NULL;
    if (!*k->c->https_proxy && !*k->c->http_proxy)
        return;
    struct http_client *client = http_client_new();
    if (http_fetch(client, &f, &r, &err) == 0 && r.status == 200 && json_parse(r.body.s, r.body.n, &info, &err) == 0 &&
        !engine_info_has_proxy(info))
        tell(
            k, WARNING, "pulls",
            "give the engine's service HTTPS_PROXY, HTTP_PROXY and NO_PROXY (systemctl edit docker), and start it again",
            "%s pulls images without a proxy: the proxies of this agent do not count for it", e->name);
    http_fetch_reply_release(&r);
    http_client_free(client);
}

static void check_engines(struct check *k)
{
    struct runtime_engines engines;
    bool needed = strcmp(k->c->container_runtime, "docker") == 0 || strcmp(k->c->container_runtime, "podman") == 0;
    bool up = false;
    runtime_list_engines(k->c, NULL, k->a, &engines);
    if (engines.command.name) {
        check_command(k, engines.command.name);
        return;
    }
    for (size_t i = 0; i < engines.n; i++) {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const char *path = engines.engine[i].socket;
        if (strlen(path) >= sizeof(at.sun_path))
            continue;
        memcpy(at.sun_path, path, strlen(path) + 1);
        if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0) {
            tell(k, GOOD, "containers", NULL, "%s listens at %s", engines.engine[i].name, path);
            check_engine_proxy(k, &engines.engine[i]);
            up = true;
        } else if (errno == EACCES) {
            tell(k, needed ? FAILURE : WARNING, "containers",
                 "let the agent's user use the socket (usermod -aG docker USER), or run the agent as root",
                 "this user may not use %s", path);
            up = true;
        } else if (needed) {
            tell(k, FAILURE, "containers",
                 "start the engine (systemctl start docker, or podman.socket), or correct container_socket",
                 "%s does not listen at %s: %s", engines.engine[i].name, path, strerror(errno));
        }
    }
    if (!up && !needed)
        tell(k, GOOD, "containers", NULL, "no engine listens; tasks run as processes");
}

static void check_python(struct check *k)
{
    const char *path = getenv("PATH"), *found, *passed = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (interpreter_find_on_path(path ? path : "", NULL, k->a, &found, &passed, &err) < 0)
        tell(k, FAILURE, "python", "install python3, or start the agent with a PATH that has it",
             "the agent's PATH has no python3: trials, notebooks and TensorBoards cannot start");
    else
        tell(k, GOOD, "python", NULL, "%s", found);
    if (!*k->c->python_path || access(k->c->python_path, R_OK | X_OK) < 0)
        tell(k, FAILURE, "library", "install the platform's package completely, or set python_path",
             "the training library is not at %s", *k->c->python_path ? k->c->python_path : "its usual place");
    if (access(k->c->task_program, X_OK) < 0)
        tell(k, FAILURE, "supervisor", "install determined-task beside determined-agent, or set task_program", "%s: %s",
             k->c->task_program, strerror(errno));
}

static void check_user(struct check *k)
{
    if (geteuid() == 0)
        tell(k, GOOD, "user", NULL, "root: tasks of different users are kept apart");
    else
        tell(k, WARNING, "user", "run the agent as root, or let it serve one user",
             "not root: all tasks run as this user, and can read each other's files");
}

int check_host(const struct agent_config *c, FILE *out)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct check k = {.c = c, .a = &a, .out = out};
    check_master(&k);
    check_credentials(&k);
    check_certificate(&k);
    check_proxy(&k);
    check_user(&k);
    check_disk(&k, "disk", c->data_dir);
    if (strncmp(c->run_root, c->data_dir, strlen(c->data_dir)) != 0)
        check_disk(&k, "disk", c->run_root);
    check_cgroup(&k);
    check_slots(&k);
    check_engines(&k);
    check_python(&k);
    return k.failures;
}
