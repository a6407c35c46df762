#include "cmocka_setup.h"

#include "core/sched/policy.h"

static void test_sched_policies__each_row_is_whole(void **state)
{
    for (int i = 0; i < SCHED_POLICY_NR; i++) {
        const struct sched_policy_type *type = sched_policy_type((enum sched_policy)i);
        assert_non_null(type->name);
        assert_non_null(type->pass);
        assert_non_null(type->why);
        assert_true(!type->no_priorities || !type->no_weights || type->equal_priorities);
        enum sched_policy found = SCHED_POLICY_NR;
        assert_int_equal(sched_policy_find(type->name, &found), 0);
        assert_int_equal(found, i);
    }
}

static void test_sched_policies__are_found_by_the_names_of_the_configuration(void **state)
{
    enum sched_policy found = SCHED_POLICY_NR;
    assert_int_equal(sched_policy_find("round_robin", &found), 0);
    assert_int_equal(found, SCHED_BY_ROUND_ROBIN);
    assert_int_equal(sched_policy_find("fair_share", &found), 0);
    assert_int_equal(found, SCHED_BY_FAIR_SHARE);
    assert_int_equal(sched_policy_find("by_luck", &found), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sched_policies__each_row_is_whole),
        cmocka_unit_test(test_sched_policies__are_found_by_the_names_of_the_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
