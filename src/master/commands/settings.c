#include "master/commands/settings.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/cluster/joining.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/base/percent.h"
#include "common/system/files.h"
#include "core/config/expconf_checks.h"
#include "gen/config_tables.h"
#include "gen/permissions.h"
#include "master/commands/ldap_settings.h"
#include "master/pools/provider.h"

#define TOKEN_DAYS_UNLIMITED 106751 /* the longest duration that fits into 64 bits as nanoseconds */

static struct json_object *new_text(char *take_text)
{
    struct json_object *v = json_object_new_string(take_text);
    free(take_text);
    return v;
}

/* ---- Older forms ------------------------------------------------------------------------------------------------- */

/* Turns scheduler{type, fit} into resource_manager.scheduler. A Kubernetes resource manager has no scheduler of
 * ours. */
static struct json_object *manager_of_scheduler(struct json_object *scheduler)
{
    struct json_object *manager = json_object_new_object(), *part = json_object_new_object();
    struct json_object *provider = json_object_object_get(scheduler, "resource_provider");
    struct json_object *type = json_object_object_get(provider, "type");
    bool kubernetes = type && strcmp(json_object_get_string(type), "kubernetes") == 0;
    json_object_object_add(manager, "type", json_object_new_string(kubernetes ? "kubernetes" : "agent"));
    if (kubernetes) {
        json_object_put(part);
        return manager;
    }
    struct json_object *kind = json_object_object_get(scheduler, "type"),
                       *fit = json_object_object_get(scheduler, "fit");
    json_object_object_add(part, "type", kind ? json_object_get(kind) : json_object_new_string("priority"));
    json_object_object_add(part, "fitting_policy", fit ? json_object_get(fit) : json_object_new_string("best"));
    json_object_object_add(manager, "scheduler", part);
    return manager;
}

/* Turns provisioner{provider: aws, …} into the provider of one pool named default. */
static struct json_object *pools_of_provisioner(struct json_object *provisioner)
{
    struct json_object *pools = json_object_new_array(), *pool = json_object_new_object(), *provider = NULL;
    json_object_object_add(pool, "pool_name", json_object_new_string("default"));
    if (provisioner && json_object_deep_copy(provisioner, &provider, NULL) == 0) {
        struct json_object *type = json_object_object_get(provider, "provider");
        json_object_object_add(provider, "type", json_object_get(type));
        json_object_object_del(provider, "provider");
        json_object_object_add(pool, "provider", provider);
    }
    json_object_array_add(pools, pool);
    return pools;
}

static void derive_checked(struct config *c, const char *path, struct json_object *take_value)
{
    const struct schema_key *key = schema_find(master_config_keys, path);
    cleanup_json struct json_object *value = take_value;
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    schema_validate(key, value, SCHEMA_FINISHED, expconf_checks, &(struct schema_place){0}, &problems);
    if (problems.n)
        config_problem(c, path, "made from the older form `scheduler` or `provisioner`: %s",
                       strbuf_str(&problems.text));
    else
        config_derive(c, path, schema_fill(key, value));
    schema_problems_release(&problems);
}

static void rewrite_older_forms(struct config *c)
{
    struct json_object *scheduler = config_get(c, "scheduler"), *provisioner = config_get(c, "provisioner");
    bool new_form = config_is_set(c, "resource_manager") || config_is_set(c, "resource_pools");
    if ((scheduler || provisioner) && new_form) {
        config_problem(c, scheduler ? "scheduler" : "provisioner",
                       "is the older form of resource_manager and resource_pools; use one form only");
    } else if (scheduler || provisioner) {
        derive_checked(c, "resource_manager", manager_of_scheduler(scheduler));
        derive_checked(c, "resource_pools", pools_of_provisioner(provisioner));
    }
    int64_t timeout_us = config_duration_us(c, "__internal.preemption_timeout");
    if (timeout_us > 0)
        config_derive(c, "task_container_defaults.preemption_timeout", json_object_new_int64(timeout_us / 1000000));
}

/* ---- Checks across keys ------------------------------------------------------------------------------------------ */

static bool is_set(struct config *c, const char *path)
{
    const char *s = config_str(c, path);
    return s && *s;
}

static void check_tls(struct config *c)
{
    if (is_set(c, "security.tls.cert") && !is_set(c, "security.tls.key"))
        config_problem(c, "security.tls.cert", "security.tls.key must be set, too");
    if (is_set(c, "security.tls.key") && !is_set(c, "security.tls.cert"))
        config_problem(c, "security.tls.key", "security.tls.cert must be set, too");
    bool named = config_is_set(c, "security.tls.cert") || config_is_set(c, "security.tls.key");
    if (config_bool(c, "security.tls.self_signed") && named)
        config_problem(c, "security.tls.self_signed",
                       "makes a certificate and key, security.tls.cert and key name them; use either");
}

/* A client_ca needs TLS, and require_authentication needs a client_ca. The master's own authority takes the place of a
 * client_ca. */
static void check_agents_certificates(struct config *c)
{
    bool tls = is_set(c, "security.tls.cert") || config_bool(c, "security.tls.self_signed");
    bool wanted = config_bool(c, "resource_manager.require_authentication"),
         ca = is_set(c, "resource_manager.client_ca");
    bool own = strcmp(config_str(c, "security.tls.agent_certificates"), "require") == 0;
    int64_t life_us = config_duration_us(c, "security.tls.agent_certificate_lifetime");
    if (wanted && !ca)
        config_problem(c, "resource_manager.require_authentication",
                       "resource_manager.client_ca must be set, too; or set security.tls.agent_certificates to require "
                       "instead, and the master gives agents certificates itself");
    if (own && !tls)
        config_problem(c, "security.tls.agent_certificates",
                       "require needs security.tls.cert and key (or self_signed)");
    if (own && ca)
        config_problem(c, "security.tls.agent_certificates",
                       "require and resource_manager.client_ca are two authorities: use either");
    if (life_us < JOINING_CERTIFICATE_MIN_US || life_us > JOINING_CERTIFICATE_MAX_US)
        config_problem(c, "security.tls.agent_certificate_lifetime", "must be from 10s to 8760h");
    if (ca && !tls)
        config_problem(c, "resource_manager.client_ca", "security.tls.cert and key (or self_signed) must be set, too");
}

static int64_t token_days(struct config *c, const char *path)
{
    int64_t n = config_int(c, path);
    return n == -1 ? TOKEN_DAYS_UNLIMITED : n;
}

static void check_tokens(struct config *c)
{
    if (config_is_set(c, "security.token.default_lifespan_days") &&
        token_days(c, "security.token.default_lifespan_days") > token_days(c, "security.token.max_lifespan_days"))
        config_problem(c, "security.token.default_lifespan_days",
                       "must not be more than security.token.max_lifespan_days");
}

/* Whoever creates a workspace gets this role in it, so it must be a role that can be given in a workspace. */
static void check_role_of_creators(struct config *c)
{
    int64_t id = config_int(c, "security.authz.workspace_creator_assign_role.role_id");
    for (size_t i = 0; i < ROLES_N; i++)
        if (role_rows[i].id == id && role_rows[i].workspace)
            return;
    config_problem(c, "security.authz.workspace_creator_assign_role.role_id",
                   "must be the number of a role that can be given in a workspace: 2 is WorkspaceAdmin, 5 Editor, "
                   "4 Viewer (det rbac list-roles --exclude-global-roles shows all)");
}

/* Checks the configuration as a whole: the secret may come from the environment, and the rest from the file. */
static void check_scim(struct config *c)
{
    static const char *const keys[] = {"scim.auth.username", "scim.auth.password"};
    if (!config_bool(c, "scim.enabled") || strcmp(config_str(c, "scim.auth.type"), "basic") != 0)
        return;
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const char *text = config_str(c, keys[i]);
        if (!text || !*text)
            config_problem(
                c, keys[i],
                "must be set while scim.enabled is true and scim.auth.type is basic, here or in the environment");
    }
}

static void check_sign_in(struct config *c)
{
    check_scim(c);
    ldap_settings_check(c);
    const char *secret = config_str(c, "oidc.client_secret");
    if (config_bool(c, "oidc.enabled") && (!secret || !*secret))
        config_problem(c, "oidc.client_secret",
                       "must be set while oidc.enabled is true, here or as DET_OIDC_CLIENT_SECRET in the environment");
}

static void check_ssh(struct config *c)
{
    bool rsa = strcmp(config_str(c, "security.ssh.key_type"), "RSA") == 0;
    if (rsa && !config_is_set(c, "security.ssh.rsa_key_size"))
        config_problem(c, "security.ssh.key_type", "security.ssh.rsa_key_size must be set for RSA keys");
}

static void check_logos(struct config *c)
{
    static const char *const logos[] = {"light_horizontal", "light_vertical", "dark_horizontal", "dark_vertical"};
    for (size_t i = 0; config_get(c, "ui_customization.logo_paths") && i < sizeof(logos) / sizeof(*logos); i++) {
        cleanup_strbuf struct strbuf path = STRBUF_INIT;
        struct stat st;
        strbuf_addf(&path, "ui_customization.logo_paths.%s", logos[i]);
        const char *file = config_str(c, path.s);
        if (file && (stat(file, &st) < 0 || !S_ISREG(st.st_mode)))
            config_problem(c, path.s, "%s is no file", file);
    }
}

/* Sets the type of the database to PostgreSQL if the configuration names a server. Files of release 0.38.1, which had
 * no other database, do not say the type. */
static void derive_database_type(struct config *c)
{
    if (is_set(c, "db.host"))
        config_derive(c, "db.type", json_object_new_string("postgres"));
}

/* Checks that the files named in the configuration can be read. The files of a self-signed pair are not named yet at
 * this point. */
static void check_files(struct config *c)
{
    static const char *const files[] = {"security.tls.cert", "security.tls.key", "resource_manager.client_ca",
                                        "observability.token_file"};
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        config_check_file(c, files[i]);
    if (strcmp(config_str(c, "db.type"), "postgres") == 0)
        config_check_file(c, "db.ssl_root_cert");
}

static bool is_postgres(const struct config *c)
{
    return strcmp(config_str(c, "db.type"), "postgres") == 0;
}

static void check_database(struct config *c)
{
    static const char *const needed[] = {"db.host", "db.user", "db.name"};
    for (size_t i = 0; is_postgres(c) && i < sizeof(needed) / sizeof(*needed); i++)
        if (!*config_str(c, needed[i]))
            config_problem(c, needed[i], "is needed for db.type postgres");
    if (is_postgres(c) && strncmp(config_str(c, "db.ssl_mode"), "verify-", 7) == 0 &&
        !*config_str(c, "db.ssl_root_cert"))
        config_problem(c, "db.ssl_root_cert", "is needed for db.ssl_mode %s", config_str(c, "db.ssl_mode"));
}

static void add_escaped(struct strbuf *out, const char *before, const char *text)
{
    strbuf_add(out, before, strlen(before));
    strbuf_add_percent(out, text, PERCENT_UNRESERVED);
}

void master_settings_database(const struct config *c, struct strbuf *out)
{
    if (!is_postgres(c)) {
        strbuf_addf(out, "%s", config_str(c, "db.path"));
        return;
    }
    const char *port = json_object_get_string(config_get(c, "db.port")), *authority = config_str(c, "db.ssl_root_cert");
    add_escaped(out, "postgresql://", config_str(c, "db.user"));
    add_escaped(out, ":", config_str(c, "db.password"));
    add_escaped(out, "@/", config_str(c, "db.name"));
    add_escaped(out, "?host=", config_str(c, "db.host"));
    add_escaped(out, "&sslmode=", config_str(c, "db.ssl_mode"));
    if (port && *port)
        add_escaped(out, "&port=", port);
    if (*authority)
        add_escaped(out, "&sslrootcert=", authority);
}

static void check_resource_managers(struct config *c)
{
    const char *type = config_str(c, "resource_manager.type");
    if (strcmp(type, "agent") != 0)
        config_problem(c, "resource_manager.type", "this build serves agent, found \"%s\"", type);
}

static void warn_of_round_robin(struct config *c, struct json_object *scheduler, const char *where)
{
    struct json_object *type = json_object_object_get(scheduler, "type");
    if (type && strcmp(json_object_get_string(type), "round_robin") == 0)
        config_warn(c, "%s: round_robin runs as priority with equal priorities", where);
}

static void warn_of_schedulers(struct config *c)
{
    struct json_object *pools = config_get(c, "resource_pools");
    warn_of_round_robin(c, config_get(c, "resource_manager.scheduler"), "resource_manager.scheduler");
    for (size_t i = 0; pools && i < json_object_array_length(pools); i++) {
        struct json_object *pool = json_object_array_get_idx(pools, i),
                           *name = json_object_object_get(pool, "pool_name");
        warn_of_round_robin(c, json_object_object_get(pool, "scheduler"),
                            name ? json_object_get_string(name) : "a pool");
    }
}

/* Refuses providers that this build does not have, because jobs of such a pool would wait for ever. */
static void check_providers(struct config *c)
{
    struct json_object *pools = config_get(c, "resource_pools");
    for (size_t i = 0; pools && i < json_object_array_length(pools); i++) {
        struct json_object *provider = json_object_object_get(json_object_array_get_idx(pools, i), "provider");
        const char *type = json_object_get_string(json_object_object_get(provider, "type"));
        cleanup_strbuf struct strbuf path = STRBUF_INIT;
        if (!type)
            continue;
        const struct provider_type *known = provider_find(type);
        if (known && known->slots_per_instance(provider) < 0) {
            strbuf_addf(&path, "resource_pools[%zu].provider.instance_type", i);
            config_problem(c, path.s, "the slots of \"%s\" are not known; set instance_slots, too",
                           json_object_get_string(json_object_object_get(provider, "instance_type")));
        }
        if (known)
            continue;
        strbuf_addf(&path, "resource_pools[%zu].provider.type", i);
        config_problem(c, path.s,
                       "this build launches no machines of provider \"%s\", only of \"local\", \"aws\", \"gcp\" and "
                       "\"command\"; leave `provider` out and start this pool's agents yourself",
                       type);
    }
}

static bool has_pool(struct json_object *pools, const char *name)
{
    for (size_t i = 0; i < json_object_array_length(pools); i++) {
        struct json_object *pool_name = json_object_object_get(json_object_array_get_idx(pools, i), "pool_name");
        if (pool_name && strcmp(json_object_get_string(pool_name), name) == 0)
            return true;
    }
    return false;
}

static void check_default_pools(struct config *c)
{
    static const char *const keys[] = {"resource_manager.default_compute_resource_pool",
                                       "resource_manager.default_aux_resource_pool"};
    struct json_object *pools = config_get(c, "resource_pools");
    if (config_bool(c, "resource_manager.no_default_resource_pools") || !pools)
        return;
    for (size_t i = 0; pools && i < 2; i++) {
        if (!has_pool(pools, config_str(c, keys[i])))
            config_problem(c, keys[i], "there is no pool \"%s\"", config_str(c, keys[i]));
    }
}

/* ---- What depends on the machine --------------------------------------------------------------------------------- */

static char *default_data_dir(void)
{
    const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (geteuid() == 0)
        return must_strdup("/var/lib/determined");
    if (xdg && *xdg == '/') /* the XDG rules say that a relative path is ignored */
        return path_join(xdg, "determined");
    const struct passwd *pw = home && *home ? NULL : getpwuid(geteuid());
    return path_join(pw ? pw->pw_dir : home && *home ? home : "/", ".local/share/determined");
}

static void derive_self_signed(struct config *c)
{
    if (!config_bool(c, "security.tls.self_signed"))
        return;
    config_derive(c, "security.tls.cert", new_text(path_join(config_str(c, "data_dir"), "tls.crt")));
    config_derive(c, "security.tls.key", new_text(path_join(config_str(c, "data_dir"), "tls.key")));
}

static void derive_defaults(struct config *c)
{
    config_derive(c, "data_dir", new_text(default_data_dir()));
    derive_self_signed(c);
    config_derive(c, "db.path", new_text(path_join(config_str(c, "data_dir"), "determined.db")));
    if (config_int(c, "port") == 0)
        config_derive(c, "port", json_object_new_int(is_set(c, "security.tls.cert") ? 8443 : 8080));
    if (!config_get(c, "resource_pools"))
        derive_checked(c, "resource_pools", pools_of_provisioner(NULL));
}

struct config_input master_config_input(int argc, char *const *argv)
{
    return (struct config_input){.program = "determined-master",
                                 .keys = master_config_keys,
                                 .default_file = "/etc/determined/master.yaml",
                                 .argc = argc,
                                 .argv = argv,
                                 .environ_ = environ};
}

int master_settings_load(const struct config_input *in, struct config **ret, struct error *err)
{
    cleanup_config struct config *c = NULL;
    struct config_input with_checks = *in;
    /* task_container_defaults has the same checks for devices, log policies and pods */
    with_checks.checks = expconf_checks;
    if (config_read(&with_checks, &c, err) < 0)
        return -1;
    rewrite_older_forms(c);
    derive_database_type(c);
    check_tls(c); /* to be done before the files of a self-signed pair are filled in */
    check_agents_certificates(c);
    check_files(c);
    derive_defaults(c);
    check_database(c);
    check_tokens(c);
    check_role_of_creators(c);
    check_sign_in(c);
    check_ssh(c);
    check_logos(c);
    check_resource_managers(c);
    check_providers(c);
    check_default_pools(c);
    warn_of_schedulers(c);
    if (config_problems(c, err) < 0)
        return -1;
    *ret = take_ptr(c);
    return 0;
}
