/* The configuration of tasks that are no trials. */
#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>

#include "core/config/expconf_secrets.h"
#include "core/config/taskconf.h"

static struct json_object *tree(const char *yaml)
{
    struct json_object *v = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (yaml && yaml_parse(yaml, strlen(yaml), &v, NULL, &err) < 0)
        fail_msg("%s", error_msg(&err));
    return v;
}

/* A cluster with two pools. The caller releases it. */
struct cluster {
    struct json_object *defaults, *pool_defaults;
    struct expconf_pool pool[2];
    struct expconf_context ctx;
    struct taskconf_request rq;
};

static void cluster_init(struct cluster *k, enum task_kind kind)
{
    memset(k, 0, sizeof(*k));
    k->defaults = tree("{environment_variables: [A=cluster, B=cluster], work_dir: /data/$DET_USER,"
                       " bind_mounts: [{host_path: /d, container_path: /d}], preemption_timeout: 60, startup_hook: x,"
                       " registry_auth: {username: them, password: secret}, drop_capabilities: [CAP_KILL]}");
    k->pool_defaults = tree(
        "{environment_variables: {cpu: [A=pool]}, bind_mounts: [{host_path: /e, container_path: /d}]}");
    k->pool[0] = (struct expconf_pool){.name = "default",
                                       .default_priority = 42,
                                       .task_container_defaults = k->pool_defaults};
    k->pool[1] = (struct expconf_pool){.name = "aux", .default_priority = 50};
    k->ctx = (struct expconf_context){.task_container_defaults = k->defaults,
                                      .pool = k->pool,
                                      .pool_n = 2,
                                      .default_compute_pool = "default",
                                      .default_aux_pool = "aux",
                                      .random = {1, 2, 3}};
    k->rq = (struct taskconf_request){.kind = kind, .cluster = &k->ctx, .tensorboard_timeout_s = 300};
}

static void cluster_release(struct cluster *k)
{
    json_object_put(k->defaults);
    json_object_put(k->pool_defaults);
    json_object_put(k->ctx.template_config);
    json_object_put(k->rq.config);
}

/* Gives the request another document, as a tree. */
static void set_config(struct cluster *k, const char *yaml)
{
    json_object_put(k->rq.config);
    k->rq.config = tree(yaml);
}

static struct taskconf *prepare(struct cluster *k, const char *yaml)
{
    struct taskconf *c = NULL;
    cleanup_error struct error err = ERROR_INIT;
    set_config(k, yaml);
    if (taskconf_prepare(&k->rq, &c, &err) < 0)
        fail_msg("%s: %s", yaml, error_msg(&err));
    return c;
}

static void expect_refused(struct cluster *k, const char *yaml, const char *expected)
{
    struct taskconf *c = NULL;
    cleanup_error struct error err = ERROR_INIT;
    set_config(k, yaml);
    if (taskconf_prepare(&k->rq, &c, &err) == 0)
        fail_msg("accepted: %s", yaml);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_string_equal(error_msg(&err), expected);
}

static const char *text_of(struct json_object *v)
{
    return json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

/* Compares one value of the effective form, found by its path: "resources.slots". */
static void expect_member(const struct taskconf *c, const char *path, const char *expected)
{
    cleanup_json struct json_object *whole = tree(c->json);
    struct json_object *v = whole;
    char *rest = strdup(path), *at = rest;
    for (char *name; (name = strsep(&at, "."));)
        assert_true(json_object_object_get_ex(v, name, &v));
    assert_string_equal(text_of(v), expected);
    free(rest);
}

static void expect_prepared(enum task_kind kind, const char *yaml, const char *path, const char *expected)
{
    struct cluster k;
    cluster_init(&k, kind);
    cleanup_taskconf struct taskconf *c = prepare(&k, yaml);
    expect_member(c, path, expected);
    cluster_release(&k);
}

static void expect_warnings(enum task_kind kind, const char *yaml, const char *expected)
{
    struct cluster k;
    cluster_init(&k, kind);
    cleanup_taskconf struct taskconf *c = prepare(&k, yaml);
    assert_string_equal(text_of(c->warnings), expected);
    cluster_release(&k);
}

/* ---- what is right ----------------------------------------------------------------------------------------------- */

static void test_taskconf__a_command_has_all_keys_and_the_values_of_the_cluster(void **state)
{
    struct cluster k;
    cluster_init(&k, TASK_KIND_COMMAND);
    cleanup_taskconf struct taskconf *c = prepare(&k, "{entrypoint: [python3, t.py]}");
    assert_string_equal(
        c->json,
        "{\"description\":\"Command (boldly-brave-camel)\",\"entrypoint\":[\"/run/determined/command-entrypoint.sh\","
        "\"python3\",\"t.py\"],\"resources\":{\"slots\":1,\"max_slots\":null,\"weight\":1,\"priority\":42,"
        "\"resource_pool\":\"default\",\"shm_size\":null,\"native_parallel\":false,\"devices\":[]},\"environment\":{\"image\":{"
        "\"cpu\":\"determinedai/pytorch-ngc-dev:0736b6d\",\"cuda\":\"determinedai/pytorch-ngc-dev:0736b6d\","
        "\"rocm\":\"determinedai/environments:rocm-5.6-pytorch-1.3-tf-2.10-rocm-mpich-0736b6d\"},\"environment_variables\":{"
        "\"cpu\":[\"A=cluster\",\"B=cluster\",\"A=pool\"],\"cuda\":[\"A=cluster\",\"B=cluster\"],"
        "\"rocm\":[\"A=cluster\",\"B=cluster\"]},\"ports\":{},\"proxy_ports\":[],\"force_pull_image\":false,\"registry_auth\":{"
        "\"username\":\"them\",\"password\":\"secret\"},\"add_capabilities\":[],\"drop_capabilities\":[\"CAP_KILL\"],"
        "\"pod_spec\":null},\"bind_mounts\":[{\"host_path\":\"/e\",\"container_path\":\"/d\",\"read_only\":false,"
        "\"propagation\":\"rprivate\"}],\"idle_timeout\":null,\"notebook_idle_type\":\"kernels_or_terminals\","
        "\"work_dir\":\"/data/$DET_USER\",\"tensorboard_args\":[],\"debug\":false,\"slurm\":{},\"pbs\":{}}");
    assert_null(c->warnings);
    assert_int_equal(c->argv_n, 2);
    assert_string_equal(c->argv[0], "python3");
    assert_string_equal(c->argv[1], "t.py");
    assert_int_equal(c->idle_timeout_us, 0);
    cluster_release(&k);
}

static void test_taskconf__has_typed_values(void **state)
{
    struct cluster k;
    cluster_init(&k, TASK_KIND_NOTEBOOK);
    cleanup_taskconf struct taskconf *c = prepare(
        &k,
        "{description: mine, idle_timeout: 30m, notebook_idle_type: activity, work_dir: /w, debug: true,"
        " resources: {slots: 4, priority: 7, weight: 2.5, memory_limit: 2 GiB, cpus: 0.25, memory: 1g, devices: ['/dev/a:/dev/b']},"
        " environment: {environment_variables: {gpu: [X=1]}, proxy_ports: [{proxy_port: 8000, proxy_tcp: true}]}}");
    const struct task_values *v = &c->values;
    size_t n;
    assert_string_equal(v->description, "mine");
    assert_int_equal(v->resources.slots, 4);
    assert_int_equal(v->resources.priority, 7);
    assert_true(v->resources.weight == 2.5);
    assert_int_equal(v->resources.memory_limit_bytes, INT64_C(2) << 30);
    assert_true(v->resources.cpus == 0.25 && v->resources.memory_bytes == 1 << 30);
    assert_string_equal(v->resources.resource_pool, "default");
    assert_string_equal(v->resources.devices[0].container_path, "/dev/b");
    assert_int_equal(v->notebook_idle_type, TASK_NOTEBOOK_IDLE_TYPE_ACTIVITY);
    assert_string_equal(v->work_dir, "/w");
    assert_true(v->debug && !v->has_preemption_timeout_s);
    assert_int_equal(v->environment.proxy_ports_n, 1);
    assert_true(v->environment.proxy_ports[0].proxy_port == 8000 && v->environment.proxy_ports[0].proxy_tcp);
    assert_string_equal(taskconf_environment_variables(c, "cuda", &n)[2], "X=1");
    assert_int_equal(n, 3);
    assert_string_equal(taskconf_image(c, "cpu"), "determinedai/pytorch-ngc-dev:0736b6d");
    assert_int_equal(c->idle_timeout_us, INT64_C(1800000000));
    expect_member(c, "idle_timeout", "\"30m0s\"");
    assert_int_equal(c->argv_n, 0);
    cluster_release(&k);
}

static void test_taskconf__each_kind_has_its_description_slots_and_program(void **state)
{
    static const struct {
        enum task_kind kind;
        const char *description, *pool, *entrypoint;
    } rows[] = {
        {TASK_KIND_NOTEBOOK, "\"JupyterLab (boldly-brave-camel)\"", "\"default\"",
         "[\"python3\",\"-m\",\"determined.exec.notebook\"]"},
        {TASK_KIND_SHELL, "\"Shell (boldly-brave-camel)\"", "\"default\"", "[\"/run/determined/shell-entrypoint.sh\"]"},
        {TASK_KIND_TENSORBOARD, "\"TensorBoard (boldly-brave-camel)\"", "\"aux\"",
         "[\"python3\",\"-m\",\"determined.exec.tensorboard\"]"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        expect_prepared(rows[i].kind, NULL, "description", rows[i].description);
        expect_prepared(rows[i].kind, "{}", "resources.resource_pool", rows[i].pool);
        expect_prepared(rows[i].kind, NULL, "entrypoint", rows[i].entrypoint);
        expect_prepared(rows[i].kind, NULL, "resources.slots", rows[i].kind == TASK_KIND_TENSORBOARD ? "0" : "1");
    }
    expect_prepared(TASK_KIND_GENERIC, "{entrypoint: x}", "description", "\"Generic Task (boldly-brave-camel)\"");
}

static void test_taskconf__a_line_for_the_shell_is_a_list_of_one(void **state)
{
    struct cluster k;
    cluster_init(&k, TASK_KIND_GENERIC);
    cleanup_taskconf struct taskconf *c = prepare(&k, "{entrypoint: 'echo a && b'}");
    expect_member(c, "entrypoint", "[\"echo a && b\"]");
    assert_int_equal(c->argv_n, 1);
    assert_string_equal(c->argv[0], "echo a && b");
    cluster_release(&k);
}

static void test_taskconf__the_entry_of_commands_is_written_once(void **state)
{
    struct cluster k;
    cluster_init(&k, TASK_KIND_COMMAND);
    k.ctx.task_container_defaults = NULL;
    cleanup_taskconf struct taskconf *first = prepare(&k, "{entrypoint: [date]}");
    cleanup_taskconf struct taskconf *again = prepare(&k, first->json);
    expect_member(again, "entrypoint", "[\"/run/determined/command-entrypoint.sh\",\"date\"]");
    assert_int_equal(again->argv_n, 1);
    assert_string_equal(again->argv[0], "date");
    assert_null(again->warnings); /* all keys of the effective form are ones that it may have */
    cluster_release(&k);
}

static void test_taskconf__comes_back_the_same_from_the_store(void **state)
{
    struct cluster k;
    cluster_init(&k, TASK_KIND_COMMAND);
    cleanup_taskconf struct taskconf *c = prepare(&k,
                                                  "{entrypoint: [date, -u], resources: {slots: 2, disk_limit: 2 GiB}}"),
                                     *again = NULL;
    struct taskconf *broken = NULL;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(taskconf_from_json(TASK_KIND_COMMAND, c->json, strlen(c->json), &again, NULL), 0);
    assert_string_equal(again->json, c->json);
    assert_int_equal(again->argv_n, 2);
    assert_int_equal(again->values.resources.slots, 2);
    assert_int_equal(taskconf_from_json(TASK_KIND_SHELL, "[]", 2, &broken, &err), -1);
    assert_string_equal(error_msg(&err), "the stored configuration of a shell is no object");
    error_release(&err);
    assert_int_equal(taskconf_from_json(TASK_KIND_SHELL, "{\"debug\":5}", 11, &broken, &err), -1);
    assert_string_equal(
        error_msg(&err),
        "the stored configuration of a shell: <config>.debug: expected true or false, found a whole number: 5");
    cluster_release(&k);
}

/* A list may be longer than one document may have it: a part comes from the template, and a part from the cluster. */
static void test_taskconf__long_lists_of_several_documents_come_back_from_the_store(void **state)
{
    struct cluster k;
    cluster_init(&k, TASK_KIND_COMMAND);
    struct json_object *config = tree("{entrypoint: [x], environment: {environment_variables: []}}"), *list;
    list = json_object_object_get(json_object_object_get(config, "environment"), "environment_variables");
    for (int i = 0; i < 1000; i++)
        json_object_array_add(list, json_object_new_string("A=1"));
    struct taskconf *c = NULL, *again = NULL;
    cleanup_error struct error err = ERROR_INIT;
    k.rq.config = config;
    assert_int_equal(taskconf_prepare(&k.rq, &c, NULL), 0);
    assert_int_equal(c->values.environment.environment_variables.cpu_n, 1003);
    if (taskconf_from_json(TASK_KIND_COMMAND, c->json, strlen(c->json), &again, &err) < 0)
        fail_msg("%s", error_msg(&err));
    taskconf_free(c);
    taskconf_free(again);
    cluster_release(&k);
}

/* ---- what belongs to the kind ------------------------------------------------------------------------------------ */

static void test_taskconf__a_tensorboard_has_no_slots_and_no_description_of_its_own(void **state)
{
    static const char yaml[] =
        "{description: mine, resources: {slots: 2}, tensorboard_args: [--samples_per_plugin=images=9]}";
    expect_prepared(TASK_KIND_TENSORBOARD, yaml, "resources.slots", "0");
    expect_prepared(TASK_KIND_TENSORBOARD, yaml, "resources.resource_pool", "\"aux\"");
    expect_prepared(TASK_KIND_TENSORBOARD, yaml, "description", "\"TensorBoard (boldly-brave-camel)\"");
    expect_prepared(TASK_KIND_TENSORBOARD, yaml, "tensorboard_args", "[\"--samples_per_plugin=images=9\"]");
    expect_warnings(TASK_KIND_TENSORBOARD, yaml,
                    "[\"resources.slots has no effect on a tensorboard: it never has slots\","
                    "\"description has no effect on a tensorboard: its description is made by the master\"]");
}

static void test_taskconf__idle_notebooks_and_tensorboards_end_as_the_cluster_says(void **state)
{
    struct cluster k;
    cluster_init(&k, TASK_KIND_TENSORBOARD);
    cleanup_taskconf struct taskconf *board = prepare(&k, "{}");
    expect_member(board, "idle_timeout", "\"5m0s\"");
    assert_int_equal(board->idle_timeout_us, 300000000);
    k.rq.tensorboard_timeout_s = 0;
    cleanup_taskconf struct taskconf *never = prepare(&k, "{}");
    expect_member(never, "idle_timeout", "null");
    k.rq.kind = TASK_KIND_NOTEBOOK;
    cleanup_taskconf struct taskconf *notebook = prepare(&k, "{}");
    expect_member(notebook, "idle_timeout", "null");
    k.rq.notebook_timeout_s = 3600;
    cleanup_taskconf struct taskconf *watched = prepare(&k, "{}");
    expect_member(watched, "idle_timeout", "\"1h0m0s\"");
    cleanup_taskconf struct taskconf *own = prepare(&k,
                                                    "{idle_timeout: 90000000000}"); /* nanoseconds, as Go has them */
    expect_member(own, "idle_timeout", "\"1m30s\"");
    k.rq.kind = TASK_KIND_SHELL;
    cleanup_taskconf struct taskconf *shell = prepare(&k, "{}");
    expect_member(shell, "idle_timeout", "null");
    cluster_release(&k);
}

static void test_taskconf__a_preempted_generic_task_has_the_clusters_time(void **state)
{
    struct cluster k;
    cluster_init(&k, TASK_KIND_GENERIC);
    cleanup_taskconf struct taskconf *c = prepare(&k, "{entrypoint: [x]}"),
                                     *own = prepare(&k, "{entrypoint: [x], preemption_timeout: 5}");
    assert_int_equal(c->values.preemption_timeout_s, 60);
    assert_int_equal(own->values.preemption_timeout_s, 5);
    k.rq.kind = TASK_KIND_COMMAND;
    cleanup_taskconf struct taskconf *command = prepare(&k, "{entrypoint: [x], preemption_timeout: 5}");
    assert_false(command->values.has_preemption_timeout_s);
    cluster_release(&k);
}

static void test_taskconf__says_which_keys_have_no_effect(void **state)
{
    expect_warnings(TASK_KIND_COMMAND,
                    "{entrypoint: [x], notebook_idle_type: activity, tensorboard_args: [a], preemption_timeout: 5}",
                    "[\"notebook_idle_type has no effect on a command: it is for a notebook\","
                    "\"tensorboard_args has no effect on a command: it is for a tensorboard\","
                    "\"preemption_timeout has no effect on a command: it is for a task\"]");
    expect_warnings(TASK_KIND_SHELL, "{entrypoint: [x]}",
                    "[\"entrypoint has no effect on a shell: it runs a program of the platform\"]");
    expect_warnings(
        TASK_KIND_COMMAND, "{entrypoint: [x], idle_timeout: 1m}",
        "[\"idle_timeout has no effect on a command without environment.proxy_ports: nobody can see whether it "
        "is idle\"]");
    expect_warnings(TASK_KIND_COMMAND,
                    "{entrypoint: [x], idle_timeout: 1m, environment: {proxy_ports: [{proxy_port: 80}]}}", "null");
    expect_warnings(
        TASK_KIND_COMMAND, "{entrypoint: [x], resources: {slots_per_trial: 4}}",
        "[\"resources.slots_per_trial has no effect: it is for experiments; slots says how many slots a task "
        "takes\"]");
}

static void test_taskconf__a_context_takes_the_place_of_the_work_dir(void **state)
{
    struct cluster k;
    cluster_init(&k, TASK_KIND_COMMAND);
    k.rq.has_context = true;
    cleanup_taskconf struct taskconf *c = prepare(&k, "{entrypoint: [x]}");
    expect_member(c, "work_dir", "null"); /* the cluster's own gives way */
    cleanup_taskconf struct taskconf *same = prepare(&k, "{entrypoint: [x], work_dir: /data/$DET_USER}");
    expect_member(same, "work_dir", "null");
    expect_refused(
        &k, "{entrypoint: [x], work_dir: /w}",
        "<config>.work_dir: cannot be set together with a context directory: the task begins in the directory of "
        "the context's files; leave out one of the two");
    k.ctx.template_config = tree("{work_dir: /t}");
    expect_refused(
        &k, "{entrypoint: [x]}",
        "<config>.work_dir: cannot be set together with a context directory: the task begins in the directory of "
        "the context's files; leave out one of the two");
    k.rq.has_context = false;
    cleanup_taskconf struct taskconf *of_template = prepare(&k, "{entrypoint: [x]}");
    expect_member(of_template, "work_dir", "\"/t\"");
    cluster_release(&k);
}

/* ---- the pool ---------------------------------------------------------------------------------------------------- */

static void test_taskconf__the_pool_follows_from_the_slots(void **state)
{
    expect_prepared(TASK_KIND_COMMAND, "{entrypoint: [x], resources: {slots: 0}}", "resources.resource_pool",
                    "\"aux\"");
    expect_prepared(TASK_KIND_COMMAND, "{entrypoint: [x], resources: {slots: 0}}", "resources.priority", "50");
    expect_prepared(TASK_KIND_COMMAND, "{entrypoint: [x], resources: {resource_pool: aux}}", "resources.resource_pool",
                    "\"aux\"");
    expect_prepared(TASK_KIND_COMMAND, "{entrypoint: [x], resources: {slots: 0}}",
                    "environment.environment_variables.cpu",
                    "[\"A=cluster\",\"B=cluster\"]"); /* the defaults of the other pool do not count */
}

/* ---- templates --------------------------------------------------------------------------------------------------- */

static void expect_merged(const char *template_yaml, const char *yaml, const char *path, const char *expected)
{
    struct cluster k;
    cluster_init(&k, TASK_KIND_COMMAND);
    k.ctx.task_container_defaults = NULL;
    k.pool[0].task_container_defaults = NULL;
    k.ctx.template_config = tree(template_yaml);
    cleanup_taskconf struct taskconf *c = prepare(&k, yaml);
    expect_member(c, path, expected);
    cluster_release(&k);
}

static void test_taskconf__templates_lie_below_the_request(void **state)
{
    static const struct {
        const char *below, *request, *path, *expected;
    } rows[] = {
        /* values: the request's, if it has one */
        {"{description: t}", "{entrypoint: [x], description: r}", "description", "\"r\""},
        {"{description: t}", "{entrypoint: [x]}", "description", "\"t\""},
        {"{description: t}", "{entrypoint: [x], description: null}", "description", "\"t\""},
        {"{resources: {slots: 2}}", "{entrypoint: [x]}", "resources.slots", "2"},
        {"{resources: {slots: 2}}", "{entrypoint: [x], resources: {slots: 0}}", "resources.slots", "0"},
        /* sections: key by key */
        {"{resources: {slots: 2}}", "{entrypoint: [x], resources: {priority: 9}}", "resources.slots", "2"},
        {"{resources: {slots: 2}}", "{entrypoint: [x], resources: {priority: 9}}", "resources.priority", "9"},
        /* one value that is spelled as a list: the request's */
        {"{entrypoint: [t, '1']}", "{entrypoint: [x]}", "entrypoint",
         "[\"/run/determined/command-entrypoint.sh\",\"x\"]"},
        {"{entrypoint: [t, '1']}", "{}", "entrypoint", "[\"/run/determined/command-entrypoint.sh\",\"t\",\"1\"]"},
        {"{entrypoint: t}", "{entrypoint: [x]}", "entrypoint", "[\"/run/determined/command-entrypoint.sh\",\"x\"]"},
        /* lists: the template's, then the request's */
        {"{tensorboard_args: [a]}", "{entrypoint: [x], tensorboard_args: [b]}", "tensorboard_args", "[\"a\",\"b\"]"},
        {"{environment: {environment_variables: [A=1]}}",
         "{entrypoint: [x], environment: {environment_variables: [A=2]}}", "environment.environment_variables.rocm",
         "[\"A=1\",\"A=2\"]"},
        {"{environment: {environment_variables: [A=1]}}",
         "{entrypoint: [x], environment: {environment_variables: {cpu: [B=2]}}}",
         "environment.environment_variables.cpu", "[\"A=1\",\"B=2\"]"},
        /* lists with a key: the request's entries, and those of the template that have another key */
        {"{bind_mounts: [{host_path: /a, container_path: /x}, {host_path: /b, container_path: /y}]}",
         "{entrypoint: [x], bind_mounts: [{host_path: /c, container_path: /x}]}", "bind_mounts",
         "[{\"host_path\":\"/c\",\"container_path\":\"/x\",\"read_only\":false,\"propagation\":\"rprivate\"},"
         "{\"host_path\":\"/b\",\"container_path\":\"/y\",\"read_only\":false,\"propagation\":\"rprivate\"}]"},
        {"{resources: {devices: ['/dev/a:/dev/x']}}", "{entrypoint: [x], resources: {devices: ['/dev/b:/dev/x:r']}}",
         "resources.devices", "[{\"host_path\":\"/dev/b\",\"container_path\":\"/dev/x\",\"mode\":\"r\"}]"},
        {"{environment: {proxy_ports: [{proxy_port: 80}, {proxy_port: 81}]}}",
         "{entrypoint: [x], environment: {proxy_ports: [{proxy_port: 80, proxy_tcp: true}]}}",
         "environment.proxy_ports",
         "[{\"proxy_port\":80,\"proxy_tcp\":true,\"unauthenticated\":false,\"default_service_id\":false},"
         "{\"proxy_port\":81,\"proxy_tcp\":false,\"unauthenticated\":false,\"default_service_id\":false}]"},
        /* sets */
        {"{environment: {drop_capabilities: [KILL, CHOWN]}}",
         "{entrypoint: [x], environment: {drop_capabilities: [ALL, KILL]}}", "environment.drop_capabilities",
         "[\"ALL\",\"CHOWN\",\"KILL\"]"},
        /* mappings: entry by entry */
        {"{environment: {image: t}}", "{entrypoint: [x], environment: {image: {cpu: r}}}", "environment.image",
         "{\"cpu\":\"r\",\"cuda\":\"t\",\"rocm\":\"t\"}"},
        {"{environment: {ports: {a: 1, b: 2}}}", "{entrypoint: [x], environment: {ports: {b: 3}}}", "environment.ports",
         "{\"b\":3,\"a\":1}"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        expect_merged(rows[i].below, rows[i].request, rows[i].path, rows[i].expected);
}

static void test_taskconf__mistakes_of_a_template_are_told_apart_from_those_of_the_request(void **state)
{
    struct cluster k;
    cluster_init(&k, TASK_KIND_COMMAND);
    k.ctx.template_config = tree("{resources: {slotz: 2}}");
    expect_refused(&k, "{entrypoint: [x]}",
                   "with the template merged: <config>.resources: unknown field \"slotz\"; did you mean \"slots\"?");
    expect_refused(&k, "{entrypoint: [x], debug: 7}",
                   "<config>.debug: expected true or false, found a whole number: 7");
    cluster_release(&k);
}

/* ---- what is wrong ----------------------------------------------------------------------------------------------- */

static void test_taskconf__refuses_bad_documents_with_a_sentence(void **state)
{
    static const struct {
        const char *yaml, *expected;
    } rows[] = {
        {"{}", "<config>.entrypoint: must be set: it says what the command runs"},
        {"{entrypoint: []}", "<config>.entrypoint: must name a program"},
        {"{entrypoint: '  '}", "<config>.entrypoint: must name a program"},
        {"{entrypoint: [/run/determined/command-entrypoint.sh]}", "<config>.entrypoint: must name a program"},
        {"{entrypoint: 5}", "<config>.entrypoint: expected a text or a list, found a whole number: 5"},
        {"{entrypoint: [x, 5]}", "<config>.entrypoint[1]: expected a text, found a whole number: 5"},
        {"{entrypoint: [x], resource: {}}", "<config>: unknown field \"resource\"; did you mean \"resources\"?"},
        {"{entrypoint: [x], workdir: /w}", "<config>: unknown field \"workdir\"; did you mean \"work_dir\"?"},
        {"{entrypoint: [x], searcher: {}}",
         "<config>: unknown field \"searcher\"; allowed: description, entrypoint, resources, environment, bind_mounts, "
         "idle_timeout, notebook_idle_type, work_dir, tensorboard_args, preemption_timeout, debug, slurm, pbs"},
        {"{entrypoint: [x], template: t}",
         "<config>.template: must stay unset (Not part of a configuration: a template is named when a task is created, and "
         "only one)"},
        {"{entrypoint: [x], work_dir: ''}", "<config>.work_dir: must not be empty"},
        {"{entrypoint: [x], resources: {slots: -1}}", "<config>.resources.slots: must be at least 0, found -1"},
        {"{entrypoint: [x], resources: {slots: 1.5}}",
         "<config>.resources.slots: expected a whole number, found a number: 1.5"},
        {"{entrypoint: [x], resources: {priority: 100}}", "<config>.resources.priority: must be 1 to 99, found 100"},
        {"{entrypoint: [x], resources: {resource_pool: gpu}}",
         "<config>.resources.resource_pool: there is no pool \"gpu\" (pools: default, aux)"},
        {"{entrypoint: [x], idle_timeout: 0s}", "<config>.idle_timeout: must be more than 0, found 0s"},
        {"{entrypoint: [x], idle_timeout: soon}",
         "<config>.idle_timeout: expected a duration such as 20m, found a text: \"soon\""},
        {"{entrypoint: [x], notebook_idle_type: never}",
         "<config>.notebook_idle_type: must be one of kernels_or_terminals, kernel_connections, activity; found \"never\""},
        {"{entrypoint: [x], bind_mounts: [{host_path: d, container_path: /x}]}",
         "<config>.bind_mounts[0].host_path: must be an absolute path, found \"d\""},
        {"{entrypoint: [x], bind_mounts: [{host_path: /d}]}",
         "<config>.bind_mounts[0]: \"container_path\" must be set"},
        {"{entrypoint: [x], environment: {environment_variables: ['=1']}}",
         "<config>.environment.environment_variables[0]: must have the form NAME=VALUE, found \"=1\""},
        {"{entrypoint: [x], environment: {proxy_ports: [{proxy_port: 70000}]}}",
         "<config>.environment.proxy_ports[0].proxy_port: must be 1 to 65535, found 70000"},
        {"{entrypoint: [x], environment: {drop_capabilities: [FLY]}}",
         "<config>.environment.drop_capabilities: there is no Linux capability \"FLY\" (man 7 capabilities lists them)"},
        {"[1]", "<config>: expected a mapping, found a list: [1]"},
    };
    struct cluster k;
    cluster_init(&k, TASK_KIND_COMMAND);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        expect_refused(&k, rows[i].yaml, rows[i].expected);
    k.ctx.default_compute_pool = NULL;
    expect_refused(&k, "{entrypoint: [x]}",
                   "<config>.resources.resource_pool must be set: this cluster has no default pool");
    cluster_release(&k);
}

static void test_taskconf__text_has_lines_and_words(void **state)
{
    static const char wrong[] = "entrypoint: x\nresources:\n  slots: many\n", broken[] = "{a: [",
                      words[] = "entrypoint: x\nenvironment:\n  ports: {on: 1}\n";
    struct cluster k;
    cluster_init(&k, TASK_KIND_GENERIC);
    k.rq.text = wrong;
    k.rq.text_n = strlen(wrong);
    expect_refused(&k, NULL,
                   "<config>.resources.slots (line 3, column 10): expected a whole number, found a text: \"many\"");
    k.rq.text = broken;
    k.rq.text_n = strlen(broken);
    struct taskconf *none = NULL;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(taskconf_prepare(&k.rq, &none, &err), -1);
    assert_true(strncmp(error_msg(&err), "the configuration is not valid YAML: ", 37) == 0);
    k.rq.text = words;
    k.rq.text_n = strlen(words);
    cleanup_taskconf struct taskconf *c = NULL;
    assert_int_equal(taskconf_prepare(&k.rq, &c, NULL), 0);
    assert_int_equal(json_object_array_length(c->warnings), 1); /* `on` is a truth value */
    k.ctx.config_max = 10;
    expect_refused(
        &k, NULL,
        "the configuration has 44 bytes, at most 10 are allowed (the master's limits.config_size); keep large "
        "data in files of the model definition");
    cluster_release(&k);
}

static void test_taskconf__what_no_process_could_start_with_is_refused(void **state)
{
    struct cluster k;
    cluster_init(&k, TASK_KIND_COMMAND);
    struct json_object *config = tree("{entrypoint: [x]}"), *list = json_object_object_get(config, "entrypoint");
    char *word = malloc(100001);
    memset(word, 'a', 100000);
    word[100000] = '\0';
    for (int i = 0; i < 6; i++)
        json_object_array_add(list, json_object_new_string(word));
    struct taskconf *c = NULL;
    cleanup_error struct error err = ERROR_INIT;
    k.rq.config = config;
    assert_int_equal(taskconf_prepare(&k.rq, &c, &err), -1);
    assert_non_null(strstr(error_msg(&err), "at most 524288 are allowed: no task could be started with more"));
    free(word);
    cluster_release(&k);
}

static void test_taskconf__secrets_can_be_hidden(void **state)
{
    struct cluster k;
    cluster_init(&k, TASK_KIND_COMMAND);
    cleanup_taskconf struct taskconf *c = prepare(&k, "{entrypoint: [x]}");
    cleanup_arena struct arena a = ARENA_INIT;
    const char *hidden = expconf_hide_secrets(c->json, "********", &a);
    assert_null(strstr(hidden, "secret\""));
    assert_non_null(strstr(hidden, "\"password\":\"********\""));
    expect_refused(
        &k, "{entrypoint: [x], environment: {registry_auth: {password: '********'}}}",
        "<config>.environment.registry_auth.password: is ********, which stands for a secret that is not shown: "
        "give the secret itself, or leave it out");
    cluster_release(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taskconf__a_command_has_all_keys_and_the_values_of_the_cluster),
        cmocka_unit_test(test_taskconf__has_typed_values),
        cmocka_unit_test(test_taskconf__each_kind_has_its_description_slots_and_program),
        cmocka_unit_test(test_taskconf__a_line_for_the_shell_is_a_list_of_one),
        cmocka_unit_test(test_taskconf__the_entry_of_commands_is_written_once),
        cmocka_unit_test(test_taskconf__comes_back_the_same_from_the_store),
        cmocka_unit_test(test_taskconf__long_lists_of_several_documents_come_back_from_the_store),
        cmocka_unit_test(test_taskconf__a_tensorboard_has_no_slots_and_no_description_of_its_own),
        cmocka_unit_test(test_taskconf__idle_notebooks_and_tensorboards_end_as_the_cluster_says),
        cmocka_unit_test(test_taskconf__a_preempted_generic_task_has_the_clusters_time),
        cmocka_unit_test(test_taskconf__says_which_keys_have_no_effect),
        cmocka_unit_test(test_taskconf__a_context_takes_the_place_of_the_work_dir),
        cmocka_unit_test(test_taskconf__the_pool_follows_from_the_slots),
        cmocka_unit_test(test_taskconf__templates_lie_below_the_request),
        cmocka_unit_test(test_taskconf__mistakes_of_a_template_are_told_apart_from_those_of_the_request),
        cmocka_unit_test(test_taskconf__refuses_bad_documents_with_a_sentence),
        cmocka_unit_test(test_taskconf__text_has_lines_and_words),
        cmocka_unit_test(test_taskconf__what_no_process_could_start_with_is_refused),
        cmocka_unit_test(test_taskconf__secrets_can_be_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
