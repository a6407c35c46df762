/* determined-master: reads its configuration, builds the parts, runs the loop, tears down. */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/accounts/password_lane.h"
#include "api/checkpoints/storage_roots.h"
#include "api/cluster/cluster_message.h"
#include "api/cluster/joining.h"
#include "api/pipeline/identity.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "common/system/log_ring.h"
#include "common/system/random.h"
#include "master/agents/agent_certificates.h"
#include "master/agents/agent_hub.h"
#include "master/agents/agent_keys.h"
#include "master/commands/admin.h"
#include "master/commands/commands.h"
#include "master/commands/data_dir.h"
#include "master/commands/settings.h"
#include "master/commands/tls_files.h"
#include "master/logs/log_policies.h"
#include "master/logs/log_retention.h"
#include "master/logs/log_sealer.h"
#include "master/master.h"
#include "master/pools/provisioner.h"
#include "master/presence.h"
#include "master/removal/collector.h"
#include "master/removal/context_sweep.h"
#include "master/removal/deletions.h"
#include "master/start_configs.h"
#include "master/webhooks/webhook_sender.h"
#include "master/writer/housekeeping.h"
#include "master/writer/lookup_follower.h"
#include "master/writer/metric_sealer.h"
#include "master/writer/read_probe.h"
#include "net/ldap/ldap_login.h"
#include "net/loop/service.h"
#include "store/engine/meta.h"
#include "store/experiments/experiments.h"
#include "store/store.h"

enum {
    READERS = 3,
    TRANSFERS = 2,
    WORKERS = 2,
    QUEUE_MAX = 10000,
    PASSWORD_QUEUE_MAX =
        2, /* the request that the thread works on, and the first accounts; other requests wait in the password lane */
    BODIES_MAX = 1024 * 1024 * 1024,
    ANONYMOUS_BODY_MAX = 64 * 1024,
    CONNECTIONS_MAX = 20000,
    OWN_LOG_LINES = 16384,
    OWN_LOG_BYTES = 4 << 20,
};

static const char usage[] = "usage: determined-master [--data-dir D] [--config-file F] [OPTIONS]\n"
                            "       determined-master config show [--origin] | check [OPTIONS]\n"
                            "       determined-master audit verify [OPTIONS]\n"
                            "       determined-master backup | restore FILE [OPTIONS]\n"
                            "       determined-master version\n";

/* ---- building ---------------------------------------------------------------------------------------------------- */

static int open_data_dir(struct master *m, struct error *err)
{
    m->data_dir = must_strdup(config_str(m->config, "data_dir"));
    return data_dir_lock(m->data_dir, &m->lock_fd, err);
}

/* Fails if a restore into the data directory was not finished. Without this check the master would start with an empty
 * store, as if the restore had succeeded. */
static int expect_no_half_restore(const struct master *m, struct error *err)
{
    cleanup_free char *marker = path_join(m->data_dir, DATA_DIR_RESTORING);
    if (access(marker, F_OK) < 0)
        return 0;
    if (access(config_str(m->config, "db.path"), F_OK) < 0)
        return error_set(err, ERR_PRECONDITION,
                         "a restore into %s did not end: run determined-master restore FILE again, or delete %s to"
                         " begin with nothing",
                         m->data_dir, marker);
    unlink(marker); /* the restore was killed after its last step, the rename, so it is complete */
    return 0;
}

/* An address without the slash at its end. */
static const char *without_slash(const char *url, struct arena *a)
{
    size_t n = url ? strlen(url) : 0;
    while (n > 0 && url[n - 1] == '/')
        n--;
    return arena_strndup(a, url ? url : "", n);
}

static int open_store(struct master *m, struct error *err)
{
    if (expect_no_half_restore(m, err) < 0)
        return -1;
    cleanup_strbuf struct strbuf place = STRBUF_INIT;
    master_settings_database(m->config, &place);
    m->db_place = must_strdup(strbuf_str(&place));
    bool normal = strcmp(config_str(m->config, "db.durability"), "normal") == 0;
    if (store_open(m->db_place, normal ? STORE_DURABLE_NORMAL : STORE_DURABLE_FULL, &m->db, err) < 0)
        return -1;
    char proposal[37], *master_id = arena_alloc(&m->texts, 37);
    if (random_uuid(proposal, err) < 0 || random_uuid(master_id, err) < 0 ||
        store_next_epoch(m->db, &m->info.epoch, err) < 0)
        return -1;
    if (store_begin(m->db, err) < 0 || store_cluster_id(m->db, proposal, &m->texts, &m->info.cluster_id, err) < 0 ||
        store_heartbeat_set(m->db, m->started_us, err) < 0 || store_commit(m->db, err) < 0)
        return -1;
    m->info.master_id = master_id;
    m->info.version = DET_VERSION;
    m->info.config = m->config;
    m->storage_roots = storage_roots_new(m->config, m->data_dir);
    m->info.storage_roots = m->storage_roots;
    m->info.webhook_base_url = without_slash(config_str(m->config, "webhooks.base_url"), &m->texts);
    m->info.cluster_name = config_str(m->config, "cluster_name") ? config_str(m->config, "cluster_name") : "";
    return 0;
}

static int reader_init(void *ctx, void **ret_worker, struct error *err)
{
    const struct master *m = ctx;
    return store_open_reader(m->db_place, (struct store **)ret_worker, err);
}

static void reader_release(void *worker)
{
    store_close(worker);
}

static int start_threads(struct master *m, struct error *err)
{
    struct pool_options readers = {.name = "det-reader",
                                   .threads = READERS,
                                   .queue_max = QUEUE_MAX,
                                   .worker_init = reader_init,
                                   .worker_release = reader_release,
                                   .ctx = m};
    struct pool_options workers = {.name = "det-worker", .threads = WORKERS, .queue_max = QUEUE_MAX};
    struct pool_options transfers = {.name = "det-transfer", .threads = TRANSFERS, .queue_max = QUEUE_MAX};
    struct pool_options lookups = readers;
    lookups.name = "det-lookups";
    lookups.threads = 1;
    struct pool_options passwords = lookups;
    passwords.name = "det-password";
    passwords.queue_max = PASSWORD_QUEUE_MAX;
    struct pool_options directory = {.name = "det-directory",
                                     .threads = DIRECTORY_THREADS,
                                     .queue_max = DIRECTORY_THREADS};
    if (config_bool(m->config, "ldap.enabled") &&
        (ldap_login_load(err) < 0 || pool_new(m->loop, &directory, &m->directory, err) < 0))
        return -1;
    if (pool_new(m->loop, &readers, &m->readers, err) < 0 || pool_new(m->loop, &lookups, &m->lookups, err) < 0 ||
        pool_new(m->loop, &passwords, &m->passwords, err) < 0 || pool_new(m->loop, &transfers, &m->transfers, err) < 0)
        return -1;
    return pool_new(m->loop, &workers, &m->workers, err);
}

static void on_core_timer(void *ctx)
{
    struct core_event ev = {.type = CORE_TIMER, .now_us = clock_now_us()};
    cleanup_error struct error err = ERROR_INIT;
    if (master_step(ctx, &ev, NULL, &err) < 0)
        log_error("core.timer_failed", "reason=%s", log_quote(error_msg(&err)));
}

static int build_core(struct master *m, struct error *err)
{
    struct core_opts opts;
    core_options(m, &opts);
    api_defaults_of_config(m, &opts, &m->defaults);
    if (random_bytes(&opts.seed, sizeof(opts.seed), err) < 0)
        return -1;
    m->core = core_new(&opts);
    m->core_timer = loop_timer_new(m->loop, on_core_timer, m);
    return 0;
}

static int build_api(struct master *m, struct error *err)
{
    struct api_services services = services_for_api(m);
    m->agents = agent_hub_new(m);
    if (!m->agents)
        return error_set(err, ERR_NO_MEMORY, "no memory for the agents");
    if (api_new(m->loop, &services, &m->info, &m->defaults, m->core, &m->api, err) < 0)
        return -1;
    return data_dir_secret(m->config, "security.agent_token", DATA_DIR_AGENT_TOKEN, m->agent_token,
                           sizeof(m->agent_token), err) < 0
               ? -1
               : accounts_collector_token(m->config, m->collector_token, err);
}

static void on_new_pair(void *ctx, struct ssl_ctx_st *tls, const char *fingerprint)
{
    struct master *m = ctx;
    if (m->http) /* m->http is NULL while the master starts or stops */
        http_server_set_tls(m->http, tls);
    if (m->agents)
        agent_hub_tell_certificate(m->agents, fingerprint);
}

static void on_hangup(void *ctx)
{
    struct master *m = ctx;
    service_reloading(m->service);
    if (m->tls)
        tls_files_reload(m->tls);
    else
        log_info("master.reload", "what=nothing reason=\"only certificates are read again\"");
    service_ready(m->service);
}

static int load_tls(struct master *m, struct error *err)
{
    struct tls_files_options o = {.cert = config_str(m->config, "security.tls.cert"),
                                  .key = config_str(m->config, "security.tls.key"),
                                  .client_ca = config_str(m->config, "resource_manager.client_ca"),
                                  .period_us = TLS_FILES_PERIOD_US,
                                  .on_change = on_new_pair,
                                  .ctx = m};
    if (!*o.cert)
        return 0;
    if (config_bool(m->config, "security.tls.self_signed") && tls_files_make_self_signed(m->config, err) < 0)
        return -1;
    cleanup_free char *authority = path_join(m->data_dir, DATA_DIR_AGENTS_CA);
    if (agent_certificates_new(m->config, authority, &m->certificates, err) < 0)
        return -1;
    if (m->certificates)
        o.client_ca = agent_certificates_file(m->certificates);
    return tls_files_new(m->loop, &o, &m->tls, err);
}

static int listen_http(struct master *m, struct error *err)
{
    int port = (int)config_int(m->config, "port");
    struct http_server_options o = {.bind_host = config_str(m->config, "bind_host"),
                                    .port = port ? port : 8080,
                                    .limits = {.body_max = ROUTE_BODY_MAX_DEFAULT,
                                               .bodies_max = BODIES_MAX,
                                               .anonymous_body_max = ANONYMOUS_BODY_MAX,
                                               .connections_max = CONNECTIONS_MAX,
                                               .idle_timeout_s = 300,
                                               .read_timeout_s = 60},
                                    .on_request = api_on_request,
                                    .has_credentials = api_has_credentials,
                                    .early = api_takes_early,
                                    .body_max = api_body_max,
                                    .ctx = m->api,
                                    .tls = m->tls ? tls_files_ctx(m->tls) : NULL};
    return http_server_new(m->loop, &o, &m->http, err);
}

/* Reads what the store holds into memory. After that the connection belongs to the writer, and the effects of
 * core_restore() are carried out. */
static int restore_state(struct master *m, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct core_rows rows;
    struct store_log_match *match;
    struct store_run_deletion *deletion;
    size_t match_n, deletion_n;
    cleanup_effects struct core_effects effects = CORE_EFFECTS_INIT;
    m->agent_keys = agent_keys_new();
    if (accounts_load(m, err) < 0 || agent_keys_load(m->agent_keys, m->db, err) < 0 ||
        agent_certificates_load(m->certificates, m->db, err) < 0 || joining_load(api_joining(m->api), m->db, err) < 0 ||
        cluster_message_load(api_cluster_message(m->api), m->db, err) < 0 ||
        store_experiments_fail_deletions(m->db, err) < 0 || persist_load(m->db, m->core, &a, &rows, err) < 0 ||
        store_log_matches_open(m->db, &a, &match, &match_n, err) < 0 ||
        store_run_deletions_open(m->db, &a, &deletion, &deletion_n, err) < 0 ||
        core_restore(m->core, &rows, m->started_us, &effects, err) < 0)
        return -1;
    m->start_configs = start_configs_new();
    if (writer_new(m->loop, m->db, &m->writer, err) < 0)
        return -1;
    m->log_policies = log_policies_scanner_new(m->loop, m->readers);
    m->log_sealer = sealer_new(&log_sealer, m->loop, m->readers, m->writer);
    m->metric_sealer = sealer_new(&metric_sealer, m->loop, m->readers, m->writer);
    m->log_retention = log_retention_new(m);
    m->context_sweep = context_sweep_new(m);
    m->lookup_follower = lookup_follower_new(m->loop, m->lookups, m->writer);
    master_carry_out(m, &effects, NULL);
    m->deletions = deletions_new(m);
    if (webhook_sender_new(m, &m->webhooks, err) < 0 || collector_new(m, &m->collector, err) < 0 ||
        provisioner_new(m, &m->provisioner, err) < 0)
        return -1;
    for (size_t i = 0; i < match_n; i++) /* the last master may not have told its core of these matches */
        log_policies_tell(m, &match[i]);
    for (size_t i = 0; i < deletion_n; i++) {
        cleanup_error struct error refused = ERROR_INIT; /* deletions_add() has logged the error */
        deletions_add(m->deletions, deletion[i].experiment_id, deletion[i].trial_id, &refused);
    }
    if (read_probe_new(m->loop, m->readers, &m->read_probe, err) < 0)
        return -1;
    m->presence = presence_new(m);
    return housekeeping_new(m->loop, m->writer, api_identities(m->api), HOUSEKEEPING_PERIOD_US,
                            config_int(m->config, "security.audit_retention_days"), &m->housekeeping, err);
}

/* Opens the socket for commands such as backup. If a socket cannot be made in the data directory, the master runs
 * without these commands. */
static void open_admin_socket(struct master *m)
{
    cleanup_error struct error err = ERROR_INIT;
    if (admin_new(m, &m->admin, &err) < 0)
        log_warning("admin.closed", "reason=%s action=go_on_without_backup", log_quote(error_msg(&err)));
}

static void on_terminate(void *ctx)
{
    struct master *m = ctx;
    log_info("master.stop", "reason=signal");
    service_stopping(m->service);
    loop_stop(m->loop);
}

/* Begins to handle signals. This is done before the service manager is told that the master is ready, because signals
 * may come from that time on. */
static void take_signals(struct master *m)
{
    loop_on_signal(m->loop, SIGHUP, on_hangup, m);
    loop_on_signal(m->loop, SIGTERM, on_terminate, m);
    loop_on_signal(m->loop, SIGINT, on_terminate, m);
}

static int master_start(struct master *m, struct error *err)
{
    m->started_us = clock_now_us();
    m->started_steady_us = clock_monotonic_us();
    if (open_data_dir(m, err) < 0 || open_store(m, err) < 0 || loop_new(&m->loop, err) < 0)
        return -1;
    m->service = service_new(m->loop);
    take_signals(m);
    if (start_threads(m, err) < 0 || build_core(m, err) < 0 || build_api(m, err) < 0 || load_tls(m, err) < 0 ||
        restore_state(m, err) < 0 || accounts_prepare_first(m, err) < 0 || listen_http(m, err) < 0)
        return -1;
    open_admin_socket(m);
    service_ready(m->service);
    service_status(m->service, "Serving HTTP%s on port %d", m->tls ? "S" : "", http_server_port(m->http));
    log_info("master.ready", "port=%d tls=%s epoch=%lld data_dir=%s start_ms=%.1f", http_server_port(m->http),
             m->tls ? "yes" : "no", (long long)m->info.epoch, m->data_dir,
             (double)(clock_monotonic_us() - m->started_steady_us) / 1000);
    accounts_make_first(m);
    return 0;
}

/* Frees all parts. First the work that has begun is brought to its end (stop.c), so that no part is called after it was
 * freed. */
static void master_release(struct master *m)
{
    housekeeping_free(m->housekeeping);
    presence_free(m->presence);
    m->presence = NULL;
    read_probe_stop(m->read_probe);
    sealer_stop(m->log_sealer);
    lookup_follower_stop(m->lookup_follower);
    sealer_stop(m->metric_sealer);
    collector_stop(m->collector);
    webhook_sender_stop(m->webhooks);
    provisioner_stop(m->provisioner);
    admin_free(m->admin);
    accounts_drop_first(m);
    if (m->writer)
        master_stop(m);
    deletions_free(m->deletions);
    tls_files_free(m->tls);
    http_server_free(m->http);
    agent_keys_free(m->agent_keys);
    agent_certificates_free(m->certificates);
    pool_free(m->readers);
    read_probe_free(m->read_probe);
    pool_free(m->lookups);
    pool_free(m->passwords);
    pool_free(m->directory);
    pool_free(m->workers);
    pool_free(m->transfers);
    collector_free(m->collector);
    webhook_sender_free(m->webhooks);
    provisioner_free(m->provisioner);
    writer_free(m->writer);
    start_configs_free(m->start_configs);
    log_policies_scanner_free(m->log_policies);
    sealer_free(m->log_sealer);
    lookup_follower_free(m->lookup_follower);
    sealer_free(m->metric_sealer);
    log_retention_free(m->log_retention);
    context_sweep_free(m->context_sweep);
    api_free(m->api);
    agent_hub_free(m->agents); /* after the API, whose connections to tasks are joined to streams of the hub */
    if (m->core_timer)
        loop_timer_free(m->core_timer);
    core_free(m->core);
    service_free(m->service);
    loop_free(m->loop);
    store_close(m->db);
    storage_roots_free(m->storage_roots);
    config_free(m->config);
    arena_release(&m->texts);
    if (m->lock_fd >= 0)
        close(m->lock_fd);
    free(m->db_place);
    free(m->data_dir);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static int load_config(struct master *m, int argc, char **argv, struct error *err)
{
    struct config_input in = master_config_input(argc - 1, argv + 1);
    if (config_wants_help(in.argc, in.argv)) {
        cleanup_strbuf struct strbuf help = STRBUF_INIT;
        config_help(&in, usage, &help);
        fputs(strbuf_str(&help), stdout);
        exit(0);
    }
    if (master_settings_load(&in, &m->config, err) < 0)
        return -1;
    enum log_level level = LOG_INFO;
    log_level_parse(config_str(m->config, "log.level"), &level);
    log_init("determined-master", level, config_bool(m->config, "log.color") && isatty(2));
    log_set_json(strcmp(config_str(m->config, "log.format"), "json") == 0);
    config_log_warnings(m->config);
    return 0;
}

static int start_and_run(struct master *m, int argc, char **argv, struct error *err)
{
    if (load_config(m, argc, argv, err) < 0 || master_start(m, err) < 0)
        return -1;
    return loop_run(m->loop, err);
}

static int serve_until_stopped(int argc, char **argv, struct error *err)
{
    struct master m = {.lock_fd = -1, .own_log = log_ring_new(OWN_LOG_LINES, OWN_LOG_BYTES)};
    log_set_sink(log_ring_add, m.own_log);
    int rc = start_and_run(&m, argc, argv, err);
    master_release(&m);
    log_set_sink(NULL, NULL);
    log_ring_free(m.own_log);
    return rc;
}

static const struct command {
    const char *word;
    int (*run)(int argc, char *const *argv, struct error *err); /* argv: the arguments after the command's word */
} commands[] = {
    {"audit", audit_command},
    {"backup", backup_command},
    {"config", config_command},
    {"restore", restore_command},
};

static int run_command(int argc, char **argv, struct error *err)
{
    for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(*commands); i++) {
        if (strcmp(argv[1], commands[i].word) == 0)
            return commands[i].run(argc - 2, argv + 2, err);
    }
    return serve_until_stopped(argc, argv, err);
}

/* Makes the allocator return freed memory to the system. By default, glibc keeps up to 64 MiB for each thread after a
 * large block was freed there. */
static void keep_little_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
}

int main(int argc, char **argv)
{
    if (argc == 2 && (strcmp(argv[1], "version") == 0 || strcmp(argv[1], "--version") == 0)) {
        puts("determined-master " DET_VERSION);
        return 0;
    }
    cleanup_error struct error err = ERROR_INIT;
    umask(077);
    keep_little_memory();
    if (run_command(argc, argv, &err) == 0)
        return 0;
    fprintf(stderr, "determined-master: %s\n", error_msg(&err));
    return error_exit_code(err.kind);
}
