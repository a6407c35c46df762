/* Timelines of agents that come, go, and are told to rest. */
#include <string.h>

#include "sim_main.h"
#include "store.h"

static void test_agent__back_within_the_wait_finds_its_trial_running_on(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 300});
    sim_run(sim, 250);
    sim_agent_away(sim, "a1", 20000);
    sim_run(sim, 40000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[   250] a1 > away\n"
                    "[ 20250] a1 > back\n"
                    "[ 30020] trial 1 > COMPLETED, restarts 0\n"
                    "[ 30020] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[ 30020] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

static void test_agent__back_within_the_wait_reports_what_ended_meanwhile(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5});
    sim_run(sim, 250);
    sim_agent_away(sim, "a1", 20000);
    sim_run(sim, 30000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[   250] a1 > away\n"
                    "[ 20250] a1 > back\n"
                    "[ 20250] trial 1 > COMPLETED, restarts 0\n"
                    "[ 20250] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[ 20250] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

static void test_agent__not_back_in_time_loses_its_trial_to_another_and_drops_it(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 600});
    sim_run(sim, 250);
    sim_add_agent(sim, "a2", 1);
    sim_agent_away(sim, "a1", 40000);
    sim_run(sim, 100000);
    sim_expect(
        sim,
        "[     0] exp 1 > PAUSED -> ACTIVE\n"
        "[     0] a1 > start trial 1 run 1 slots 0\n"
        "[   250] a1 > away\n"
        "[ 25250] log > crashed: agent failed while the container was running: agent closed with allocated containers\n"
        "[ 25250] a2 > start trial 1 run 2 slots 0 from step 252\n"
        "[ 40250] a1 > back\n"
        "[ 60070] trial 1 > COMPLETED, restarts 0\n"
        "[ 60070] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
        "[ 60070] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
    assert_int_equal(sim_trial(sim, 1)->restarts, 0);
}

static void test_agent__after_a_power_cut_is_given_the_trial_again(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 5});
    sim_run(sim, 250);
    sim_agent_power_cut(sim, "a1", 5000);
    sim_run(sim, 30000);
    sim_expect(
        sim,
        "[     0] exp 1 > PAUSED -> ACTIVE\n"
        "[     0] a1 > start trial 1 run 1 slots 0\n"
        "[   250] a1 > away\n"
        "[  5250] a1 > back\n"
        "[  5250] log > crashed: container failed to restore after agent failure: container is gone on reattachment\n"
        "[  5250] a1 > start trial 1 run 2 slots 0 from step 2\n"
        "[  5570] trial 1 > COMPLETED, restarts 0\n"
        "[  5570] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
        "[  5570] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
    assert_int_equal(sim_trial(sim, 1)->restarts, 0);
}

static void test_kill__reaches_an_agent_that_was_away(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int x = sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100});
    sim_run(sim, 250);
    sim_agent_away(sim, "a1", 3000);
    sim_request(sim, CORE_EXPERIMENT_KILL, x);
    sim_run(sim, 10000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[   250] a1 > away\n"
                    "[   250] exp 1 > ACTIVE -> STOPPING_KILLED\n"
                    "[  3250] a1 > back\n"
                    "[  3250] a1 > kill trial 1 run 1\n"
                    "[  3255] trial 1 > CANCELED, restarts 0\n"
                    "[  3255] exp 1 > STOPPING_KILLED -> CANCELED\n");
}

static void expect_lost(struct sim *sim, const char *id, bool lost)
{
    struct core_agent_view v;
    assert_true(core_agent_by_id(sim->core, id, &v));
    assert_int_equal(v.lost_us != 0, lost);
    assert_int_equal(v.connected_us != 0, !lost);
}

/* A lost agent stays on the list, over restarts of the master, until it comes back or somebody takes it off. */
static void test_lost_agent__is_listed_until_somebody_takes_it_off(void **state)
{
    struct sim *sim = *state;
    struct core_event off = {.type = CORE_AGENT_REMOVE, .remove_agent = "a1"},
                      other = {.type = CORE_AGENT_REMOVE, .remove_agent = "b9"};
    struct core_event enable = {.type = CORE_AGENT_ENABLE, .enable = {.agent_id = "a1", .enable = false}};
    struct core_agent_view v;
    sim_add_agent(sim, "a1", 1);
    sim_add_agent(sim, "a2", 1);
    sim_run(sim, 10);
    assert_false(sim_step(sim, &off, NULL)); /* refused, because the agent is connected */
    assert_false(sim_step(sim, &other, NULL));
    sim_agent_away(sim, "a1", 200000);
    sim_run(sim, 1000);
    assert_false(sim_step(sim, &off, NULL)); /* refused, because the agent may come back */
    sim_run(sim, 60000);
    expect_lost(sim, "a1", true);
    expect_lost(sim, "a2", false);
    assert_true(sim_step(sim, &enable, NULL)); /* accepted, because the agent may come back later */
    sim_crash_master(sim, 1000);
    sim_run(sim, 20000);
    expect_lost(sim, "a1", true);
    expect_lost(sim, "a2", false);
    sim_run(sim, 200000);
    expect_lost(sim, "a1", false);
    sim_agent_away(sim, "a1", 10000000);
    sim_run(sim, 60000);
    expect_lost(sim, "a1", true);
    assert_true(sim_step(sim, &off, NULL));
    assert_false(core_agent_by_id(sim->core, "a1", &v));
    sim_crash_master(sim, 1000);
    sim_run(sim, 60000);
    assert_false(core_agent_by_id(sim->core, "a1", &v));
}

/* An agent that has nothing to do, and dies while the master is down, is reported as lost as well. */
static void test_lost_agent__that_died_while_the_master_was_away(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_run(sim, 10);
    sim_agent_away(sim, "a1", 10000000);
    sim_crash_master(sim, 1000);
    sim_run(sim, 200000);
    expect_lost(sim, "a1", true);
}

/* The store of an earlier version has a row of every agent that ever connected. Only agents that connect again are on
 * the list. */
static void test_agent_of_an_older_version__is_on_the_list_once_it_connects(void **state)
{
    struct sim *sim = *state;
    struct core_agent_view v;
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 200});
    sim_run(sim, 10);
    sim_add_agent(sim, "a2", 1);
    sim_run(sim, 10);
    sim_agent_away(sim, "a1", 10000000);
    sim_agent_away(sim, "a2", 100000);
    for (size_t i = 0; i < sim->store->agent_n; i++)
        sim->store->agent[i].listed = false;
    sim_crash_master(sim, 1000);
    sim_run(sim, 1500);
    assert_true(core_agent_by_id(sim->core, "a1", &v)); /* the core knows this agent because something ran on it */
    assert_false(core_agent_by_id(sim->core, "a2", &v));
    sim_run(sim, 60000);
    expect_lost(sim, "a1", true);
    assert_false(core_agent_by_id(sim->core, "a2", &v));
    sim_run(sim, 60000);
    expect_lost(sim, "a2", false);
    sim_agent_away(sim, "a2", 10000000);
    sim_crash_master(sim, 1000);
    sim_run(sim, 62000);
    expect_lost(sim, "a2", true);
}

static void test_disabled_agent__stops_at_once_or_when_drained(void **state)
{
    struct sim *sim = *state;
    struct core_event ev = {.type = CORE_AGENT_ENABLE, .enable = {.agent_id = "a1", .enable = false, .drain = true}};
    sim_add_agent(sim, "a1", 2);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 20});
    sim_run(sim, 250);
    assert_true(sim_step(sim, &ev, NULL));
    /* this experiment finds no place while the agent drains */
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1});
    sim_run(sim, 500);
    ev.enable.drain = false;
    assert_true(sim_step(sim, &ev, NULL));
    sim_run(sim, 1000);
    ev.enable.enable = true;
    assert_true(sim_step(sim, &ev, NULL));
    sim_run(sim, 5000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[   250] exp 2 > PAUSED -> ACTIVE\n"
                    "[   750] a1 > kill trial 1 run 1\n"
                    "[  1750] a1 > start trial 1 run 2 slots 0 from step 7\n"
                    "[  1750] a1 > start trial 2 run 1 slots 1\n"
                    "[  1870] trial 2 > COMPLETED, restarts 0\n"
                    "[  1870] exp 2 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[  1870] exp 2 > STOPPING_COMPLETED -> COMPLETED\n"
                    "[  3070] trial 1 > COMPLETED, restarts 0\n"
                    "[  3070] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[  3070] exp 1 > STOPPING_COMPLETED -> COMPLETED\n");
}

static void test_disabled_slot__is_not_used(void **state)
{
    struct sim *sim = *state;
    struct core_event ev = {.type = CORE_SLOT_ENABLE, .enable = {.agent_id = "a1", .slot = 0, .enable = false}};
    sim_add_agent(sim, "a1", 2);
    assert_true(sim_step(sim, &ev, NULL));
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1});
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 1});
    sim_run(sim, 500);
    ev.enable.enable = true;
    assert_true(sim_step(sim, &ev, NULL));
    sim_run(sim, 500);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 1\n"
                    "[     0] exp 2 > PAUSED -> ACTIVE\n"
                    "[   120] trial 1 > COMPLETED, restarts 0\n"
                    "[   120] exp 1 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[   120] exp 1 > STOPPING_COMPLETED -> COMPLETED\n"
                    "[   500] a1 > start trial 2 run 1 slots 0,1\n"
                    "[   620] trial 2 > COMPLETED, restarts 0\n"
                    "[   620] exp 2 > ACTIVE -> STOPPING_COMPLETED\n"
                    "[   620] exp 2 > STOPPING_COMPLETED -> COMPLETED\n");
}

static void test_second_connection__of_the_same_agent_is_refused(void **state)
{
    struct sim *sim = *state;
    struct core_event ev = {.type = CORE_AGENT_CONNECTED, .agent = {.agent_id = "a1"}};
    cleanup_error struct error err = ERROR_INIT;
    sim_add_agent(sim, "a1", 1);
    assert_false(sim_step(sim, &ev, &err));
    assert_int_equal(err.kind, ERR_CONFLICT);
    assert_string_equal(error_msg(&err), "agent \"a1\": websocket already connected");
}

/* ---- quarantine -------------------------------------------------------------------------------------------------- */

/* An experiment whose only trial cannot be started in so many runs, and then takes a step. */
static void create_faulty(struct sim *sim, int runs)
{
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .cannot_start = true, .fail_runs = runs});
}

static const char *reason_of(struct sim *sim, const char *id)
{
    struct core_agent_view v;
    assert_true(core_agent_by_id(sim->core, id, &v));
    assert_int_equal(v.enabled, *v.disabled_reason == '\0');
    return v.disabled_reason;
}

static void test_quarantine__three_failures_keep_new_tasks_off_until_somebody_enables_the_agent(void **state)
{
    struct sim *sim = *state;
    struct core_event enable = {.type = CORE_AGENT_ENABLE, .enable = {.agent_id = "a1", .enable = true}};
    sim_set_quarantine(sim);
    sim_add_agent(sim, "a1", 1);
    create_faulty(sim, 1);
    sim_run(sim, 60000);
    create_faulty(sim, 1);
    sim_run(sim, 60000);
    assert_string_equal(reason_of(sim, "a1"), "");
    sim_crash_master(sim, 1000); /* the store keeps the failures, too */
    sim_run(sim, 60000);
    create_faulty(sim, 1);
    sim_run(sim, 60000);
    assert_string_equal(reason_of(sim, "a1"),
                        "quarantine: tasks failed here 3 times within an hour, the last: agent failed to launch "
                        "the container");
    assert_non_null(strstr(sim->logs.s, "agent a1 goes into quarantine and gets no new tasks until an administrator"));
    sim_crash_master(sim, 1000);
    sim_run(sim, 7200000);
    assert_int_not_equal(*reason_of(sim, "a1"), 0);
    assert_int_equal(sim_experiment_state(sim, 3), RUN_ACTIVE);
    assert_true(sim_step(sim, &enable, NULL));
    sim_run(sim, 60000);
    assert_string_equal(reason_of(sim, "a1"), "");
    assert_int_equal(sim_experiment_state(sim, 3), RUN_COMPLETED);
    create_faulty(sim, 2); /* earlier failures do not count any more */
    sim_run(sim, 60000);
    assert_string_equal(reason_of(sim, "a1"), "");
}

static void test_quarantine__failures_count_for_an_hour(void **state)
{
    struct sim *sim = *state;
    sim_set_quarantine(sim);
    sim_add_agent(sim, "a1", 1);
    for (int i = 0; i < 10; i++) {
        create_faulty(sim, 1);
        sim_run(sim, 1800000 + 1000);
    }
    assert_string_equal(reason_of(sim, "a1"), "");
}

/* A task that fails wherever it goes takes one agent out, not all of them. */
static void test_quarantine__one_task_takes_out_one_agent_at_most(void **state)
{
    struct sim *sim = *state;
    sim_set_quarantine(sim);
    for (int i = 1; i <= 4; i++)
        sim_add_agent(sim, (const char *[]){"a1", "a2", "a3", "a4"}[i - 1], 1);
    create_faulty(sim, 1000);
    sim_run(sim, 3000000);
    int out = 0;
    for (int i = 1; i <= 4; i++)
        out += *reason_of(sim, (const char *[]){"a1", "a2", "a3", "a4"}[i - 1]) != '\0';
    assert_int_equal(out, 1);
}

/* An agent that is lost with three tasks has failed once. */
static void test_quarantine__all_that_fails_at_one_time_is_one_failure(void **state)
{
    struct sim *sim = *state;
    sim_set_quarantine(sim);
    sim_add_agent(sim, "a1", 3);
    for (int i = 0; i < 3; i++)
        sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100000});
    sim_run(sim, 1000);
    sim_agent_power_cut(sim, "a1", 60000);
    sim_run(sim, 120000);
    assert_string_equal(reason_of(sim, "a1"), "");
    for (int i = 0; i < 2; i++) {
        sim_agent_power_cut(sim, "a1", 60000);
        sim_run(sim, 120000);
    }
    assert_int_equal(strncmp(reason_of(sim, "a1"), "quarantine: tasks failed here 3", 31), 0);
}

/* A container engine that is restarted loses its tasks one after the other. That is one failure, so three restarts
 * within an hour make three. */
static void test_quarantine__tasks_that_are_lost_within_a_short_time_are_one_failure(void **state)
{
    struct sim *sim = *state;
    sim_set_quarantine(sim);
    sim_add_agent(sim, "a1", 4);
    for (int i = 0; i < 4; i++)
        sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100000});
    sim_run(sim, 1000);
    for (int restart = 0; restart < 3; restart++) {
        assert_string_equal(reason_of(sim, "a1"), "");
        sim_agent_loses_tasks(sim, "a1", 50);
        sim_run(sim, 60000);
    }
    assert_int_equal(strncmp(reason_of(sim, "a1"), "quarantine: tasks failed here 3", 31), 0);
}

/* When the network of the master fails, all agents are lost, and none of their hosts has failed. */
static void test_quarantine__losses_that_most_agents_of_a_pool_share_do_not_count(void **state)
{
    struct sim *sim = *state;
    sim_set_quarantine(sim);
    for (int i = 0; i < 3; i++)
        sim_add_agent(sim, (const char *[]){"a1", "a2", "a3"}[i], 1);
    for (int i = 0; i < 3; i++)
        sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100000});
    sim_run(sim, 1000);
    for (int flap = 0; flap < 4; flap++) {
        for (int i = 0; i < 3; i++) { /* the agents' absences are noticed one after the other */
            sim_agent_away(sim, (const char *[]){"a1", "a2", "a3"}[i], 60000);
            sim_run(sim, 7000);
        }
        sim_run(sim, 120000);
    }
    for (int i = 0; i < 3; i++)
        assert_string_equal(reason_of(sim, (const char *[]){"a1", "a2", "a3"}[i]), "");
}

static void test_quarantine__the_loss_of_half_of_a_pool_counts(void **state)
{
    struct sim *sim = *state;
    sim_set_quarantine(sim);
    sim_add_agent(sim, "a1", 1);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100000});
    sim_run(sim, 1000);
    sim_add_agent(sim, "a2", 0); /* nothing runs there */
    sim_add_agent(sim, "a3", 0);
    sim_add_agent(sim, "a4", 0);
    for (int flap = 0; flap < 3; flap++) {
        sim_agent_away(sim, "a1", 60000);
        sim_agent_away(sim, "a2", 60000);
        sim_run(sim, 120000);
    }
    assert_int_equal(strncmp(reason_of(sim, "a1"), "quarantine: ", 12), 0);
    assert_string_equal(reason_of(sim, "a2"), "");
}

/* ---- the probe of a gang ----------------------------------------------------------------------------------------- */

static const char *open_allocation(struct sim *sim)
{
    for (size_t i = 0; i < sim->store->allocation_n; i++)
        if (sim->store->allocation[i].state != ALLOCATION_TERMINATED)
            return sim->store->allocation[i].id;
    fail_msg("no allocation is open");
    return NULL;
}

/* Whether a container of the allocation runs, or has run, on the agent. */
static bool is_on(struct sim *sim, const char *allocation_id, const char *agent)
{
    for (size_t i = 0; i < sim->store->container_n; i++)
        if (strcmp(sim->store->container[i].allocation_id, allocation_id) == 0 &&
            strcmp(sim->store->container[i].agent_id, agent) == 0)
            return true;
    return false;
}

/* bad: "" if the probe has failed, and it is not clear on which agent; NULL if it has not failed. */
static bool probed(struct sim *sim, const char *bad, struct error *err)
{
    struct core_event ev = {.type = CORE_GANG_PROBED,
                            .probe = {.allocation_id = open_allocation(sim),
                                      .failed = bad != NULL,
                                      .bad = &bad,
                                      .bad_n = bad && *bad ? 1 : 0,
                                      .report = "the machine cannot be reached"}};
    return sim_step(sim, &ev, err);
}

/* Starts a trial on two of three agents. Returns one of the two. */
static const char *start_gang(struct sim *sim)
{
    sim_set_gang_probe(sim);
    sim_set_quarantine(sim);
    for (int i = 0; i < 3; i++)
        sim_add_agent(sim, (const char *[]){"a1", "a2", "a3"}[i], 1);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 1000, .max_restarts = 0});
    sim_run(sim, 20);
    return is_on(sim, open_allocation(sim), "a1") ? "a1" : "a2";
}

static void test_gang_probe__that_fails_places_the_trial_anew_and_takes_a_bad_host_out(void **state)
{
    struct sim *sim = *state;
    const char *bad = start_gang(sim);
    for (int i = 0, tries = 0; i < 3; tries++) {
        bool there = is_on(sim, open_allocation(sim), bad);
        assert_true(tries < 6);
        assert_true(probed(sim, there ? bad : "", NULL));
        i += there;
        sim_run(sim, 1000 * (1 << tries) + 500); /* the pause before the next launch, and a little more */
    }
    assert_non_null(
        strstr(sim->logs.s, "crashed: agent failed to launch the container: the machine cannot be reached"));
    assert_string_equal(reason_of(sim, bad),
                        "quarantine: tasks failed here 3 times within an hour, the last: agent failed "
                        "to launch the container: the machine cannot be reached");
    assert_false(is_on(sim, open_allocation(sim), bad));
    assert_true(probed(sim, NULL, NULL));
    sim_run(sim, 200000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_COMPLETED);
    assert_int_equal(sim_trial(sim, 1)->restarts, 0);
}

static void test_gang_probe__nobody_is_put_into_quarantine_if_it_is_not_clear_who_is_bad(void **state)
{
    struct sim *sim = *state;
    start_gang(sim);
    for (int i = 0; i < 4; i++) {
        assert_true(probed(sim, "", NULL));
        sim_run(sim, 10000);
    }
    for (int i = 0; i < 3; i++)
        assert_string_equal(reason_of(sim, (const char *[]){"a1", "a2", "a3"}[i]), "");
    assert_true(probed(sim, NULL, NULL));
    sim_run(sim, 200000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_COMPLETED);
}

static void test_gang_probe__that_never_succeeds_ends_the_trial_with_its_reason(void **state)
{
    struct sim *sim = *state;
    start_gang(sim);
    for (int i = 0; i < 20; i++) {
        assert_true(probed(sim, "", NULL));
        sim_run(sim, (i < 6 ? 1000 << i : 60000) + 100); /* the pause before the next launch, and a little more */
    }
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ERROR);
    assert_string_equal(sim->store->experiment[0].failure,
                        "trial 1 could not be started 20 times in a row, the last time: the machine cannot be reached");
}

static void test_gang_probe__is_believed_once_about_its_own_agents_and_where_it_is_switched_on(void **state)
{
    struct sim *sim = *state;
    cleanup_error struct error err = ERROR_INIT;
    const char *own = start_gang(sim);
    for (int i = 0; i < 3; i++) {
        const char *agent = (const char *[]){"a1", "a2", "a3"}[i];
        if (is_on(sim, open_allocation(sim), agent))
            continue;
        assert_false(probed(sim, agent, &err));
        assert_int_equal(err.kind, ERR_INVALID);
    }
    assert_true(probed(sim, NULL, NULL));
    assert_true(probed(sim, NULL, NULL)); /* a client whose answer was lost */
    assert_false(probed(sim, own, &err));
    assert_int_equal(err.kind, ERR_CONFLICT);
    sim_crash_master(sim, 1000);
    sim_run(sim, 2000);
    assert_false(probed(sim, own, &err));
    assert_int_equal(err.kind, ERR_CONFLICT);
    sim->pool.gang_probe = false;
    sim_crash_master(sim, 1000);
    sim_run(sim, 2000);
    assert_false(probed(sim, own, &err));
    assert_int_equal(err.kind, ERR_PRECONDITION);
    assert_string_equal(reason_of(sim, own), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_agent__back_within_the_wait_finds_its_trial_running_on),
        TEST(test_agent__back_within_the_wait_reports_what_ended_meanwhile),
        TEST(test_agent__not_back_in_time_loses_its_trial_to_another_and_drops_it),
        TEST(test_agent__after_a_power_cut_is_given_the_trial_again),
        TEST(test_kill__reaches_an_agent_that_was_away),
        TEST(test_lost_agent__is_listed_until_somebody_takes_it_off),
        TEST(test_lost_agent__that_died_while_the_master_was_away),
        TEST(test_agent_of_an_older_version__is_on_the_list_once_it_connects),
        TEST(test_disabled_agent__stops_at_once_or_when_drained),
        TEST(test_disabled_slot__is_not_used),
        TEST(test_quarantine__three_failures_keep_new_tasks_off_until_somebody_enables_the_agent),
        TEST(test_quarantine__failures_count_for_an_hour),
        TEST(test_quarantine__one_task_takes_out_one_agent_at_most),
        TEST(test_quarantine__all_that_fails_at_one_time_is_one_failure),
        TEST(test_quarantine__tasks_that_are_lost_within_a_short_time_are_one_failure),
        TEST(test_quarantine__losses_that_most_agents_of_a_pool_share_do_not_count),
        TEST(test_quarantine__the_loss_of_half_of_a_pool_counts),
        TEST(test_gang_probe__that_fails_places_the_trial_anew_and_takes_a_bad_host_out),
        TEST(test_gang_probe__nobody_is_put_into_quarantine_if_it_is_not_clear_who_is_bad),
        TEST(test_gang_probe__that_never_succeeds_ends_the_trial_with_its_reason),
        TEST(test_gang_probe__is_believed_once_about_its_own_agents_and_where_it_is_switched_on),
        TEST(test_second_connection__of_the_same_agent_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
