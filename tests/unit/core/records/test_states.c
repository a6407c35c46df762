#include "cmocka_setup.h"

#include "core/records/states.h"

static void test_states__tables_are_sound(void **state)
{
    cleanup_error struct error err = ERROR_INIT;
    const struct sm_type *types[] = {&experiment_sm, &trial_sm, &allocation_sm, &container_sm};
    for (size_t i = 0; i < 4; i++)
        if (sm_type_check(types[i], &err) < 0)
            fail_msg("%s", error_msg(&err));
}

static void test_states__names_are_read_back(void **state)
{
    for (int s = 0; s < RUN_STATE_NR; s++) {
        enum run_state back = RUN_STATE_NR;
        assert_int_equal(run_state_parse(run_state_name((enum run_state)s), &back), 0);
        assert_int_equal(back, s);
    }
    for (int k = 0; k < EXIT_KIND_NR; k++) {
        enum exit_kind back = EXIT_KIND_NR;
        assert_int_equal(exit_kind_parse(exit_kind_name((enum exit_kind)k), &back), 0);
        assert_int_equal(back, k);
    }
    enum run_state unknown;
    assert_int_equal(run_state_parse("RUNNING", &unknown), -1);
    assert_int_equal(run_state_parse(NULL, &unknown), -1);
}

static void test_states__only_the_tasks_own_failures_count(void **state)
{
    assert_false(exit_kind_is_transient(EXIT_FAILED));
    assert_false(exit_kind_is_transient(EXIT_TASK_ERROR));
    assert_true(exit_kind_is_transient(EXIT_AGENT_FAILED));
    assert_true(exit_kind_is_transient(EXIT_RESTORE_ERROR));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states__tables_are_sound),
        cmocka_unit_test(test_states__names_are_read_back),
        cmocka_unit_test(test_states__only_the_tasks_own_failures_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
