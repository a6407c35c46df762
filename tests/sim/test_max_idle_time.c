/* Allocations whose slots are not used for as long as their resources.max_idle_time: they are warned, asked to save
 * their state, and stopped for good.
 */
#include "sim_main.h"

#include <string.h>

#define HOLDS_NOT "resources.max_idle_time does not hold"

static int times_in_logs(const struct sim *sim, const char *text)
{
    int n = 0;
    for (const char *p = strbuf_str(&sim->logs); (p = strstr(p, text)); p++)
        n++;
    return n;
}

static bool is_in_logs(const struct sim *sim, const char *text)
{
    return times_in_logs(sim, text) > 0;
}

static void test_max_idle_time__stops_a_trial_that_saves_its_state_and_it_does_not_run_again(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){
                        .slots = 1, .steps = 100, .rest_after = 5, .max_restarts = 5, .max_idle_ms = 10000});
    sim_run(sim, 5000);
    assert_false(is_in_logs(sim, "warning"));
    sim_run(sim, 2000);
    assert_true(is_in_logs(sim, "warning: the slots of this run have not been used for 5s; the run will be stopped "
                                "when that has lasted for 10s (resources.max_idle_time)"));
    sim_run(sim, 3000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ACTIVE);
    assert_false(is_in_logs(sim, "gracefully"));
    sim_run(sim, 3000);
    assert_true(is_in_logs(sim, "gracefully terminating allocation's remaining resources "
                                "(reason: its slots were not used for 10s, which is its resources.max_idle_time)"));
    assert_true(is_in_logs(sim, "the trial does not run again: the slots of a run were not used for 10s, which is its "
                                "resources.max_idle_time"));
    assert_int_equal(times_in_logs(sim, "warning"), 1);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ERROR);
    assert_int_equal(sim_trial(sim, 1)->run_id, 1);
    assert_int_equal(sim_trial(sim, 1)->steps_completed, 5);
}

static void test_max_idle_time__begins_anew_with_any_use(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){
                        .slots = 1, .steps = 200, .rest_after = 5, .rest_ms = 9500, .max_idle_ms = 10000});
    sim_run(sim, 60000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_COMPLETED);
    assert_int_equal(times_in_logs(sim, "warning"), 1);
    assert_int_equal(times_in_logs(sim, "the time for which the slots of this run were not used counts anew"), 1);
}

static void test_max_idle_time__does_not_touch_what_works(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100, .max_idle_ms = 2000});
    sim_run(sim, 60000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_COMPLETED);
    assert_false(is_in_logs(sim, "max_idle_time"));
}

/* A trial on two agents is stopped only when the slots of both are not used. */
static void test_max_idle_time__needs_all_slots_to_be_idle(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_add_agent(sim, "a2", 1);
    sim->agent[0].busy = true;
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 100, .rest_after = 5, .max_idle_ms = 10000});
    sim_run(sim, 60000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ACTIVE);
    assert_false(is_in_logs(sim, "warning"));
    sim->agent[0].busy = false;
    sim_run(sim, 20000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ERROR);
}

/* Agents go on measuring while the master is away; and a trial that is being stopped when the master crashes is not run
 * again by the next one. */
static void test_max_idle_time__is_kept_over_restarts_of_the_master(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1,
                                             .steps = 1000,
                                             .rest_after = 5,
                                             .max_idle_ms = 60000,
                                             .deaf = true,
                                             .preemption_timeout_s = 20});
    sim_run(sim, 40000);
    assert_true(is_in_logs(sim, "warning"));
    sim_crash_master(sim, 15000);
    sim_run(sim, 20000);
    assert_false(is_in_logs(sim, "gracefully"));
    sim_run(sim, 8000);
    assert_true(is_in_logs(sim, "gracefully"));
    assert_int_equal(times_in_logs(sim, "warning"), 1);
    sim_crash_master(sim, 1000);
    sim_run(sim, 40000);
    assert_true(is_in_logs(sim, "allocation did not preempt in 20s"));
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ERROR);
    assert_int_equal(sim_trial(sim, 1)->run_id, 1);
}

/* The slots are used while the master is away, and the next one says that their time counts anew. */
static void test_max_idle_time__a_master_that_starts_again_knows_of_the_warning(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){
                        .slots = 1, .steps = 200, .rest_after = 5, .rest_ms = 9500, .max_idle_ms = 10000});
    sim_run(sim, 9000);
    assert_int_equal(times_in_logs(sim, "warning"), 1);
    sim_crash_master(sim, 3000);
    sim_run(sim, 50000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_COMPLETED);
    assert_int_equal(times_in_logs(sim, "warning"), 1);
    assert_int_equal(times_in_logs(sim, "the time for which the slots of this run were not used counts anew"), 1);
}

/* What an agent has said does not count any more when its connection is lost: its slots may be used meanwhile. */
static void test_max_idle_time__waits_for_agents_that_are_away(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_add_agent(sim, "a2", 1);
    sim->agent[1].busy = true;
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 100, .rest_after = 5, .max_idle_ms = 5000});
    sim_run(sim, 20000);
    sim_agent_away(sim, "a1", 20000);
    sim->agent[1].busy = false;
    sim_run(sim, 19000);
    assert_false(is_in_logs(sim, "gracefully"));
    sim_run(sim, 5000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ERROR);
}

static void test_max_idle_time__does_not_hold_where_an_agent_is_too_old_and_the_log_says_so_once(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_add_old_agent(sim, "a2", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 100, .rest_after = 5, .max_idle_ms = 5000});
    sim_run(sim, 30000);
    sim_crash_master(sim, 1000);
    sim_run(sim, 30000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ACTIVE);
    assert_int_equal(times_in_logs(sim, HOLDS_NOT " for this run: agent a2 (version unknown) does not tell whether"),
                     1);
    assert_int_equal(times_in_logs(sim, "warning"), 1);
}

/* A master that has started again does not know what the log says, and says it once more. */
static void test_max_idle_time__does_not_hold_where_use_cannot_be_measured_and_the_log_says_so(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim->agent[0].blind = true;
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100, .rest_after = 5, .max_idle_ms = 5000});
    static const char said[] = HOLDS_NOT
        " while agent a1 cannot tell whether the slots of this run are used: it is blind";
    sim_run(sim, 30000);
    assert_int_equal(times_in_logs(sim, said), 1);
    sim_crash_master(sim, 1000);
    sim_run(sim, 30000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ACTIVE);
    assert_int_equal(times_in_logs(sim, said), 2);
    assert_int_equal(times_in_logs(sim, "warning"), 2);
    sim->agent[0].blind = false;
    sim_run(sim, 10000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ERROR);
}

/* Agents cannot tell anything about what runs elsewhere, and unknown containers do no harm. */
static void test_max_idle_time__believes_only_the_agent_of_the_container(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_add_agent(sim, "a2", 0);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1000, .max_idle_ms = 60000});
    sim_run(sim, 1000);
    const struct core_slots_use use[] = {{.container_id = sim->agent[0].container[0].id, .idle_us = INT64_MAX / 2},
                                         {.container_id = "no-such-container", .idle_us = INT64_MAX / 2}};
    for (int i = 0; i < 3; i++) {
        struct core_event ev = {.type = CORE_AGENT_USE,
                                .use = {.agent_id = i == 2 ? "no-such-agent" : "a2",
                                        .slots = use,
                                        .n = i == 0 ? 0 : 2}};
        assert_true(sim_step(sim, &ev, NULL));
    }
    sim_run(sim, 1000);
    assert_false(is_in_logs(sim, "max_idle_time"));
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ACTIVE);
}

static void test_max_idle_time__counts_for_each_run(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int x = sim_create(
        sim, &(struct sim_experiment){.slots = 1, .steps = 20, .rest_after = 5, .rest_ms = 8000, .max_idle_ms = 10000});
    sim_run(sim, 7000);
    sim_request(sim, CORE_EXPERIMENT_PAUSE, x);
    sim_run(sim, 20000);
    sim_request(sim, CORE_EXPERIMENT_ACTIVATE, x);
    sim_run(sim, 30000);
    assert_int_equal(sim_experiment_state(sim, x), RUN_COMPLETED);
}

/* The run reaches its max_time while it is being stopped because its slots were idle. */
static void test_max_idle_time__is_what_a_trial_ends_for_though_it_takes_too_long_meanwhile(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1,
                                             .steps = 1000,
                                             .rest_after = 5,
                                             .max_idle_ms = 10000,
                                             .max_time_ms = 20000,
                                             .deaf = true,
                                             .preemption_timeout_s = 30});
    sim_run(sim, 15000);
    assert_true(is_in_logs(sim, "gracefully"));
    sim_run(sim, 60000);
    assert_true(is_in_logs(sim, "allocation did not preempt in 30s"));
    assert_true(is_in_logs(sim, "the trial does not run again: the slots of a run were not used for 10s, which is its "
                                "resources.max_idle_time"));
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ERROR);
}

/* A task without slots has none that it could leave unused. */
static void test_max_idle_time__ends_commands_and_cancels_generic_tasks(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 2);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .slots = 1, .max_idle_ms = 10000}, NULL);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .slots = 1, .saves = true, .max_idle_ms = 20000},
               NULL);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_SHELL, .max_idle_ms = 10000}, NULL);
    sim_run(sim, 5000);
    sim_crash_master(sim, 100);
    sim_run(sim, 40000);
    assert_true(is_in_logs(sim, "(reason: its slots were not used for 10s, which is its resources.max_idle_time)"));
    assert_true(is_in_logs(sim, "(reason: its slots were not used for 20s, which is its resources.max_idle_time)"));
    assert_int_equal(sim_open_allocations(sim), 1);
}

/* Agents are asked to tell it ten times within the limit, and no more than every 30 seconds. */
static void test_max_idle_time__asks_agents_no_more_often_than_it_needs(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 4);
    const int max_idle_ms[] = {0, 500, 60000, 3600000};
    for (int i = 0; i < 4; i++)
        sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1000, .max_idle_ms = max_idle_ms[i]});
    sim_run(sim, 100);
    assert_int_equal(sim->agent[0].container[0].tell_use_every_us, 0);
    assert_int_equal(sim->agent[0].container[1].tell_use_every_us, 200000);
    assert_int_equal(sim->agent[0].container[2].tell_use_every_us, 6000000);
    assert_int_equal(sim->agent[0].container[3].tell_use_every_us, 30000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_max_idle_time__stops_a_trial_that_saves_its_state_and_it_does_not_run_again),
        TEST(test_max_idle_time__begins_anew_with_any_use),
        TEST(test_max_idle_time__does_not_touch_what_works),
        TEST(test_max_idle_time__needs_all_slots_to_be_idle),
        TEST(test_max_idle_time__is_kept_over_restarts_of_the_master),
        TEST(test_max_idle_time__a_master_that_starts_again_knows_of_the_warning),
        TEST(test_max_idle_time__waits_for_agents_that_are_away),
        TEST(test_max_idle_time__does_not_hold_where_an_agent_is_too_old_and_the_log_says_so_once),
        TEST(test_max_idle_time__does_not_hold_where_use_cannot_be_measured_and_the_log_says_so),
        TEST(test_max_idle_time__believes_only_the_agent_of_the_container),
        TEST(test_max_idle_time__counts_for_each_run),
        TEST(test_max_idle_time__is_what_a_trial_ends_for_though_it_takes_too_long_meanwhile),
        TEST(test_max_idle_time__ends_commands_and_cancels_generic_tasks),
        TEST(test_max_idle_time__asks_agents_no_more_often_than_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
