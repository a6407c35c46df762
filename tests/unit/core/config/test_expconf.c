#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>

#include "common/config/schema_checks.h"
#include "core/config/expconf.h"
#include "core/config/expconf_checks.h"
#include "core/config/taskconf.h"
#include "gen/config_tables.h"

static const char minimal[] =
    "name: x\nentrypoint: python3 t.py\nsearcher: {name: single, metric: loss, max_length: {batches: 100}}\n"
    "hyperparameters: {lr: 0.1, layers: {depth: 3}}\n";

static struct json_object *tree(const char *yaml)
{
    struct json_object *v = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (yaml_parse(yaml, strlen(yaml), &v, NULL, &err) < 0)
        fail_msg("%s", error_msg(&err));
    return v;
}

/* A cluster with two pools. The caller puts the two trees. */
struct cluster {
    struct json_object *storage, *defaults, *pool_defaults;
    struct expconf_pool pool[2];
    struct expconf_context ctx;
};

static void cluster_init(struct cluster *c)
{
    c->storage = tree("{type: shared_fs, host_path: /ckpt, save_trial_best: 3}");
    c->defaults = tree(
        "{image: base, environment_variables: [A=cluster], bind_mounts: [{host_path: /d, container_path: /d}],"
        " registry_auth: {username: them, password: secret}, preemption_timeout: 60,"
        " gpu_pod_spec: {spec: {nodeSelector: {gpu: yes}}}, slurm: {sbatch_args: [-a]}}");
    c->pool_defaults = tree(
        "{environment_variables: {cpu: [A=pool]}, bind_mounts: [{host_path: /e, container_path: /d}],"
        " add_capabilities: [NET_ADMIN]}");
    c->pool[0] = (struct expconf_pool){.name = "default",
                                       .default_priority = 42,
                                       .task_container_defaults = c->pool_defaults};
    c->pool[1] = (struct expconf_pool){.name = "aux", .default_priority = 50};
    c->ctx = (struct expconf_context){
        .checkpoint_storage = c->storage,
        .task_container_defaults = c->defaults,
        .pool = c->pool,
        .pool_n = 2,
        .default_compute_pool = "default",
        .default_aux_pool = "aux",
        .seed = 0x80000007u,
        .random = {1, 2, 3},
    };
}

static void cluster_release(struct cluster *c)
{
    json_object_put(c->storage);
    json_object_put(c->defaults);
    json_object_put(c->pool_defaults);
}

static struct exp_config *prepare(const struct expconf_context *ctx, const char *yaml)
{
    struct exp_config *c = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (expconf_prepare(yaml, strlen(yaml), ctx, &c, &err) < 0)
        fail_msg("%s: %s", yaml, error_msg(&err));
    return c;
}

static void expect_refused(const struct expconf_context *ctx, const char *yaml, const char *expected)
{
    struct exp_config *c = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (expconf_prepare(yaml, strlen(yaml), ctx, &c, &err) == 0)
        fail_msg("accepted: %s", yaml);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_string_equal(error_msg(&err), expected);
}

static void expect_tree(struct json_object *v, const char *expected)
{
    assert_string_equal(json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
                        expected);
}

static void expect_variables(const struct exp_config *c, const char *device_type, const char *expected)
{
    cleanup_strbuf struct strbuf found = STRBUF_INIT;
    size_t n;
    const char *const *variable = exp_config_environment_variables(c, device_type, &n);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&found, "%s ", variable[i]);
    assert_string_equal(strbuf_str(&found), expected);
}

static void test_expconf__typed_view_of_a_small_configuration(void **state)
{
    struct cluster k;
    cluster_init(&k);
    cleanup_exp_config struct exp_config *c = prepare(&k.ctx, minimal);
    assert_string_equal(c->values.name, "x");
    assert_string_equal(c->original, minimal);
    assert_string_equal(json_object_get_string(c->values.entrypoint), "python3 t.py");
    assert_int_equal(c->values.searcher.kind, EXP_SEARCHER_SINGLE);
    assert_string_equal(c->values.searcher.metric, "loss");
    assert_true(c->values.searcher.smaller_is_better && c->values.searcher.has_max_length);
    assert_int_equal(c->values.searcher.max_length.unit, EXP_UNIT_BATCHES);
    assert_int_equal(c->values.searcher.max_length.units, 100);
    assert_int_equal(exp_searcher_trials(&c->values.searcher), 1);
    assert_int_equal(c->values.resources.slots_per_trial, 1);
    assert_false(c->values.resources.has_max_slots);
    assert_int_equal(c->values.resources.priority, 42);
    assert_string_equal(c->values.resources.resource_pool, "default");
    assert_int_equal(c->values.checkpoint_storage.kind, EXP_CHECKPOINT_STORAGE_SHARED_FS);
    assert_string_equal(exp_checkpoint_storage_path(&c->values.checkpoint_storage), "/ckpt");
    assert_int_equal(c->values.checkpoint_storage.save_trial_best, 3);
    assert_int_equal(c->values.max_restarts, 5);
    assert_int_equal(c->values.reproducibility.experiment_seed, 7);
    assert_int_equal(c->values.preemption_timeout_s, 60);
    assert_false(c->values.retention_policy.has_log_retention_days);
    expect_tree(c->values.hyperparameters,
                "{\"lr\":{\"type\":\"const\",\"val\":0.1},\"layers\":{\"depth\":{\"type\":\"const\",\"val\":3}}}");
    cluster_release(&k);
}

static void test_expconf__comes_back_the_same_from_the_store(void **state)
{
    struct cluster k;
    cluster_init(&k);
    cleanup_exp_config struct exp_config *c = prepare(&k.ctx, minimal), *again = NULL;
    assert_int_equal(exp_config_from_json(c->json, strlen(c->json), &again, NULL), 0);
    assert_string_equal(again->json, c->json);
    assert_null(again->original);
    assert_int_equal(again->values.resources.priority, 42);
    struct exp_config *broken = NULL;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(exp_config_from_json("{\"searcher\":5}", 14, &broken, &err), -1);
    error_release(&err);
    assert_int_equal(exp_config_from_json("[]", 2, &broken, &err), -1);
    assert_string_equal(error_msg(&err), "the stored experiment configuration is no object");
    cluster_release(&k);
}

/* A default beside the given unit once made two units of one length, so that the experiment could not be read back to
 * start it. */
static void test_expconf__a_length_keeps_its_own_unit_only(void **state)
{
    static const char yaml[] =
        "entrypoint: a\nsearcher: {name: single, metric: loss}\nmin_validation_period: {epochs: 2}\n"
        "min_checkpoint_period: {records: 7}\n";
    struct cluster c;
    cluster_init(&c);
    cleanup_exp_config struct exp_config *x = NULL, *again = NULL;
    assert_int_equal(expconf_prepare(yaml, strlen(yaml), &c.ctx, &x, NULL), 0);
    assert_int_equal(exp_config_from_json(x->json, strlen(x->json), &again, NULL), 0);
    assert_int_equal(again->values.min_validation_period.unit, EXP_UNIT_EPOCHS);
    assert_int_equal(again->values.min_validation_period.units, 2);
    assert_int_equal(again->values.min_checkpoint_period.unit, EXP_UNIT_RECORDS);
    assert_null(strstr(x->json, "\"batches\""));
    cluster_release(&c);
}

static void test_expconf__cluster_and_pool_defaults_lie_below_the_experiment(void **state)
{
    struct cluster k;
    cluster_init(&k);
    cleanup_strbuf struct strbuf yaml = STRBUF_INIT;
    strbuf_addf(&yaml,
                "%senvironment: {image: {cuda: mine}, environment_variables: [A=me], registry_auth: {username: me}}\n"
                "bind_mounts: [{host_path: /f, container_path: /f}]\nslurm: {sbatch_args: [-b]}\n",
                minimal);
    cleanup_exp_config struct exp_config *c = prepare(&k.ctx, yaml.s);
    assert_string_equal(exp_config_image(c, "cuda"), "mine");
    assert_string_equal(exp_config_image(c, "cpu"), "base");
    expect_variables(c, "cpu", "A=cluster A=pool A=me ");
    expect_variables(c, "cuda", "A=cluster A=me ");
    expect_tree(json_object_object_get(c->values.environment.tree, "registry_auth"), "{\"username\":\"me\"}");
    expect_tree(json_object_object_get(c->values.environment.tree, "add_capabilities"), "[\"NET_ADMIN\"]");
    expect_tree(json_object_object_get(c->values.environment.tree, "pod_spec"),
                "{\"spec\":{\"nodeSelector\":{\"gpu\":true}}}");
    expect_tree(json_object_object_get(c->tree, "slurm"), "{\"sbatch_args\":[\"-a\",\"-b\"]}");
    /* the mount at /f comes from the experiment, and the one at /d from the pool, whose value goes before the
     * cluster's */
    assert_int_equal(c->values.bind_mounts_n, 2);
    assert_string_equal(c->values.bind_mounts[1].host_path, "/e");
    cluster_release(&k);
}

static void expect_python(struct cluster *k, const char *python, const char *normal)
{
    cleanup_strbuf struct strbuf yaml = STRBUF_INIT;
    strbuf_addf(&yaml, "%senvironment: {python: %s}\n", minimal, python);
    cleanup_exp_config struct exp_config *c = prepare(&k->ctx, yaml.s);
    expect_tree(c->values.environment.python.tree, normal);
}

static void test_expconf__the_python_of_tasks_has_one_form_in_the_end(void **state)
{
    struct cluster k;
    cluster_init(&k);
    expect_python(&k, "/opt/conda", "{\"interpreter\":\"/opt/conda\"}");
    expect_python(&k, "[numpy, einops]", "{\"requirements\":[\"numpy\",\"einops\"]}");
    expect_python(&k, "{interpreter: /usr/bin/python3, requirements: \"a==1\\nb==2\\n\"}",
                  "{\"interpreter\":\"/usr/bin/python3\",\"requirements\":[\"a==1\",\"b==2\"]}");
    cleanup_exp_config struct exp_config *c = prepare(&k.ctx, minimal);
    assert_null(c->values.environment.python.tree);
    assert_null(strstr(c->json, "\"python\""));
    cluster_release(&k);
}

static void test_expconf__a_python_that_no_agent_could_make_is_refused(void **state)
{
    static const struct {
        const char *python, *words;
    } row[] = {
        {"python3", "must be the absolute path of a Python interpreter"},
        {"[]", "names no package"},
        {"[5]", "expected a text"},
        {"{}", "must have \"interpreter\", \"requirements\" or both"},
        {"[./mine]", "names a file"},
        {"{requirements: \"-r base.txt\"}", "not allowed here"},
        {"{version: 3}", "unknown field \"version\""},
    };
    struct cluster k;
    cluster_init(&k);
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        cleanup_strbuf struct strbuf yaml = STRBUF_INIT;
        struct exp_config *c = NULL;
        cleanup_error struct error err = ERROR_INIT;
        strbuf_addf(&yaml, "%senvironment: {python: %s}\n", minimal, row[i].python);
        assert_int_equal(expconf_prepare(yaml.s, yaml.n, &k.ctx, &c, &err), -1);
        if (!strstr(error_msg(&err), row[i].words) || !strstr(error_msg(&err), "environment.python"))
            fail_msg("%s: %s", row[i].python, error_msg(&err));
    }
    cluster_release(&k);
}

static void test_expconf__zero_slots_go_to_the_aux_pool(void **state)
{
    struct cluster k;
    cluster_init(&k);
    cleanup_strbuf struct strbuf yaml = STRBUF_INIT;
    strbuf_addf(&yaml, "%sresources: {slots_per_trial: 0}\n", minimal);
    cleanup_exp_config struct exp_config *c = prepare(&k.ctx, yaml.s);
    assert_string_equal(c->values.resources.resource_pool, "aux");
    assert_int_equal(c->values.resources.priority, 50);
    k.ctx.default_aux_pool = NULL;
    expect_refused(&k.ctx, yaml.s, "<config>.resources.resource_pool must be set: this cluster has no default pool");
    strbuf_reset(&yaml);
    strbuf_addf(&yaml, "%sresources: {resource_pool: gpus}\n", minimal);
    expect_refused(&k.ctx, yaml.s, "<config>.resources.resource_pool: there is no pool \"gpus\" (pools: default, aux)");
    cluster_release(&k);
}

static void test_expconf__names_what_has_no_name(void **state)
{
    struct cluster k;
    cluster_init(&k);
    cleanup_exp_config struct exp_config *c = prepare(&k.ctx, minimal + strlen("name: x\n"));
    assert_string_equal(c->values.name, "Experiment (boldly-brave-camel)");
    cluster_release(&k);
}

static void test_expconf__every_mistake_is_named_at_once(void **state)
{
    struct cluster k;
    cluster_init(&k);
    expect_refused(
        &k.ctx,
        "nmae: x\n"
        "entrypoint: 5\n"
        "searcher: {name: single, metric: m, max_trials: 4, max_length: {batches: 0}}\n"
        "hyperparameters:\n"
        "  lr: {type: log, minval: 3, maxval: 1}\n"
        "  units: {type: int, minval: 0.5, maxval: .nan}\n"
        "  kind: {type: enum}\n"
        "  group:\n"
        "    drop: {type: double, minval: 0, maxval: 1, base: 10}\n"
        "  range: {type: double, minval: 3, maxval: 1}\n"
        "  c: {type: categorical, vals: [.inf]}\n"
        "  d: {type: const}\n"
        "resources:\n"
        "  priority: 100\n"
        "  weight: -1\n"
        "  devices: ['/dev/a']\n"
        "labels: [1]\n"
        "max_restarts: 99999999999\n"
        "log_policies: [{name: a, pattern: x}, {name: a, pattern: z}]\n"
        "data: {deep: [1, {x: .inf}]}\n"
        "reproducibility: {experiment_seed: 2147483648}\n",
        "<config> (line 1, column 1): unknown field \"nmae\"; did you mean \"name\"?\n"
        "<config>.entrypoint (line 2, column 13): expected a text or a list, found a whole number: 5\n"
        "<config>.searcher (line 3, column 37): unknown field \"max_trials\" with name \"single\"; allowed: name, metric, "
        "smaller_is_better, source_trial_id, source_checkpoint_uuid, max_length\n"
        "<config>.searcher.max_length.batches (line 3, column 74): must be 1 to 9007199254740992, found 0\n"
        "<config>.hyperparameters.lr (line 5, column 7): \"base\" must be set\n"
        "<config>.hyperparameters.units.minval (line 6, column 30): expected a whole number, found a number: 0.5\n"
        "<config>.hyperparameters.units.maxval (line 6, column 43): expected a whole number, found a number: NaN\n"
        "<config>.hyperparameters.kind (line 7, column 9): type must be one of const, int, double, log, categorical; "
        "found \"enum\"\n"
        "<config>.hyperparameters.group.drop (line 9, column 48): unknown field \"base\" with type \"double\"; "
        "allowed: type, minval, maxval, count\n"
        "<config>.hyperparameters.range (line 10, column 10): minval must be less than maxval, found 3 and 1\n"
        "<config>.hyperparameters.c.vals[0] (line 11, column 33): must be a finite number\n"
        "<config>.hyperparameters.d (line 12, column 6): \"val\" must be set\n"
        "<config>.resources.priority (line 14, column 13): must be 1 to 99, found 100\n"
        "<config>.resources.weight (line 15, column 11): must be at least 0, found -1\n"
        "<config>.resources.devices[0] (line 16, column 13): must be HOST:CONTAINER or HOST:CONTAINER:MODE, found \"/dev/a\"\n"
        "<config>.labels[0] (line 17, column 10): expected a text, found a whole number: 1\n"
        "<config>.max_restarts (line 18, column 15): must be 0 to 2147483647, found 99999999999\n"
        "<config>.log_policies (line 19, column 15): two policies have the name \"a\"\n"
        "<config>.data.deep[1].x (line 20, column 22): must be a finite number\n"
        "<config>.reproducibility.experiment_seed (line 21, column 36): must be 0 to 2147483647, found 2147483648");
    cluster_release(&k);
}

static void test_expconf__broken_yaml_names_line_and_column(void **state)
{
    struct cluster k;
    cluster_init(&k);
    expect_refused(&k.ctx, "name: x\nname: y\n",
                   "the experiment configuration is not valid YAML: line 2, column 1: the key \"name\" is "
                   "already there, at line 1, column 1");
    expect_refused(
        &k.ctx, "a: b: c",
        "the experiment configuration is not valid YAML: line 1, column 5: mapping values are not allowed in this context");
    expect_refused(&k.ctx, "- a\n", "<config> (line 1, column 1): expected a mapping, found a list: [\"a\"]");
    cluster_release(&k);
}

static void test_expconf__what_is_missing_is_named(void **state)
{
    struct cluster k;
    cluster_init(&k);
    k.ctx.checkpoint_storage = NULL;
    expect_refused(&k.ctx, "workspace: w",
                   "<config> (line 1, column 1): \"searcher\" must be set\n"
                   "<config> (line 1, column 1): \"checkpoint_storage\" must be set\n"
                   "<config> (line 1, column 1): \"entrypoint\" must be set, as the cluster runs this experiment\n"
                   "<config> (line 1, column 1): \"workspace\" and \"project\" must be set together");
    k.ctx.checkpoint_storage = k.storage;
    expect_refused(
        &k.ctx, "entrypoint: x\nsearcher: {name: custom, metric: m}",
        "<config>.searcher.name (line 2, column 18): the searcher \"custom\" cannot run; choose adaptive_asha, async_halving, "
        "random, grid or single");
    expect_refused(
        &k.ctx, "entrypoint: x\nsearcher: {name: adaptive_asha, metric: m, max_trials: 4}",
        "<config>.searcher (line 2, column 11): adaptive_asha needs max_length, or max_time together with time_metric");
    expect_refused(
        &k.ctx,
        "entrypoint: x\nsearcher: {name: grid, metric: m}\nhyperparameters: {g: {a: {type: int, minval: 1, maxval: 9}}}",
        "<config>.hyperparameters.g.a (line 3, column 26): a grid search needs \"count\" here");
    k.ctx.unmanaged = true;
    cleanup_exp_config struct exp_config *c = prepare(&k.ctx, "searcher: {name: single, metric: m}");
    assert_null(c->values.entrypoint);
    cluster_release(&k);
}

/* A mistake does not hide what is missing, nor does what is missing hide a mistake. */
static void test_expconf__mistakes_and_what_is_missing_come_together(void **state)
{
    struct cluster k;
    cluster_init(&k);
    expect_refused(
        &k.ctx,
        "max_restarts: -1\ncheckpoint_storage: {type: s3, save_trial_best: -1}\nsearcher:\n  name: async_halving\n"
        "  max_trials: none\n",
        "<config>.max_restarts (line 1, column 15): must be at least 0, found -1\n"
        "<config>.checkpoint_storage.save_trial_best (line 2, column 49): must be at least 0, found -1\n"
        "<config>.searcher.max_trials (line 5, column 15): expected a whole number, found a text: \"none\"\n"
        "<config>.checkpoint_storage (line 2, column 21): \"bucket\" must be set\n"
        "<config>.searcher (line 4, column 3): \"metric\" must be set\n"
        "<config>.searcher (line 4, column 3): \"num_rungs\" must be set\n"
        "<config>.searcher (line 4, column 3): async_halving needs max_length, or max_time together with time_metric\n"
        "<config> (line 1, column 1): \"entrypoint\" must be set, as the cluster runs this experiment");
    expect_refused(&k.ctx, "entrypoint: ' '\nsearcher: 5",
                   "<config>.entrypoint (line 1, column 13): must name a program\n"
                   "<config>.searcher (line 2, column 11): expected a mapping, found a whole number: 5");
    expect_refused(
        &k.ctx, "entrypoint: x\nsearcher: {name: other}",
        "<config>.searcher (line 2, column 11): name must be one of single, random, grid, async_halving, adaptive_asha, "
        "sync_halving, adaptive, adaptive_simple, custom; found \"other\"\n"
        "<config>.searcher (line 2, column 11): \"metric\" must be set");
    cluster_release(&k);
}

static void test_expconf__retired_searchers_run_as_their_successors(void **state)
{
    struct cluster k;
    cluster_init(&k);
    cleanup_exp_config struct exp_config *c = prepare(
        &k.ctx,
        "entrypoint: x\nsearcher: {name: adaptive, metric: m, budget: {batches: 1000}, max_length: {batches: 100}}");
    assert_int_equal(exp_searcher_runs_as(c->values.searcher.kind), EXP_SEARCHER_ADAPTIVE_ASHA);
    assert_int_equal(exp_searcher_trials(&c->values.searcher), 10);
    assert_string_equal(exp_searcher_kind_name(c->values.searcher.kind), "adaptive");
    cleanup_exp_config struct exp_config *d = prepare(
        &k.ctx,
        "entrypoint: x\nsearcher: {name: sync_halving, metric: m, num_rungs: 2, budget: {epochs: 4}, max_length: {epochs: 8}}");
    assert_int_equal(exp_searcher_runs_as(d->values.searcher.kind), EXP_SEARCHER_ASYNC_HALVING);
    assert_int_equal(exp_searcher_trials(&d->values.searcher), 1);
    cluster_release(&k);
}

static void test_expconf__template_lies_below_the_configuration(void **state)
{
    struct cluster k;
    cluster_init(&k);
    const char *template_yaml =
        "description: t\ndata: {l: [1], o: {p: 1}}\nlabels: [b, a]\nentrypoint: [no]\n"
        "hyperparameters: {lr: {type: double, minval: 0, maxval: 1}, v: {type: categorical, vals: [1, 2]}}\n"
        "searcher: {name: single, metric: m, smaller_is_better: false}\n";
    k.ctx.template_config = tree(template_yaml);
    cleanup_exp_config struct exp_config *c = prepare(
        &k.ctx,
        "entrypoint: run\ndata: {l: [2]}\nlabels: [c]\nhyperparameters: {lr: {maxval: 2}, v: {vals: [3]}}\nsearcher: {metric: acc}");
    assert_string_equal(json_object_get_string(c->values.entrypoint), "run");
    assert_string_equal(c->values.description, "t");
    assert_string_equal(c->values.searcher.metric, "acc");
    assert_false(c->values.searcher.smaller_is_better);
    expect_tree(c->values.data, "{\"l\":[1,2],\"o\":{\"p\":1}}");
    expect_tree(json_object_object_get(c->tree, "labels"), "[\"a\",\"b\",\"c\"]");
    expect_tree(
        c->values.hyperparameters,
        "{\"lr\":{\"maxval\":2,\"type\":\"double\",\"minval\":0},\"v\":{\"vals\":[3],\"type\":\"categorical\"}}");
    expect_refused(&k.ctx, "bogus: 1", "<config> (line 1, column 1): unknown field \"bogus\"");
    expect_refused(&k.ctx, "hyperparameters: {lr: {type: log}}",
                   "<config>.hyperparameters.lr (line 1, column 23): \"minval\" must be set\n"
                   "<config>.hyperparameters.lr (line 1, column 23): \"maxval\" must be set\n"
                   "<config>.hyperparameters.lr (line 1, column 23): \"base\" must be set");
    json_object_put(k.ctx.template_config);
    k.ctx.template_config = tree("min_validation_period: {epochs: 1}");
    expect_refused(
        &k.ctx, "min_validation_period: {batches: 1}",
        "with the template merged: <config>.min_validation_period: a length has exactly one of batches, records, epochs; found 2 of them");
    json_object_put(k.ctx.template_config);
    cluster_release(&k);
}

static void test_expconf__a_template_is_part_of_a_configuration(void **state)
{
    static const struct {
        const char *yaml, *error;
    } cases[] = {
        {"{}", NULL},
        {"hyperparameters: {lr: {type: double, maxval: 1}}\nsearcher: {max_trials: 4}\nbind_mounts: [{read_only: true}]",
         NULL},
        {"idle_timeout: 30m\nresources: {slots: 2}", NULL}, /* a template for tasks */
        {"idle_timeout: 30m\nresources: {slots: x}",
         "<template>.resources.slots: expected a whole number, found a text: \"x\""},
        {"[1]", "template 't' must hold a configuration: keys and values"},
        {"template: other", "template 't' must not name a template: templates cannot be nested"},
        {"resources: {slots_per_trial: many, prority: 1}\nbogus: 1",
         "<template>.resources.slots_per_trial: expected a whole number, found a text: \"many\"\n"
         "<template>.resources: unknown field \"prority\"; did you mean \"priority\"?\n"
         "<template>: unknown field \"bogus\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        cleanup_json struct json_object *v = tree(cases[i].yaml);
        cleanup_error struct error err = ERROR_INIT;
        assert_int_equal(expconf_check_template(v, "t", &err), cases[i].error ? -1 : 0);
        if (cases[i].error)
            assert_string_equal(error_msg(&err), cases[i].error);
    }
}

static void test_taskconf__lies_upon_its_template_and_is_judged_as_a_whole(void **state)
{
    cleanup_json struct json_object *config = tree("{resources: {slots: 2}, tensorboard_args: [--b], bind_mounts: "
                                                   "[{host_path: /c, container_path: /x}]}");
    cleanup_json struct json_object *below = tree("{description: d, resources: {slots: 1, devices: ['/a:/b']}, "
                                                  "tensorboard_args: [--a], bind_mounts: [{container_path: /y}, "
                                                  "{host_path: /t, container_path: /x}]}");
    cleanup_json struct json_object *merged = NULL;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(taskconf_merge(config, below, &merged, &err), -1);
    assert_string_equal(error_msg(&err),
                        "with the template merged: <config>.bind_mounts[1]: \"host_path\" must be set");
    json_object_object_del(below, "bind_mounts");
    assert_int_equal(taskconf_merge(config, below, &merged, NULL), 0);
    expect_tree(merged,
                "{\"resources\":{\"slots\":2,\"devices\":[{\"host_path\":\"/a\",\"container_path\":\"/b\","
                "\"mode\":null}]},\"tensorboard_args\":[\"--a\",\"--b\"],\"bind_mounts\":[{\"host_path\":\"/c\","
                "\"container_path\":\"/x\"}],\"description\":\"d\"}");
}

static struct exp_config *go_on(const struct cluster *k, const struct exp_config *from, const char *override)
{
    struct exp_config *c = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (expconf_continue(from->tree, override, strlen(override), &k->ctx, &c, &err) < 0)
        fail_msg("%s: %s", override, error_msg(&err));
    return c;
}

static void expect_no_way_on(const struct cluster *k, const struct exp_config *from, const char *override,
                             const char *words)
{
    struct exp_config *c = NULL;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(expconf_continue(from->tree, override, strlen(override), &k->ctx, &c, &err), -1);
    assert_string_equal(error_msg(&err), words);
}

static void test_expconf_continue__what_the_override_says_counts(void **state)
{
    struct cluster k;
    cluster_init(&k);
    cleanup_exp_config struct exp_config *was = prepare(
        &k.ctx,
        "name: x\nentrypoint: run\nsearcher: {name: single, metric: m, max_length: {batches: 5}}\nlabels: [a]\n"
        "data: {list: [1], keep: {type: a, m: 1}}\nhyperparameters: {lr: {type: double, minval: 0, maxval: 1}, g: {a: 1, b: 2}}\n"
        "checkpoint_storage: {type: shared_fs, host_path: /p, storage_path: q, save_trial_best: 7}");
    cleanup_exp_config struct exp_config *same = go_on(&k, was, "");
    assert_string_equal(same->json, was->json);
    cleanup_exp_config struct exp_config *c =
        go_on(&k, was,
              "searcher: {max_length: {epochs: 2}}\nlabels: [b]\nname: null\ndata: {list: [2], keep: {m: 2}}\n"
              "hyperparameters: {lr: 0.5, g: {b: 3}}\ncheckpoint_storage: {type: s3, bucket: k}\n"
              "resources: {resource_pool: aux}\nbind_mounts: []");
    assert_string_equal(c->values.name, "x");
    assert_int_equal(c->values.searcher.max_length.unit, EXP_UNIT_EPOCHS);
    assert_int_equal(c->values.searcher.max_length.units, 2);
    assert_string_equal(c->values.searcher.metric, "m");
    assert_string_equal(c->values.resources.resource_pool, "aux");
    expect_tree(json_object_object_get(c->tree, "labels"), "[\"b\"]");
    expect_tree(json_object_object_get(c->tree, "bind_mounts"), "[]");
    expect_tree(c->values.data, "{\"list\":[2],\"keep\":{\"type\":\"a\",\"m\":2}}");
    expect_tree(c->values.hyperparameters, "{\"lr\":{\"type\":\"const\",\"val\":0.5},\"g\":{\"a\":{\"type\":\"const\","
                                           "\"val\":1},\"b\":{\"type\":\"const\",\"val\":3}}}");
    assert_int_equal(c->values.checkpoint_storage.kind, EXP_CHECKPOINT_STORAGE_S3);
    assert_int_equal(c->values.checkpoint_storage.save_trial_best, 7);
    assert_null(json_object_object_get(c->values.checkpoint_storage.tree, "host_path"));
    assert_int_equal(c->values.reproducibility.experiment_seed, was->values.reproducibility.experiment_seed);
    cluster_release(&k);
}

static void test_expconf_continue__refuses_another_project_searcher_and_what_is_wrong(void **state)
{
    struct cluster k;
    cluster_init(&k);
    cleanup_exp_config struct exp_config *single = prepare(&k.ctx, minimal);
    cleanup_exp_config struct exp_config *grid = prepare(&k.ctx, "entrypoint: x\nsearcher: {name: grid, metric: m}");
    expect_no_way_on(&k, single, "workspace: w",
                     "<config>.workspace: an experiment is continued where it is; 'det "
                     "experiment move' moves it");
    expect_no_way_on(&k, single, "searcher: {name: random, max_trials: 2}",
                     "<config>.searcher.name: must stay single, found \"random\"");
    expect_no_way_on(
        &k, single, "max_restarts: -1\nresources:\n  slots_per_trial: x",
        "<config>.max_restarts (line 1, column 15): must be at least 0, found -1\n"
        "<config>.resources.slots_per_trial (line 3, column 20): expected a whole number, found a text: \"x\"");
    expect_no_way_on(&k, single, "resources: {resource_pool: gone}",
                     "<config>.resources.resource_pool: there is no pool \"gone\" (pools: default, aux)");
    expect_no_way_on(
        &k, grid, "max_restarts: 1",
        "only an experiment with the searcher single can be continued with another configuration; this one "
        "has grid");
    cleanup_exp_config struct exp_config *same = go_on(&k, grid, "{}");
    assert_string_equal(same->json, grid->json);
    cluster_release(&k);
}

static void expect_known_checks(const struct schema_key *key)
{
    if (key->check && !schema_find_check(expconf_checks, key->check) &&
        !schema_find_check(schema_builtin_checks, key->check))
        fail_msg("row %s names the check \"%s\", which does not exist", key->name, key->check);
    for (size_t i = 0; i < key->child_n; i++)
        expect_known_checks(&key->child[i]);
    if (key->item)
        expect_known_checks(key->item);
}

static void test_tables__every_named_check_exists(void **state)
{
    expect_known_checks(experiment_config_keys);
    expect_known_checks(master_config_keys);
    expect_known_checks(agent_config_keys);
}

static void expect_good_defaults(const struct schema_key *key)
{
    struct json_object *v = key->def ? json_tokener_parse(key->def) : NULL;
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    if (v && !(key->types & SCHEMA_OBJECT))
        schema_validate(key, v, SCHEMA_PRESENT, expconf_checks, &(struct schema_place){.source = key->name}, &problems);
    if (problems.n)
        fail_msg("the default of a row is not allowed by it: %s", problems.text.s);
    json_object_put(v);
    for (size_t i = 0; i < key->child_n; i++)
        expect_good_defaults(&key->child[i]);
    if (key->item)
        expect_good_defaults(key->item);
}

static void test_tables__every_default_is_allowed(void **state)
{
    expect_good_defaults(experiment_config_keys);
    expect_good_defaults(master_config_keys);
    expect_good_defaults(agent_config_keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expconf__typed_view_of_a_small_configuration),
        cmocka_unit_test(test_expconf__comes_back_the_same_from_the_store),
        cmocka_unit_test(test_expconf__a_length_keeps_its_own_unit_only),
        cmocka_unit_test(test_expconf__cluster_and_pool_defaults_lie_below_the_experiment),
        cmocka_unit_test(test_expconf__the_python_of_tasks_has_one_form_in_the_end),
        cmocka_unit_test(test_expconf__a_python_that_no_agent_could_make_is_refused),
        cmocka_unit_test(test_expconf__zero_slots_go_to_the_aux_pool),
        cmocka_unit_test(test_expconf__names_what_has_no_name),
        cmocka_unit_test(test_expconf__every_mistake_is_named_at_once),
        cmocka_unit_test(test_expconf__broken_yaml_names_line_and_column),
        cmocka_unit_test(test_expconf__what_is_missing_is_named),
        cmocka_unit_test(test_expconf__mistakes_and_what_is_missing_come_together),
        cmocka_unit_test(test_expconf__retired_searchers_run_as_their_successors),
        cmocka_unit_test(test_expconf__template_lies_below_the_configuration),
        cmocka_unit_test(test_expconf__a_template_is_part_of_a_configuration),
        cmocka_unit_test(test_taskconf__lies_upon_its_template_and_is_judged_as_a_whole),
        cmocka_unit_test(test_expconf_continue__what_the_override_says_counts),
        cmocka_unit_test(test_expconf_continue__refuses_another_project_searcher_and_what_is_wrong),
        cmocka_unit_test(test_tables__every_named_check_exists),
        cmocka_unit_test(test_tables__every_default_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
