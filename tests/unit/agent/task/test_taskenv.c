#include "cmocka_setup.h"

#include <string.h>
#include <unistd.h>

#include "agent/task/task.h"
#include "agent/task/taskenv.h"
#include "agent/task/taskfiles.h"

static const struct agent_config config = {
    .master_host = "master",
    .master_port = 8080,
    .container_master_host = "10.0.0.1",
    .container_master_port = 80,
    .agent_id = "a1",
    .tls_cert_name = "",
    .http_proxy = "http://proxy:3128",
    .https_proxy = "",
    .ftp_proxy = "",
    .no_proxy = "local",
    .python_path = "/opt/lib",
};
static const struct gpu_maker maker = {.type = WIRE_DEVICE_TYPE_CUDA, .visible_variable = "CUDA_VISIBLE_DEVICES"};
static struct wire_link_device gpus[] = {{.id = 2, .uuid = "GPU-two"},
                                         {.id = 4, .uuid = "GPU-four"},
                                         {.id = 5, .uuid = "GPU-five"}};
static struct gpu cards[] = {{.index = 2, .uuid = "GPU-two"},
                             {.index = 4, .uuid = "GPU-four"},
                             {.index = 5, .uuid = "GPU-five"}};
static const struct slots slots = {.device = gpus, .n = 3, .maker = &maker, .gpu = cards, .gpu_n = 3, .per_device = 1};
static const struct account account = {.name = "ada", .home = "/", .shell = "/bin/sh"};

static void build_environment(struct taskenv *e, const char **env, size_t n, char *const *machine, struct arena *a)
{
    int32_t devices[] = {2, 5};
    struct wire_link_start_task t = {
        .container_id = "c1", .env = env, .env_n = n, .device_ids = devices, .device_ids_n = 2};
    struct taskenv_facts f = {.config = &config,
                              .account = &account,
                              .slots = &slots,
                              .master_id = "m",
                              .cluster_id = "k",
                              .library = config.python_path,
                              .run_dir = "/r",
                              .work_dir = "/r/workdir"};
    taskenv_build(e, &t, &f, machine, a);
}

static void test_taskenv__later_parts_win_over_earlier_ones(void **state)
{
    struct arena a = ARENA_INIT;
    struct taskenv e;
    const char *env[] = {"X=master",
                         "X=user's",
                         "DET_AGENT_ID=forged",
                         "PATH=/user/bin",
                         "PYTHONPATH=/mine",
                         "DET_RUN_DIR=/run/determined",
                         "DET_MASTER_CERT_FILE=/run/determined/etc/ssl/master.crt"};
    char *machine[] = {"PATH=/bin", NULL};
    build_environment(&e, env, sizeof(env) / sizeof(*env), machine, &a);
    assert_string_equal(taskenv_get(&e, "X"), "user's");
    assert_string_equal(taskenv_get(&e, "DET_AGENT_ID"), "a1");
    assert_string_equal(taskenv_get(&e, "DET_SLOT_IDS"), "[2,5]");
    assert_string_equal(taskenv_get(&e, "CUDA_VISIBLE_DEVICES"), "GPU-two,GPU-five");
    assert_string_equal(taskenv_get(&e, "NVIDIA_VISIBLE_DEVICES"), "GPU-two,GPU-five");
    assert_string_equal(taskenv_get(&e, "DET_MASTER"), "http://10.0.0.1:80");
    assert_string_equal(taskenv_get(&e, "DET_RUN_DIR"), "/r");
    assert_string_equal(taskenv_get(&e, "DET_MASTER_CERT_FILE"), "/r/etc/ssl/master.crt");
    assert_string_equal(taskenv_get(&e, "PATH"), "/r/pythonuserbase/bin:/user/bin");
    assert_string_equal(taskenv_get(&e, "PYTHONPATH"), "/opt/lib:/mine");
    assert_null(taskenv_get(&e, "DET_MASTER_CERT_NAME"));
    int named_x = 0;
    for (char **item = e.list.item; *item; item++)
        named_x += strncmp(*item, "X=", 2) == 0;
    assert_int_equal(named_x, 1);
    arena_release(&a);
}

static void test_taskenv__python_prints_at_once_and_its_user_base_can_be_chosen(void **state)
{
    struct arena a = ARENA_INIT;
    struct taskenv e;
    const char *env[] = {"PYTHONUNBUFFERED=", "PYTHONUSERBASE=/home/u/.local"},
               *contract[] = {"PYTHONUSERBASE=/run/determined/other"};
    char *machine[] = {"PATH=/bin", NULL};
    build_environment(&e, NULL, 0, machine, &a);
    assert_string_equal(taskenv_get(&e, "PYTHONUNBUFFERED"), "1");
    assert_string_equal(taskenv_get(&e, "PYTHONUSERBASE"), "/r/pythonuserbase");
    build_environment(&e, env, 2, machine, &a);
    assert_string_equal(taskenv_get(&e, "PYTHONUNBUFFERED"), "");
    assert_string_equal(taskenv_get(&e, "PYTHONUSERBASE"), "/home/u/.local");
    assert_string_equal(taskenv_get(&e, "PATH"), "/home/u/.local/bin:/bin");
    build_environment(&e, contract, 1, machine, &a);
    assert_string_equal(taskenv_get(&e, "PYTHONUSERBASE"), "/r/other");
    arena_release(&a);
}

static void test_taskenv__takes_nothing_secret_from_the_agents_own(void **state)
{
    struct arena a = ARENA_INIT;
    struct taskenv e;
    char *machine[] = {"LC_ALL=C", "DET_TOKEN=secret", "AWS_SECRET_ACCESS_KEY=secret",
                       "TZ=UTC",   "PATHOLOGICAL=1",   NULL};
    build_environment(&e, NULL, 0, machine, &a);
    assert_string_equal(taskenv_get(&e, "LC_ALL"), "C");
    assert_string_equal(taskenv_get(&e, "TZ"), "UTC");
    assert_null(taskenv_get(&e, "DET_TOKEN"));
    assert_null(taskenv_get(&e, "AWS_SECRET_ACCESS_KEY"));
    assert_null(taskenv_get(&e, "PATHOLOGICAL"));
    arena_release(&a);
}

static void test_taskenv__an_image_takes_the_place_of_the_machine(void **state)
{
    struct arena a = ARENA_INIT;
    struct taskenv e;
    const char *env[] = {"X=user's"};
    char *machine[] = {"PATH=/of/machine", "LANG=C", NULL};
    char *image[] = {"PATH=/opt/conda/bin:/bin", "X=image's", "CUDA_HOME=/cuda", "nonsense", NULL};
    struct wire_link_start_task t = {.container_id = "c1", .env = env, .env_n = 1};
    struct taskenv_facts f = {.config = &config,
                              .account = &account,
                              .slots = &slots,
                              .master_id = "m",
                              .cluster_id = "k",
                              .image_env = image,
                              .library = "/run/lib",
                              .run_dir = "/run/determined",
                              .work_dir = "/run/determined/workdir"};
    taskenv_build(&e, &t, &f, machine, &a);
    assert_string_equal(taskenv_get(&e, "PATH"), "/run/determined/pythonuserbase/bin:/opt/conda/bin:/bin");
    assert_string_equal(taskenv_get(&e, "X"), "user's");
    assert_string_equal(taskenv_get(&e, "CUDA_HOME"), "/cuda");
    assert_string_equal(taskenv_get(&e, "PYTHONPATH"), "/run/lib");
    assert_string_equal(taskenv_get(&e, "HOME"), "/run/determined/workdir");
    assert_null(taskenv_get(&e, "LANG"));
    arena_release(&a);
}

static void test_taskenv__the_shell_of_an_account_without_login_runs_commands(void **state)
{
    struct arena a = ARENA_INIT;
    struct taskenv e;
    char *machine[] = {NULL};
    struct account service = {.name = "service", .home = "/", .shell = "/usr/sbin/nologin"};
    struct wire_link_start_task t = {.container_id = "c1"};
    struct taskenv_facts f = {.config = &config,
                              .account = &service,
                              .slots = &slots,
                              .master_id = "m",
                              .cluster_id = "k",
                              .library = config.python_path,
                              .run_dir = "/r",
                              .work_dir = "/r/workdir"};
    taskenv_build(&e, &t, &f, machine, &a);
    assert_string_equal(taskenv_get(&e, "SHELL"), "/bin/sh");
    service.shell = "/bin/false";
    taskenv_build(&e, &t, &f, machine, &a);
    assert_string_equal(taskenv_get(&e, "SHELL"), "/bin/sh");
    service.shell = "/bin/bash";
    taskenv_build(&e, &t, &f, machine, &a);
    assert_string_equal(taskenv_get(&e, "SHELL"), access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh");
    arena_release(&a);
}

static void test_taskenv__proxies_yield_to_the_same_name_in_any_case(void **state)
{
    struct arena a = ARENA_INIT;
    struct taskenv e;
    const char *env[] = {"Http_Proxy=user's"};
    char *machine[] = {NULL};
    build_environment(&e, env, 1, machine, &a);
    assert_null(taskenv_get(&e, "HTTP_PROXY"));
    assert_string_equal(taskenv_get(&e, "NO_PROXY"), "local");
    assert_string_equal(taskenv_get(&e, "no_proxy"), "local");
    arena_release(&a);
}

static void test_taskenv__maps_only_the_contracts_directory(void **state)
{
    struct arena a = ARENA_INIT;
    assert_string_equal(taskenv_map_path("/run/determined", "/r", &a), "/r");
    assert_string_equal(taskenv_map_path("/run/determined/train/x", "/r", &a), "/r/train/x");
    assert_string_equal(taskenv_map_path("/run/determinedly", "/r", &a), "/run/determinedly");
    assert_string_equal(taskenv_map_path("/home/ada", "/r", &a), "/home/ada");
    arena_release(&a);
}

static void test_trial_class__is_told_from_a_command(void **state)
{
    assert_true(taskfiles_is_trial_class("model_def:MyTrial"));
    assert_true(taskfiles_is_trial_class("pkg.sub.model_def:MyTrial"));
    assert_false(taskfiles_is_trial_class("python3 train.py"));
    assert_false(taskfiles_is_trial_class("python3 -m x:y"));
    assert_false(taskfiles_is_trial_class(":Class"));
    assert_false(taskfiles_is_trial_class("module:"));
    assert_false(taskfiles_is_trial_class("a:b:c"));
}

static void test_task_states__table_is_sound(void **state)
{
    assert_int_equal(sm_type_check(&task_sm_type, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taskenv__later_parts_win_over_earlier_ones),
        cmocka_unit_test(test_taskenv__python_prints_at_once_and_its_user_base_can_be_chosen),
        cmocka_unit_test(test_taskenv__takes_nothing_secret_from_the_agents_own),
        cmocka_unit_test(test_taskenv__an_image_takes_the_place_of_the_machine),
        cmocka_unit_test(test_taskenv__the_shell_of_an_account_without_login_runs_commands),
        cmocka_unit_test(test_taskenv__proxies_yield_to_the_same_name_in_any_case),
        cmocka_unit_test(test_taskenv__maps_only_the_contracts_directory),
        cmocka_unit_test(test_trial_class__is_told_from_a_command),
        cmocka_unit_test(test_task_states__table_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
