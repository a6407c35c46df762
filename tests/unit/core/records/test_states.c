#include "cmocka_setup.h"

#include "core/records/states.h"

static void test_states__tables_are_sound(void **state)
{
    cleanup_error struct error err = ERROR_INIT;
    const struct sm_type *types[] = {&experiment_sm, &trial_sm, &allocation_sm, &container_sm, &generic_sm};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
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
    for (int s = 0; s < GENERIC_STATE_NR; s++) {
        enum generic_state back = GENERIC_STATE_NR;
        assert_int_equal(generic_state_parse(generic_state_name((enum generic_state)s), &back), 0);
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

/* A task that is being killed ends CANCELED whatever happens, and what has ended stays as it is. */
static void test_states__a_generic_task_that_was_killed_can_only_be_canceled(void **state)
{
    for (int to = 0; to < GENERIC_STATE_NR; to++) {
        assert_int_equal(sm_type_allows(&generic_sm, GENERIC_STOPPING_CANCELED, to), to == GENERIC_CANCELED);
        for (int over = GENERIC_CANCELED; over <= GENERIC_ERROR; over++)
            assert_false(sm_type_allows(&generic_sm, over, to));
    }
    assert_false(sm_type_allows(&generic_sm, GENERIC_ACTIVE, GENERIC_PAUSED));
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
        cmocka_unit_test(test_states__a_generic_task_that_was_killed_can_only_be_canceled),
        cmocka_unit_test(test_states__only_the_tasks_own_failures_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
