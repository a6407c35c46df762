#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/system/files.h"
#include "gen/config_tables.h"
#include "master/commands/settings.h"

static char path[64];

static int make_path(void **state)
{
    snprintf(path, sizeof(path), "/tmp/test_settings.XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    return unlink(path);
}

static struct config *load_settings(const char *text, struct error *err)
{
    struct config *c = NULL;
    struct config_input in = {.program = "determined-master", .keys = master_config_keys, .default_file = path};
    if (file_write(path, text, strlen(text), 0600, err) < 0 || master_settings_load(&in, &c, err) < 0)
        return NULL;
    return c;
}

static struct config *expect_loaded(const char *text)
{
    cleanup_error struct error err = ERROR_INIT;
    struct config *c = load_settings(text, &err);
    if (!c)
        fail_msg("%s: %s", text, error_msg(&err));
    return c;
}

static void expect_refused(const char *text, const char *part)
{
    cleanup_error struct error err = ERROR_INIT;
    cleanup_config struct config *c = load_settings(text, &err);
    if (c)
        fail_msg("accepted: %s", text);
    if (!strstr(error_msg(&err), part))
        fail_msg("%s\nis not in: %s", part, error_msg(&err));
}

static void test_settings__the_machine_fills_in_what_nobody_set(void **state)
{
    cleanup_config struct config *c = expect_loaded("data_dir: /x/y\n");
    assert_string_equal(config_str(c, "db.path"), "/x/y/determined.db");
    assert_int_equal(config_int(c, "port"), 8080);
    assert_string_equal(config_str(c, "resource_pools[0].pool_name"), "default");
    assert_int_equal(config_int(c, "resource_pools[0].max_aux_containers_per_agent"), 100);
    cleanup_config struct config *d = expect_loaded("");
    assert_non_null(config_str(d, "data_dir"));
    cleanup_config struct config *e = expect_loaded("security: {tls: {cert: /dev/null, key: /dev/null}}\n");
    assert_int_equal(config_int(e, "port"), 8443);
    cleanup_config struct config *f = expect_loaded("{data_dir: /x/y, security: {tls: {self_signed: true}}}\n");
    assert_int_equal(config_int(f, "port"), 8443);
    assert_string_equal(config_str(f, "security.tls.cert"), "/x/y/tls.crt");
    assert_string_equal(config_str(f, "security.tls.key"), "/x/y/tls.key");
}

static void test_settings__this_build_says_what_it_serves(void **state)
{
    expect_refused("db: {type: oracle}\n", "db.type: must be one of sqlite, postgres; found \"oracle\"");
    expect_refused("resource_manager: {type: slurm}\n",
                   "resource_manager.type: this build serves agent, found \"slurm\"");
}

static void test_settings__say_where_the_database_is(void **state)
{
    cleanup_strbuf struct strbuf file = STRBUF_INIT, server = STRBUF_INIT;
    cleanup_config struct config *c = expect_loaded("data_dir: /x/y\n");
    master_settings_database(c, &file);
    assert_string_equal(strbuf_str(&file), "/x/y/determined.db");
    cleanup_config struct config *d = expect_loaded(
        "db: {type: postgres, host: db.example, port: 5433, user: det, password: 'a:b@c/d e', name: determined,"
        " ssl_mode: verify-full, ssl_root_cert: /dev/null}\n");
    master_settings_database(d, &server);
    assert_string_equal(strbuf_str(&server), "postgresql://det:a%3Ab%40c%2Fd%20e@/determined?host=db.example"
                                             "&sslmode=verify-full&port=5433&sslrootcert=%2Fdev%2Fnull");
    cleanup_strbuf struct strbuf by_host = STRBUF_INIT;
    cleanup_config struct config *h = expect_loaded("db: {host: db.example, user: det, name: determined}\n");
    master_settings_database(h, &by_host); /* whoever names a host means PostgreSQL */
    assert_ptr_equal(strstr(strbuf_str(&by_host), "postgresql://det"), strbuf_str(&by_host));
    expect_refused("db: {type: postgres, user: det, name: d}\n", "db.host: is needed for db.type postgres");
    expect_refused("db: {type: postgres, host: h, user: det, name: d, ssl_mode: verify-ca}\n",
                   "db.ssl_root_cert: is needed for db.ssl_mode verify-ca");
}

static void test_settings__checks_across_keys_name_the_place(void **state)
{
    cleanup_strbuf struct strbuf place = STRBUF_INIT;
    strbuf_addf(&place, "%s:1:24: security.tls.cert: security.tls.key must be set, too", path);
    expect_refused("security: {tls: {cert: a}}\n", place.s);
    expect_refused("security: {tls: {key: a}}\n", "security.tls.key: security.tls.cert must be set, too");
    expect_refused("security: {tls: {cert: a, key: b, self_signed: true}}\n",
                   "security.tls.self_signed: makes a certificate and key");
    expect_refused("security: {token: {max_lifespan_days: 5, default_lifespan_days: 6}}\n",
                   "security.token.default_lifespan_days: must not be more than security.token.max_lifespan_days");
    expect_refused("security: {token: {default_lifespan_days: -1}}\n", "must not be more than");
    expect_refused("security: {ssh: {key_type: RSA}}\n", "security.ssh.rsa_key_size must be set for RSA keys");
    expect_refused(
        "ui_customization: {logo_paths: {light_horizontal: /nonexistent, light_vertical: /, dark_horizontal: /, dark_vertical: /}}\n",
        "ui_customization.logo_paths.light_horizontal: /nonexistent is no file");
    expect_refused("resource_pools: [{pool_name: a}]\n", "default_compute_resource_pool: there is no pool \"default\"");
    expect_refused("resource_pools: [{pool_name: a}, {pool_name: a}]\n",
                   "resource_pools: two pools have the name \"a\"");
    expect_refused("task_container_defaults: {devices: [/dev/x]}\n",
                   "task_container_defaults.devices[0]: must be HOST:CONTAINER");
}

static void test_settings__older_forms_become_the_new_ones(void **state)
{
    cleanup_config struct config *c = expect_loaded(
        "scheduler: {type: fair_share, fit: worst}\n__internal: {preemption_timeout: 2m}\n");
    assert_string_equal(config_str(c, "resource_manager.scheduler.type"), "fair_share");
    assert_string_equal(config_str(c, "resource_manager.scheduler.fitting_policy"), "worst");
    assert_string_equal(config_str(c, "resource_pools[0].pool_name"), "default");
    assert_int_equal(config_int(c, "task_container_defaults.preemption_timeout"), 120);
    cleanup_config struct config *d = expect_loaded("provisioner: {provider: local, max_instances: 3}\n");
    assert_string_equal(config_str(d, "resource_pools[0].provider.type"), "local");
    assert_int_equal(config_int(d, "resource_pools[0].provider.max_instances"), 3);
    expect_refused("provisioner: {provider: aws}\n", "\"ssh_key_name\" must be set");
    cleanup_config struct config *e = expect_loaded(
        "provisioner: {provider: aws, ssh_key_name: k, max_instances: 3}\n");
    assert_string_equal(config_str(e, "resource_pools[0].provider.instance_type"), "g4dn.metal");
    expect_refused("provisioner: {provider: hpc, partition: p, max_instances: 3}\n",
                   "this build launches no machines of provider \"hpc\", only of \"local\"");
    expect_refused("scheduler: {type: priority}\nresource_pools: [{pool_name: default}]\n",
                   "scheduler: is the older form of resource_manager and resource_pools; use one form only");
}

#define POOL_OF "resource_pools:\n- pool_name: default\n  provider: "

static void test_settings__a_pool_by_a_command_needs_the_command(void **state)
{
    cleanup_config struct config *c = expect_loaded(POOL_OF
                                                    "{type: command, command: [/x, -v], settings: {a: {b: 1}}}\n");
    assert_string_equal(config_str(c, "resource_pools[0].provider.command[1]"), "-v");
    assert_int_equal(config_int(c, "resource_pools[0].provider.instance_slots"), 1);
    expect_refused(POOL_OF "{type: command}\n", "\"command\" must be set");
    expect_refused(POOL_OF "{type: command, command: []}\n", "must not be empty");
    expect_refused(POOL_OF "{type: command, command: [x], request_timeout: 0s}\n", "request_timeout");
    expect_refused(POOL_OF "{type: local, command: [x]}\n", "command");
}

static void test_settings__a_machine_of_a_cloud_needs_known_slots(void **state)
{
    expect_refused(POOL_OF "{type: aws, ssh_key_name: k, instance_type: g99.metal}\n",
                   "the slots of \"g99.metal\" are not known; set instance_slots, too");
    cleanup_config struct config *c = expect_loaded(
        POOL_OF "{type: aws, ssh_key_name: k, instance_type: g99.metal, instance_slots: 3}\n");
    assert_int_equal(config_int(c, "resource_pools[0].provider.instance_slots"), 3);
}

static void test_settings__round_robin_comes_with_a_warning(void **state)
{
    cleanup_config struct config *c = expect_loaded(
        "resource_manager: {type: agent, scheduler: {type: round_robin}}\n"
        "resource_pools: [{pool_name: default}, {pool_name: b, scheduler: {type: round_robin}}]\n");
    assert_string_equal(config_warnings(c),
                        "resource_manager.scheduler: round_robin runs as priority with equal priorities\n"
                        "b: round_robin runs as priority with equal priorities");
}

static void test_settings__a_server_that_is_named_is_used(void **state)
{
    cleanup_config struct config *c = expect_loaded("db: {host: determined-db, user: postgres, name: det}\n");
    assert_string_equal(config_str(c, "db.type"), "postgres");
    assert_string_equal(config_warnings(c), "");
    cleanup_config struct config *d = expect_loaded("db: {type: sqlite, host: determined-db}\n");
    assert_string_equal(config_warnings(d), "");
}

/* Every key that is not served says so, with its place, and what else is wrong is in the same round. */
static void test_settings__one_round_tells_everything(void **state)
{
    static const char text[] =
        "security: {authz: {type: strict}, tls: {cert: /nonexistent/a, key: /nonexistent/b}}\n"
        "enable_cors: true\n"
        "integrations: {pachyderm: {address: x}}\n"
        "telemetry: {enabled: true, otel_enabled: true, segment_master_key: hush}\n"
        "webhooks: {signing_key: hush, allowed_addresses: [somewhere]}\n"
        "cache: {cache_dir: /x}\n"
        "logging: {type: elastic, host: h, port: 9200}\n"
        "oidc: {enabled: true, provider: p, client_id: i, client_secret: s, idp_sso_url: u, idp_recipient_url: r}\n"
        "scim: {enabled: true, auth: {type: basic, username: u, password: p}}\n"
        "task_container_defaults: {kubernetes: {max_slots_per_pod: 4}, bind_mounts: 7}\n"
        "resource_pools: [{pool_name: a}, {pool_name: a, task_container_defaults: {pbs: {slots_per_node: 2}}}]\n"
        "port: many\n"
        "no_such_key: 1\n";
    static const char *const told[] = {"security.authz.type: ",
                                       "cannot read /nonexistent/a",
                                       "cannot read /nonexistent/b",
                                       "warning: ",
                                       "enable_cors: ignored: pages of other origins",
                                       "integrations.pachyderm.address: ignored: ",
                                       "telemetry.otel_enabled: ignored: ",
                                       "telemetry.segment_master_key: ignored: ",
                                       "webhooks.allowed_addresses[0]",
                                       "cache.cache_dir: ignored: ",
                                       "logging.type: refused: ",
                                       "oidc: idp_sso_url must begin with https:// or http://",
                                       "task_container_defaults.kubernetes: ignored: ",
                                       "task_container_defaults.bind_mounts: expected",
                                       "two pools have the name \"a\"",
                                       "resource_pools[1].task_container_defaults.pbs: ignored: ",
                                       "default_compute_resource_pool: there is no pool \"default\"",
                                       "port: expected",
                                       "unknown field \"no_such_key\""};
    for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++)
        expect_refused(text, told[i]);
    cleanup_error struct error err = ERROR_INIT;
    assert_null(load_settings(text, &err));
    assert_null(strstr(error_msg(&err), "hush"));
}

/* What asks for what holds anyway needs no word. */
static void test_settings__defaults_are_no_requests(void **state)
{
    cleanup_config struct config *c = expect_loaded(
        "security: {authz: {type: basic, fallback: basic}}\nlogging: {type: default}\nenable_cors: false\nscim: {enabled: false}\n"
        "telemetry: {enabled: false, otel_enabled: false, segment_master_key: ''}\nwebhooks: {base_url: ''}\n"
        "task_container_defaults: {network_mode: host, devices: []}\n");
    assert_string_equal(config_warnings(c), "");
}

/* Tokens are given to clients that an administrator adds (det oauth client add); there is no password to set. */
static void test_settings__scim_with_oauth_needs_no_password(void **state)
{
    cleanup_config struct config *c = expect_loaded("scim: {enabled: true, auth: {type: oauth}}\n");
    assert_string_equal(config_str(c, "scim.auth.type"), "oauth");
    expect_refused("scim: {enabled: true, auth: {type: basic, username: u}}\n",
                   "scim.auth.password: must be set while");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_path, remove_path)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_settings__the_machine_fills_in_what_nobody_set),
        TEST(test_settings__say_where_the_database_is),
        TEST(test_settings__this_build_says_what_it_serves),
        TEST(test_settings__checks_across_keys_name_the_place),
        TEST(test_settings__older_forms_become_the_new_ones),
        TEST(test_settings__a_pool_by_a_command_needs_the_command),
        TEST(test_settings__a_machine_of_a_cloud_needs_known_slots),
        TEST(test_settings__round_robin_comes_with_a_warning),
        TEST(test_settings__a_server_that_is_named_is_used),
        TEST(test_settings__one_round_tells_everything),
        TEST(test_settings__defaults_are_no_requests),
        TEST(test_settings__scim_with_oauth_needs_no_password),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
