/* Requests for cores and memory (docs/spec/scheduling.md#cores-and-memory), as they happen. After each step of these
 * stories it is also checked that no agent has given out more than it has (sim.c). */
#include <stdio.h>
#include <string.h>

#include "machines.h"
#include "sim_main.h"
#include "store.h"

#define GIB (INT64_C(1) << 30)
#define S INT64_C(1000000)

static const struct sched_opts preemptive = {.policy = SCHED_BY_PRIORITY, .preemption = true};
static const struct sched_opts fair = {.policy = SCHED_BY_FAIR_SHARE};
static const struct scale_opts two_at_most = {.max_instances = 2,
                                              .slots_per_instance = 2,
                                              .max_idle_us = 60 * S,
                                              .max_starting_us = 120 * S,
                                              .max_disconnected_us = 30 * S};

/* The trial waits now for this reason, and its experiment is completed when so many milliseconds have passed. */
static void assert_trial_waits_at_most(struct sim *sim, int ms, int experiment, const char *reason)
{
    sim_expect_trial_wait(sim, experiment, reason);
    sim_run(sim, ms);
    assert_int_equal(sim_experiment_state(sim, experiment), RUN_COMPLETED);
}

/* ---- where there is room ----------------------------------------------------------------------------------------- */

static void test_needs__a_trial_waits_for_memory_although_slots_are_free(void **state)
{
    struct sim *sim = *state;
    sim_add_machine(sim, "a1", 4, 8, 32 * GIB);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 3, .needs = needs_of(0, 20 * GIB)});
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .needs = needs_of(0, 20 * GIB)});
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .needs = needs_of(0, 12 * GIB)});
    sim_run(sim, 100);
    sim_expect_trial_wait(sim, 2,
                          "needs 20 GiB of memory: no agent of pool default with the slots free has as much left; "
                          "the most is 0 bytes");
    sim_run(sim, 2000);
    sim_expect(sim,
               "[     0] exp 1 > PAUSED -> ACTIVE\n"
               "[     0] a1 > start trial 1 run 1 slots 0\n"
               "[     0] exp 2 > PAUSED -> ACTIVE\n"
               "[     0] exp 3 > PAUSED -> ACTIVE\n"
               "[     0] a1 > start trial 3 run 1 slots 1\n" COMPLETES("   120", "3")
                   COMPLETES("   320", "1") "[   320] a1 > start trial 2 run 1 slots 0\n" COMPLETES("   440", "2"));
}

/* Tasks without slots and tasks with slots share the cores and the memory of a machine. */
static void test_needs__tasks_without_slots_count_too(void **state)
{
    struct sim *sim = *state;
    sim_add_machine(sim, "a1", 2, 4, 32 * GIB);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_NOTEBOOK, .ms = 300, .needs = needs_of(2.5, 0)}, NULL);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .slots = 1, .ms = 100, .needs = needs_of(2, 0)},
               NULL);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .ms = 100, .needs = needs_of(1.5, 0)}, NULL);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .ms = 100}, NULL);
    sim_run(sim, 50);
    sim_expect_wait(sim, (struct core_job_owner){.task_id = sim->task_id[2]},
                    "needs 2 cores: no agent of pool default with the slots free has as much left; the most is 0 "
                    "cores");
    sim_run(sim, 1000);
    sim_expect(sim, "[     0] a1 > start notebook 1\n"
                    "[     0] a1 > start command 3\n"
                    "[     0] a1 > start command 4\n"
                    "[   110] command 3 > over: allocation exited successfully\n"
                    "[   110] command 4 > over: allocation exited successfully\n"
                    "[   310] notebook 1 > over: allocation exited successfully\n"
                    "[   310] a1 > start command 2 slots 0\n"
                    "[   420] command 2 > over: allocation exited successfully\n");
}

static void test_needs__a_gang_gets_its_memory_on_each_of_its_agents(void **state)
{
    struct sim *sim = *state;
    sim_add_machine(sim, "a1", 2, 8, 32 * GIB);
    sim_add_machine(sim, "a2", 2, 8, 32 * GIB);
    sim_add_machine(sim, "a3", 2, 8, 16 * GIB);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_NOTEBOOK, .ms = 200, .needs = needs_of(0, 20 * GIB)}, NULL);
    sim_create(sim, &(struct sim_experiment){.slots = 4, .steps = 1, .needs = needs_of(0, 20 * GIB)});
    sim_run(sim, 50);
    assert_trial_waits_at_most(sim, 1000, 1,
                               "needs 20 GiB of memory on each of its agents: no agent of pool default with the slots "
                               "free has as much left");
}

/* ---- what can never be ------------------------------------------------------------------------------------------- */

static void test_needs__more_than_any_machine_has_is_named_with_the_largest(void **state)
{
    struct sim *sim = *state;
    cleanup_arena struct arena a = ARENA_INIT;
    struct sched_needs memory = needs_of(0, 64 * GIB), cores = needs_of(16, GIB), both = needs_of(8, 32 * GIB);
    sim_add_machine(sim, "a1", 2, 4, 32 * GIB);
    sim_add_machine(sim, "a2", 2, 8, 16 * GIB);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .needs = memory});
    sim_create(sim, &(struct sim_experiment){.slots = 0, .steps = 1, .needs = cores});
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .needs = both});
    sim_run(sim, 1000);
    static const char of_memory[] = "needs 64 GiB of memory: the largest agent of pool default has 32 GiB for tasks",
                      of_cores[] = "needs 16 cores and 1 GiB of memory: the largest agent of pool default has 8 cores "
                                   "for tasks",
                      of_both[] =
                          "needs 8 cores and 32 GiB of memory: not enough agents of pool default have that beside "
                          "the slots";
    sim_expect_trial_wait(sim, 1, of_memory);
    sim_expect_trial_wait(sim, 2, of_cores);
    sim_expect_trial_wait(sim, 3, of_both);
    assert_string_equal(core_misfit(sim->core, "default", 1, true, &memory, &a), of_memory);
    assert_string_equal(core_misfit(sim->core, "default", 0, true, &cores, &a), of_cores);
    assert_string_equal(core_misfit(sim->core, "default", 1, true, &both, &a), of_both);
    assert_null(core_misfit(sim->core, "default", 2, true, &(struct sched_needs){4000, 32 * GIB}, &a));
}

static void test_needs__a_job_that_holds_up_others_because_of_its_memory_is_named_with_it(void **state)
{
    struct sim *sim = *state;
    char wanted[200];
    sim_add_machine(sim, "a1", 2, 4, 32 * GIB);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .priority = 10, .needs = needs_of(0, 64 * GIB)});
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .priority = 20});
    sim_run(sim, 1000);
    snprintf(
        wanted, sizeof(wanted),
        "waits for 1 trial ahead of higher priority, of which job %.8s needs 1 slot, with cores and memory, that no "
        "set of agents has",
        sim->store->experiment[0].job_id);
    sim_expect_trial_wait(sim, 2, wanted);
}

/* An agent of an older version does not tell what its machine has. It takes what asks for nothing. */
static void test_needs__an_agent_that_does_not_tell_gets_no_such_task(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 2);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .needs = needs_of(1, 0)});
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1});
    sim_run(sim, 1000);
    sim_expect_trial_wait(sim, 1,
                          "needs 1 core: no agent of pool default says what its machine has; agents of an older "
                          "version do not");
    assert_int_equal(sim_experiment_state(sim, 2), RUN_COMPLETED);
}

static void test_needs__that_are_negative_are_refused(void **state)
{
    struct sim *sim = *state;
    cleanup_error struct error err = ERROR_INIT;
    sim_add_machine(sim, "a1", 2, 4, GIB);
    assert_int_equal(sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .needs = {-1, 0}}, &err), 0);
    assert_string_equal(error_msg(&err), "resources.cpus and resources.memory must not be negative");
}

/* ---- who makes way ----------------------------------------------------------------------------------------------- */

static void test_needs__a_more_important_trial_has_others_stopped_for_memory(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &preemptive);
    sim_add_machine(sim, "a1", 4, 8, 32 * GIB);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 4, .priority = 60, .needs = needs_of(0, 20 * GIB)});
    sim_run(sim, 150);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 2, .priority = 20, .needs = needs_of(0, 30 * GIB)});
    sim_run(sim, 2000);
    sim_expect(sim,
               "[     0] exp 1 > PAUSED -> ACTIVE\n"
               "[     0] a1 > start trial 1 run 1 slots 0\n"
               "[   150] exp 2 > PAUSED -> ACTIVE\n"
               "[   210] trial 1 > run 1 preempts after step 2\n"
               "[   220] a1 > start trial 2 run 1 slots 0\n" COMPLETES(
                   "   440", "2") "[   440] a1 > start trial 1 run 2 slots 0 from step 2\n" COMPLETES("   660", "1"));
}

/* Two trials make way for one of their own priority that needs the memory of both. The first one to go must not get its
 * memory back. */
static void test_needs__memory_that_is_vacated_is_kept_for_whom_it_was_vacated(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &preemptive);
    sim_add_machine(sim, "a1", 4, 8, 32 * GIB);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 3, .paused = true, .needs = needs_of(0, 32 * GIB)});
    sim_run(sim, 10);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 50, .needs = needs_of(0, 16 * GIB)});
    sim_run(sim, 50);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 50, .needs = needs_of(0, 16 * GIB)});
    sim_run(sim, 300);
    sim_request(sim, CORE_EXPERIMENT_ACTIVATE, 1);
    sim_run(sim, 1000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_COMPLETED);
    assert_int_equal(sim_trial(sim, 2)->run_id, 2);
    assert_int_equal(sim_trial(sim, 3)->run_id, 2);
}

/* A task without slots does not take the memory for which a trial has just been stopped, nor does it have the trial
 * stopped again and again. */
static void test_needs__memory_that_is_vacated_for_a_trial_goes_to_no_notebook(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &preemptive);
    sim_add_machine(sim, "a1", 4, 8, 64 * GIB);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 4, .priority = 60, .needs = needs_of(0, 32 * GIB)});
    sim_run(sim, 150);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 2, .priority = 20, .needs = needs_of(0, 64 * GIB)});
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_NOTEBOOK, .ms = 5000, .needs = needs_of(0, 16 * GIB)}, NULL);
    sim_run(sim, 10);
    sim_expect_wait(sim, (struct core_job_owner){.task_id = sim->task_id[1]},
                    "needs 16 GiB of memory: what is free in pool default is kept for a larger one ahead of it, "
                    "which waits for others to leave");
    sim_run(sim, 2000);
    sim_expect(sim, "[     0] exp 1 > PAUSED -> ACTIVE\n"
                    "[     0] a1 > start trial 1 run 1 slots 0\n"
                    "[   150] exp 2 > PAUSED -> ACTIVE\n"
                    "[   210] trial 1 > run 1 preempts after step 2\n"
                    "[   220] a1 > start trial 2 run 1 slots 0\n" COMPLETES(
                        "   440", "2") "[   440] a1 > start trial 1 run 2 slots 0 from step 2\n"
                                       "[   440] a1 > start notebook 1\n" COMPLETES("   660", "1"));
}

static void test_needs__by_fair_share_what_fits_is_shared(void **state)
{
    struct sim *sim = *state;
    sim_set_sched(sim, &fair);
    sim_add_machine(sim, "a1", 4, 8, 32 * GIB);
    sim_add_machine(sim, "a2", 4, 8, 8 * GIB);
    for (int i = 0; i < 4; i++)
        sim_create(sim, &(struct sim_experiment){.slots = 1 + i % 2, .steps = 3, .needs = needs_of(2, 16 * GIB)});
    sim_create(sim, &(struct sim_experiment){.slots = 4, .steps = 3});
    sim_run(sim, 20000);
    for (int x = 1; x <= 5; x++)
        assert_int_equal(sim_experiment_state(sim, x), RUN_COMPLETED);
}

/* ---- restarts ---------------------------------------------------------------------------------------------------- */

/* What waits and what runs keep their requests while the master is away, and so does a paused task. */
static void test_needs__a_master_that_comes_back_counts_as_before(void **state)
{
    struct sim *sim = *state;
    struct core_agent_view view;
    sim_add_machine(sim, "a1", 4, 8, 32 * GIB);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 60, .needs = needs_of(3, 20 * GIB)});
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_NOTEBOOK, .needs = needs_of(2.5, 4 * GIB)}, NULL);
    int paused = sim_launch(sim,
                            &(struct sim_task){.kind = TASK_KIND_GENERIC, .saves = true, .needs = needs_of(1, 8 * GIB)},
                            NULL);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .needs = needs_of(0, 16 * GIB)});
    sim_run(sim, 200);
    assert_int_equal(sim_change_task(sim, GENERIC_PAUSE, paused, NULL), 0);
    sim_run(sim, 1000);
    sim_crash_master(sim, 1000);
    sim_run(sim, 2500);
    assert_true(core_agent_by_id(sim->core, "a1", &view));
    assert_int_equal(view.has.millicores, 8000);
    assert_int_equal(view.held.millicores, 5500);
    assert_int_equal(view.held.memory_bytes, 24 * GIB);
    assert_int_equal(sim_experiment_state(sim, 2), RUN_ACTIVE);
    sim_expect_trial_wait(sim, 2,
                          "needs 16 GiB of memory: no agent of pool default with the slots free has as much left; "
                          "the most is 8 GiB");
    assert_int_equal(sim_change_task(sim, GENERIC_UNPAUSE, paused, NULL), 0);
    sim_run(sim, 100);
    assert_true(core_agent_by_id(sim->core, "a1", &view));
    assert_int_equal(view.held.millicores, 6500);
    assert_int_equal(view.held.memory_bytes, 32 * GIB);
    sim_run(sim, 10000);
    assert_int_equal(sim_experiment_state(sim, 2), RUN_COMPLETED);
}

/* What agents have that are expected back is not known yet, so it is not said that a request fits nowhere. */
static void test_needs__nothing_is_a_misfit_while_agents_are_expected_back(void **state)
{
    struct sim *sim = *state;
    cleanup_arena struct arena a = ARENA_INIT;
    const struct sched_needs little = needs_of(1, GIB), much = needs_of(0, 64 * GIB);
    sim_add_machine(sim, "a1", 2, 4, 32 * GIB);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 100});
    sim_run(sim, 100);
    sim_crash_master(sim, 1000);
    sim_run(sim, 1200);
    assert_null(core_misfit(sim->core, "default", 0, true, &little, &a));
    assert_null(core_misfit(sim->core, "default", 1, true, &much, &a));
    sim_run(sim, 1000);
    assert_null(core_misfit(sim->core, "default", 0, true, &little, &a));
    assert_non_null(core_misfit(sim->core, "default", 1, true, &much, &a));
}

/* An agent that comes back with less than its tasks hold keeps them, and gets nothing more that asks for some. */
static void test_needs__an_agent_that_comes_back_with_less_gets_nothing_more(void **state)
{
    struct sim *sim = *state;
    sim_add_machine(sim, "a1", 4, 8, 32 * GIB);
    sim_add_machine(sim, "a2", 1, 1, GIB);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 20, .needs = needs_of(6, 0)});
    sim_run(sim, 100);
    sim->agent[0].has = needs_of(7, 32 * GIB);
    sim_agent_away(sim, "a1", 100);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .needs = needs_of(2, 0)});
    sim_run(sim, 1000);
    assert_int_equal(sim_experiment_state(sim, 2), RUN_ACTIVE);
    assert_trial_waits_at_most(sim, 3000, 2,
                               "needs 2 cores: no agent of pool default with the slots free has as much left; the most "
                               "is 1 core");
}

/* ---- elastic pools ----------------------------------------------------------------------------------------------- */

/* What a machine has is known when the first one has come. Then none is launched any more for what it cannot hold. */
static void test_needs__no_machine_is_launched_again_for_what_it_cannot_hold(void **state)
{
    struct sim *sim = *state;
    sim->provider.has = needs_of(4, 16 * GIB);
    sim_make_elastic(sim, &two_at_most);
    sim_run(sim, 1000);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .needs = needs_of(0, 32 * GIB)});
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_NOTEBOOK, .needs = needs_of(8, 0)}, NULL);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .needs = needs_of(4, 16 * GIB)});
    sim_run(sim, 600000);
    assert_int_equal(sim_experiment_state(sim, 2), RUN_COMPLETED);
    assert_in_range(sim->provider.launched, 1, 2);
    assert_int_equal(machines_n(sim), 0);
    sim_expect_trial_wait(sim, 1, "needs 32 GiB of memory: the largest agent of pool default has 16 GiB for tasks");
    int before = sim->provider.launched;
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .needs = needs_of(2, 0)});
    sim_run(sim, 10000);
    assert_int_equal(sim->provider.launched, before + 1);
    sim_expect_trial_wait(sim, 1, "needs 32 GiB of memory: the largest agent of pool default has 16 GiB for tasks");
}

static void test_needs__an_agent_of_ones_own_says_nothing_of_the_machines_that_are_launched(void **state)
{
    struct sim *sim = *state;
    sim->provider.has = needs_of(4, 16 * GIB);
    sim_make_elastic(sim, &two_at_most);
    sim_add_machine(sim, "own", 2, 64, 1024 * GIB);
    sim_run(sim, 1000);
    sim_create(sim,
               &(struct sim_experiment){.slots = 1, .steps = 10000, .priority = 1, .needs = needs_of(0, 1024 * GIB)});
    sim_run(sim, 100);
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 1, .needs = needs_of(4, 16 * GIB)});
    sim_create(sim, &(struct sim_experiment){.slots = 2, .steps = 1, .needs = needs_of(0, 32 * GIB)});
    sim_run(sim, 600000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ACTIVE);
    assert_int_equal(sim_experiment_state(sim, 2), RUN_COMPLETED);
    assert_in_range(sim->provider.launched, 1, 2);
    assert_int_equal(machines_n(sim), 0);
}

/* A machine of an older version does not tell what it has. Machines that are launched after an upgrade do. */
static void test_needs__machines_are_launched_although_an_older_one_does_not_tell(void **state)
{
    struct sim *sim = *state;
    sim_make_elastic(sim, &two_at_most);
    sim_run(sim, 1000);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 2000});
    sim_run(sim, 10000);
    assert_int_equal(machines_n(sim), 1);
    sim_crash_master(sim, 1000);
    sim->provider.has = needs_of(4, 16 * GIB);
    sim_run(sim, 10000);
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1, .needs = needs_of(4, 16 * GIB)});
    sim_run(sim, 100000);
    assert_int_equal(sim_experiment_state(sim, 1), RUN_ACTIVE);
    assert_int_equal(sim_experiment_state(sim, 2), RUN_COMPLETED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_needs__a_trial_waits_for_memory_although_slots_are_free),
        TEST(test_needs__tasks_without_slots_count_too),
        TEST(test_needs__a_gang_gets_its_memory_on_each_of_its_agents),
        TEST(test_needs__more_than_any_machine_has_is_named_with_the_largest),
        TEST(test_needs__a_job_that_holds_up_others_because_of_its_memory_is_named_with_it),
        TEST(test_needs__an_agent_that_does_not_tell_gets_no_such_task),
        TEST(test_needs__that_are_negative_are_refused),
        TEST(test_needs__a_more_important_trial_has_others_stopped_for_memory),
        TEST(test_needs__memory_that_is_vacated_is_kept_for_whom_it_was_vacated),
        TEST(test_needs__memory_that_is_vacated_for_a_trial_goes_to_no_notebook),
        TEST(test_needs__by_fair_share_what_fits_is_shared),
        TEST(test_needs__a_master_that_comes_back_counts_as_before),
        TEST(test_needs__nothing_is_a_misfit_while_agents_are_expected_back),
        TEST(test_needs__an_agent_that_comes_back_with_less_gets_nothing_more),
        TEST(test_needs__no_machine_is_launched_again_for_what_it_cannot_hold),
        TEST(test_needs__an_agent_of_ones_own_says_nothing_of_the_machines_that_are_launched),
        TEST(test_needs__machines_are_launched_although_an_older_one_does_not_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
