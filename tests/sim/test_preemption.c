/* Who makes way for whom, as it happens. Each story was first told by a seed of the soak (docs/decisions/0005). */
#include "sim_main.h"

static const struct sched_opts preemptive = {.policy = SCHED_BY_PRIORITY, .preemption = true};
static const struct sched_opts fair = {.policy = SCHED_BY_FAIR_SHARE};

/* Two trials are stopped for a gang of their own priority. The one that ends first must not get its slot back. */
static void test_preemption__a_gang_gets_what_was_vacated_for_it(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &preemptive);
    sim_add_agent(sim, "a1", 2);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 3, .paused = true});
    sim_run(sim, 10);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 50});
    sim_run(sim, 50);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 50});
    sim_run(sim, 300);
    sim_request(sim, CORE_EXPERIMENT_ACTIVATE, 1);
    sim_run(sim, 600);
    sim_expect(sim, "[    10] exp 2 > PAUSED -> ACTIVE\n"
                    "[    10] a1 > start trial 2 run 1 slots 0\n"
                    "[    60] exp 3 > PAUSED -> ACTIVE\n"
                    "[    60] a1 > start trial 3 run 1 slots 1\n"
                    "[   360] exp 1 > PAUSED -> ACTIVE\n"
                    "[   370] trial 3 > run 1 preempts after step 3\n"
                    "[   420] trial 2 > run 1 preempts after step 4\n"
                    "[   430] a1 > start trial 1 run 1 slots 0,1\n" COMPLETES(
                        "   750", "1") "[   750] a1 > start trial 2 run 2 slots 0 from step 4\n"
                                       "[   750] a1 > start trial 3 run 2 slots 1 from step 3\n");
}

/* Aging has made the second trial more important than the third one, and the third one ages as well. */
static void test_preemption__what_aging_has_given_survives_a_restart_of_the_master(void **state)
{
    struct sched_opts aging = preemptive;
    struct sim *sim = *state;
    aging.aging_us = 10 * 1000000;
    sim_set_sched(sim, &aging);
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 300, .priority = 1});
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1000, .priority = 50});
    sim_run(sim, 32000);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .priority = 48});
    sim_crash_master(sim, 1000);
    sim_run(sim, 40000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[     0] exp 2 > PAUSED -> ACTIVE\n" COMPLETES(
                        " 30020", "1") "[ 30020] a1 > start trial 2 run 1 slots 0\n"
                                       "[ 32000] exp 3 > PAUSED -> ACTIVE\n"
                                       "[ 32000] master > crash\n"
                                       "[ 33000] master > back\n"
                                       "[ 33500] a1 > back\n"
                                       "[ 52030] trial 2 > run 1 preempts after step 210\n"
                                       "[ 52040] a1 > start trial 3 run 1 slots 0\n" COMPLETES(
                                           " 52160", "3") "[ 52160] a1 > start trial 2 run 2 slots 0 from step 210\n");
}

/* Every two seconds a more important trial comes that takes three seconds. Without aging the first job would wait for
 * ever. With aging it has the best priority after ten steps, and is then not stopped any more. */
static void test_preemption__with_aging_nothing_starves(void **state)
{
    struct sched_opts aging = preemptive;
    struct sim *sim = *state;
    aging.aging_us = 1000000;
    sim_set_sched(sim, &aging);
    sim_add_agent(sim, "a1", 1);
    for (int i = 0; i < 15; i++) {
        sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 30, .priority = 1});
        if (i == 0)
            sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 30, .priority = 11});
        sim_run(sim, 2000);
    }
    assert_int_equal(sim_experiment_state(sim, 2), RUN_COMPLETED);
    assert_int_not_equal(sim_experiment_state(sim, 15), RUN_COMPLETED);
}

/* A request that waits while the master is down has the same age afterwards as if the master had not been down. */
static void test_preemption__a_job_ages_while_the_master_is_away(void **state)
{
    struct sched_opts aging = preemptive;
    struct sim *sim = *state;
    aging.aging_us = 10 * 1000000;
    sim_set_sched(sim, &aging);
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1000, .priority = 42});
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .priority = 44});
    sim_run(sim, 15000);
    sim_crash_master(sim, 5000);
    sim_run(sim, 20000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[     0] exp 2 > PAUSED -> ACTIVE\n"
                    "[ 15000] master > crash\n"
                    "[ 20000] master > back\n"
                    "[ 20500] a1 > back\n"
                    "[ 30010] trial 1 > run 1 preempts after step 250\n"
                    "[ 30020] a1 > start trial 2 run 1 slots 0\n" COMPLETES(
                        " 30140", "2") "[ 30140] a1 > start trial 1 run 2 slots 0 from step 250\n");
}

/* Half of the agents that the gang needs run more important work. So nothing on the other half is stopped. */
static void test_preemption__never_for_what_would_not_fit_afterwards(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &preemptive);
    sim_add_agent(sim, "a1", 2);
    sim_add_agent(sim, "a2", 2);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 20, .priority = 10});
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 8, .priority = 60});
    sim_run(sim, 100);
    sim_create(sim, &(struct sim_experiment){.slots = 4, .steps = 2, .priority = 20});
    sim_run(sim, 3000);
    sim_expect(sim,
               "[     0] exp 1 > PAUSED -> ACTIVE\n"
               "[     0] a2 > start trial 1 run 1 slots 0,1\n"
               "[     0] exp 2 > PAUSED -> ACTIVE\n"
               "[     0] a1 > start trial 2 run 1 slots 0,1\n"
               "[   100] exp 3 > PAUSED -> ACTIVE\n" COMPLETES("   820", "2")
                   COMPLETES("  2020", "1") "[  2020] a1 > start trial 3 run 1 slots 0,1\n"
                                            "[  2020] a2 > start trial 3 run 1 slots 0,1\n" COMPLETES("  2240", "3"));
}

/* A request that was placed beside a waiting gang is stopped as soon as this makes room for the gang. */
static void test_preemption__what_backfills_gives_way_as_soon_as_that_helps(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &preemptive);
    sim_add_agent(sim, "a1", 2);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5, .priority = 10});
    sim_run(sim, 20);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 2, .priority = 20});
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 50, .priority = 60});
    sim_run(sim, 1500);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[    20] exp 2 > PAUSED -> ACTIVE\n"
                    "[    20] exp 3 > PAUSED -> ACTIVE\n"
                    "[    20] a1 > start trial 3 run 1 slots 1\n" COMPLETES(
                        "   520", "1") "[   530] trial 3 > run 1 preempts after step 5\n"
                                       "[   540] a1 > start trial 2 run 1 slots 0,1\n" COMPLETES(
                                           "   760", "2") "[   760] a1 > start trial 3 run 2 slots 0 from step 5\n");
}

/* A gang gets all its slots or none. Of two gangs that each need both agents, none holds one agent while it waits for
 * the other one. */
static void test_preemption__two_gangs_never_hold_a_half_each(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &preemptive);
    sim_create(sim, &(struct sim_experiment){.slots = 4, .steps = 2});
    sim_create(sim, &(struct sim_experiment){.slots = 4, .steps = 2});
    sim_run(sim, 10);
    sim_add_agent(sim, "a1", 2);
    sim_run(sim, 1000);
    sim_add_agent(sim, "a2", 2);
    sim_run(sim, 2000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] exp 2 > PAUSED -> ACTIVE\n"
                    "[  1010] a2 > start trial 1 run 1 slots 0,1\n"
                    "[  1010] a1 > start trial 1 run 1 slots 0,1\n" COMPLETES(
                        "  1230", "1") "[  1230] a2 > start trial 2 run 1 slots 0,1\n"
                                       "[  1230] a1 > start trial 2 run 1 slots 0,1\n" COMPLETES("  1450", "2"));
}

static void change_priority(struct sim *sim, int experiment_id, int priority)
{
    struct core_resources_patch patch = {.set_priority = true, .priority = priority};
    sim_step(sim,
             &(struct core_event){.type = CORE_EXPERIMENT_RESOURCES,
                                  .now_us = sim->now_us,
                                  .resources = {.experiment_id = experiment_id, .patch = &patch}},
             NULL);
}

/* The second job was submitted after the first one. If both change to the same priority, the earlier one still goes
 * first, whichever changed last. */
static void test_queue__a_change_of_priority_keeps_the_order_of_equals(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &preemptive);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 2, .priority = 50});
    sim_run(sim, 10);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 2, .priority = 50});
    sim_run(sim, 10);
    change_priority(sim, 2, 1);
    change_priority(sim, 1, 1);
    sim_add_agent(sim, "a1", 1);
    sim_run(sim, 2000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[    10] exp 2 > PAUSED -> ACTIVE\n"
                    "[    20] a1 > start trial 1 run 1 slots 0\n" COMPLETES(
                        "   240", "1") "[   240] a1 > start trial 2 run 1 slots 0\n" COMPLETES("   460", "2"));
}

/* All slots of the pool are taken, and a new job gets its share all the same. */
static void test_fair_share__a_full_pool_is_shared_anew(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &fair);
    sim_add_agent(sim, "a1", 2);
    sim_create(sim, &(struct sim_experiment){.slots = 1,
                                             .steps = 20,
                                             .searcher = "{\"name\": \"random\", \"max_trials\": 2}"});
    sim_run(sim, 250);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 20});
    sim_run(sim, 200);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[     0] a1 > start trial 2 run 1 slots 1\n"
                    "[   250] exp 2 > PAUSED -> ACTIVE\n"
                    "[   310] trial 1 > run 1 preempts after step 3\n"
                    "[   320] a1 > start trial 3 run 1 slots 0\n");
}

/* Every slot is taken, and the share of the gang may come from any of the tasks. Tasks on one agent are stopped, and
 * not the two oldest tasks. */
static void test_fair_share__a_gang_has_its_share_in_one_place(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &fair);
    sim_add_agent(sim, "a1", 2);
    sim_add_agent(sim, "a2", 2);
    sim_create(sim, &(struct sim_experiment){.slots = 1,
                                             .steps = 20,
                                             .searcher = "{\"name\": \"random\", \"max_trials\": 4}"});
    sim_run(sim, 250);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 20});
    sim_run(sim, 500);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 4 run 1 slots 0\n"
                    "[     0] a1 > start trial 1 run 1 slots 1\n"
                    "[     0] a2 > start trial 3 run 1 slots 0\n"
                    "[     0] a2 > start trial 2 run 1 slots 1\n"
                    "[   250] exp 2 > PAUSED -> ACTIVE\n"
                    "[   310] trial 3 > run 1 preempts after step 3\n"
                    "[   310] trial 2 > run 1 preempts after step 3\n"
                    "[   320] a2 > start trial 5 run 1 slots 0,1\n");
}

/* Small jobs that have all they want leave the rest to all larger jobs alike. */
static void test_fair_share__small_jobs_do_not_make_the_shares_of_large_ones_differ(void **state)
{
    struct sim *sim = *state;
    const char *six = "{\"name\": \"random\", \"max_trials\": 6}";
    sim_set_sched(sim, &fair);
    sim_add_agent(sim, "a1", 6);
    for (int i = 0; i < 4; i++)
        sim_create(sim,
                   &(struct sim_experiment){.slots = 1, .steps = 40, .paused = true, .searcher = i < 2 ? NULL : six});
    for (int id = 1; id <= 4; id++)
        sim_request(sim, CORE_EXPERIMENT_ACTIVATE, id);
    sim_run(sim, 1000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[     0] exp 2 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 2 run 1 slots 1\n"
                    "[     0] exp 3 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 7 run 1 slots 2\n"
                    "[     0] a1 > start trial 6 run 1 slots 3\n"
                    "[     0] a1 > start trial 8 run 1 slots 4\n"
                    "[     0] a1 > start trial 3 run 1 slots 5\n"
                    "[     0] exp 4 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > kill trial 7 run 1\n"
                    "[     0] a1 > kill trial 6 run 1\n"
                    "[     5] a1 > start trial 13 run 1 slots 2\n"
                    "[     5] a1 > start trial 12 run 1 slots 3\n");
}

/* Allocations on agents that are not back yet do not count as more than the pool can hold. */
static void test_fair_share__a_restart_of_the_master_preempts_nobody(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &fair);
    sim_add_agent(sim, "a1", 1);
    sim_add_agent(sim, "a2", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 40});
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 40});
    sim_run(sim, 250);
    sim_crash_master(sim, 100);
    sim_agent_away(sim, "a2", 3000);
    sim_run(sim, 2500);
    assert_int_equal(sim_trial(sim, 1)->run_id, 1);
    assert_int_equal(sim_trial(sim, 2)->run_id, 1);
    sim_run(sim, 10000);
    assert_int_equal(sim_trial(sim, 1)->run_id, 1);
    assert_int_equal(sim_trial(sim, 2)->run_id, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_preemption__a_gang_gets_what_was_vacated_for_it),
        TEST(test_preemption__what_aging_has_given_survives_a_restart_of_the_master),
        TEST(test_preemption__with_aging_nothing_starves),
        TEST(test_preemption__a_job_ages_while_the_master_is_away),
        TEST(test_preemption__never_for_what_would_not_fit_afterwards),
        TEST(test_preemption__what_backfills_gives_way_as_soon_as_that_helps),
        TEST(test_preemption__two_gangs_never_hold_a_half_each),
        TEST(test_queue__a_change_of_priority_keeps_the_order_of_equals),
        TEST(test_fair_share__a_full_pool_is_shared_anew),
        TEST(test_fair_share__a_gang_has_its_share_in_one_place),
        TEST(test_fair_share__small_jobs_do_not_make_the_shares_of_large_ones_differ),
        TEST(test_fair_share__a_restart_of_the_master_preempts_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
