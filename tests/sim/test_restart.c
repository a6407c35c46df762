/* What survives a crash of the master: everything that was answered. */
#include "sim_main.h"

static void test_restart__trials_run_on_and_their_results_arrive(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 20});
    sim_run(sim, 450);
    sim_crash_master(sim, 1000);
    sim_run(sim, 10000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[   450] master > crash\n"
                    "[  1450] master > back\n"
                    "[  1950] a1 > back\n"
                    "[  3020] trial 1 > COMPLETED, restarts 0\n"
                    "[  3020] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[  3020] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
    assert_int_equal(sim_trial(sim, 1)->steps_completed, 20);
    assert_int_equal(sim_trial(sim, 1)->run_id, 1);
}

/* A master that comes back launches the trial at once. It does not make the full number of attempts again, because the
 * launches that failed before its restart count. */
static void test_restart__launches_that_failed_before_it_count(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .cannot_start = true, .fail_runs = 1000});
    sim_run(sim, 600000);
    int before = sim_trial(sim, 1)->launch_failures;
    assert_in_range(before, 10, 15);
    for (int i = before; i < 20; i++) {
        assert_int_equal(sim_trial_state(sim, 1), RUN_ACTIVE);
        sim_crash_master(sim, 1000);
        sim_run(sim, 2000);
    }
    assert_int_equal(sim_trial_state(sim, 1), RUN_ERROR);
    assert_int_equal(sim_trial(sim, 1)->run_id, 20);
}

static void test_restart__a_program_that_ran_ends_the_row_of_failed_launches(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5, .cannot_start = true, .fail_runs = 3});
    sim_run(sim, 7000);
    assert_int_equal(sim_trial(sim, 1)->launch_failures, 3);
    sim_run(sim, 100);
    assert_int_equal(sim_trial_state(sim, 1), RUN_ACTIVE);
    assert_int_equal(sim_trial(sim, 1)->launch_failures, 3); /* RUNNING does not prove that the trial was started */
    sim_run(sim, 10000);
    assert_int_equal(sim_trial_state(sim, 1), RUN_COMPLETED);
    assert_int_equal(sim_trial(sim, 1)->launch_failures, 0);
}

static void test_restart__an_exit_while_the_master_was_away_counts(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 20, .fail_runs = 1, .fail_step = 5});
    sim_run(sim, 450);
    sim_crash_master(sim, 3000);
    sim_run(sim, 10000);
    sim_expect(
        sim,
        "[     0] exp 1 > PAUSED -> ACTIVE\n"
        "[     0] a1 > start trial 1 run 1 slots 0\n"
        "[   450] master > crash\n"
        "[  3450] master > back\n"
        "[  3950] a1 > back\n"
        "[  3950] trial 1 > ERROR, restarts 0\n"
        "[  3950] log > crashed: resources failed with non-zero exit code: container failed with non-zero exit code: 1\n"
        "[  3950] exp 1 > ACTIVE -> STOPPING_ERROR\n"
        "[  3950] exp 1 > STOPPING_ERROR -> ERROR\n");
}

static void test_restart__an_agent_that_never_comes_back_costs_no_restart(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 3});
    sim_run(sim, 150);
    sim_crash_master(sim, 1000);
    sim_agent_power_cut(sim, "a1", 200000);
    sim_run(sim, 100000);
    sim_add_agent(sim, "a2", 1);
    sim_run(sim, 10000);
    sim_expect(
        sim,
        "[     0] exp 1 > PAUSED -> ACTIVE\n"
        "[     0] a1 > start trial 1 run 1 slots 0\n"
        "[   150] master > crash\n"
        "[   150] a1 > away\n"
        "[  1150] master > back\n"
        "[ 61150] log > crashed: container failed to restore after agent failure: agent closed with allocated containers\n"
        "[100150] a2 > start trial 1 run 2 slots 0 from step 1\n"
        "[100370] trial 1 > COMPLETED, restarts 0\n"
        "[100370] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
        "[100370] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
    assert_int_equal(sim_trial(sim, 1)->restarts, 0);
}

static void test_restart__waiting_paused_and_stopping_experiments_stay_so(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int stopping =
        sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100, .deaf = true, .preemption_timeout_s = 10});
    int waiting = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1});
    int paused = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .paused = true});
    sim_run(sim, 250);
    sim_request(sim, CORE_EXPERIMENT_CANCEL, stopping);
    sim_crash_master(sim, 1000);
    sim_run(sim, 2000);
    assert_int_equal(sim_experiment_state(sim, stopping), RUN_STOPPING_CANCELED);
    assert_int_equal(sim_experiment_state(sim, waiting), RUN_ACTIVE);
    assert_int_equal(sim_experiment_state(sim, paused), RUN_PAUSED);
    sim_run(sim, 10000);
    sim_request(sim, CORE_EXPERIMENT_ACTIVATE, paused);
    sim_run(sim, 2000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[     0] exp 2 > PAUSED -> ACTIVE\n"
                    "[   250] exp 1 > ACTIVE -> STOPPING_CANCELED\n"
                    "[   250] master > crash\n"
                    "[  1250] master > back\n"
                    "[  1750] a1 > back\n"
                    "[ 10250] a1 > kill trial 1 run 1\n"
                    "[ 10255] trial 1 > CANCELED, restarts 0\n"
                    "[ 10255] exp 1 > STOPPING_CANCELED -> CANCELED\n"
                    "[ 10255] a1 > start trial 2 run 1 slots 0\n"
                    "[ 10375] trial 2 > COMPLETED, restarts 0\n"
                    "[ 10375] exp 2 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[ 10375] exp 2 > STOPPING_COMPLETED -> COMPLETED\n"
                    "[ 12250] exp 3 > PAUSED -> ACTIVE\n"
                    "[ 12250] a1 > start trial 3 run 1 slots 0\n"
                    "[ 12370] trial 3 > COMPLETED, restarts 0\n"
                    "[ 12370] exp 3 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[ 12370] exp 3 > STOPPING_COMPLETED -> COMPLETED\n");
}

/* What users do in the run that is crashed at every step: starts, a preemption, a resumption, a failure, and a second
 * experiment that waits in the queue. */
static void eventful_run(struct sim *sim)
{
    sim_add_agent(sim, "a1", 2);
    int x = sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 6});
    sim_create(sim,
               &(struct sim_experiment){.slots = 1, .steps = 3, .max_restarts = 1, .fail_runs = 1, .fail_step = 2});
    sim_run(sim, 450);
    while (sim_request(sim, CORE_EXPERIMENT_PAUSE, x) < 0)
        sim_run(sim, 500); /* the user tries again until the master answers */
    sim_run(sim, 1500);
    while (sim_request(sim, CORE_EXPERIMENT_ACTIVATE, x) < 0)
        sim_run(sim, 500);
    sim_run(sim, 200000);
}

/* Returns whether a crash has cost only time, and no restart, no run and no step. */
static bool is_as_it_should_be(const struct sim *sim)
{
    const struct trial_row *first = sim_trial(sim, 1), *second = sim_trial(sim, 2);
    return sim_experiment_state(sim, 1) == RUN_COMPLETED && sim_experiment_state(sim, 2) == RUN_COMPLETED &&
           first->steps_completed == 6 && first->restarts == 0 && first->run_id == 2 && second->steps_completed == 3 &&
           second->restarts == 1 && second->run_id == 2 && sim_open_allocations(sim) == 0;
}

static void test_crash__at_any_step_leads_to_the_same_result(void **state)
{
    static struct sim crashed;
    struct sim *sim = *state;
    eventful_run(sim);
    assert_true(is_as_it_should_be(sim));
    assert_in_range(sim->steps, 20, 1000);
    /* the first three steps add the agent and both experiments, whose answers are awaited */
    for (int at = 4; at <= sim->steps; at++) {
        for (enum sim_crash mode = CRASH_BEFORE_COMMIT; mode <= CRASH_AFTER_EFFECTS; mode++) {
            sim_init(&crashed, 1);
            crashed.crash_at = at;
            crashed.crash_mode = mode;
            eventful_run(&crashed);
            if (!is_as_it_should_be(&crashed)) {
                print_message("crash at step %d, mode %d:\n%s", at, mode, strbuf_str(&crashed.story));
                fail_msg("it ends differently after a crash");
            }
            sim_release(&crashed);
        }
    }
}

static void test_restore__an_unknown_searcher_ends_the_experiment_in_error(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int x = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100});
    sim_run(sim, 250);
    sim_crash_master(sim, 1000);
    sim_forget_searcher(sim, x);
    sim_run(sim, 5000);
    sim_expect(
        sim,
        "[     0] exp 1 > PAUSED -> ACTIVE\n"
        "[     0] a1 > start trial 1 run 1 slots 0\n"
        "[   250] master > crash\n"
        "[  1250] master > back\n"
        "[  1250] trial 1 > ERROR, restarts 0\n"
        "[  1250] log > the experiment could not be restored: it has no searcher snapshot\n"
        "[  1250] log > crashed: container failed to restore after agent failure: the experiment could not be restored\n"
        "[  1250] exp 1 > ACTIVE -> ERROR\n"
        "[  1750] a1 > back\n");
    assert_int_equal(sim_open_allocations(sim), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_restart__trials_run_on_and_their_results_arrive),
        TEST(test_restart__launches_that_failed_before_it_count),
        TEST(test_restart__a_program_that_ran_ends_the_row_of_failed_launches),
        TEST(test_restart__an_exit_while_the_master_was_away_counts),
        TEST(test_restart__an_agent_that_never_comes_back_costs_no_restart),
        TEST(test_restart__waiting_paused_and_stopping_experiments_stay_so),
        TEST(test_crash__at_any_step_leads_to_the_same_result),
        TEST(test_restore__an_unknown_searcher_ends_the_experiment_in_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
