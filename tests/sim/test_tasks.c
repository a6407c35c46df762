/* Tasks of their own, which are no trials'. */
#include "sim_main.h"

static void test_task__runs_once_without_a_slot_beside_a_trial_that_has_them_all(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5});
    sim_create_task(sim, 7);
    sim_run(sim, 1000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[     0] a1 > start gc-7\n"
                    "[   110] task of exp 7 > over\n"
                    "[   520] trial 1 > COMPLETED, restarts 0\n"
                    "[   520] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[   520] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
    assert_int_equal(sim_open_allocations(sim), 0);
}

static void test_task__waits_for_an_agent_also_over_a_restart(void **state)
{
    struct sim *sim = *state;
    sim_create_task(sim, 7);
    sim_run(sim, 100);
    sim_crash_master(sim, 1000);
    sim_run(sim, 2000);
    sim_expect(sim, "[   100] master > crash\n[  1100] master > back\n");
    sim_add_agent(sim, "a1", 0);
    sim_run(sim, 1000);
    sim_expect(sim, "[  2100] a1 > start gc-7\n[  2210] task of exp 7 > over\n");
}

static void test_task__runs_on_while_the_master_is_away_and_is_not_started_again(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create_task(sim, 7);
    sim_run(sim, 50);
    sim_crash_master(sim, 1000);
    sim_run(sim, 2000);
    sim_expect(sim, "[     0] a1 > start gc-7\n[    50] master > crash\n[  1050] master > back\n[  1550] a1 > back\n"
                    "[  1550] task of exp 7 > over\n");
}

static void test_task__whose_agent_is_lost_is_over(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create_task(sim, 7);
    sim_run(sim, 50);
    sim_agent_power_cut(sim, "a1", 1000000);
    sim_run(sim, 60000);
    sim_expect(
        sim,
        "[     0] a1 > start gc-7\n[    50] a1 > away\n"
        "[ 25050] log > crashed: agent failed while the container was running: agent closed with allocated containers\n"
        "[ 25050] task of exp 7 > over\n");
}

/* The creator of the task is told that it was killed, and may try again. */
static void test_task__that_hangs_is_killed_after_an_hour_also_over_a_restart(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 0);
    sim->behaviour[7].deaf = true;
    sim_create_task(sim, 7);
    sim_run(sim, 3500000);
    sim_expect(sim, "[     0] a1 > start gc-7\n");
    sim_crash_master(sim, 1000);
    sim_run(sim, 90000);
    sim_expect(sim, "[3500000] master > crash\n[3501000] master > back\n[3501500] a1 > back\n");
    sim_run(sim, 20000);
    sim_expect(sim, "[3600010] a1 > kill trial 0 run 1\n[3600015] task of exp 7 > over\n");
    assert_int_equal(sim_open_allocations(sim), 0);
}

static void test_task__has_no_place_in_the_queue_that_people_see(void **state)
{
    struct sim *sim = *state;
    cleanup_arena struct arena a = ARENA_INIT;
    struct core_job_view *job;
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1});
    sim_create_task(sim, 7);
    sim_run(sim, 10);
    assert_int_equal(core_queue(sim->core, "default", &a, &job), 1);
    assert_int_equal(job[0].owner.experiment_id, 1);
}

static void test_task__in_a_pool_that_does_not_exist_is_refused(void **state)
{
    struct sim *sim = *state;
    cleanup_error struct error err = ERROR_INIT;
    const struct core_task_spec spec = {.owner_id = 1, .experiment_id = 7, .pool = "none"};
    assert_false(sim_step(sim, &(struct core_event){.type = CORE_TASK_CREATE, .task = &spec}, &err));
    assert_string_equal(error_msg(&err), "resource pool \"none\" does not exist");
    assert_int_equal(sim_open_allocations(sim), 0);
}

/* The master dies at every step, in each of the ways. The creator of a task is told of each end at least once. */
static void test_task__survives_a_crash_at_every_step(void **state)
{
    (void)state;
    for (int mode = CRASH_BEFORE_COMMIT; mode <= CRASH_AFTER_EFFECTS; mode++) {
        for (int at = 1; at < 12; at++) {
            struct sim sim;
            sim_init(&sim, 1);
            sim.crash_at = at;
            sim.crash_mode = (enum sim_crash)mode;
            sim_add_agent(&sim, "a1", 1);
            sim_run(&sim, 5000);
            bool promised = sim_create_task(&sim, 7);
            sim_run(&sim, 60000);
            assert_int_equal(sim_open_allocations(&sim), 0);
            if (promised)
                assert_non_null(strstr(strbuf_str(&sim.story), "start gc-7"));
            sim_release(&sim);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_task__runs_once_without_a_slot_beside_a_trial_that_has_them_all),
        TEST(test_task__waits_for_an_agent_also_over_a_restart),
        TEST(test_task__runs_on_while_the_master_is_away_and_is_not_started_again),
        TEST(test_task__whose_agent_is_lost_is_over),
        TEST(test_task__that_hangs_is_killed_after_an_hour_also_over_a_restart),
        TEST(test_task__has_no_place_in_the_queue_that_people_see),
        TEST(test_task__in_a_pool_that_does_not_exist_is_refused),
        TEST(test_task__survives_a_crash_at_every_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
