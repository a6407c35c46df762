/* Generic tasks: pausing, unpausing, killing, trees of tasks, restarts. */
#include "sim_main.h"

static const struct sim_task SAVES = {.kind = TASK_KIND_GENERIC, .slots = 1, .ms = 300, .saves = true};

static int launch(struct sim *sim, const struct sim_task *t)
{
    int number = sim_launch(sim, t, NULL);
    assert_int_not_equal(number, 0);
    return number;
}

static void change(struct sim *sim, enum core_generic_what what, int number)
{
    assert_int_equal(sim_change_task(sim, what, number, NULL), 0);
}

static void refused(struct sim *sim, enum core_generic_what what, int number, const char *says)
{
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(sim_change_task(sim, what, number, &err), -1);
    assert_int_equal(err.kind, ERR_PRECONDITION);
    if (!strstr(error_msg(&err), says))
        fail_msg("%s", error_msg(&err));
}

static size_t queue_length(struct sim *sim)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct core_job_view *job;
    return core_queue(sim->core, "default", &a, &job);
}

/* ---- pausing ----------------------------------------------------------------------------------------------------- */

static void test_generic__that_is_paused_saves_its_state_and_goes_on_in_another_run(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int task = launch(sim, &SAVES);
    sim_run(sim, 150);
    change(sim, GENERIC_PAUSE, task);
    change(sim, GENERIC_PAUSE, task); /* again: nothing happens */
    sim_run(sim, 850);
    assert_int_equal(sim_open_allocations(sim), 0);
    assert_int_equal(queue_length(sim), 0);
    change(sim, GENERIC_UNPAUSE, task);
    change(sim, GENERIC_UNPAUSE, task);
    sim_run(sim, 1000);
    sim_expect(sim, "[     0] a1 > start task 1 slots 0\n"
                    "[   150] task 1 > ACTIVE -> STOPPING_PAUSED\n"
                    "[   210] task 1 > run 1 saves its state\n"
                    "[   220] task 1 > STOPPING_PAUSED -> PAUSED\n"
                    "[   220] task 1 > over: allocation exited successfully\n"
                    "[  1000] task 1 > PAUSED -> ACTIVE\n"
                    "[  1000] a1 > start task 1 slots 0\n"
                    "[  1410] task 1 > ACTIVE -> COMPLETED\n"
                    "[  1410] task 1 > over: allocation exited successfully\n");
}

static void test_generic__that_does_not_exit_is_killed_after_its_timeout_and_is_paused(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 0);
    int task = launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .preemption_timeout_s = 7});
    sim_run(sim, 1000);
    change(sim, GENERIC_PAUSE, task);
    sim_run(sim, 10000);
    sim_expect(sim, "[     0] a1 > start task 1\n"
                    "[  1000] task 1 > ACTIVE -> STOPPING_PAUSED\n"
                    "[  8000] a1 > kill task 1\n"
                    "[  8005] task 1 > STOPPING_PAUSED -> PAUSED\n"
                    "[  8005] task 1 > over: task was killed by the master\n");
    assert_non_null(strstr(strbuf_str(&sim->logs), "(reason: allocation did not preempt in 7s)"));
}

static void test_generic__that_waits_for_slots_leaves_the_queue_while_it_is_paused(void **state)
{
    struct sim *sim = *state;
    int task = launch(sim, &SAVES);
    assert_int_equal(queue_length(sim), 1);
    change(sim, GENERIC_PAUSE, task);
    assert_int_equal(queue_length(sim), 0);
    change(sim, GENERIC_UNPAUSE, task);
    assert_int_equal(queue_length(sim), 1);
    sim_expect(sim, "[     0] task 1 > ACTIVE -> PAUSED\n"
                    "[     0] task 1 > over: task was aborted before the task was started\n"
                    "[     0] task 1 > PAUSED -> ACTIVE\n");
}

static void test_generic__that_completes_while_it_is_asked_to_pause_is_completed(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 0);
    int task = launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .ms = 300});
    int fails = launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .ms = 300, .exit_code = 3});
    sim_run(sim, 150);
    change(sim, GENERIC_PAUSE, task);
    change(sim, GENERIC_PAUSE, fails);
    sim_run(sim, 1000);
    assert_non_null(strstr(strbuf_str(&sim->story), "task 1 > STOPPING_PAUSED -> COMPLETED"));
    assert_non_null(strstr(strbuf_str(&sim->story), "task 2 > STOPPING_PAUSED -> ERROR"));
    refused(sim, GENERIC_UNPAUSE, task, "has ended");
}

static void test_generic__unpaused_before_it_has_exited_runs_again_when_it_has(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int task = launch(sim, &SAVES);
    sim_run(sim, 150);
    change(sim, GENERIC_PAUSE, task);
    change(sim, GENERIC_UNPAUSE, task);
    sim_run(sim, 2000);
    sim_expect(sim, "[     0] a1 > start task 1 slots 0\n"
                    "[   150] task 1 > ACTIVE -> STOPPING_PAUSED\n"
                    "[   150] task 1 > STOPPING_PAUSED -> ACTIVE\n"
                    "[   210] task 1 > run 1 saves its state\n"
                    "[   220] task 1 > over: allocation exited successfully\n"
                    "[   220] a1 > start task 1 slots 0\n"
                    "[   630] task 1 > ACTIVE -> COMPLETED\n"
                    "[   630] task 1 > over: allocation exited successfully\n");
}

static void test_generic__created_with_no_pause_is_not_paused(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int task = launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .no_pause = true});
    sim_run(sim, 100);
    refused(sim, GENERIC_PAUSE, task, "was created with no_pause");
    sim_expect(sim, "[     0] a1 > start task 1\n");
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static void test_generic__that_is_killed_is_canceled_also_while_it_is_paused(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 0);
    int runs = launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC});
    int paused = launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .saves = true});
    int waits = launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .slots = 4});
    sim_run(sim, 100);
    change(sim, GENERIC_PAUSE, paused);
    sim_run(sim, 900);
    for (int task = runs; task <= waits; task++) {
        change(sim, GENERIC_KILL, task);
        change(sim, GENERIC_KILL, task);
    }
    refused(sim, GENERIC_PAUSE, runs, "is being killed");
    sim_run(sim, 1000);
    change(sim, GENERIC_KILL, runs); /* the task is over: nothing happens */
    refused(sim, GENERIC_PAUSE, runs, "has ended");
    assert_non_null(strstr(strbuf_str(&sim->story), "[  1000] task 1 > ACTIVE -> STOPPING_CANCELED\n"));
    assert_non_null(strstr(strbuf_str(&sim->story), "[  1005] task 1 > STOPPING_CANCELED -> CANCELED\n"));
    assert_non_null(strstr(strbuf_str(&sim->story), "[  1000] task 2 > PAUSED -> CANCELED\n"));
    assert_non_null(strstr(strbuf_str(&sim->story), "[  1000] task 3 > ACTIVE -> CANCELED\n"));
    assert_int_equal(core_task_count(sim->core, TASK_KIND_GENERIC), 0);
}

static void test_generic__that_fails_or_loses_its_machine_is_in_error(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 0);
    launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .ms = 100, .exit_code = 7});
    launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC});
    sim_run(sim, 1000);
    sim_agent_power_cut(sim, "a1", 1000000);
    sim_run(sim, 60000);
    assert_non_null(strstr(strbuf_str(&sim->story), "[   110] task 1 > ACTIVE -> ERROR\n"));
    assert_non_null(strstr(strbuf_str(&sim->story), "[ 26000] task 2 > ACTIVE -> ERROR\n"));
    assert_int_equal(sim_open_allocations(sim), 0);
}

static void test_generic__that_tells_that_its_machine_will_go_away_goes_on_in_another_run(void **state)
{
    struct sim *sim = *state;
    char allocation_id[CORE_ALLOCATION_ID_MAX];
    sim_add_agent(sim, "a1", 1);
    int task = launch(sim, &SAVES);
    sim_run(sim, 50);
    snprintf(allocation_id, sizeof(allocation_id), "%s.1", sim->task_id[task]);
    assert_true(
        sim_step(sim,
                 &(struct core_event){.type = CORE_PREEMPTION_PENDING, .allocation = {.allocation_id = allocation_id}},
                 NULL));
    sim_run(sim, 2000);
    assert_non_null(strstr(strbuf_str(&sim->story), "task 1 > run 1 saves its state\n"));
    assert_non_null(strstr(strbuf_str(&sim->story), "task 1 > ACTIVE -> COMPLETED\n"));
    assert_null(strstr(strbuf_str(&sim->story), "PAUSED"));
}

/* ---- trees ------------------------------------------------------------------------------------------------------- */

static void test_tree__what_happens_to_a_task_happens_to_all_below_it(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 0);
    int root = launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .saves = true});
    int child = launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .saves = true, .parent = root});
    launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .saves = true, .parent = child});
    launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .no_pause = true, .parent = child});
    launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .saves = true}); /* of another tree */
    sim_run(sim, 100);
    change(sim, GENERIC_PAUSE, child);
    sim_run(sim, 900);
    assert_int_equal(sim_open_allocations(sim),
                     3); /* the root, the one that cannot be paused, the one of another tree */
    change(sim, GENERIC_UNPAUSE, root);
    sim_run(sim, 1000);
    assert_int_equal(sim_open_allocations(sim), 5);
    change(sim, GENERIC_KILL, root);
    sim_run(sim, 1000);
    assert_int_equal(sim_open_allocations(sim), 1);
    assert_int_equal(core_task_count(sim->core, TASK_KIND_GENERIC), 1);
    for (int task = 1; task <= 4; task++) {
        char line[64];
        snprintf(line, sizeof(line), "task %d > STOPPING_CANCELED -> CANCELED\n", task);
        assert_non_null(strstr(strbuf_str(&sim->story), line));
    }
}

static void test_tree__a_task_whose_parent_has_ended_goes_on_and_is_reached_through_it(void **state)
{
    struct sim *sim = *state;
    cleanup_error struct error err = ERROR_INIT;
    sim_add_agent(sim, "a1", 0);
    int root = launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .ms = 100});
    int child = launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .parent = root});
    sim_run(sim, 1000);
    assert_int_equal(sim_open_allocations(sim), 1);
    assert_int_equal(sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .parent = root}, &err), 0);
    assert_non_null(strstr(error_msg(&err), "has ended, so that it can have no more children"));
    const char *below[] = {sim->task_id[root], sim->task_id[child]};
    const struct core_event ev = {
        .type = CORE_GENERIC_CHANGE,
        .generic = {.what = GENERIC_KILL, .named = sim->task_id[root], .below = below, .below_n = 2}};
    assert_true(sim_step(sim, &ev, NULL));
    sim_run(sim, 1000);
    assert_int_equal(sim_open_allocations(sim), 0);
}

/* ---- restarts ---------------------------------------------------------------------------------------------------- */

static void test_generic__stays_what_it_is_over_a_restart_in_each_state(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 0);
    int paused = launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .saves = true, .ms = 100});
    int pausing = launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .preemption_timeout_s = 5});
    int killed = launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC});
    int runs = launch(sim, &(struct sim_task){.kind = TASK_KIND_GENERIC, .parent = paused});
    sim_run(sim, 50);
    change(sim, GENERIC_PAUSE, paused); /* and so the one that runs, which lies below it */
    change(sim, GENERIC_UNPAUSE, runs);
    sim_run(sim, 1000);
    change(sim, GENERIC_PAUSE, pausing);
    sim_agent_away(sim, "a1", 1000);
    change(sim, GENERIC_KILL, killed);
    sim_crash_master(sim, 1000);
    sim_run(sim, 3000);
    struct core_task_view v;
    assert_true(core_task(sim->core, sim->task_id[paused], &v));
    assert_int_equal(v.launched->state, GENERIC_PAUSED);
    assert_null(v.allocation);
    assert_true(core_task(sim->core, sim->task_id[pausing], &v));
    assert_int_equal(v.launched->state, GENERIC_STOPPING_PAUSED);
    assert_false(core_task(sim->core, sim->task_id[killed], &v));
    sim_run(sim, 5000);
    assert_true(core_task(sim->core, sim->task_id[pausing], &v));
    assert_int_equal(v.launched->state, GENERIC_PAUSED);
    change(sim, GENERIC_UNPAUSE, paused);
    sim_run(sim, 1000);
    assert_false(core_task(sim->core, sim->task_id[paused], &v));
    change(sim, GENERIC_KILL, runs);
    change(sim, GENERIC_KILL, pausing);
    sim_run(sim, 1000);
    assert_int_equal(core_task_count(sim->core, TASK_KIND_GENERIC), 0);
}

/* The master dies at every step, in each of the ways, while a task is paused and unpaused by a user who asks again when
 * there was no answer. */
static void test_generic__survives_a_crash_at_every_step(void **state)
{
    (void)state;
    for (int mode = CRASH_BEFORE_COMMIT; mode <= CRASH_AFTER_EFFECTS; mode++) {
        for (int at = 1; at < 24; at++) {
            struct sim sim;
            sim_init(&sim, 1);
            sim.crash_at = at;
            sim.crash_mode = (enum sim_crash)mode;
            sim_add_agent(&sim, "a1", 1);
            sim_run(&sim, 5000);
            int task = sim_launch(&sim, &SAVES, NULL);
            sim_run(&sim, 150);
            for (int i = 0; task > 0 && i < 3; i++) {
                sim_change_task(&sim, GENERIC_PAUSE, task, NULL);
                sim_run(&sim, 5000);
            }
            for (int i = 0; task > 0 && i < 3; i++) {
                sim_change_task(&sim, GENERIC_UNPAUSE, task, NULL);
                sim_run(&sim, 5000);
            }
            sim_run(&sim, 60000);
            assert_int_equal(sim_open_allocations(&sim), 0);
            if (task > 0)
                assert_non_null(strstr(strbuf_str(&sim.story), "-> COMPLETED"));
            sim_release(&sim);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_generic__that_is_paused_saves_its_state_and_goes_on_in_another_run),
        TEST(test_generic__that_does_not_exit_is_killed_after_its_timeout_and_is_paused),
        TEST(test_generic__that_waits_for_slots_leaves_the_queue_while_it_is_paused),
        TEST(test_generic__that_completes_while_it_is_asked_to_pause_is_completed),
        TEST(test_generic__unpaused_before_it_has_exited_runs_again_when_it_has),
        TEST(test_generic__created_with_no_pause_is_not_paused),
        TEST(test_generic__that_is_killed_is_canceled_also_while_it_is_paused),
        TEST(test_generic__that_fails_or_loses_its_machine_is_in_error),
        TEST(test_generic__that_tells_that_its_machine_will_go_away_goes_on_in_another_run),
        TEST(test_tree__what_happens_to_a_task_happens_to_all_below_it),
        TEST(test_tree__a_task_whose_parent_has_ended_goes_on_and_is_reached_through_it),
        TEST(test_generic__stays_what_it_is_over_a_restart_in_each_state),
        TEST(test_generic__survives_a_crash_at_every_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
