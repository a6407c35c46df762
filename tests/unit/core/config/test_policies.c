/* Configuration policies. */
#include "cmocka_setup.h"

#include <string.h>

#include "core/config/policies.h"
#include "gen/config_tables.h"

static struct json_object *tree(const char *yaml)
{
    struct json_object *v = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (yaml_parse(yaml, strlen(yaml), &v, NULL, &err) < 0)
        fail_msg("%s", error_msg(&err));
    return v;
}

static void add(struct policies *p, const char *scope, const char *yaml)
{
    cleanup_json struct json_object *policy = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (policy_parse(yaml, strlen(yaml), POLICY_EXPERIMENT, &policy, &err) < 0)
        fail_msg("%s", error_msg(&err));
    policies_add(p, POLICY_EXPERIMENT, scope, policy);
}

static void assert_lays(const struct policies *p, const char *config, const char *expected)
{
    cleanup_json struct json_object *under = tree(config), *want = tree(expected), *got = NULL;
    got = policies_lay(p, experiment_config_keys, under);
    if (!json_object_equal(got, want))
        fail_msg("got %s", json_object_to_json_string(got));
}

static void test_cluster_goes_before_workspace(void **state)
{
    struct policies p = {0};
    add(&p, "workspace 'w'",
        "{invariant_config: {name: w, description: w}, constraints: {priority_limit: 9, resources: {max_slots: 2}}}");
    add(&p, "the cluster", "{invariant_config: {name: c}, constraints: {resources: {max_slots: 3}}}");
    assert_lays(&p, "{name: own, description: own, max_restarts: 1}", "{name: c, description: w, max_restarts: 1}");
    assert_int_equal(p.max_slots.value, 3);
    assert_string_equal(p.max_slots.scope, "the cluster");
    assert_int_equal(p.priority_limit.value, 9);
    assert_string_equal(p.priority_limit.scope, "workspace 'w'");
    policies_release(&p);
}

static void test_lists_join_once(void **state)
{
    struct policies p = {0};
    add(&p, "the cluster",
        "{invariant_config: {data: {l: [1, 2]}, labels: [b], entrypoint: [x], hyperparameters: {h: [1]}}}");
    assert_lays(&p, "{data: {l: [0]}, labels: [a], entrypoint: [x, y]}",
                "{data: {l: [0, 1, 2]}, labels: [a, b], entrypoint: [x], hyperparameters: {h: [1]}}");
    assert_lays(&p, "{data: {l: [0, 1, 2]}, labels: [a, b], entrypoint: [x], hyperparameters: {h: [1]}}",
                "{data: {l: [0, 1, 2]}, labels: [a, b], entrypoint: [x], hyperparameters: {h: [1]}}");
    assert_lays(&p, "{data: {l: [1, 2, 0]}}",
                "{data: {l: [1, 2, 0, 1, 2]}, labels: [b], entrypoint: [x], hyperparameters: {h: [1]}}");
    policies_release(&p);
}

static void test_limits_fill_what_is_open(void **state)
{
    struct policies p = {0};
    cleanup_json struct json_object *config = tree("{resources: {slots_per_trial: 1, priority: 42}}"),
                                    *want = tree("{resources: {slots_per_trial: 1, priority: 50, max_slots: 2}}");
    cleanup_error struct error err = ERROR_INIT;
    add(&p, "the cluster", "{constraints: {priority_limit: 50, resources: {max_slots: 2}}}");
    assert_int_equal(policies_limit(&p, POLICY_EXPERIMENT, config, /* priority_asked= */ true, &err), -1);
    assert_non_null(strstr(error_msg(&err), "requested priority [42] exceeds limit set by admin [50]"));
    assert_int_equal(policies_limit(&p, POLICY_EXPERIMENT, config, /* priority_asked= */ false, NULL), 0);
    assert_true(json_object_equal(config, want));
    assert_int_equal(policies_limit(NULL, POLICY_EXPERIMENT, config, true, NULL), 0);
    policies_release(&p);
}

static void test_a_limit_of_time(void **state)
{
    struct policies p = {0};
    cleanup_json struct json_object *open = tree("{resources: {slots_per_trial: 1}}"),
                                    *filled = tree("{resources: {slots_per_trial: 1, max_time: 12h0m0s}}"),
                                    *longer = tree("{resources: {max_time: 12h1m}}"),
                                    *shorter = tree("{resources: {max_time: 11h}}");
    cleanup_error struct error err = ERROR_INIT;
    add(&p, "the cluster", "{constraints: {resources: {max_time: 12h}}}");
    assert_int_equal(policies_check_effective(&p, open, &err), -1);
    assert_non_null(strstr(error_msg(&err), "sets no resources.max_time"));
    assert_int_equal(policies_limit(&p, POLICY_EXPERIMENT, open, true, NULL), 0);
    assert_true(json_object_equal(open, filled));
    assert_int_equal(policies_check_effective(&p, open, NULL), 0);
    error_release(&err);
    assert_int_equal(policies_limit(&p, POLICY_NTSC, longer, true, &err), -1);
    assert_string_equal(error_msg(&err), "resources.max_time is 12h1m0s, and the configuration policy of the cluster "
                                         "(constraints.resources.max_time) allows at most 12h0m0s");
    assert_int_equal(policies_limit(&p, POLICY_NTSC, shorter, true, NULL), 0);
    policies_release(&p);
}

static void test_a_limit_of_idle_time(void **state)
{
    struct policies p = {0};
    cleanup_json struct json_object *open = tree("{resources: {slots_per_trial: 1, max_time: 2h}}"),
                                    *filled = tree(
                                        "{resources: {slots_per_trial: 1, max_time: 2h, max_idle_time: 30m0s}}"),
                                    *longer = tree("{resources: {max_time: 2h, max_idle_time: 31m}}");
    cleanup_error struct error err = ERROR_INIT;
    add(&p, "workspace 'vision'", "{constraints: {resources: {max_time: 2h, max_idle_time: 1h}}}");
    add(&p, "the cluster", "{constraints: {resources: {max_idle_time: 30m}}}");
    assert_int_equal(policies_check_effective(&p, open, &err), -1);
    assert_non_null(strstr(error_msg(&err), "sets no resources.max_idle_time"));
    assert_int_equal(policies_limit(&p, POLICY_EXPERIMENT, open, true, NULL), 0);
    assert_true(json_object_equal(open, filled));
    assert_int_equal(policies_check_effective(&p, open, NULL), 0);
    error_release(&err);
    assert_int_equal(policies_limit(&p, POLICY_NTSC, longer, true, &err), -1);
    assert_string_equal(error_msg(&err),
                        "resources.max_idle_time is 31m0s, and the configuration policy of the cluster "
                        "(constraints.resources.max_idle_time) allows at most 30m0s");
    policies_release(&p);
}

static void test_a_policy_does_not_contradict_its_own_limit_of_time(void **state)
{
    static const char text[] =
        "{invariant_config: {resources: {max_time: 2h}}, constraints: {resources: {max_time: 1h}}}";
    cleanup_json struct json_object *policy = NULL;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(policy_parse(text, strlen(text), POLICY_EXPERIMENT, &policy, &err), -1);
    assert_non_null(strstr(error_msg(&err), "invariant_config contradicts constraints"));
}

static void test_an_effective_configuration_that_fits(void **state)
{
    struct policies p = {0};
    cleanup_error struct error err = ERROR_INIT;
    add(&p, "the cluster", "{invariant_config: {max_restarts: 3}}");
    cleanup_json struct json_object *fits = tree("{max_restarts: 3, name: x}"), *other = tree("{max_restarts: 4}");
    assert_int_equal(policies_check_effective(&p, fits, NULL), 0);
    assert_int_equal(policies_check_effective(&p, other, &err), -1);
    assert_non_null(strstr(error_msg(&err), "demands another value of max_restarts"));
    policies_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cluster_goes_before_workspace),
        cmocka_unit_test(test_lists_join_once),
        cmocka_unit_test(test_limits_fill_what_is_open),
        cmocka_unit_test(test_a_limit_of_time),
        cmocka_unit_test(test_a_limit_of_idle_time),
        cmocka_unit_test(test_a_policy_does_not_contradict_its_own_limit_of_time),
        cmocka_unit_test(test_an_effective_configuration_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
