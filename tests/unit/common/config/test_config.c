/* The loader, with the real tables of master and agent. */
#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/config/config.h"
#include "common/config/config_names.h"
#include "common/system/files.h"
#include "gen/config_tables.h"

static char path[64];

static void write_config(const char *text)
{
    cleanup_error struct error err = ERROR_INIT;
    if (file_write(path, text, strlen(text), 0600, &err) < 0)
        fail_msg("%s", error_msg(&err));
}

static int make_path(void **state)
{
    snprintf(path, sizeof(path), "/tmp/test_config.XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    return unlink(path);
}

/* Arguments and variables up to a NULL each. */
static struct config_input config_input_of(const struct schema_key *keys, char **argv, char **environment)
{
    struct config_input in = {
        .program = "test", .keys = keys, .default_file = path, .argv = argv, .environ_ = environment};
    while (argv[in.argc])
        in.argc++;
    return in;
}

static struct config *load_config(const struct schema_key *keys, char **argv, char **environment)
{
    struct config_input in = config_input_of(keys, argv, environment);
    struct config *c = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (config_load(&in, &c, &err) < 0)
        fail_msg("%s", error_msg(&err));
    return c;
}

static void expect_mistakes(const struct schema_key *keys, char **argv, char **environment, enum error_kind kind,
                            const char *expected)
{
    struct config_input in = config_input_of(keys, argv, environment);
    struct config *c = NULL;
    cleanup_error struct error err = ERROR_INIT;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    assert_int_equal(config_load(&in, &c, &err), -1);
    for (const char *at = error_msg(&err); *at;) { /* the file's name is not the same twice */
        if (strncmp(at, path, strlen(path)) == 0) {
            strbuf_adds(&text, "FILE");
            at += strlen(path);
        } else {
            strbuf_addc(&text, *at++);
        }
    }
    assert_string_equal(strbuf_str(&text), expected);
    assert_int_equal(err.kind, kind);
}

static void expect_origin(const struct config *c, const char *key, const char *expected)
{
    cleanup_strbuf struct strbuf origin = STRBUF_INIT;
    config_origin(c, key, &origin);
    assert_string_equal(strbuf_str(&origin), expected);
}

static void test_config__defaults_come_from_the_table(void **state)
{
    write_config("");
    cleanup_config struct config *c = load_config(master_config_keys, (char *[]){NULL}, (char *[]){NULL});
    assert_string_equal(config_str(c, "db.type"), "sqlite");
    assert_string_equal(config_str(c, "bind_host"), "0.0.0.0");
    assert_false(config_bool(c, "launch_error"));
    assert_int_equal(config_int(c, "tensorboard_timeout"), 300);
    assert_null(config_get(c, "task_container_defaults.shm_size_bytes"));
    assert_null(config_str(c, "data_dir"));
    assert_null(config_get(c, "notebook_timeout"));
    assert_int_equal(json_object_array_length(config_get(c, "feature_switches")), 0);
    assert_string_equal(config_str(c, "resource_manager.scheduler.fitting_policy"), "best");
    expect_origin(c, "db.type", "default");
}

static void test_config__options_win_over_variables_over_the_file(void **state)
{
    write_config("port: 1\ndb:\n  user: file\n  name: file\n  host: file\n");
    char *argv[] = {"--db-user", "option", "--enable-cors", "--log-color=false", NULL};
    char *environment[] = {"DET_DB_USER=variable", "DET_DB_NAME=variable",
                           "DET_ENABLE_CORS=no",   "HOME=/",
                           "DET_USER=me",          NULL};
    cleanup_config struct config *c = load_config(master_config_keys, argv, environment);
    assert_string_equal(config_str(c, "db.user"), "option");
    assert_string_equal(config_str(c, "db.name"), "variable");
    assert_string_equal(config_str(c, "db.host"), "file");
    assert_true(config_bool(c, "enable_cors"));
    assert_false(config_bool(c, "log.color"));
    expect_origin(c, "db.user", "--db-user");
    expect_origin(c, "db.name", "DET_DB_NAME");
    cleanup_strbuf struct strbuf place = STRBUF_INIT;
    strbuf_addf(&place, "%s:5:9", path);
    expect_origin(c, "db.host", place.s);
    assert_true(config_is_set(c, "port"));
    assert_false(config_is_set(c, "root"));
}

static void test_config__underscores_find_the_longest_known_path(void **state)
{
    write_config("");
    char *environment[] = {"DET_DB_SSL_MODE=require", "DET_SECURITY_DEFAULT_TASK_UID=7",
                           "DET_RESOURCE_MANAGER_METADATA_Rack_A=x", "DET___INTERNAL_EXTERNAL_SESSIONS_ORG_ID=o", NULL};
    char *argv[] = {"--resource-manager-metadata-Row=3", "--internal-proxied-servers",
                    "[{path_prefix: /x, destination: 'http://h:1'}]", NULL};
    cleanup_config struct config *c = load_config(master_config_keys, argv, environment);
    assert_string_equal(config_str(c, "db.ssl_mode"), "require");
    assert_int_equal(config_int(c, "security.default_task.uid"), 7);
    assert_string_equal(config_str(c, "__internal.external_sessions.org_id"), "o");
    struct json_object *metadata = config_get(c, "resource_manager.metadata");
    assert_string_equal(json_object_to_json_string_ext(metadata, JSON_C_TO_STRING_PLAIN),
                        "{\"Rack_A\":\"x\",\"Row\":3}");
    assert_int_equal(json_object_array_length(config_get(c, "__internal.proxied_servers")), 1);
}

static void test_config__what_is_not_a_single_value_is_given_as_yaml(void **state)
{
    write_config("");
    char *argv[] = {"--feature-switches",
                    "a,b",
                    "--reserved-ports=[1, 2]",
                    "--resource-pools",
                    "[{pool_name: first}, {pool_name: second}]",
                    "--task-container-defaults-image",
                    "{cpu: i, cuda: j}",
                    "--db-port=5432",
                    NULL};
    cleanup_config struct config *c = load_config(master_config_keys, argv, (char *[]){NULL});
    assert_string_equal(json_object_get_string(config_get(c, "feature_switches[1]")), "b");
    assert_int_equal(json_object_get_int(config_get(c, "reserved_ports[1]")), 2);
    assert_string_equal(config_str(c, "resource_pools[1].pool_name"), "second");
    assert_int_equal(config_duration_us(c, "resource_pools[1].agent_reconnect_wait"), 25000000);
    assert_string_equal(config_str(c, "task_container_defaults.image.cuda"), "j");
    assert_string_equal(config_str(c, "db.port"), "5432");
    expect_origin(c, "resource_pools[1].pool_name", "--resource-pools");
}

static void test_config__every_mistake_is_named_at_once_with_its_place(void **state)
{
    write_config("prot: 1\nport: 70000\nlog:\n  level: loud\n  color: 3\nresource_pools:\n- description: x\n"
                 "- pool_name: a\n  provider: {type: aws, min_instances: 9}\ncheckpoint_storage: {type: hdfs}\n");
    char *argv[] = {"--tensorboard-timeout=-1", "--nothing", "5", "--db-user", NULL};
    char *environment[] = {"DET_ENABLE_CORS=maybe", "DET_RESOURCE_POOLS=[", "DET_CACHE=5", NULL};
    expect_mistakes(
        master_config_keys, argv, environment, ERR_INVALID,
        "FILE:1:1: unknown field \"prot\"; did you mean \"port\"?\n"
        "FILE:2:7: port: must be 0 to 65535, found 70000\n"
        "FILE:4:10: log.level: must be one of trace, debug, info, warning, error, fatal; found \"loud\"\n"
        "FILE:5:10: log.color: expected true or false, found a whole number: 3\n"
        "FILE:7:3: resource_pools[0]: \"pool_name\" must be set\n"
        "FILE:9:13: resource_pools[1].provider: \"ssh_key_name\" must be set\n"
        "FILE:10:21: checkpoint_storage: type must be one of shared_fs, directory, s3, gcs, azure; found \"hdfs\"\n"
        "DET_ENABLE_CORS: expected true or false, found a text: \"maybe\"\n"
        "DET_RESOURCE_POOLS: is not YAML: line 2, column 1: did not find expected node content (while parsing a flow node "
        "that begins at line 2)\n"
        "DET_CACHE: expected a mapping, found a whole number: 5\n"
        "--tensorboard-timeout: must be at least 0 s, found -1\n"
        "--nothing: unknown option; --help lists them all\n"
        "5: unexpected argument\n"
        "--db-user: needs a value");
}

static void test_config__a_silence_of_agents_has_room_for_whole_pings(void **state)
{
    static const char *const bad[] = {"3s", "61m", "0s"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cleanup_strbuf struct strbuf file = STRBUF_INIT, expected = STRBUF_INIT;
        strbuf_addf(&file, "resource_manager: {agent_link_timeout: %s}\n", bad[i]);
        strbuf_addf(&expected, "FILE:1:40: resource_manager.agent_link_timeout: must be from 4s to 1h, found %s",
                    bad[i]);
        write_config(file.s);
        expect_mistakes(master_config_keys, (char *[]){NULL}, (char *[]){NULL}, ERR_INVALID, expected.s);
    }
    write_config("resource_manager: {agent_link_timeout: 4s}\n");
    cleanup_config struct config *c = load_config(master_config_keys, (char *[]){NULL}, (char *[]){NULL});
    assert_int_equal(config_duration_us(c, "resource_manager.agent_link_timeout"), 4000000);
}

static void test_config__mistakes_of_the_command_line_alone_are_usage_errors(void **state)
{
    write_config("");
    expect_mistakes(agent_config_keys, (char *[]){"--what", NULL}, (char *[]){NULL}, ERR_USAGE,
                    "--what: unknown option; --help lists them all");
    expect_mistakes(agent_config_keys, (char *[]){"-l", "loud", NULL}, (char *[]){NULL}, ERR_USAGE,
                    "-l: must be one of trace, debug, info, warning, error, fatal; found \"loud\"");
}

static void test_config__broken_yaml_names_file_line_and_column(void **state)
{
    write_config("a: [1\nb: 2\n");
    expect_mistakes(
        agent_config_keys, (char *[]){NULL}, (char *[]){NULL}, ERR_INVALID,
        "FILE: line 2, column 2: did not find expected ',' or ']' (while parsing a flow sequence that begins at line 1)");
    write_config("just a text");
    expect_mistakes(agent_config_keys, (char *[]){NULL}, (char *[]){NULL}, ERR_INVALID,
                    "FILE:1:1: expected a mapping, found a text: \"just a text\"");
}

static void test_config__secrets_are_not_repeated_in_errors_or_prints(void **state)
{
    write_config("token: {deep: secret}\n");
    expect_mistakes(agent_config_keys, (char *[]){NULL}, (char *[]){NULL}, ERR_INVALID,
                    "FILE:1:8: token: expected a text, found something else");
    write_config("db: {password: hush, user: u}\ncheckpoint_storage: {type: s3, bucket: b, secret_key: hush}\n"
                 "task_container_defaults: {registry_auth: {password: hush}}\nsecurity: {initial_user_password: hush}\n"
                 "webhooks: {signing_key: hush}\n");
    cleanup_config struct config *c = load_config(master_config_keys, (char *[]){NULL},
                                                  (char *[]){"DET_SECURITY_AGENT_TOKEN=hush", NULL});
    cleanup_strbuf struct strbuf shown = STRBUF_INIT;
    config_print(c, true, &shown);
    config_print(c, false, &shown);
    assert_null(strstr(shown.s, "hush"));
    assert_non_null(strstr(shown.s, "db.password: '********'  # "));
    assert_non_null(strstr(shown.s, "security.agent_token: '********'  # DET_SECURITY_AGENT_TOKEN\n"));
    assert_string_equal(config_str(c, "db.password"), "hush");
}

static void test_config__a_missing_file_matters_only_when_somebody_asked_for_it(void **state)
{
    struct config_input in = {.keys = agent_config_keys, .default_file = "/nonexistent/agent.yaml"};
    struct config *c = NULL;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(config_load(&in, &c, &err), 0);
    assert_non_null(strstr(config_warnings(c), "/nonexistent/agent.yaml"));
    config_free(c);
    in.environ_ = (char *[]){"DET_CONFIG_FILE=/nonexistent/other.yaml", NULL};
    assert_int_equal(config_load(&in, &c, &err), -1);
    assert_non_null(strstr(error_msg(&err), "/nonexistent/other.yaml"));
}

static void test_config__the_option_for_the_file_wins_over_the_variable(void **state)
{
    write_config("agent_id: from-file\n");
    cleanup_config struct config *c = load_config(agent_config_keys, (char *[]){"--config-file", path, NULL},
                                                  (char *[]){"DET_CONFIG_FILE=/nonexistent/other.yaml", NULL});
    assert_string_equal(config_str(c, "agent_id"), "from-file");
}

static void test_config__older_spellings_fill_the_new_keys(void **state)
{
    write_config(
        "resource_manager: {type: agent, default_cpu_resource_pool: a}\n"
        "resource_pools: [{pool_name: a, max_cpu_containers_per_agent: 5, max_aux_containers_per_agent: 9}]\n");
    cleanup_config struct config *c = load_config(master_config_keys, (char *[]){NULL}, (char *[]){NULL});
    assert_string_equal(config_str(c, "resource_manager.default_aux_resource_pool"), "a");
    assert_int_equal(config_int(c, "resource_pools[0].max_aux_containers_per_agent"), 5);
}

static void test_config__a_pools_task_defaults_hold_only_what_somebody_wrote(void **state)
{
    write_config("resource_pools: [{pool_name: a, task_container_defaults: {image: x}}]\n");
    cleanup_config struct config *c = load_config(master_config_keys, (char *[]){NULL}, (char *[]){NULL});
    assert_null(config_get(c, "resource_pools[0].task_container_defaults.preemption_timeout"));
    assert_int_equal(config_int(c, "task_container_defaults.preemption_timeout"), 3600);
}

static void test_config__derived_values_give_way_and_only_some_keys_change_later(void **state)
{
    write_config("data_dir: /here\n");
    cleanup_config struct config *c = load_config(master_config_keys, (char *[]){NULL}, (char *[]){NULL});
    cleanup_error struct error err = ERROR_INIT;
    config_derive(c, "data_dir", json_object_new_string("/there"));
    config_derive(c, "db.path", json_object_new_string("/there/x"));
    assert_string_equal(config_str(c, "data_dir"), "/here");
    assert_string_equal(config_str(c, "db.path"), "/there/x");
    expect_origin(c, "db.path", "derived");
    assert_int_equal(config_change(c, "log.level", json_object_new_string("debug"), &err), 0);
    assert_string_equal(config_str(c, "log.level"), "debug");
    assert_int_equal(config_change(c, "log.level", json_object_new_string("loud"), &err), -1);
    error_release(&err);
    assert_int_equal(config_change(c, "port", json_object_new_int(1), &err), -1);
    assert_string_equal(error_msg(&err),
                        "port cannot change while the program runs; set it in the file and start again");
}

static void note_key(void *ctx, const char *key_path, const struct schema_key *key)
{
    struct strbuf *help = ctx;
    cleanup_strbuf struct strbuf option = STRBUF_INIT;
    config_option_name(key_path, &option);
    if (!(key->flags & SCHEMA_DROP) && key->types != SCHEMA_OBJECT && !strstr(help->s, option.s))
        fail_msg("%s is not in --help", option.s);
}

static void test_config__help_names_every_option(void **state)
{
    struct config_input in = {.keys = agent_config_keys, .default_file = "/etc/determined/agent.yaml"};
    cleanup_strbuf struct strbuf help = STRBUF_INIT;
    config_help(&in, "usage: determined-agent run [OPTIONS]\n", &help);
    config_each_key(agent_config_keys, note_key, &help);
    assert_non_null(strstr(help.s, "  -l, --log-level trace|debug|info|warning|error|fatal\n"));
    assert_true(config_wants_help(2, (char *[]){"run", "--help"}));
    assert_false(config_wants_help(1, (char *[]){"run"}));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_path, remove_path)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_config__defaults_come_from_the_table),
        TEST(test_config__options_win_over_variables_over_the_file),
        TEST(test_config__underscores_find_the_longest_known_path),
        TEST(test_config__what_is_not_a_single_value_is_given_as_yaml),
        TEST(test_config__every_mistake_is_named_at_once_with_its_place),
        TEST(test_config__a_silence_of_agents_has_room_for_whole_pings),
        TEST(test_config__mistakes_of_the_command_line_alone_are_usage_errors),
        TEST(test_config__broken_yaml_names_file_line_and_column),
        TEST(test_config__secrets_are_not_repeated_in_errors_or_prints),
        TEST(test_config__a_missing_file_matters_only_when_somebody_asked_for_it),
        TEST(test_config__the_option_for_the_file_wins_over_the_variable),
        TEST(test_config__older_spellings_fill_the_new_keys),
        TEST(test_config__a_pools_task_defaults_hold_only_what_somebody_wrote),
        TEST(test_config__derived_values_give_way_and_only_some_keys_change_later),
        TEST(test_config__help_names_every_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
