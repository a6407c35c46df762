/* Quotas as they happen: what is lent, given back, waited for, changed, and found again after a restart of the master.
 */
#include "sim_main.h"

enum { VISION = 1, SPEECH = 2 };

static const struct sched_opts preemptive = {.policy = SCHED_BY_PRIORITY, .preemption = true};

/* The example of docs/spec/scheduling.md#quotas. */
static void test_quotas__what_was_lent_is_given_back(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &preemptive);
    sim_set_quota(sim, VISION, 0, 4, 8);
    sim_set_quota(sim, SPEECH, 0, 4, 4);
    sim_add_agent(sim, "a1", 4);
    sim_add_agent(sim, "a2", 4);
    sim_create(sim, &(struct sim_experiment){.slots = 4, .steps = 50, .workspace = VISION});
    sim_create(sim, &(struct sim_experiment){.slots = 4, .steps = 50, .workspace = VISION});
    sim_run(sim, 100);
    assert_int_equal(sim_quota(sim, VISION, 0)->borrowed, 4);
    sim_create(sim, &(struct sim_experiment){.slots = 4, .steps = 10, .workspace = SPEECH, .priority = 90});
    sim_create(sim, &(struct sim_experiment){.slots = 4, .steps = 10, .workspace = SPEECH, .priority = 90});
    sim_run(sim, 400);
    assert_int_equal(sim_quota(sim, VISION, 0)->borrowed, 0);
    assert_int_equal(sim_quota(sim, SPEECH, 0)->held, 4);
    sim_run(sim, 20000);
    for (int x = 1; x <= 4; x++)
        assert_int_equal(sim_experiment_state(sim, x), RUN_COMPLETED);
    assert_int_equal(sim_quota(sim, VISION, 0)->held, 0);
}

/* The user's quota does not allow a second trial in any workspace; the third one is another user's, and passes. */
static void test_quotas__of_a_user_counts_in_all_workspaces(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &preemptive);
    sim_set_quota(sim, 0, 7, 1, 1);
    sim_add_agent(sim, "a1", 4);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5, .workspace = VISION, .owner = 7});
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5, .workspace = SPEECH, .owner = 7});
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5, .workspace = SPEECH, .owner = 8});
    sim_run(sim, 100);
    assert_int_equal(sim_open_allocations(sim), 3);
    assert_int_equal(sim_quota(sim, 0, 7)->held, 1);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[     0] exp 2 > PAUSED -> ACTIVE\n"
                    "[     0] exp 3 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 3 run 1 slots 1\n");
    sim_run(sim, 3000);
    assert_int_equal(sim_experiment_state(sim, 2), RUN_COMPLETED);
}

static void test_quotas__a_change_counts_in_the_same_step(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &preemptive);
    sim_set_quota(sim, VISION, 0, 0, 0);
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5, .workspace = VISION});
    sim_run(sim, 1000);
    assert_int_equal(sim_quota(sim, VISION, 0)->held, 0);
    sim_set_quota(sim, VISION, 0, 1, 1);
    assert_int_equal(sim_quota(sim, VISION, 0)->held, 1);
    sim_set_quota(sim, VISION, 0, 0, 0); /* stops nothing */
    assert_int_equal(sim_quota(sim, VISION, 0)->borrowed, 1);
    sim_set_quota(sim, VISION, 0, -1, 0);
    sim_run(sim, 2000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_COMPLETED);
}

static void test_quotas__are_the_same_after_a_crash(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &preemptive);
    sim_set_quota(sim, VISION, 0, 2, 3);
    sim_add_agent(sim, "a1", 8);
    for (int i = 0; i < 5; i++)
        sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100, .workspace = VISION});
    sim_run(sim, 100);
    sim_crash_master(sim, 1000);
    sim_run(sim, 1000);
    assert_int_equal(sim_quota(sim, VISION, 0)->held, 3);
    assert_int_equal(sim_quota(sim, VISION, 0)->borrowed, 1);
    sim_run(sim, 40000);
    for (int x = 1; x <= 5; x++)
        assert_int_equal(sim_experiment_state(sim, x), RUN_COMPLETED);
}

/* Someone who never stops asking borrows everything; the owner's trials run all the same, each when it comes. */
static void test_quotas__an_owner_does_not_starve(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &preemptive);
    sim_set_quota(sim, VISION, 0, 0, 100);
    sim_add_agent(sim, "a1", 2);
    for (int i = 0; i < 40; i++)
        sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100, .workspace = VISION, .priority = 1});
    for (int i = 0; i < 10; i++) {
        int x = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5, .workspace = SPEECH, .priority = 99});
        sim_run(sim, 2000);
        assert_int_equal(sim_experiment_state(sim, x), RUN_COMPLETED);
        assert_true(sim_quota(sim, VISION, 0)->held <= 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_quotas__what_was_lent_is_given_back),      TEST(test_quotas__of_a_user_counts_in_all_workspaces),
        TEST(test_quotas__a_change_counts_in_the_same_step), TEST(test_quotas__are_the_same_after_a_crash),
        TEST(test_quotas__an_owner_does_not_starve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
