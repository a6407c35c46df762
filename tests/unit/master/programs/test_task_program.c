/* What the agent is told to start for each kind of task. */
#include "cmocka_setup.h"

#include <string.h>

#include "common/base/cleanup.h"
#include "common/codec/codec.h"
#include "master/programs/task_program.h"

/* A message with room for what task_program_fill() appends, and the variables that the user has set. */
struct fixture {
    struct arena arena;
    struct taskconf *config;
    struct wire_link_task_file files[TASK_PROGRAM_FILES];
    struct wire_link_bind_mount mounts[TASK_PROGRAM_MOUNTS + 8];
    const char *env[TASK_PROGRAM_VARIABLES + 1];
    struct task_program program;
    struct wire_link_start_task start;
};

static void fill(struct fixture *f, enum task_kind kind, const char *config, const char *variable)
{
    cleanup_error struct error err = ERROR_INIT;
    if (taskconf_from_json(kind, config, strlen(config), &f->config, &err) < 0)
        fail_msg("%s", error_msg(&err));
    f->program.config = f->config;
    f->start.files = f->files;
    f->start.bind_mounts = f->mounts;
    f->start.env = f->env;
    if (variable)
        f->env[f->start.env_n++] = variable;
    task_program_fill(&f->program, &f->start, &f->arena);
    assert_true(f->start.files_n <= TASK_PROGRAM_FILES);
    assert_true(f->start.env_n <= TASK_PROGRAM_VARIABLES + (variable != NULL));
    assert_true(f->start.bind_mounts_n <= TASK_PROGRAM_MOUNTS + f->program.source_n);
}

static void release(struct fixture *f)
{
    taskconf_free(f->config);
    arena_release(&f->arena);
    memset(f, 0, sizeof(*f));
}

/* The message as JSON, as it goes to the agent; the content of files is base64. */
static const char *message(struct fixture *f)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    codec_encode(&wire_msg_link_start_task, &f->start, &text);
    return arena_strdup(&f->arena, strbuf_str(&text));
}

static const char *variable(const struct fixture *f, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < f->start.env_n; i++)
        if (strncmp(f->start.env[i], name, n) == 0 && f->start.env[i][n] == '=')
            return f->start.env[i] + n + 1;
    return NULL;
}

static void expect_file(const struct fixture *f, size_t i, const char *path, const char *content)
{
    assert_true(i < f->start.files_n);
    assert_string_equal(f->start.files[i].path, path);
    assert_int_equal(f->start.files[i].mode, 0600);
    assert_int_equal(f->start.files[i].content.n, strlen(content));
    assert_memory_equal(f->start.files[i].content.data, content, strlen(content));
}

static void test_task_program__a_command_is_the_users(void **state)
{
    struct fixture f = {0};
    fill(&f, TASK_KIND_COMMAND,
         "{\"entrypoint\":[\"/run/determined/command-entrypoint.sh\",\"sleep\",\"5\"],\"work_dir\":\"/w\","
         "\"environment\":{\"proxy_ports\":[{\"proxy_port\":8000},{\"proxy_port\":8001,\"proxy_tcp\":true}]}}",
         NULL);
    assert_int_equal(f.start.argv_n, 2);
    assert_string_equal(f.start.argv[0], "sleep");
    assert_string_equal(f.start.argv[1], "5");
    assert_string_equal(f.start.work_dir, "/w");
    assert_non_null(strstr(message(&f), "\"proxyPorts\":[8000,8001]"));
    assert_true(f.start.env_n == 0 && f.start.files_n == 0 && f.start.extras_n == 0);
    assert_null(f.start.ready_pattern);
    release(&f);
    fill(&f, TASK_KIND_GENERIC, "{\"entrypoint\":[\"a | b\"],\"debug\":true}", NULL);
    assert_int_equal(f.start.argv_n, 1);
    assert_string_equal(f.start.argv[0], "a | b");
    assert_string_equal(f.start.work_dir, "");
    assert_string_equal(variable(&f, "DET_DEBUG"), "true");
    release(&f);
}

static void test_task_program__a_notebook_knows_its_port_its_token_and_its_configuration(void **state)
{
    struct fixture f = {.program = {.port = 2950, .service_token = "v2.secret"}};
    fill(&f, TASK_KIND_NOTEBOOK, "{\"notebook_idle_type\":\"activity\"}", NULL);
    assert_int_equal(f.start.argv_n, 1);
    assert_string_equal(f.start.argv[0], "exec \"$DET_PYTHON_EXECUTABLE\" -m determined.exec.notebook");
    assert_string_equal(variable(&f, "NOTEBOOK_PORT"), "2950");
    assert_string_equal(variable(&f, "NOTEBOOK_IDLE_TYPE"), "activity");
    assert_string_equal(variable(&f, "DET_NOTEBOOK_TOKEN"), "v2.secret");
    assert_string_equal(variable(&f, "NOTEBOOK_CONFIG"), f.config->json);
    assert_null(variable(&f, "DET_LISTEN_ADDRESS"));
    assert_non_null(strstr(message(&f), "\"proxyPorts\":[2950]"));
    assert_non_null(strstr(message(&f), "\"extras\":[\"notebook\"]"));
    assert_string_equal(f.start.ready_pattern, "^JupyterLab answers on port ");
    release(&f);
}

static void test_task_program__a_shell_has_the_public_key_only(void **state)
{
    struct fixture f = {
        .program = {.port = 3300, .public_key = "ssh-ed25519 AAAA determined\n", .listen_address = "0.0.0.0"}};
    fill(&f, TASK_KIND_SHELL, "{}", NULL);
    assert_string_equal(f.start.argv[0], "exec \"$DET_RUN_DIR/shell-entrypoint.sh\"");
    assert_string_equal(variable(&f, "DET_SHELL_PORT"), "3300");
    assert_string_equal(variable(&f, "DET_LISTEN_ADDRESS"), "0.0.0.0");
    assert_int_equal(f.start.files_n, 2);
    expect_file(&f, 0, "/run/determined/ssh/authorized_keys", "ssh-ed25519 AAAA determined\n");
    expect_file(&f, 1, "/run/determined/ssh/id_rsa.pub", "ssh-ed25519 AAAA determined\n");
    assert_string_equal(f.start.ready_pattern, "^Server listening on ");
    release(&f);
}

static void test_task_program__a_tensorboard_has_a_storage_for_each_experiment(void **state)
{
    static const int32_t trials[] = {11, 12};
    static const struct task_program_source sources[] = {
        {.experiment_id = 3, .storage = "{\"type\":\"shared_fs\",\"host_path\":\"/nfs\"}"},
        {.experiment_id = 4, .storage = "{\"type\":\"shared_fs\",\"host_path\":\"/tmp/ckpt\"}"},
        {.experiment_id = 5, .storage = "{\"type\":\"directory\",\"container_path\":\"/tmp/d\"}"},
        {.experiment_id = 6,
         .trial_id = trials,
         .trial_n = 2,
         .storage = "{\"type\":\"s3\",\"bucket\":\"b\",\"access_key\":\"k\",\"secret_key\":\"s\","
                    "\"endpoint_url\":\"https://minio:9000\"}"},
        {.experiment_id = 7, .storage = "{\"type\":\"gcs\",\"bucket\":\"g\"}"},
    };
    struct fixture f = {.program = {.port = 2600, .source = sources, .source_n = 5}};
    fill(&f, TASK_KIND_TENSORBOARD, "{\"tensorboard_args\":[\"--a=b c\",\"it's\"]}", "AWS_ACCESS_KEY_ID=mine");
    assert_string_equal(f.start.argv[0], "exec \"$DET_PYTHON_EXECUTABLE\" -m determined.exec.tensorboard "
                                         "--sources \"$DET_RUN_DIR/tensorboard/sources.json\" -- '--a=b c' 'it'\\''s'");
    assert_non_null(strstr(message(&f), "\"extras\":[\"tensorboard\"]"));
    assert_string_equal(variable(&f, "TENSORBOARD_PORT"), "2600");
    assert_string_equal(variable(&f, "TF_CPP_MIN_LOG_LEVEL"), "3");
    assert_string_equal(variable(&f, "AWS_BUCKET"), "b");
    assert_string_equal(variable(&f, "AWS_ACCESS_KEY_ID"), "mine"); /* the user's own value counts */
    assert_string_equal(variable(&f, "AWS_SECRET_ACCESS_KEY"), "s");
    assert_string_equal(variable(&f, "DET_S3_ENDPOINT_URL"), "https://minio:9000");
    assert_string_equal(variable(&f, "S3_ENDPOINT"), "minio:9000");
    assert_string_equal(variable(&f, "S3_USE_HTTPS"), "1");
    expect_file(
        &f, 0, "/run/determined/tensorboard/sources.json",
        "{\"sources\":[{\"experimentId\":3,\"checkpointStorage\":{\"type\":\"shared_fs\",\"host_path\":\"/nfs\"},"
        "\"trialIds\":[]},{\"experimentId\":4,\"checkpointStorage\":{\"type\":\"shared_fs\",\"host_path\":"
        "\"/tmp/ckpt\"},\"trialIds\":[]},{\"experimentId\":5,\"checkpointStorage\":{\"type\":\"directory\","
        "\"container_path\":\"/tmp/d\"},\"trialIds\":[]},{\"experimentId\":6,\"checkpointStorage\":{\"type\":\"s3\","
        "\"bucket\":\"b\",\"access_key\":\"k\",\"secret_key\":\"s\",\"endpoint_url\":\"https://minio:9000\"},"
        "\"trialIds\":[11,12]},{\"experimentId\":7,\"checkpointStorage\":{\"type\":\"gcs\",\"bucket\":\"g\"},"
        "\"trialIds\":[]}]}");
    expect_file(&f, 1, "/run/determined/tensorboard/storage_config.json", sources[4].storage);
    assert_int_equal(f.start.bind_mounts_n, 3);
    assert_string_equal(f.mounts[0].host_path, "/nfs");
    assert_string_equal(f.mounts[0].container_path, "/determined_shared_fs");
    assert_true(f.mounts[0].read_only);
    assert_string_equal(f.mounts[1].container_path, "/tmp/ckpt");
    assert_string_equal(f.mounts[2].container_path, "/tmp/d");
    assert_string_equal(f.start.ready_pattern, "TensorBoard contains metrics");
    assert_string_equal(f.start.waiting_pattern, "TensorBoard is waiting for metrics");
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_task_program__a_command_is_the_users),
        cmocka_unit_test(test_task_program__a_notebook_knows_its_port_its_token_and_its_configuration),
        cmocka_unit_test(test_task_program__a_shell_has_the_public_key_only),
        cmocka_unit_test(test_task_program__a_tensorboard_has_a_storage_for_each_experiment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
