/* Tests that trials, tasks, allocations, containers, accelerators and agents are read as the core has written them. */
#include "store/fixture.h"

#include "store/metrics/metrics.h"

#include "store/experiments/environments.h"
#include "store/functions.h"

static void test_trial__comes_back_as_the_core_wrote_it(void **state)
{
    struct fixture *f = *state;
    struct trial_row in = fixture_trial_row(2, 1), *unfinished;
    struct store_trial out;
    size_t n;
    in.state = RUN_STOPPING_KILLED;
    in.end_us = T0 + 5;
    in.restarts = 2;
    in.run_id = 3;
    in.steps_completed = 40;
    snprintf(in.latest_checkpoint, sizeof(in.latest_checkpoint), "ck");
    in.early_exit = EARLY_EXIT_INVALID_HP;
    in.stopped_by_searcher = true;
    in.seed = 4000000000u;
    OK(f, store_trial_put(f->st, &in, true, &f->err));
    OK(f, store_trial_get(f->st, 2, true, &f->a, &out, &f->err));
    assert_string_equal(out.row.hparams, in.hparams);
    out.row.hparams = in.hparams;
    assert_memory_equal(&out.row, &in, sizeof(in));
    assert_string_equal(out.summary_metrics, "{}");
    assert_int_equal(out.best_validation.id, 0);
    in.state = RUN_ACTIVE;
    in.end_us = 0;
    in.launch_failures = 19;
    in.warm_start_checkpoint[0] = 'w';
    OK(f, store_trial_put(f->st, &in, false, &f->err));
    OK(f, store_trials_unfinished(f->st, &f->a, &unfinished, &n, &f->err));
    assert_int_equal(n, 2);
    unfinished[1].hparams = in.hparams;
    assert_memory_equal(&unfinished[1], &in, sizeof(in));
}

static void test_trial__counts_on_its_experiment(void **state)
{
    struct fixture *f = *state;
    struct store_experiment x;
    struct trial_row t = fixture_trial_row(1, 1);
    fixture_trial(f, 2, 1);
    OK(f, store_trial_put(f->st, &t, false, &f->err)); /* a change of a trial is not counted as a new trial */
    OK(f, store_experiment_get(f->st, 1, false, &f->a, &x, &f->err));
    assert_int_equal(x.num_trials, 2);
    t.experiment_id = 9;
    t.id = 7;
    FAILS(f, ERR_CONFLICT, "trial 7 of experiment 9", store_trial_put(f->st, &t, true, &f->err));
}

static void test_trial__keeps_what_others_set_when_the_core_writes(void **state)
{
    struct fixture *f = *state;
    struct trial_row t = fixture_trial_row(1, 1);
    struct store_trial out;
    OK(f, store_trial_set_runner_state(f->st, 1, "training", &f->err));
    OK(f, store_trial_set_external_id(f->st, 1, "ext", &f->err));
    OK(f, store_trial_set_metadata(f->st, 1, "{\"k\":1}", &f->err));
    OK(f, store_trial_set_log_retention(f->st, 1, true, 30, &f->err));
    OK(f, store_trial_set_log_policy_matched(f->st, 1, "oom", &f->err));
    OK(f, store_trial_touch(f->st, 1, T0 + 3, &f->err));
    OK(f, store_trial_put(f->st, &t, false, &f->err));
    OK(f, store_trial_get(f->st, 1, false, &f->a, &out, &f->err));
    assert_string_equal(out.runner_state, "training");
    assert_string_equal(out.external_id, "ext");
    assert_string_equal(out.metadata, "{\"k\":1}");
    assert_string_equal(out.log_policy_matched, "oom");
    assert_true(out.has_log_retention && out.log_retention_days == 30);
    assert_int_equal(out.last_activity_us, T0 + 3);
    assert_int_equal(out.task_ids_n, 1);
    assert_string_equal(out.task_ids[0], t.task_id);
    fixture_trial(f, 2, 1);
    FAILS(f, ERR_CONFLICT, "external id \"ext\"", store_trial_set_external_id(f->st, 2, "ext", &f->err));
    FAILS(f, ERR_NOT_FOUND, "trial 9 not found", store_trial_touch(f->st, 9, T0, &f->err));
}

static void test_trial_list__filters_sorts_and_pages(void **state)
{
    struct fixture *f = *state;
    struct store_trial_list l;
    const char *paused[] = {"PAUSED"};
    struct trial_row t = fixture_trial_row(2, 1);
    t.state = RUN_PAUSED;
    t.end_us = t.start_us + 1;
    OK(f, store_trial_put(f->st, &t, true, &f->err));
    struct store_trial_filter filter = {.experiment_id = 1, .states = {paused, 1}, .now_us = T0};
    OK(f, store_trial_list(f->st, &filter, &f->a, &l, &f->err));
    assert_int_equal(l.trial_n, 1);
    assert_int_equal(l.trial[0].row.id, 2);
    filter = (struct store_trial_filter){.experiment_id = 1,
                                         .sort_by = 10,
                                         .descending = true,
                                         .now_us = T0 + DAY_US}; /* the order by duration */
    OK(f, store_trial_list(f->st, &filter, &f->a, &l, &f->err));
    assert_int_equal(l.trial[0].row.id, 1); /* a trial that has not ended lasts until now */
    for (int32_t sort = 0; sort <= 13; sort++) {
        if (sort == 2 || sort == 3)
            continue;
        filter = (struct store_trial_filter){
            .experiment_id = 1, .sort_by = sort, .descending = sort % 2, .now_us = T0, .page = {0, 1}};
        OK(f, store_trial_list(f->st, &filter, &f->a, &l, &f->err));
        assert_int_equal(l.trial_n, 1);
        assert_int_equal(l.window.total, 2);
    }
}

/* Tasks and summaries are read for all trials of a page at once. Each trial must get its own. */
static void test_trials__of_a_page_have_their_own_tasks_and_summaries(void **state)
{
    struct fixture *f = *state;
    static const int32_t asked[] = {3, 77, 1, 2};
    struct store_report_result result;
    struct store_trial *t;
    size_t n;
    struct task_row again = {.trial_id = 1, .start_us = T0 + 5, .id = "1.again", .job_id = "job-1"};
    struct trial_row without = fixture_trial_row(2, 1);
    OK(f, store_task_put(f->st, &again, true, &f->err));
    OK(f, store_trial_put(f->st, &without, true, &f->err));
    fixture_experiment(f, 2);
    fixture_trial(f, 3, 2);
    for (int32_t id = 1; id <= 3; id += 2) {
        const struct store_report r = {.trial_id = id,
                                       .run_id = 1,
                                       .group = id == 1 ? "training" : "mine",
                                       .has_steps = true,
                                       .steps = 1,
                                       .report_us = T0,
                                       .avg_metrics = "{\"loss\":1}"};
        OK(f, store_report_add(f->st, &r, &result, &f->err));
    }
    OK(f, store_trials_by_ids(f->st, (struct store_ints){asked, 4}, &f->a, &t, &n, &f->err));
    assert_int_equal(n, 3);
    assert_int_equal(t[0].task_ids_n, 2);
    assert_string_equal(t[0].task_ids[1], "1.again");
    assert_int_equal(t[1].task_ids_n, 0);
    assert_int_equal(t[2].task_ids_n, 1);
    assert_string_equal(t[2].task_ids[0], fixture_trial_row(3, 2).task_id);
    assert_non_null(strstr(t[0].summary_metrics, "{\"avg_metrics\":{\"loss\":"));
    assert_string_equal(t[1].summary_metrics, "{}");
    assert_non_null(strstr(t[2].summary_metrics, "{\"mine\":{\"loss\":"));
}

static void test_task__of_its_own_comes_back_as_the_core_wrote_it(void **state)
{
    struct fixture *f = *state;
    struct task_row in = {.id = "gc", .job_id = "j", .owner_id = 1, .experiment_id = 1, .start_us = T0}, *open;
    struct store_task out;
    size_t n;
    OK(f, store_task_put(f->st, &in, true, &f->err));
    OK(f, store_task_get(f->st, "gc", &f->a, &out, &f->err));
    assert_string_equal(out.type, "CHECKPOINT_GC");
    assert_true(!out.has_trial && !out.has_log_retention && out.owner_id == 1 && out.experiment_id == 1);
    OK(f, store_tasks_open_of_their_own(f->st, &f->a, &open, &n, &f->err));
    assert_int_equal(n, 1); /* the trial's task is not among them */
    assert_memory_equal(open, &in, sizeof(in));
    FAILS(f, ERR_CONFLICT, "task gc", store_task_put(f->st, &in, true, &f->err));
    in.end_us = T0 + 1;
    OK(f, store_task_put(f->st, &in, false, &f->err));
    OK(f, store_tasks_open_of_their_own(f->st, &f->a, &open, &n, &f->err));
    assert_int_equal(n, 0);
}

static struct allocation_row allocation(const char *task_id, int number)
{
    struct allocation_row x = {.trial_id = 1,
                               .run_id = number,
                               .slots = 2,
                               .state = ALLOCATION_ASSIGNED,
                               .ready = true,
                               .request_us = T0,
                               .start_us = T0 + 1,
                               .preempt_deadline_us = T0 + 9,
                               .preempt_acked = true,
                               .killed = true,
                               .over_limit = RUN_LIMIT_MAX_IDLE_TIME,
                               .warned_of_idleness = true,
                               .port = {29400, 29500, 29501, 29600},
                               .exit_kind = EXIT_FAILED,
                               .exit_code = 137};
    snprintf(x.id, sizeof(x.id), "%.60s.%d", task_id, number);
    snprintf(x.task_id, sizeof(x.task_id), "%.63s", task_id);
    snprintf(x.pool, sizeof(x.pool), "default");
    return x;
}

static struct container_row container(const char *id, const char *allocation_id)
{
    struct container_row c = {.rank = 1,
                              .device_id = {0, 12},
                              .device_n = 2,
                              .state = CONTAINER_RUNNING,
                              .daemon = true,
                              .exit_kind = EXIT_AGENT_FAILED,
                              .exit_code = -1};
    snprintf(c.id, sizeof(c.id), "%s", id);
    snprintf(c.allocation_id, sizeof(c.allocation_id), "%s", allocation_id);
    snprintf(c.agent_id, sizeof(c.agent_id), "agent");
    snprintf(c.address, sizeof(c.address), "10.0.0.1");
    return c;
}

static void test_allocation__comes_back_as_the_core_wrote_it(void **state)
{
    struct fixture *f = *state;
    struct trial_row t = fixture_trial_row(1, 1);
    struct allocation_row in = allocation(t.task_id, 1), out, *list;
    size_t n;
    OK(f, store_allocation_put(f->st, &in, true, &f->err));
    OK(f, store_allocation_get(f->st, in.id, &f->a, &out, &f->err));
    assert_memory_equal(&out, &in, sizeof(in));
    for (int s = 0; s < ALLOCATION_STATE_NR; s++) {
        in.state = (enum allocation_state)s;
        OK(f, store_allocation_put(f->st, &in, false, &f->err));
    }
    OK(f, store_allocations_of_task(f->st, t.task_id, &f->a, &list, &n, &f->err));
    assert_int_equal(n, 1);
    assert_memory_equal(list, &in, sizeof(in));
    OK(f, store_allocations_open(f->st, &f->a, &list, &n, &f->err));
    assert_int_equal(n, 1);
    in.end_us = T0 + 2;
    OK(f, store_allocation_put(f->st, &in, false, &f->err));
    OK(f, store_allocations_open(f->st, &f->a, &list, &n, &f->err));
    assert_int_equal(n, 0);
    FAILS(f, ERR_NOT_FOUND, "allocation 'x.1' not found", store_allocation_get(f->st, "x.1", &f->a, &out, &f->err));
}

/* Stores an allocation that took as many µs as its number. */
static void ended_run(struct fixture *f, const char *task_id, int number, enum exit_kind kind, bool preempted)
{
    struct allocation_row x = allocation(task_id, number);
    x.end_us = T0 + 1000 * number;
    x.start_us = x.end_us - number;
    x.exit_kind = kind;
    x.preempt_acked = preempted;
    OK(f, store_allocation_put(f->st, &x, true, &f->err));
}

static void test_run_times__are_the_latest_of_what_ended_by_itself(void **state)
{
    struct fixture *f = *state;
    struct trial_row t = fixture_trial_row(1, 1);
    int64_t *us;
    size_t n;
    for (int i = 1; i <= 5; i++)
        ended_run(f, t.task_id, i, i == 4 ? EXIT_FAILED : EXIT_OK, i == 2);
    OK(f, store_allocation_run_times(f->st, "default", 2, &f->a, &us, &n, &f->err));
    assert_int_equal(n, 2);
    assert_int_equal(us[0], 5);
    assert_int_equal(us[1], 3);
    OK(f, store_allocation_run_times(f->st, "default", 9, &f->a, &us, &n, &f->err));
    assert_int_equal(n, 3);
    OK(f, store_allocation_run_times(f->st, "other", 9, &f->a, &us, &n, &f->err));
    assert_int_equal(n, 0);
}

static void test_container__comes_back_as_the_core_wrote_it(void **state)
{
    struct fixture *f = *state;
    struct trial_row t = fixture_trial_row(1, 1);
    struct allocation_row x = allocation(t.task_id, 1);
    struct container_row in = container("c1", x.id), *out;
    size_t n;
    OK(f, store_allocation_put(f->st, &x, true, &f->err));
    OK(f, store_container_put(f->st, &in, true, &f->err));
    OK(f, store_containers_open(f->st, &f->a, &out, &n, &f->err));
    assert_int_equal(n, 1);
    assert_memory_equal(out, &in, sizeof(in));
    for (int s = 0; s < CONTAINER_STATE_NR; s++) {
        in.state = (enum container_state)s;
        OK(f, store_container_put(f->st, &in, false, &f->err));
    }
    in.device_n = 0;
    in.device_id[0] = in.device_id[1] = 0;
    OK(f, store_container_put(f->st, &in, false, &f->err));
    OK(f, store_containers_open(f->st, &f->a, &out, &n, &f->err));
    assert_int_equal(n, 1);
    assert_memory_equal(out, &in, sizeof(in));
}

static void test_accelerators__are_listed_with_their_task_and_pool(void **state)
{
    struct fixture *f = *state;
    struct trial_row t = fixture_trial_row(1, 1);
    struct allocation_row x = allocation(t.task_id, 1);
    struct store_accelerator *out;
    size_t n;
    const struct store_accelerator in = {
        .container_id = "c", .allocation_id = x.id, .node_name = "n", .accelerator_type = "H200", .uuids = "[\"u\"]"};
    OK(f, store_allocation_put(f->st, &x, true, &f->err));
    OK(f, store_accelerator_set(f->st, &in, &f->err));
    OK(f, store_accelerator_set(f->st, &in, &f->err)); /* the same report again */
    OK(f, store_accelerators_of_task(f->st, t.task_id, &f->a, &out, &n, &f->err));
    assert_int_equal(n, 1);
    assert_string_equal(out[0].uuids, "[\"u\"]");
    assert_string_equal(out[0].resource_pool, "default");
    assert_string_equal(out[0].task_id, t.task_id);
}

static void test_environments__are_kept_once_and_told_in_two_halves(void **state)
{
    struct fixture *f = *state;
    struct trial_row t = fixture_trial_row(1, 1);
    struct allocation_row first = allocation(t.task_id, 1), second = allocation(t.task_id, 2);
    struct store_environment *out;
    size_t n;
    second.run_id = first.run_id + 1;
    OK(f, store_allocation_put(f->st, &first, true, &f->err));
    OK(f, store_allocation_put(f->st, &second, true, &f->err));
    const struct store_environment told[] = {
        {.allocation_id = second.id, .container_id = "c2", .python = "{\"version\":\"3.11\"}"},
        {.allocation_id = first.id, .container_id = "c1", .host = "{\"hostname\":\"h\"}"},
        {.allocation_id = first.id, .container_id = "c1", .python = "{\"version\":\"3.11\"}"},
        {.allocation_id = first.id, .container_id = "c1", .host = "{\"hostname\":\"h\"}"},
    };
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
        OK(f, store_environment_put(f->st, &told[i], &f->err));
    OK(f, store_environments_of_trial(f->st, 1, &f->a, &out, &n, &f->err));
    assert_int_equal(n, 2);
    assert_string_equal(out[0].allocation_id, first.id);
    assert_string_equal(out[0].host, "{\"hostname\":\"h\"}");
    assert_string_equal(out[0].python, "{\"version\":\"3.11\"}");
    assert_string_equal(out[1].container_id, "c2");
    assert_null(out[1].host);
    assert_int_equal(out[1].run_id, second.run_id);
    fixture_exec(f, "CREATE UNIQUE INDEX each_once ON environments (document)");
    const struct store_environment seen = {.allocation_id = first.id,
                                           .container_id = "c1",
                                           .python = "{\"version\":\"3.9\"}",
                                           .python_seen = true};
    OK(f, store_environment_put(f->st, &seen, &f->err));
    OK(f, store_environments_of_trial(f->st, 1, &f->a, &out, &n, &f->err));
    assert_string_equal(out[0].python,
                        /* what the task reports takes precedence over what the agent reports */
                        "{\"version\":\"3.11\"}");
    FAILS(f, ERR_CONFLICT, "allocation 'none.1' does not exist",
          store_environment_put(
              f->st, &(struct store_environment){.allocation_id = "none.1", .container_id = "c", .host = "{}"},
              &f->err));
}

static int64_t documents(struct fixture *f)
{
    struct engine_stmt *stmt;
    struct engine *e = store_engine(f->st);
    OK(f, e->ops->prepare(e, "SELECT count(*) FROM environments", &stmt, &f->err));
    OK(f, e->ops->step(stmt, &f->err));
    int64_t n = e->ops->integer(stmt, 0);
    e->ops->finalize(stmt);
    return n;
}

static void test_environments__go_when_nothing_has_them_any_more(void **state)
{
    struct fixture *f = *state;
    struct allocation_row a = allocation(fixture_trial_row(1, 1).task_id, 1);
    OK(f, store_allocation_put(f->st, &a, true, &f->err));
    const struct store_environment told[] = {
        {.allocation_id = a.id, .container_id = "c", .host = "{\"hostname\":\"h\"}", .python = "{\"version\":\"3.9\"}"},
        {.allocation_id = a.id, .container_id = "c", .python = "{\"version\":\"3.11\"}"},
    };
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
        OK(f, store_environment_put(f->st, &told[i], &f->err));
    assert_int_equal(documents(f), 3);
    OK(f, store_environments_forget(f->st, &f->err));
    assert_int_equal(documents(f), 2);
    bool more = true;
    while (more)
        OK(f, store_experiment_delete_part(f->st, 1, 0, 10, &more, &f->err));
    assert_int_equal(documents(f), 0);
}

static void test_agent__decisions_outlive_its_connection(void **state)
{
    struct fixture *f = *state;
    struct agent_row in = {.id = "a1",
                           .pool = "gpu",
                           .enabled = true,
                           .draining = true,
                           .disabled_slot = {3, 11},
                           .slot_draining = {false, true},
                           .disabled_slot_n = 2,
                           .disabled_reason = "new disks",
                           .label = "rack 3",
                           .trouble = {{3, "its driver reported \"Xid 79\""}, {11, ""}},
                           .trouble_n = 2,
                           .trouble_us = 99,
                           .fault = {{123, "1.a"}, {5000000000, "2.b\""}},
                           .fault_n = 2},
                     *out;
    size_t n;
    in.lost_us = 12345;
    in.listed = true;
    OK(f, store_agent_put(f->st, &in, &f->err));
    OK(f, store_agents_all(f->st, &f->a, &out, &n, &f->err));
    assert_int_equal(n, 1);
    assert_memory_equal(out, &in, sizeof(in));
    in.disabled_slot_n = 0;
    in.enabled = false;
    OK(f, store_agent_put(f->st, &in, &f->err));
    OK(f, store_agents_all(f->st, &f->a, &out, &n, &f->err));
    assert_int_equal(out[0].disabled_slot_n, 0);
    assert_false(out[0].enabled);
    OK(f, store_agent_delete(f->st, "a1", &f->err));
    OK(f, store_agents_all(f->st, &f->a, &out, &n, &f->err));
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_TRIAL(test_trial__comes_back_as_the_core_wrote_it),
        TEST_TRIAL(test_trial__counts_on_its_experiment),
        TEST_TRIAL(test_trial__keeps_what_others_set_when_the_core_writes),
        TEST_TRIAL(test_trial_list__filters_sorts_and_pages),
        TEST_TRIAL(test_trials__of_a_page_have_their_own_tasks_and_summaries),
        TEST_TRIAL(test_task__of_its_own_comes_back_as_the_core_wrote_it),
        TEST_TRIAL(test_allocation__comes_back_as_the_core_wrote_it),
        TEST_TRIAL(test_run_times__are_the_latest_of_what_ended_by_itself),
        TEST_TRIAL(test_container__comes_back_as_the_core_wrote_it),
        TEST_TRIAL(test_accelerators__are_listed_with_their_task_and_pool),
        TEST_TRIAL(test_environments__are_kept_once_and_told_in_two_halves),
        TEST_TRIAL(test_environments__go_when_nothing_has_them_any_more),
        TEST(test_agent__decisions_outlive_its_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
