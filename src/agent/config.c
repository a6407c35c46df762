#include "agent/config.h"

#include <string.h>
#include <unistd.h>

#include "agent/credentials.h"
#include "agent/machine/local_address.h"
#include "agent/task/runtime.h"
#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/config/config.h"
#include "common/config/schema.h"
#include "common/system/files.h"
#include "net/client/no_proxy.h"

#define TOKEN_MAX 4096

static const char *config_text(const struct config *c, const char *path, struct arena *a)
{
    const char *s = config_str(c, path);
    return s ? arena_strdup(a, s) : "";
}

static const char *text_or(const struct config *c, const char *path, const char *otherwise, struct arena *a)
{
    const char *s = config_text(c, path, a);
    return *s ? s : otherwise;
}

static const char *beside_this_program(const char *relative, struct arena *a)
{
    cleanup_free char *path = path_beside_program(relative);
    return arena_strdup(a, path);
}

static const char *data_dir(struct arena *a)
{
    const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (geteuid() == 0)
        return "/var/lib/determined-agent";
    if (xdg && *xdg == '/')
        return arena_printf(a, "%s/determined-agent", xdg);
    return arena_printf(a, "%s/.local/share/determined-agent", home && *home ? home : "/tmp");
}

static const char *host_name(struct arena *a)
{
    char name[256];
    if (gethostname(name, sizeof(name)) < 0)
        return "localhost";
    name[sizeof(name) - 1] = 0;
    return arena_strdup(a, name);
}

/* Makes a path absolute. Tasks have another working directory, so the paths that they are told must not depend on
 * ours. */
static const char *absolute_path(const char *path, struct arena *a)
{
    cleanup_free char *here = getcwd(NULL, 0);
    return !*path || *path == '/' || !here ? path : arena_printf(a, "%s/%s", here, path);
}

static const char *read_token(struct config *c, struct arena *a)
{
    const char *file = config_text(c, "token_file", a), *given = config_text(c, "token", a);
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    cleanup_error struct error err = ERROR_INIT;
    if (*given || !*file)
        return given;
    if (file_read(file, TOKEN_MAX, &b, &err) < 0)
        config_problem(c, "token_file", "%s", error_msg(&err));
    return arena_strndup(a, strbuf_str(&b), strcspn(strbuf_str(&b), "\r\n"));
}

static char **text_list(const struct config *c, const char *path, struct arena *a)
{
    struct json_object *list = config_get(c, path);
    if (!list || !json_object_array_length(list))
        return NULL;
    size_t n = json_object_array_length(list);
    char **ret = arena_array(a, char *, n + 1);
    for (size_t i = 0; i < n; i++)
        ret[i] = arena_strdup(a, json_object_get_string(json_object_array_get_idx(list, i)));
    return ret;
}

/* Reads pins: that of the token, and those that were good when the agent was last connected. A certificate that the
 * configuration names takes precedence over all of them. */
static void read_pins(const struct config *c, struct arena *a, struct agent_config *x)
{
    cleanup_free char *path = path_join(x->data_dir, "master.pin");
    cleanup_strbuf struct strbuf kept = STRBUF_INIT;
    const char *of_token;
    credentials_split_token(x->token, a, &x->token, &of_token);
    x->pin = "";
    if (*config_text(c, "security.tls.master_cert", a))
        return;
    file_read(path, PINS_MAX * PIN_DIGITS + 1, &kept, NULL);
    size_t n = strspn(strbuf_str(&kept), "0123456789abcdef");
    x->pin = arena_printf(a, "%s%.*s", of_token, (int)(n - n % PIN_DIGITS), strbuf_str(&kept));
    if (!*x->pin)
        return;
    x->tls = true;
    x->tls_cert = arena_printf(a, "%s/master.crt", x->data_dir);
    x->pinned_name = arena_alloc(a, PINNED_NAME_MAX);
    *x->pinned_name = 0;
    x->tls_cert_name = x->pinned_name;
}

static void read_master(struct config *c, struct arena *a, struct agent_config *x)
{
    x->master_host = config_text(c, "master_host", a);
    x->tls = config_bool(c, "security.tls.enabled");
    x->tls_cert = config_text(c, "security.tls.master_cert", a);
    x->tls_cert_name = config_text(c, "security.tls.master_cert_name", a);
    read_pins(c, a, x);
    x->master_port = (int)config_int(c, "master_port");
    if (x->master_port == 0)
        x->master_port = x->tls ? 443 : 80;
    x->tls_skip_verify = config_bool(c, "security.tls.skip_verify");
    x->tls_client_cert = config_text(c, "security.tls.client_cert", a);
    x->tls_client_key = config_text(c, "security.tls.client_key", a);
    x->container_master_host = text_or(c, "container_master_host", x->master_host, a);
    x->container_master_port = (int)config_int(c, "container_master_port");
    if (x->container_master_port == 0)
        x->container_master_port = x->master_port;
    x->reconnect_attempts = (int)config_int(c, "agent_reconnect_attempts");
    x->reconnect_backoff_s = (int)config_int(c, "agent_reconnect_backoff");
    x->on_connection_lost = text_list(c, "hooks.on_connection_lost", a);
    if (!*x->master_host)
        config_problem(c, "master_host", "master host must be provided");
    if (!*x->tls_client_cert != !*x->tls_client_key)
        config_problem(c, *x->tls_client_cert ? "security.tls.client_cert" : "security.tls.client_key",
                       "client_cert and client_key belong together");
    if (*x->tls_client_cert && !x->tls)
        config_problem(c, "security.tls.client_cert", "security.tls.enabled must be set, too");
    if (*x->tls_cert && !*x->pin && x->tls_skip_verify)
        config_problem(c, "security.tls.skip_verify",
                       "cannot specify a master cert file with skip_verify: the one asks to check the "
                       "certificate, the other not to");
}

/* The visible GPUs. A variable that is set and empty hides all of them, as it does from every other program; an empty
 * key does not. */
static const char *visible_gpus(const struct config *c, struct arena *a)
{
    const char *rocm = getenv("ROCR_VISIBLE_DEVICES"), *cuda = getenv("CUDA_VISIBLE_DEVICES");
    const char *of_environment = rocm ? rocm : cuda ? arena_strdup(a, cuda) : NULL;
    return text_or(c, "visible_gpus", of_environment, a);
}

static void read_tasks(const struct config *c, struct arena *a, struct agent_config *x)
{
    x->slot_type = text_or(c, "slot_type", "auto", a);
    x->visible_gpus = visible_gpus(c, a);
    x->artificial_slots = (int)config_int(c, "artificial_slots");
    x->cpu_slots = (int)config_int(c, "cpu_slots");
    x->slots_per_device = (int)config_int(c, "slots_per_device");
    x->container_runtime = text_or(c, "container_runtime", "auto", a);
    x->container_socket = config_text(c, "container_socket", a);
    x->images_dir = text_or(c, "container_images_dir", arena_printf(a, "%s/images", x->data_dir), a);
    x->setuid_starter = config_bool(c, "container_setuid_starter");
    x->accounts.allow_root = config_bool(c, "allow_root_tasks");
    x->accounts.own.first = (uint32_t)config_int(c, "task_uids.first");
    x->accounts.own.count = (uint32_t)config_int(c, "task_uids.count");
    x->debug = config_bool(c, "debug");
    x->keep_ended = x->debug || config_bool(c, "container_auto_remove_disabled");
    x->mount_namespaces = config_bool(c, "mount_namespaces");
    x->pid_namespaces = config_bool(c, "pid_namespaces") && x->mount_namespaces && geteuid() == 0;
    x->http_proxy = config_text(c, "http_proxy", a);
    x->https_proxy = config_text(c, "https_proxy", a);
    x->ftp_proxy = config_text(c, "ftp_proxy", a);
    x->no_proxy = config_text(c, "no_proxy", a);
    x->run_root = text_or(c, "run_root", arena_printf(a, "%s/tasks", x->data_dir), a);
    x->python_path = text_or(c, "python_path", path_of_library(a), a);
    x->task_program = text_or(c, "task_program", beside_this_program("determined-task", a), a);
}

/* ---- amounts ----------------------------------------------------------------------------------------------------- */

/* An amount as a number; -1 if it is unset. Sizes may be written as text, which the schema has checked. */
static int64_t config_amount(const struct config *c, const char *path)
{
    struct json_object *v = config_get(c, path);
    int64_t n = -1;
    if (json_object_is_type(v, json_type_string))
        size_parse(json_object_get_string(v), &n);
    else if (v)
        n = json_object_get_int64(v);
    return n;
}

static int64_t parts_of_memory(int n, int of)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (int64_t)pages / of * n * size : 0;
}

/* ---- Python environments ----------------------------------------------------------------------------------------- */

static const char *default_environments(struct arena *a)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (geteuid() == 0)
        return "/var/cache/determined/python";
    if (xdg && *xdg == '/')
        return arena_printf(a, "%s/determined/python", xdg);
    return arena_printf(a, "%s/.cache/determined/python", home && *home ? home : "/tmp");
}

/* The pinned lists lie beside our library, in the tree and where it is installed. */
static const char *default_lists(struct arena *a)
{
    static const char *const place[] = {"../python/environments", "../share/determined/environments"};
    for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++) {
        const char *dir = beside_this_program(place[i], a);
        if (access(dir, R_OK) == 0)
            return dir;
    }
    return beside_this_program(place[1], a);
}

/* Reads what is said about environments. Those of a root agent are made by the account of the uid that task_uids leaves
 * to nobody: what a package does when it is built must not be done as root, nor as any user. */
static void read_python(struct config *c, struct arena *a, struct agent_config *x)
{
    int64_t memory = config_amount(c, "python_environments.build_memory");
    x->python = (struct python_settings){.dir = text_or(c, "python_environments.dir", default_environments(a), a),
                                         .max_bytes = config_amount(c, "python_environments.max_size"),
                                         .wheels = config_text(c, "python_environments.wheels", a),
                                         .index_url = config_text(c, "python_environments.index_url", a),
                                         .lists_dir = text_or(c, "python_environments.lists_dir", default_lists(a), a),
                                         .only_wheels = config_bool(c, "python_environments.only_wheels"),
                                         .build_timeout_s = (int32_t)config_int(c, "python_environments.build_timeout"),
                                         .build_memory_bytes = memory >= 0 ? memory : parts_of_memory(5, 10),
                                         .change_user = geteuid() == 0,
                                         .uid = x->accounts.own.first,
                                         .gid = x->accounts.own.first,
                                         .http_proxy = x->http_proxy,
                                         .https_proxy = x->https_proxy,
                                         .no_proxy = x->no_proxy};
    if (*x->python.wheels && *x->python.index_url)
        config_problem(
            c, "python_environments.wheels",
            "cannot be set together with python_environments.index_url: from a directory of wheels, no index is "
            "asked");
}

/* ---- limits of tasks --------------------------------------------------------------------------------------------- */

static void read_limits(const struct config *c, struct agent_config *x)
{
    int64_t memory = config_amount(c, "task_limits.memory"), most = config_amount(c, "task_limits.max_memory"),
            disk = config_amount(c, "task_limits.max_disk"), processes = config_amount(c, "task_limits.max_processes");
    x->limit = (struct task_limits){.memory_bytes = memory >= 0 ? memory : parts_of_memory(9, 10),
                                    .disk_bytes = config_amount(c, "task_limits.disk"),
                                    .processes = (int32_t)config_amount(c, "task_limits.processes")};
    x->limit_max = (struct task_limits){.memory_bytes = most > 0 ? most : 0,
                                        .disk_bytes = disk > 0 ? disk : 0,
                                        .processes = processes > 0 ? (int32_t)processes : 0};
}

static void read_reserve(const struct config *c, struct agent_config *x)
{
    int64_t memory = config_amount(c, "reserved.memory");
    x->reserved_cpus = json_object_get_double(config_get(c, "reserved.cpus"));
    x->reserved_memory_bytes = memory >= 0 ? memory : parts_of_memory(1, 10);
}

static int64_t limit_of(int64_t asked, int64_t otherwise, int64_t most)
{
    int64_t n = asked > 0 ? asked : otherwise;
    return most > 0 && (n == 0 || n > most) ? most : n;
}

struct task_limits agent_config_limits(const struct agent_config *c, const struct task_limits *asked)
{
    return (struct task_limits){.memory_bytes = limit_of(asked->memory_bytes, c->limit.memory_bytes,
                                                         c->limit_max.memory_bytes),
                                .disk_bytes = limit_of(asked->disk_bytes, c->limit.disk_bytes, c->limit_max.disk_bytes),
                                .processes = (int32_t)limit_of(asked->processes, c->limit.processes,
                                                               c->limit_max.processes)};
}

/* Lists the paths that tasks must not see. Under an agent that is not root, tasks run as its user, and only their own
 * view of the file system keeps them from these paths. */
static void list_secret_paths(const struct config *c, struct arena *a, struct agent_config *x)
{
    const char *token_file = config_text(c, "token_file", a), *config_file = config_text(c, "config_file", a);
    size_t n = 0;
    x->secret_path = arena_array(a, char *, 5);
    x->secret_path[n++] = (char *)x->data_dir;
    x->secret_path[n++] = (char *)x->run_root;
    if (*token_file)
        x->secret_path[n++] = (char *)absolute_path(token_file, a);
    x->secret_path[n++] = (char *)(*config_file ? absolute_path(config_file, a) : AGENT_CONFIG_FILE);
}

int agent_config_read(struct config *c, struct arena *a, struct agent_config *ret, struct error *err)
{
    struct agent_config x = {.hostname = host_name(a)};
    x.data_dir = absolute_path(text_or(c, "data_dir", data_dir(a), a), a);
    x.token = read_token(c, a);
    x.agent_id = text_or(c, "agent_id", x.hostname, a);
    x.resource_pool = config_text(c, "resource_pool", a);
    x.log_level = config_text(c, "log.level", a);
    read_master(c, a, &x);
    read_tasks(c, a, &x);
    read_python(c, a, &x);
    read_limits(c, &x);
    read_reserve(c, &x);
    x.run_root = absolute_path(x.run_root, a);
    x.images_dir = absolute_path(x.images_dir, a);
    list_secret_paths(c, a, &x);
    x.python_path = absolute_path(x.python_path, a);
    x.python.dir = absolute_path(x.python.dir, a);
    x.python.wheels = absolute_path(x.python.wheels, a);
    x.python.lists_dir = absolute_path(x.python.lists_dir, a);
    x.task_program = absolute_path(x.task_program, a);
    cleanup_error struct error no_runtime = ERROR_INIT;
    if (runtime_check_name(x.container_runtime, &no_runtime) < 0)
        config_problem(c, "container_runtime", "%s", error_msg(&no_runtime));
    config_check_file(c, "security.tls.master_cert");
    config_check_file(c, "security.tls.client_cert");
    config_check_file(c, "security.tls.client_key");
    if (config_problems(c, err) < 0)
        return -1;
    *ret = x;
    return 0;
}

/* Sets a variable for what the agent does itself, such as downloads by libcurl, if the configuration has the key. */
static void use_proxy_variable(const char *name, const char *value)
{
    if (*value)
        setenv(name, value, 1);
}

void agent_config_use_proxies(const struct agent_config *c)
{
    use_proxy_variable("http_proxy", c->http_proxy);
    use_proxy_variable("https_proxy", c->https_proxy);
    use_proxy_variable("no_proxy", c->no_proxy);
}

static const char *variable(const char *name, const char *other)
{
    const char *v = getenv(name);
    v = v && *v ? v : getenv(other);
    return v && *v ? v : NULL;
}

const char *agent_config_master_proxy(const struct agent_config *c)
{
    const char *proxy = c->tls ? variable("https_proxy", "HTTPS_PROXY") : variable("http_proxy", "http_proxy");
    const char *except = variable("no_proxy", "NO_PROXY");
    size_t n = strlen(c->master_host), bracket = c->master_host[0] == '[' && n > 2;
    char host[256];
    snprintf(host, sizeof(host), "%.*s", (int)(n - 2 * bracket), c->master_host + bracket);
    if (!proxy || local_address_is_loopback(c->master_host) ||
        (except && no_proxy_excepts(except, host, c->master_port)))
        return NULL;
    return proxy;
}

/* The URL of host and port. In a URL an IPv6 address stands in brackets. */
static const char *url_of(bool tls, const char *host, int port, struct arena *a)
{
    bool v6 = strchr(host, ':') && host[0] != '[';
    return arena_printf(a, "%s://%s%s%s:%d", tls ? "https" : "http", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

const char *agent_config_master_url(const struct agent_config *c, struct arena *a)
{
    return url_of(c->tls, c->master_host, c->master_port, a);
}

const char *agent_config_task_master_url(const struct agent_config *c, struct arena *a)
{
    return url_of(c->tls, c->container_master_host, c->container_master_port, a);
}
