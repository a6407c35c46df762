/* Tasks that users launch: commands, notebooks, shells, TensorBoards. */
#include "sim_main.h"

static const struct sim_task COMMAND = {.kind = TASK_KIND_COMMAND, .ms = 100};

static void test_command__runs_once_and_ends_by_itself(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 2);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .slots = 2, .ms = 100}, NULL);
    sim_run(sim, 1000);
    sim_expect(sim, "[     0] a1 > start command 1 slots 0,1\n"
                    "[   110] command 1 > over: allocation exited successfully\n");
    assert_int_equal(sim_open_allocations(sim), 0);
    assert_int_equal(core_task_count(sim->core, TASK_KIND_COMMAND), 0);
}

static void test_command__that_fails_is_not_run_again(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .ms = 100, .exit_code = 7}, NULL);
    sim_run(sim, 1000);
    sim_expect(sim, "[     0] a1 > start command 1\n"
                    "[   110] command 1 > over: container failed with non-zero exit code\n"
                    "[   110] log > crashed: resources failed with non-zero exit code: container failed with non-zero "
                    "exit code: 7\n");
}

static void test_command__is_killed_once_however_often_that_is_asked_for(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    int running = sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .slots = 1}, NULL);
    int waiting = sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .slots = 1}, NULL);
    sim_run(sim, 100);
    assert_int_equal(sim_kill_task(sim, waiting), 0);
    assert_int_equal(sim_kill_task(sim, running), 0);
    assert_int_equal(sim_kill_task(sim, running), 0);
    sim_run(sim, 1000);
    sim_expect(sim, "[     0] a1 > start command 1 slots 0\n"
                    "[   100] command 2 > over: task was aborted before the task was started\n"
                    "[   100] a1 > kill command 1\n"
                    "[   105] command 1 > over: task was killed by the master\n");
    assert_int_equal(sim_kill_task(sim, running), -1);
}

static void test_command__is_not_preempted_by_a_job_of_higher_priority(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .slots = 1, .ms = 300}, NULL);
    sim_run(sim, 100);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .slots = 1, .priority = 1, .ms = 100}, NULL);
    sim_run(sim, 1000);
    sim_expect(sim, "[     0] a1 > start command 1 slots 0\n"
                    "[   310] command 1 > over: allocation exited successfully\n"
                    "[   310] a1 > start command 2 slots 0\n"
                    "[   420] command 2 > over: allocation exited successfully\n");
}

/* All slots of a task are on one agent. The task waits, and starts when a large enough agent joins. */
static void test_command__waits_for_an_agent_that_has_all_its_slots(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 2);
    sim_add_agent(sim, "a2", 2);
    int number = sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_SHELL, .slots = 3, .ms = 100}, NULL);
    sim_run(sim, 100);
    sim_expect(sim, "");
    sim_expect_wait(sim, (struct core_job_owner){.task_id = sim->task_id[number]},
                    "needs 3 slots on one agent: the largest agent of pool default has 2");
    sim_add_agent(sim, "a3", 4);
    sim_run(sim, 1000);
    sim_expect(sim,
               "[   100] a3 > start shell 1 slots 0,1,2\n[   210] shell 1 > over: allocation exited successfully\n");
}

static void test_command__goes_on_while_the_master_is_away(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .slots = 1, .ms = 3000}, NULL);
    sim_run(sim, 50);
    sim_crash_master(sim, 1000);
    sim_run(sim, 4000);
    sim_expect(sim, "[     0] a1 > start command 1 slots 0\n[    50] master > crash\n[  1050] master > back\n"
                    "[  1550] a1 > back\n[  3010] command 1 > over: allocation exited successfully\n");
}

static void test_command__whose_machine_is_lost_is_over(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 1);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .slots = 1}, NULL);
    sim_run(sim, 50);
    sim_agent_power_cut(sim, "a1", 1000000);
    sim_run(sim, 60000);
    sim_expect(
        sim,
        "[     0] a1 > start command 1 slots 0\n[    50] a1 > away\n"
        "[ 25050] command 1 > over: agent failed while the container was running\n"
        "[ 25050] log > crashed: agent failed while the container was running: agent closed with allocated containers\n");
}

/* ---- readiness and idleness -------------------------------------------------------------------------------------- */

static bool is_ready(const struct sim *sim, int number)
{
    struct core_task_view v;
    return core_task(sim->core, sim->task_id[number], &v) && v.allocation->ready;
}

static void test_notebook__is_ready_when_its_output_says_so_and_a_command_when_it_runs(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 0);
    int told = sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_NOTEBOOK, .tells_ready = true}, NULL);
    int silent = sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_NOTEBOOK}, NULL);
    int command = sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND}, NULL);
    assert_false(is_ready(sim, told));
    sim_run(sim, 100);
    assert_true(is_ready(sim, told));
    assert_false(is_ready(sim, silent));
    assert_true(is_ready(sim, command));
}

static void test_notebook__that_nobody_uses_is_ended_after_its_idle_timeout(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 0);
    int number = sim_launch(
        sim, &(struct sim_task){.kind = TASK_KIND_NOTEBOOK, .tells_ready = true, .idle_timeout_ms = 90000}, NULL);
    sim_run(sim, 60000);
    sim_use_task(sim, number);
    sim_run(sim, 200000);
    sim_expect(sim, "[     0] a1 > start notebook 1\n[150000] a1 > kill notebook 1\n"
                    "[150005] notebook 1 > over: task was killed by the master\n");
    assert_non_null(strstr(strbuf_str(&sim->logs), "(reason: idle for more than 1m30s: service is inactive)"));
}

static void test_notebook__is_not_idle_before_it_is_ready_and_has_its_whole_time_after_a_restart(void **state)
{
    struct sim *sim = *state;
    sim_add_agent(sim, "a1", 0);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_NOTEBOOK, .idle_timeout_ms = 1000}, NULL);
    sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_TENSORBOARD, .tells_ready = true, .idle_timeout_ms = 60000},
               NULL);
    sim_run(sim, 50000);
    sim_crash_master(sim, 1000);
    sim_run(sim, 70000);
    sim_expect(sim, "[     0] a1 > start notebook 1\n[     0] a1 > start tensorboard 2\n"
                    "[ 50000] master > crash\n[ 51000] master > back\n[ 51500] a1 > back\n"
                    "[111000] a1 > kill tensorboard 2\n[111005] tensorboard 2 > over: task was killed by the master\n");
}

/* ---- the queue --------------------------------------------------------------------------------------------------- */

static const char *queue_of(struct sim *sim, const char *pool, struct arena *a)
{
    struct core_job_view *job;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    size_t n = core_queue(sim->core, pool, a, &job);
    for (size_t i = 0; i < n; i++) {
        if (job[i].owner.experiment_id != 0) {
            strbuf_addf(&text, "exp %d, ", job[i].owner.experiment_id);
            continue;
        }
        for (int k = 1; k <= sim->task_n; k++)
            if (strcmp(sim->task_id[k], job[i].owner.task_id) == 0)
                strbuf_addf(&text, "%s %d, ", task_kind_word(sim->task[k].kind), k);
    }
    return arena_strdup(a, strbuf_str(&text));
}

static const char *job_of(struct sim *sim, int number)
{
    struct core_task_view v;
    assert_true(core_task(sim->core, sim->task_id[number], &v));
    return v.row->job_id;
}

static int change(struct sim *sim, const struct core_queue_change *what, struct error *err)
{
    return sim_step(sim, &(struct core_event){.type = CORE_QUEUE_CHANGE, .queue = {.change = what, .n = 1}}, err) ? 0
                                                                                                                  : -1;
}

static void test_job__of_a_task_has_its_place_among_experiments_and_is_moved_like_theirs(void **state)
{
    struct sim *sim = *state;
    cleanup_arena struct arena a = ARENA_INIT;
    sim_create(sim, &(struct sim_experiment){.slots = 1, .steps = 1});
    sim_run(sim, 10);
    int command = sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .slots = 1}, NULL);
    sim_run(sim, 10);
    int shell = sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_SHELL, .slots = 1}, NULL);
    assert_string_equal(queue_of(sim, "default", &a), "exp 1, command 1, shell 2, ");
    assert_int_equal(change(sim,
                            &(struct core_queue_change){.job_id = job_of(sim, shell),
                                                        .what = QUEUE_AHEAD_OF,
                                                        .anchor = job_of(sim, command)},
                            NULL),
                     0);
    assert_string_equal(queue_of(sim, "default", &a), "exp 1, shell 2, command 1, ");
    assert_int_equal(
        change(sim, &(struct core_queue_change){.job_id = job_of(sim, command), .what = QUEUE_PRIORITY, .priority = 7},
               NULL),
        0);
    assert_string_equal(queue_of(sim, "default", &a), "command 1, exp 1, shell 2, ");
    sim_crash_master(sim, 1000);
    sim_run(sim, 2000);
    assert_string_equal(queue_of(sim, "default", &a), "command 1, exp 1, shell 2, ");
}

static void test_job__of_a_task_stays_in_its_pool(void **state)
{
    struct sim *sim = *state;
    cleanup_error struct error err = ERROR_INIT;
    int number = sim_launch(sim, &COMMAND, NULL);
    const char *job = job_of(sim, number);
    assert_int_equal(change(sim, &(struct core_queue_change){.job_id = job, .what = QUEUE_POOL, .pool = "default"},
                            &err),
                     -1);
    assert_non_null(strstr(error_msg(&err), "setting resource pool for job type COMMAND is not supported"));
}

static void test_job__of_a_task_has_a_priority_in_range(void **state)
{
    struct sim *sim = *state;
    cleanup_error struct error err = ERROR_INIT, refused = ERROR_INIT;
    int number = sim_launch(sim, &COMMAND, NULL);
    assert_int_equal(
        change(sim, &(struct core_queue_change){.job_id = job_of(sim, number), .what = QUEUE_PRIORITY, .priority = 100},
               &err),
        -1);
    assert_non_null(strstr(error_msg(&err), "priority must be between 1 and 99"));
    assert_int_equal(sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .priority = 100}, &refused), 0);
    assert_int_equal(sim_open_allocations(sim), 1);
}

static void test_launch__in_a_pool_that_does_not_exist_is_refused(void **state)
{
    struct sim *sim = *state;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(sim_launch(sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .pool = "none"}, &err), 0);
    assert_string_equal(error_msg(&err), "resource pool \"none\" does not exist");
    assert_int_equal(sim_open_allocations(sim), 0);
}

/* ---- crashes ----------------------------------------------------------------------------------------------------- */

/* The master dies at every step, in each of the ways. A task that was promised runs, once, and ends. */
static void test_command__survives_a_crash_at_every_step(void **state)
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
            int promised = sim_launch(&sim, &(struct sim_task){.kind = TASK_KIND_COMMAND, .slots = 1, .ms = 100}, NULL);
            sim_run(&sim, 60000);
            assert_int_equal(sim_open_allocations(&sim), 0);
            if (promised > 0)
                assert_non_null(strstr(strbuf_str(&sim.story), "command 1 > over: allocation exited successfully"));
            sim_release(&sim);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_command__runs_once_and_ends_by_itself),
        TEST(test_command__that_fails_is_not_run_again),
        TEST(test_command__is_killed_once_however_often_that_is_asked_for),
        TEST(test_command__is_not_preempted_by_a_job_of_higher_priority),
        TEST(test_command__waits_for_an_agent_that_has_all_its_slots),
        TEST(test_command__goes_on_while_the_master_is_away),
        TEST(test_command__whose_machine_is_lost_is_over),
        TEST(test_notebook__is_ready_when_its_output_says_so_and_a_command_when_it_runs),
        TEST(test_notebook__that_nobody_uses_is_ended_after_its_idle_timeout),
        TEST(test_notebook__is_not_idle_before_it_is_ready_and_has_its_whole_time_after_a_restart),
        TEST(test_job__of_a_task_has_its_place_among_experiments_and_is_moved_like_theirs),
        TEST(test_job__of_a_task_stays_in_its_pool),
        TEST(test_job__of_a_task_has_a_priority_in_range),
        TEST(test_launch__in_a_pool_that_does_not_exist_is_refused),
        TEST(test_command__survives_a_crash_at_every_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
