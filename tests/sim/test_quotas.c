/* Quotas as they happen: what is lent, given back, waited for, changed, and found again after a restart of the master.
 */
#include "sim_main.h"

enum { VISION = 1, SPEECH = 2 };

static const struct sched_opts preemptive = {.policy = SCHED_BY_PRIORITY, .preemption = true},
                               fair = {.policy = SCHED_BY_FAIR_SHARE};

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

/* ---- by fair share ----------------------------------------------------------------------------------------------- */

/* One after the other, so that their order is known. */
static void create_some(struct sim *sim, int n, const struct sim_experiment *x)
{
    for (int i = 0; i < n; i++) {
        sim_create(sim, x);
        sim_run(sim, 10);
    }
}

static void complete_all(struct sim *sim, int n)
{
    sim_run(sim, 100000);
    for (int x = 1; x <= n; x++)
        assert_int_equal(sim_experiment_state(sim, x), RUN_COMPLETED);
}

/* By weight alone, the three trials of `speech` would get one slot of the four, and only when a trial of `vision` ends:
 * seven jobs share them. As they are its own, they are given back. */
static void test_quotas__by_fair_share_what_was_lent_is_given_back(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &fair);
    sim_set_quota(sim, VISION, 0, 1, 4);
    sim_set_quota(sim, SPEECH, 0, 3, 4);
    sim_add_agent(sim, "a1", 4);
    create_some(sim, 5, &(struct sim_experiment){.slots = 1, .steps = 50, .workspace = VISION});
    sim_run(sim, 100);
    assert_int_equal(sim_quota(sim, VISION, 0)->held, 4);
    assert_int_equal(sim_quota(sim, VISION, 0)->borrowed, 3);
    sim_expect_trial_wait(sim, 5, "needs 1 slot: the quota of a workspace allows 4 slots, and 4 are in use");
    sim_set_quota(sim, VISION, 0, 1, 8);
    sim_run(sim, 100);
    sim_expect_trial_wait(
        sim, 5,
        "needs 1 slot: none is free in pool default; it would have to borrow: the quota of a workspace "
        "is 1 slot, of which 1 is in use");
    create_some(sim, 4, &(struct sim_experiment){.slots = 1, .steps = 10, .workspace = SPEECH});
    sim_run(sim, 400);
    assert_int_equal(sim_quota(sim, SPEECH, 0)->held, 3);
    assert_int_equal(sim_quota(sim, SPEECH, 0)->borrowed, 0);
    assert_int_equal(sim_quota(sim, VISION, 0)->held, 1);
    sim_expect_trial_wait(
        sim, 9,
        "needs 1 slot: none is free in pool default; it would have to borrow: the quota of a workspace "
        "is 3 slots, of which 3 are in use");
    complete_all(sim, 9);
}

/* A gang gets what is its quota's own in one place, although each of two such gangs has only a part of it as its share,
 * and the borrowers lie on both agents. */
static void test_quotas__by_fair_share_room_is_made_for_a_gang_within_its_quota(void **state)
{
    const struct sched_opts spreading = {.policy = SCHED_BY_FAIR_SHARE, .fitting = FITTING_WORST};
    struct sim *sim = *state;
    sim_set_sched(sim, &spreading);
    sim_set_quota(sim, VISION, 0, 0, 8);
    sim_set_quota(sim, SPEECH, 0, 0, 0);
    sim_add_agent(sim, "a1", 4);
    sim_add_agent(sim, "a2", 4);
    create_some(sim, 8, &(struct sim_experiment){.slots = 1, .steps = 60, .workspace = VISION});
    create_some(sim, 2, &(struct sim_experiment){.slots = 4, .steps = 10, .workspace = SPEECH});
    sim_run(sim, 100);
    assert_int_equal(sim_quota(sim, VISION, 0)->borrowed, 8);
    sim_set_quota(sim, SPEECH, 0, 4, 4);
    sim_run(sim, 600);
    assert_int_equal(sim_quota(sim, SPEECH, 0)->held, 4);
    assert_int_equal(sim_quota(sim, VISION, 0)->held, 4);
    complete_all(sim, 10);
}

/* Jobs that no quota concerns never borrow, so they are served before those who do. */
static void test_quotas__by_fair_share_those_without_quotas_come_before_borrowers(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &fair);
    sim_set_quota(sim, VISION, 0, 1, 4);
    sim_add_agent(sim, "a1", 4);
    create_some(sim, 4, &(struct sim_experiment){.slots = 1, .steps = 50, .workspace = VISION});
    sim_run(sim, 100);
    create_some(sim, 6, &(struct sim_experiment){.slots = 1, .steps = 10, .workspace = SPEECH});
    sim_run(sim, 400);
    assert_int_equal(sim_quota(sim, VISION, 0)->borrowed, 0);
    complete_all(sim, 10);
}

/* The second trial of `vision` is larger than that of `speech`, and would fit in its place. */
static void test_quotas__by_fair_share_borrowers_do_not_stop_owners(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &fair);
    sim_set_quota(sim, VISION, 0, 0, 8);
    sim_set_quota(sim, SPEECH, 0, 2, 2);
    sim_add_agent(sim, "a1", 4);
    sim_add_agent(sim, "a2", 4);
    create_some(sim, 1, &(struct sim_experiment){.slots = 2, .steps = 50, .workspace = SPEECH});
    create_some(sim, 2, &(struct sim_experiment){.slots = 3, .steps = 50, .workspace = VISION});
    sim_run(sim, 400);
    assert_int_equal(sim_quota(sim, SPEECH, 0)->held, 2);
    assert_int_equal(sim_quota(sim, VISION, 0)->held, 3);
    complete_all(sim, 3);
    assert_int_equal(sim_trial(sim, 1)->run_id, 1);
}

/* One slot is free on each agent, and the trials of `vision` are larger than that of `speech`. */
static void test_quotas__by_fair_share_owners_get_room_from_larger_borrowers(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &fair);
    sim_set_quota(sim, VISION, 0, 0, 8);
    sim_set_quota(sim, SPEECH, 0, 2, 2);
    sim_add_agent(sim, "a1", 4);
    sim_add_agent(sim, "a2", 4);
    create_some(sim, 2, &(struct sim_experiment){.slots = 3, .steps = 50, .workspace = VISION});
    sim_run(sim, 100);
    assert_int_equal(sim_quota(sim, VISION, 0)->borrowed, 6);
    create_some(sim, 1, &(struct sim_experiment){.slots = 2, .steps = 50, .workspace = SPEECH});
    sim_run(sim, 400);
    assert_int_equal(sim_quota(sim, SPEECH, 0)->held, 2);
    assert_int_equal(sim_quota(sim, VISION, 0)->held, 3);
    complete_all(sim, 3);
    assert_int_equal(sim_trial(sim, 3)->run_id, 1);
}

/* What a quota has in another pool is no longer its own here. */
static void test_quotas__by_fair_share_own_slots_count_over_all_pools(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &fair);
    sim_add_other_pool(sim);
    sim_set_quota(sim, VISION, 0, 2, 8);
    sim_add_other_agent(sim, "o1", 1);
    sim_add_agent(sim, "a1", 4);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .pool = "other", .workspace = VISION, .slots = 1},
               NULL);
    sim_run(sim, 100);
    create_some(sim, 4, &(struct sim_experiment){.slots = 1, .steps = 50, .workspace = VISION});
    sim_run(sim, 100);
    assert_int_equal(sim_quota(sim, VISION, 0)->borrowed, 3);
    create_some(sim, 4, &(struct sim_experiment){.slots = 1, .steps = 10, .workspace = SPEECH});
    sim_run(sim, 400);
    assert_int_equal(sim_quota(sim, VISION, 0)->held, 2);
    assert_int_equal(sim_quota(sim, VISION, 0)->borrowed, 0);
    complete_all(sim, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_quotas__what_was_lent_is_given_back),
        TEST(test_quotas__of_a_user_counts_in_all_workspaces),
        TEST(test_quotas__a_change_counts_in_the_same_step),
        TEST(test_quotas__are_the_same_after_a_crash),
        TEST(test_quotas__an_owner_does_not_starve),
        TEST(test_quotas__by_fair_share_what_was_lent_is_given_back),
        TEST(test_quotas__by_fair_share_room_is_made_for_a_gang_within_its_quota),
        TEST(test_quotas__by_fair_share_those_without_quotas_come_before_borrowers),
        TEST(test_quotas__by_fair_share_borrowers_do_not_stop_owners),
        TEST(test_quotas__by_fair_share_owners_get_room_from_larger_borrowers),
        TEST(test_quotas__by_fair_share_own_slots_count_over_all_pools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
