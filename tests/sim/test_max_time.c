/* Runs that take longer than their resources.max_time: they are warned, asked to save their state, and stopped for
 * good.
 */
#include "sim_main.h"

#include <string.h>

static bool is_in_logs(const struct sim *sim, const char *text)
{
    return strstr(strbuf_str(&sim->logs), text) != NULL;
}

static void test_max_time__stops_a_trial_that_saves_its_state_and_it_does_not_run_again(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100, .max_restarts = 5, .max_time_ms = 1000});
    sim_run(sim, 899);
    assert_false(is_in_logs(sim, "warning"));
    sim_run(sim, 100);
    assert_true(
        is_in_logs(sim, "warning: this run will be stopped in 0.1s, when it has taken 1s (resources.max_time)"));
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ACTIVE);
    sim_run(sim, 5000);
    assert_true(is_in_logs(sim, "gracefully terminating allocation's remaining resources "
                                "(reason: it has run for 1s, which is its resources.max_time)"));
    assert_true(is_in_logs(sim, "the trial does not run again: a run has taken 1s, which is its resources.max_time"));
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ERROR);
    assert_int_equal(sim_trial(sim, 1)->run_id, 1);
    assert_in_range(sim_trial(sim, 1)->steps_completed, 9, 11);
}

static void test_max_time__does_not_touch_what_ends_before(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5, .max_time_ms = 1000});
    sim_run(sim, 5000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_COMPLETED);
    assert_false(is_in_logs(sim, "max_time"));
}

/* The time counts from the start of the run, although the master was away for a part of it; and a trial that is being
 * stopped when the master crashes is not run again by the next one. */
static void test_max_time__is_kept_over_restarts_of_the_master(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){
                        .slots = 1, .steps = 1000, .max_time_ms = 60000, .deaf = true, .preemption_timeout_s = 20});
    sim_run(sim, 20000);
    sim_crash_master(sim, 1000);
    sim_run(sim, 39500);
    assert_true(is_in_logs(sim, "warning: this run will be stopped in 6s"));
    assert_false(is_in_logs(sim, "gracefully"));
    sim_run(sim, 1000);
    assert_true(is_in_logs(sim, "gracefully"));
    sim_crash_master(sim, 1000);
    sim_run(sim, 30000);
    assert_true(is_in_logs(sim, "allocation did not preempt in 20s"));
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ERROR);
    assert_int_equal(sim_trial(sim, 1)->run_id, 1);
}

/* A run that is preempted for others has its whole time again when the trial goes on. */
static void test_max_time__counts_for_each_run(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int x = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 15, .max_time_ms = 1000});
    sim_run(sim, 700);
    sim_request(sim, CORE_EXPERIMENT_PAUSE, x);
    sim_run(sim, 1000);
    sim_request(sim, CORE_EXPERIMENT_ACTIVATE, x);
    sim_run(sim, 5000);
    assert_int_equal(sim_experiment_state(sim, x), RUN_COMPLETED);
}

static void test_max_time__ends_commands_and_cancels_generic_tasks(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 2);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .slots = 1, .max_time_ms = 1000}, NULL);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .slots = 1, .saves = true, .max_time_ms = 2000},
               NULL);
    sim_run(sim, 500);
    sim_crash_master(sim, 100);
    sim_run(sim, 10000);
    assert_true(is_in_logs(sim, "(reason: it has run for 1s, which is its resources.max_time)"));
    assert_true(is_in_logs(sim, "(reason: it has run for 2s, which is its resources.max_time)"));
    assert_int_equal(sim_open_allocations(sim), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_max_time__stops_a_trial_that_saves_its_state_and_it_does_not_run_again),
        TEST(test_max_time__does_not_touch_what_ends_before),
        TEST(test_max_time__is_kept_over_restarts_of_the_master),
        TEST(test_max_time__counts_for_each_run),
        TEST(test_max_time__ends_commands_and_cancels_generic_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
