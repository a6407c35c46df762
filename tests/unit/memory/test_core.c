/* Allocations that fail while configurations are prepared, experiments live, and searches are kept and restored. */
#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>

#include "core/config/expconf.h"
#include "core/searcher/searcher.h"
#include "failing.h"
#include "sim.h"

static void require(bool holds)
{
    if (!holds)
        _Exit(3);
}

/* ---- a configuration in which most sections are given, over a template and the cluster's defaults ---------------- */

static const char config[] =
    "name: everything\ndescription: all of it\nlabels: [a, b]\nproject: p\nworkspace: w\nentrypoint: model_def:Trial\n"
    "searcher: {name: adaptive_asha, metric: loss, smaller_is_better: true, max_trials: 16, max_length: {batches: 1000},"
    " time_metric: batches, max_time: 1000, mode: standard}\n"
    "hyperparameters: {lr: {type: log, base: 10, minval: -4, maxval: -1}, depth: {type: int, minval: 1, maxval: 9},"
    " kind: {type: categorical, vals: [a, b, {c: 1}]}, nested: {x: 1, y: {type: double, minval: 0, maxval: 1}}}\n"
    "resources: {slots_per_trial: 2, weight: 1.5, max_slots: 4, priority: 30, shm_size: 1g}\n"
    "environment: {image: {cpu: c, cuda: g}, environment_variables: {cpu: [A=1], cuda: [B=2]}, ports: {x: 1}}\n"
    "bind_mounts: [{host_path: /d, container_path: /d, read_only: true}]\n"
    "log_policies: [{name: oom, pattern: 'out of memory', action: cancel_retries}]\n"
    "min_validation_period: {batches: 100}\nmin_checkpoint_period: {batches: 100}\ncheckpoint_policy: all\n"
    "checkpoint_storage: {type: shared_fs, host_path: /c, save_trial_best: 2}\ndata: {path: /x, list: [1, 2]}\n"
    "reproducibility: {experiment_seed: 7}\nmax_restarts: 2\nretention_policy: {log_retention_days: 9}\n";

static struct json_object *parse_yaml(const char *yaml)
{
    struct json_object *v = NULL;
    require(yaml_parse(yaml, strlen(yaml), &v, NULL, NULL) == 0);
    return v;
}

static void prepare_configuration(void *ctx)
{
    struct json_object *template cleanup_json = parse_yaml(
        "{labels: [t], hyperparameters: {lr: 1, extra: 2},"
        " environment: {environment_variables: [T=1]}, data: {more: 1}}");
    struct json_object *defaults cleanup_json = parse_yaml(
        "{image: base, environment_variables: [A=cluster], registry_auth:"
        " {username: them, password: secret}}");
    struct json_object *storage cleanup_json = parse_yaml("{type: shared_fs, host_path: /ckpt, save_trial_best: 3}");
    const struct expconf_pool pool = {.name = "default", .default_priority = 42};
    const struct expconf_context c = {.checkpoint_storage = storage,
                                      .task_container_defaults = defaults,
                                      .pool = &pool,
                                      .pool_n = 1,
                                      .default_compute_pool = "default",
                                      .default_aux_pool = "default",
                                      .template_config = template,
                                      .random = {1, 2, 3}};
    struct exp_config *made = NULL, *again = NULL;
    cleanup_error struct error err = ERROR_INIT;
    (void)ctx;
    if (expconf_prepare(config, sizeof(config) - 1, &c, &made, &err) < 0) {
        fputs(error_msg(&err), stderr);
        _Exit(3);
    }
    require(exp_config_from_json(made->json, strlen(made->json), &again, NULL) == 0);
    exp_config_free(made);
    exp_config_free(again);
}

/* ---- a cluster: created, trained, failed, crashed, restored ------------------------------------------------------ */

static void live_through_a_crash(void *ctx)
{
    struct sim sim;
    (void)ctx;
    sim_init(&sim, 1);
    sim_add_agent(&sim, "a1", 2);
    sim_create(&sim,
               &(struct sim_experiment){.slots = 1, .steps = 3, .max_restarts = 1, .fail_runs = 1, .fail_step = 1});
    sim_create(
        &sim,
        &(struct sim_experiment){
            .slots = 2,
            .steps = 2,
            .searched = true,
            .searcher =
                "{\"name\": \"async_halving\", \"metric\": \"loss\", \"num_rungs\": 2, \"max_trials\": 3, \"divisor\": 2,"
                " \"max_concurrent_trials\": 2, \"max_length\": {\"batches\": 2}}"});
    sim_run(&sim, 250);
    sim_crash_master(&sim, 500);
    sim_run(&sim, 60000);
    require(sim_experiment_state(&sim, 1) == RUN_COMPLETED);
    sim_release(&sim);
}

/* ---- a search that is kept and comes back ------------------------------------------------------------------------ */

static void keep_and_restore_search(void *ctx)
{
    static const char asha[] =
        "{\"name\": \"adaptive_asha\", \"metric\": \"loss\", \"max_trials\": 30, \"max_length\":"
        " {\"batches\": 64}, \"divisor\": 2, \"mode\": \"conservative\", \"max_concurrent_trials\": 30}";
    static const char space[] = "{\"lr\": {\"type\": \"log\", \"base\": 10, \"minval\": -4, \"maxval\": -1}}";
    cleanup_strbuf struct strbuf text = STRBUF_INIT, again = STRBUF_INIT;
    struct searcher_actions all = SEARCHER_ACTIONS_INIT;
    struct searcher *s, *restored;
    (void)ctx;
    require(searcher_new(asha, space, 42, &s, NULL) == 0 && searcher_new(asha, space, 42, &restored, NULL) == 0);
    searcher_step(s, &(struct searcher_event){.type = SEARCHER_STARTED}, &all, NULL);
    for (size_t i = 0; i < searcher_trial_n(s); i++)
        searcher_step(s,
                      &(struct searcher_event){.type = SEARCHER_OPERATION_COMPLETED,
                                               .trial = i,
                                               .metric = (double)(i * 7 % 5),
                                               .length = searcher_operation(s, i).length},
                      &all, NULL);
    searcher_actions_release(&all);
    searcher_snapshot(s, &text);
    require(searcher_restore(restored, text.s, NULL, NULL) == 0);
    searcher_snapshot(restored, &again);
    require(strcmp(text.s, again.s) == 0);
    searcher_free(s);
    searcher_free(restored);
}

static void test_expconf__ends_in_one_sentence_when_memory_does(void **state)
{
    (void)state;
    failing_sweep("a full configuration over a template", prepare_configuration, NULL, NULL);
}

static void test_core__ends_in_one_sentence_when_memory_does(void **state)
{
    (void)state;
    failing_sweep("two experiments and a crash of the master", live_through_a_crash, NULL, NULL);
}

static void test_searcher__ends_in_one_sentence_when_memory_does(void **state)
{
    (void)state;
    failing_sweep("a search, its snapshot and back", keep_and_restore_search, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expconf__ends_in_one_sentence_when_memory_does),
        cmocka_unit_test(test_core__ends_in_one_sentence_when_memory_does),
        cmocka_unit_test(test_searcher__ends_in_one_sentence_when_memory_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
