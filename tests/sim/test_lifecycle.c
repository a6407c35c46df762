/* Beyond start and stop: continuing what is over, faults of nodes, what log policies decide, shares that change. */
#include <string.h>

#include "sim_main.h"
#include "store.h"

/* ---- continue ---------------------------------------------------------------------------------------------------- */

static void test_continue__a_canceled_trial_goes_on_from_its_checkpoint_as_a_new_task(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int x = sim_create(
        sim, &(struct sim_experiment){.slots = 1, .steps = 6, .fail_runs = 1, .fail_step = 3, .max_restarts = 3});
    sim_run(sim, 600);
    sim_request(sim, CORE_EXPERIMENT_CANCEL, x);
    sim_run(sim, 2000);
    assert_int_equal(sim_experiment_state(sim, x), RUN_CANCELED);
    assert_int_equal(sim_trial(sim, 1)->restarts, 1);
    assert_int_equal(sim_continue(sim, x), 0);
    assert_int_equal(sim_trial(sim, 1)->restarts, 0);
    sim_run(sim, 5000);
    sim_expect(
        sim,
        "[     0] exp 1 > PAUSED -> ACTIVE\n"
        "[     0] a1 > start trial 1 run 1 slots 0\n"
        "[   310] log > crashed: resources failed with non-zero exit code: container failed with non-zero exit code: 1\n"
        "[   310] a1 > start trial 1 run 2 slots 0 from step 2\n"
        "[   600] exp 1 > ACTIVE -> STOPPING_CANCELED\n"
        "[   620] trial 1 > run 2 preempts after step 5\n"
        "[   630] trial 1 > CANCELED, restarts 1\n"
        "[   630] exp 1 > STOPPING_CANCELED -> CANCELED\n"
        "[  2600] exp 1 > CANCELED -> PAUSED\n"
        "[  2600] exp 1 > PAUSED -> ACTIVE\n"
        "[  2600] a1 > start trial 1 run 3 slots 0 from step 5\n"
        "[  2720] trial 1 > COMPLETED, restarts 0\n"
        "[  2720] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
        "[  2720] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
    assert_string_equal(strrchr(sim_trial(sim, 1)->task_id, '-'), "-1");
    assert_int_equal(sim_continue(sim, x), 0);
    assert_string_equal(strrchr(sim_trial(sim, 1)->task_id, '-'), "-2");
    sim_run(sim, 5000);
    assert_int_equal(sim_experiment_state(sim, x), RUN_COMPLETED);
}

/* Two of three trials had been tried when the experiment was killed. The completed trial is not run again, and the
 * third one is drawn as it would have been. */
static void test_continue__a_search_leaves_completed_trials_alone(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    const char *random = "{\"name\": \"random\", \"max_trials\": 3, \"max_concurrent_trials\": 1}";
    int x = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 2, .searcher = random});
    sim_run(sim, 400);
    assert_int_equal(sim_trial_state(sim, 1), RUN_COMPLETED);
    sim_request(sim, CORE_EXPERIMENT_KILL, x);
    sim_run(sim, 1000);
    assert_int_equal(sim_trial_state(sim, 2), RUN_CANCELED);
    assert_int_equal(sim_continue(sim, x), 0);
    sim_crash_master(sim, 1000); /* the next master draws the trials that have not been drawn again yet */
    sim_run(sim, 10000);
    assert_int_equal(sim_experiment_state(sim, x), RUN_COMPLETED);
    assert_int_equal(sim_trial(sim, 1)->run_id, 1);
    assert_int_equal(sim_trial(sim, 2)->run_id, 2);
    assert_int_equal(sim_trial_state(sim, 2), RUN_COMPLETED);
    assert_int_equal(sim_trial_state(sim, 3), RUN_COMPLETED);
    assert_int_equal(sim_trial(sim, 3)->run_id, 1);
}

static void test_continue__what_is_not_over_is_refused(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int x = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100});
    struct core_restored_experiment from = {.row = {.id = x, .state = RUN_CANCELED}, .spec = sim->store->spec[0]};
    struct core_event ev = {.type = CORE_EXPERIMENT_CONTINUE, .resume = {.experiment = &from}};
    struct error err = ERROR_INIT;
    assert_false(sim_step(sim, &ev, &err));
    assert_string_equal(error_msg(&err), "experiment 1 is not over yet: wait for its end, or kill it");
    error_release(&err);
}

/* Such an experiment would never end, because nobody runs that trial and the experiment waits for it. */
static void test_continue__with_a_trial_that_has_not_ended_is_refused(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int x = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1});
    sim_run(sim, 1000);
    assert_int_equal(sim_experiment_state(sim, x), RUN_COMPLETED);
    struct core_restored_experiment from = {.row = sim->store->experiment[0], .spec = sim->store->spec[0]};
    struct trial_row trial = *sim_trial(sim, 1);
    trial.state = RUN_ACTIVE;
    struct core_event ev = {.type = CORE_EXPERIMENT_CONTINUE,
                            .resume = {.experiment = &from, .trial = &trial, .trial_n = 1, .rerun_completed = true}};
    struct error err = ERROR_INIT;
    assert_false(sim_step(sim, &ev, &err));
    assert_string_equal(error_msg(&err),
                        "experiment 1 cannot be continued: its trial 1 is ACTIVE, although the experiment has ended");
    error_release(&err);
}

/* ---- faults of nodes --------------------------------------------------------------------------------------------- */

static struct sim_container *first_container(struct sim_agent *a)
{
    for (int i = 0; i < SIM_CONTAINERS; i++)
        if (a->container[i].used)
            return &a->container[i];
    fail_msg("nothing runs on %s", a->id);
    return NULL;
}

/* The part of the task on the other node fails at once because its peer is missing, long before the lost node is given
 * up. */
static void test_node_fault__costs_no_restart_though_its_peers_fail_first(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_add_agent(sim, "a2", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 3});
    sim_run(sim, 150);
    sim_agent_power_cut(sim, "a2", 100000);
    struct sim_container *k = first_container(&sim->agent[0]);
    k->phase = TASK_EXIT;
    k->exit_code = 1;
    sim_run(sim, 26000);
    sim_expect(
        sim,
        "[     0] exp 1 > PAUSED -> ACTIVE\n"
        "[     0] a2 > start trial 1 run 1 slots 0\n"
        "[     0] a1 > start trial 1 run 1 slots 0\n"
        "[   150] a2 > away\n"
        "[ 25150] log > crashed: agent failed while the container was running: agent closed with allocated containers\n");
    assert_int_equal(sim_trial(sim, 1)->restarts, 0);
    assert_int_equal(sim_trial(sim, 1)->run_id, 2);
    assert_non_null(strstr(strbuf_str(&sim->logs),
                           "the node failed, not the task: the trial runs again, and this does not "
                           "count against max_restarts (restarts so far: 0 of 0)"));
}

/* ---- log policies ------------------------------------------------------------------------------------------------ */

static void test_log_policy__canceled_retries_make_the_next_failure_the_last(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int x = sim_create(
        sim, &(struct sim_experiment){.slots = 1, .steps = 9, .max_restarts = 5, .fail_runs = 9, .fail_step = 3});
    sim_run(sim, 150);
    assert_int_equal(sim_log_matched(sim, 1, "a1", LOG_POLICY_CANCEL_RETRIES), 0);
    assert_string_equal(strbuf_str(&sim->last_log),
                        "log policy ECC Error matched: the trial will not be restarted if it fails\n");
    sim_crash_master(sim, 50);
    sim_run(sim, 5000);
    assert_int_equal(sim_experiment_state(sim, x), RUN_ERROR);
    assert_int_equal(sim_trial(sim, 1)->restarts, 0);
}

static void test_log_policy__an_excluded_node_is_not_used_again(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim,
               &(struct sim_experiment){.slots = 1, .steps = 2, .max_restarts = 5, .fail_runs = 1, .fail_step = 1});
    sim_run(sim, 50);
    for (int i = 0; i < 2; i++) /* what is done once and what is done twice must have the same result */
        assert_int_equal(sim_log_matched(sim, 1, "a1", LOG_POLICY_EXCLUDE_NODE), 0);
    assert_string_equal(sim_trial(sim, 1)->excluded_agents, "a1\n");
    sim_run(sim, 5000);
    assert_int_equal(sim_trial(sim, 1)->run_id, 2);
    sim_crash_master(sim, 50);
    sim_run(sim, 5000);
    sim_add_agent(sim, "a2", 1);
    sim_run(sim, 1000);
    sim_expect(
        sim,
        "[     0] exp 1 > PAUSED -> ACTIVE\n"
        "[     0] a1 > start trial 1 run 1 slots 0\n"
        "[   110] log > crashed: resources failed with non-zero exit code: container failed with non-zero exit code: 1\n"
        "[  5050] master > crash\n"
        "[  5100] master > back\n"
        "[  5600] a1 > back\n"
        "[ 10050] a2 > start trial 1 run 2 slots 0\n"
        "[ 10270] trial 1 > COMPLETED, restarts 1\n"
        "[ 10270] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
        "[ 10270] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

/* ---- shares ------------------------------------------------------------------------------------------------------ */

static void test_resources__a_new_priority_counts_for_what_waits(void **state)
{
    struct sim *sim = *state;
    struct core_resources_patch first = {.set_priority = true, .priority = 1};
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 2});
    int early = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1});
    int late = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1});
    struct core_event ev = {.type = CORE_EXPERIMENT_RESOURCES, .resources = {.experiment_id = late, .patch = &first}};
    assert_true(sim_step(sim, &ev, NULL));
    sim_run(sim, 350);
    assert_int_equal(sim_trial(sim, late)->run_id, 1);
    assert_int_equal(sim_experiment_state(sim, late), RUN_COMPLETED);
    assert_int_not_equal(sim_experiment_state(sim, early), RUN_COMPLETED);
    ev.resources.experiment_id = late;
    assert_false(sim_step(sim, &ev, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_continue__a_canceled_trial_goes_on_from_its_checkpoint_as_a_new_task),
        TEST(test_continue__a_search_leaves_completed_trials_alone),
        TEST(test_continue__what_is_not_over_is_refused),
        TEST(test_continue__with_a_trial_that_has_not_ended_is_refused),
        TEST(test_node_fault__costs_no_restart_though_its_peers_fail_first),
        TEST(test_log_policy__canceled_retries_make_the_next_failure_the_last),
        TEST(test_log_policy__an_excluded_node_is_not_used_again),
        TEST(test_resources__a_new_priority_counts_for_what_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
