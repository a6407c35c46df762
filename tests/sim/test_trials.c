/* Timelines of experiments on machines that never fail. */
#include "sim_main.h"

static void test_single__trains_checkpoints_and_completes(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 2);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 2});
    sim_run(sim, 1000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[   220] trial 1 > COMPLETED, restarts 0\n"
                    "[   220] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[   220] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
    assert_int_equal(sim_trial(sim, 1)->steps_completed, 2);
}

/* The logs of trials have the sentences that tools for the predecessor's logs look for. */
static void test_logs__say_how_a_trial_ended(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1});
    sim_run(sim, 1000);
    assert_string_equal(sim->last_log.s,
                        "Trial 1 (Experiment 1) was terminated: resources exited successfully with a zero exit code\n");
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .fail_runs = 1, .fail_step = 1});
    sim_run(sim, 1000);
    assert_string_equal(sim->last_log.s, "crashed: resources failed with non-zero exit code: "
                                         "container failed with non-zero exit code: 1\n");
    int x = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100});
    sim_run(sim, 300);
    sim_request(sim, CORE_EXPERIMENT_KILL, x);
    sim_run(sim, 1000);
    assert_string_equal(sim->last_log.s, "Trial 3 (Experiment 3) was terminated: task was killed by the master\n");
    x = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100});
    sim_run(sim, 300);
    sim_request(sim, CORE_EXPERIMENT_PAUSE, x);
    sim_run(sim, 1000);
    assert_string_equal(sim->last_log.s, "Trial 4 (Experiment 4) was terminated: allocation preempted\n");
}

static void test_single__failing_trial_restarts_up_to_max_restarts_then_ends_in_error(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim,
               &(struct sim_experiment){.slots = 1, .steps = 9, .max_restarts = 2, .fail_runs = 9, .fail_step = 2});
    sim_run(sim, 5000);
    sim_expect(
        sim,
        "[     0] exp 1 > PAUSED -> ACTIVE\n"
        "[     0] a1 > start trial 1 run 1 slots 0\n"
        "[   210] log > crashed: resources failed with non-zero exit code: container failed with non-zero exit code: 1\n"
        "[   210] a1 > start trial 1 run 2 slots 0 from step 1\n"
        "[   420] log > crashed: resources failed with non-zero exit code: container failed with non-zero exit code: 1\n"
        "[   420] a1 > start trial 1 run 3 slots 0 from step 2\n"
        "[   630] trial 1 > ERROR, restarts 2\n"
        "[   630] log > crashed: resources failed with non-zero exit code: container failed with non-zero exit code: 1\n"
        "[   630] exp 1 > ACTIVE -> STOPPING_ERROR\n"
        "[   630] exp 1 > STOPPING_ERROR -> ERROR\n");
}

static void test_single__one_failure_is_survived_from_the_latest_checkpoint(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim,
               &(struct sim_experiment){.slots = 1, .steps = 3, .max_restarts = 1, .fail_runs = 1, .fail_step = 3});
    sim_run(sim, 5000);
    sim_expect(
        sim,
        "[     0] exp 1 > PAUSED -> ACTIVE\n"
        "[     0] a1 > start trial 1 run 1 slots 0\n"
        "[   310] log > crashed: resources failed with non-zero exit code: container failed with non-zero exit code: 1\n"
        "[   310] a1 > start trial 1 run 2 slots 0 from step 2\n"
        "[   430] trial 1 > COMPLETED, restarts 1\n"
        "[   430] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
        "[   430] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

static void test_single__max_restarts_0_makes_the_first_failure_final(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 3, .fail_runs = 1, .fail_step = 1});
    sim_run(sim, 5000);
    sim_expect(
        sim,
        "[     0] exp 1 > PAUSED -> ACTIVE\n"
        "[     0] a1 > start trial 1 run 1 slots 0\n"
        "[   110] trial 1 > ERROR, restarts 0\n"
        "[   110] log > crashed: resources failed with non-zero exit code: container failed with non-zero exit code: 1\n"
        "[   110] exp 1 > ACTIVE -> STOPPING_ERROR\n"
        "[   110] exp 1 > STOPPING_ERROR -> ERROR\n");
}

static void test_kill__ends_a_running_experiment_as_canceled(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int x = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100});
    sim_run(sim, 300);
    assert_int_equal(sim_request(sim, CORE_EXPERIMENT_KILL, x), 0);
    sim_run(sim, 1000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[   300] exp 1 > ACTIVE -> STOPPING_KILLED\n"
                    "[   300] a1 > kill trial 1 run 1\n"
                    "[   305] trial 1 > CANCELED, restarts 0\n"
                    "[   305] exp 1 > STOPPING_KILLED -> CANCELED\n");
}

static void test_kill__of_a_waiting_experiment_needs_no_agent(void **state)
{
    struct sim *sim = *state;
    int x = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100});
    assert_int_equal(sim_request(sim, CORE_EXPERIMENT_KILL, x), 0);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] trial 1 > CANCELED, restarts 0\n"
                    "[     0] exp 1 > ACTIVE -> STOPPING_KILLED\n"
                    "[     0] exp 1 > STOPPING_KILLED -> CANCELED\n");
    assert_int_equal(sim_open_allocations(sim), 0);
}

static void test_pause__preempts_and_activation_resumes_from_the_checkpoint(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int x = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 4});
    sim_run(sim, 250);
    assert_int_equal(sim_request(sim, CORE_EXPERIMENT_PAUSE, x), 0);
    sim_run(sim, 1000);
    assert_int_equal(sim_open_allocations(sim), 0);
    assert_int_equal(sim_request(sim, CORE_EXPERIMENT_ACTIVATE, x), 0);
    sim_run(sim, 1000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[   250] exp 1 > ACTIVE -> PAUSED\n"
                    "[   310] trial 1 > run 1 preempts after step 3\n"
                    "[  1250] exp 1 > PAUSED -> ACTIVE\n"
                    "[  1250] a1 > start trial 1 run 2 slots 0 from step 3\n"
                    "[  1370] trial 1 > COMPLETED, restarts 0\n"
                    "[  1370] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[  1370] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

static void test_pause__kills_a_trial_that_does_not_preempt_in_time(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int x = sim_create(sim,
                       &(struct sim_experiment){.slots = 1, .steps = 100, .deaf = true, .preemption_timeout_s = 2});
    sim_run(sim, 250);
    sim_request(sim, CORE_EXPERIMENT_PAUSE, x);
    sim_run(sim, 5000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[   250] exp 1 > ACTIVE -> PAUSED\n"
                    "[  2250] a1 > kill trial 1 run 1\n");
    assert_int_equal(sim_experiment_state(sim, x), RUN_PAUSED);
    assert_int_equal(sim_trial(sim, 1)->restarts, 0);
}

static void test_cancel__lets_the_trial_checkpoint_first(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int x = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100});
    sim_run(sim, 250);
    sim_request(sim, CORE_EXPERIMENT_CANCEL, x);
    sim_run(sim, 1000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[   250] exp 1 > ACTIVE -> STOPPING_CANCELED\n"
                    "[   310] trial 1 > run 1 preempts after step 3\n"
                    "[   320] trial 1 > CANCELED, restarts 0\n"
                    "[   320] exp 1 > STOPPING_CANCELED -> CANCELED\n");
}

static void test_requests__that_come_too_late_are_refused(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int x = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100, .deaf = true});
    sim_run(sim, 250);
    sim_request(sim, CORE_EXPERIMENT_CANCEL, x);
    assert_int_equal(sim_request(sim, CORE_EXPERIMENT_PAUSE, x), -1);
    assert_int_equal(sim_request(sim, CORE_EXPERIMENT_ACTIVATE, x), -1);
    assert_int_equal(sim_request(sim, CORE_EXPERIMENT_CANCEL, x), 0);
    assert_int_equal(sim_request(sim, CORE_EXPERIMENT_KILL, x), 0);
    sim_run(sim, 1000);
    assert_int_equal(sim_experiment_state(sim, x), RUN_CANCELED);
    /* the store answers for an experiment that is over */
    assert_int_equal(sim_request(sim, CORE_EXPERIMENT_KILL, x), -1);
}

static void test_two_experiments__share_two_slots_in_order(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 2);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 1});
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1});
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1});
    sim_run(sim, 1000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0,1\n"
                    "[     0] exp 2 > PAUSED -> ACTIVE\n"
                    "[     0] exp 3 > PAUSED -> ACTIVE\n"
                    "[   120] trial 1 > COMPLETED, restarts 0\n"
                    "[   120] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[   120] exp 1 > STOPPING_COMPLETED -> COMPLETED\n"
                    "[   120] a1 > start trial 2 run 1 slots 0\n"
                    "[   120] a1 > start trial 3 run 1 slots 1\n"
                    "[   240] trial 2 > COMPLETED, restarts 0\n"
                    "[   240] exp 2 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[   240] exp 2 > STOPPING_COMPLETED -> COMPLETED\n"
                    "[   240] trial 3 > COMPLETED, restarts 0\n"
                    "[   240] exp 3 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[   240] exp 3 > STOPPING_COMPLETED -> COMPLETED\n");
}

static void test_priority__goes_first_and_nobody_below_passes_who_waits(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 2);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 3});
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .priority = 50});
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 1, .priority = 10});
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1});
    sim_run(sim, 2000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[     0] exp 2 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 2 run 1 slots 1\n"
                    "[     0] exp 3 > PAUSED -> ACTIVE\n"
                    "[     0] exp 4 > PAUSED -> ACTIVE\n"
                    "[   120] trial 2 > COMPLETED, restarts 0\n"
                    "[   120] exp 2 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[   120] exp 2 > STOPPING_COMPLETED -> COMPLETED\n"
                    "[   320] trial 1 > COMPLETED, restarts 0\n"
                    "[   320] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[   320] exp 1 > STOPPING_COMPLETED -> COMPLETED\n"
                    "[   320] a1 > start trial 3 run 1 slots 0,1\n"
                    "[   440] trial 3 > COMPLETED, restarts 0\n"
                    "[   440] exp 3 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[   440] exp 3 > STOPPING_COMPLETED -> COMPLETED\n"
                    "[   440] a1 > start trial 4 run 1 slots 0\n"
                    "[   560] trial 4 > COMPLETED, restarts 0\n"
                    "[   560] exp 4 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[   560] exp 4 > STOPPING_COMPLETED -> COMPLETED\n");
}

static void test_large_trial__takes_whole_agents_that_divide_it(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 3);
    sim_add_agent(sim, "b1", 2);
    sim_add_agent(sim, "b2", 2);
    sim_create(sim, &(struct sim_experiment){.slots = 4, .steps = 1});
    sim_create(sim, &(struct sim_experiment){.slots = 8, .steps = 1});
    sim_run(sim, 2000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] b1 > start trial 1 run 1 slots 0,1\n"
                    "[     0] b2 > start trial 1 run 1 slots 0,1\n"
                    "[     0] exp 2 > PAUSED -> ACTIVE\n"
                    "[   120] trial 1 > COMPLETED, restarts 0\n"
                    "[   120] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[   120] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

static void test_zero_slot_trial__needs_no_slot(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 0);
    sim_create(sim, &(struct sim_experiment){.slots = 0, .steps = 1});
    sim_run(sim, 2000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1\n"
                    "[   120] trial 1 > COMPLETED, restarts 0\n"
                    "[   120] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[   120] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

static void test_invalid_hp__is_completed_and_killed_if_it_stays(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .invalid_hp = true});
    sim_run(sim, 20000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[ 10110] a1 > kill trial 1 run 1\n"
                    "[ 10115] trial 1 > COMPLETED, restarts 0\n"
                    "[ 10115] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[ 10115] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

static void test_launch_failure__is_tried_again_ever_more_slowly_and_not_counted(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .cannot_start = true, .fail_runs = 3});
    sim_run(sim, 20000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[    10] log > crashed: agent failed to launch the container\n"
                    "[  1010] a1 > start trial 1 run 2 slots 0\n"
                    "[  1020] log > crashed: agent failed to launch the container\n"
                    "[  3020] a1 > start trial 1 run 3 slots 0\n"
                    "[  3030] log > crashed: agent failed to launch the container\n"
                    "[  7030] a1 > start trial 1 run 4 slots 0\n"
                    "[  7150] trial 1 > COMPLETED, restarts 0\n"
                    "[  7150] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[  7150] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

static void test_launch_failure__is_the_end_when_it_happens_twenty_times_in_a_row(void **state)
{
    struct sim *sim = *state;
    struct strbuf story = STRBUF_INIT;
    int at = 0, wait = 1000;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .cannot_start = true, .fail_runs = 1000});
    sim_run(sim, 2000000);
    strbuf_adds(&story, "[     0] exp 1 > PAUSED -> ACTIVE\n");
    for (int run = 1; run <= 20; run++) {
        strbuf_addf(&story, "[%6d] a1 > start trial 1 run %d slots 0\n", at, run);
        at += 10;
        if (run == 20)
            strbuf_addf(&story, "[%6d] trial 1 > ERROR, restarts 0\n", at);
        strbuf_addf(&story, "[%6d] log > crashed: agent failed to launch the container\n", at);
        if (run == 20)
            break;
        at += wait;
        wait = 2 * wait < 60000 ? 2 * wait : 60000;
    }
    strbuf_addf(&story, "[%6d] log > Trial 1 (Experiment 1) could not be started 20 times in a row: giving up\n", at);
    strbuf_addf(&story, "[%6d] exp 1 > ACTIVE -> STOPPING_ERROR\n[%6d] exp 1 > STOPPING_ERROR -> ERROR\n", at, at);
    sim_expect(sim, story.s);
    strbuf_release(&story);
}

/* The agent reports RUNNING before the start has succeeded. This must not reset the count of failed launches. */
static void test_launch_failure__counts_although_the_container_was_called_running(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){
                        .slots = 1, .steps = 1, .cannot_start = true, .runs_first = true, .fail_runs = 1000});
    sim_run(sim, 2000000);
    assert_int_equal(sim_trial_state(sim, 1), RUN_ERROR);
    assert_int_equal(sim_trial(sim, 1)->run_id, 20);
    assert_int_equal(sim_trial(sim, 1)->restarts, 0);
}

static void check_refused(struct sim *sim, bool runs_first)
{
    sim_add_agent(sim, "a1", 1);
    sim_create(sim,
               &(struct sim_experiment){
                   .slots = 1, .steps = 1, .cannot_be_started = true, .runs_first = runs_first, .fail_runs = 1000});
    sim_create(sim, &(struct sim_experiment){.slots = 1,
                                             .steps = 1,
                                             .cannot_be_started = true,
                                             .runs_first = runs_first,
                                             .fail_runs = 1000,
                                             .max_restarts = 2});
    sim_run(sim, 2000000);
    assert_int_equal(sim_trial_state(sim, 1), RUN_ERROR);
    assert_int_equal(sim_trial(sim, 1)->run_id, 1);
    assert_int_equal(sim_trial_state(sim, 2), RUN_ERROR);
    assert_int_equal(sim_trial(sim, 2)->run_id, 3);
}

static void test_launch_refused__counts_against_max_restarts(void **state)
{
    check_refused(*state, false);
}

static void test_launch_refused__counts_after_the_container_was_called_running(void **state)
{
    check_refused(*state, true);
}

static void test_random__runs_two_at_a_time_until_all_trials_are_done(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 4);
    sim_create(sim, &(struct sim_experiment){
                        .slots = 1,
                        .steps = 1,
                        .searcher = "{\"name\": \"random\", \"max_trials\": 3, \"max_concurrent_trials\": 2}"});
    sim_run(sim, 2000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[     0] a1 > start trial 2 run 1 slots 1\n"
                    "[   120] trial 1 > COMPLETED, restarts 0\n"
                    "[   120] a1 > start trial 3 run 1 slots 0\n"
                    "[   120] trial 2 > COMPLETED, restarts 0\n"
                    "[   240] trial 3 > COMPLETED, restarts 0\n"
                    "[   240] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[   240] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_single__trains_checkpoints_and_completes),
        TEST(test_logs__say_how_a_trial_ended),
        TEST(test_single__failing_trial_restarts_up_to_max_restarts_then_ends_in_error),
        TEST(test_single__one_failure_is_survived_from_the_latest_checkpoint),
        TEST(test_single__max_restarts_0_makes_the_first_failure_final),
        TEST(test_kill__ends_a_running_experiment_as_canceled),
        TEST(test_kill__of_a_waiting_experiment_needs_no_agent),
        TEST(test_pause__preempts_and_activation_resumes_from_the_checkpoint),
        TEST(test_pause__kills_a_trial_that_does_not_preempt_in_time),
        TEST(test_cancel__lets_the_trial_checkpoint_first),
        TEST(test_requests__that_come_too_late_are_refused),
        TEST(test_two_experiments__share_two_slots_in_order),
        TEST(test_priority__goes_first_and_nobody_below_passes_who_waits),
        TEST(test_large_trial__takes_whole_agents_that_divide_it),
        TEST(test_zero_slot_trial__needs_no_slot),
        TEST(test_invalid_hp__is_completed_and_killed_if_it_stays),
        TEST(test_launch_failure__is_tried_again_ever_more_slowly_and_not_counted),
        TEST(test_launch_failure__is_the_end_when_it_happens_twenty_times_in_a_row),
        TEST(test_launch_failure__counts_although_the_container_was_called_running),
        TEST(test_launch_refused__counts_against_max_restarts),
        TEST(test_launch_refused__counts_after_the_container_was_called_running),
        TEST(test_random__runs_two_at_a_time_until_all_trials_are_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
