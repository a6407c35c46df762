/* Tasks that users launch: what the core and the request each write of them, and lists. */
#include "store/fixture.h"

static struct launched_row core_row(const char *id)
{
    struct launched_row row = {.slots = 2,
                               .priority = 42,
                               .max_slots = -1,
                               .weight = 1.5,
                               .queue_position = T0,
                               .run_id = 1,
                               .idle_timeout_us = 60000000,
                               .max_time_us = 7200000000,
                               .max_idle_us = 1800000000,
                               .description = "made up"};
    snprintf(row.task_id, sizeof(row.task_id), "%s", id);
    snprintf(row.pool, sizeof(row.pool), "default");
    return row;
}

/* Stores a task as a launch does: what belongs to the request first, then the core's row. */
static void launch(struct fixture *f, const char *id, enum task_kind kind, int32_t workspace_id)
{
    const struct store_launched_task request = {.id = id,
                                                .workspace_id = workspace_id,
                                                .description = id,
                                                .pool = "default",
                                                .slots = 2,
                                                .priority = 42,
                                                .max_slots = -1,
                                                .weight = 1.5,
                                                .queue_position = T0,
                                                .run_id = 1,
                                                .config = "{\"a\":1}",
                                                .context_hash = "cafe"};
    struct task_row row = {.kind = kind, .owner_id = 1, .start_us = T0};
    snprintf(row.id, sizeof(row.id), "%s", id);
    snprintf(row.job_id, sizeof(row.job_id), "job-%s", id);
    OK(f, store_launched_task_insert(f->st, &request, &f->err));
    OK(f, store_task_put(f->st, &row, true, &f->err));
}

static void begin(struct fixture *f)
{
    OK(f, store_begin(f->st, &f->err));
}

static void commit(struct fixture *f)
{
    OK(f, store_commit(f->st, &f->err));
}

static void test_task__comes_back_with_what_core_and_request_wrote(void **state)
{
    struct fixture *f = *state;
    struct store_launched_task t;
    struct launched_row *open, changed = core_row("t1");
    size_t n;
    begin(f);
    launch(f, "t1", TASK_KIND_NOTEBOOK, 1);
    commit(f);
    OK(f, store_launched_task_get(f->st, "t1", &f->a, &t, &f->err));
    assert_int_equal(t.kind, TASK_KIND_NOTEBOOK);
    assert_string_equal(t.job_id, "job-t1");
    assert_string_equal(t.username, "admin");
    assert_string_equal(t.config, "{\"a\":1}");
    assert_null(t.allocation_id);
    changed.priority = 7;
    changed.queue_position = T0 + 5;
    begin(f);
    OK(f, store_launched_task_update(f->st, &changed, &f->err));
    commit(f);
    OK(f, store_launched_tasks_open(f->st, &f->a, &open, &n, &f->err));
    assert_int_equal(n, 1);
    assert_int_equal(open[0].priority, 7);
    assert_int_equal(open[0].queue_position, T0 + 5);
    assert_int_equal(open[0].idle_timeout_us, 60000000);
    assert_int_equal(open[0].max_time_us, 7200000000);
    assert_int_equal(open[0].max_idle_us, 1800000000);
    assert_string_equal(open[0].description, "t1"); /* a description never changes */
    FAILS(f, ERR_NOT_FOUND, "task 't2'", store_launched_task_get(f->st, "t2", &f->a, &t, &f->err));
}

static void test_task__shows_its_latest_allocation_and_that_ones_first_container(void **state)
{
    struct fixture *f = *state;
    struct store_launched_task t;
    struct allocation_row a = {.id = "t1.1",
                               .task_id = "t1",
                               .pool = "default",
                               .run_id = 1,
                               .slots = 2,
                               .state = ALLOCATION_TERMINATED,
                               .exit_kind = EXIT_FAILED,
                               .exit_code = 3,
                               .request_us = T0};
    struct container_row k = {
        .id = "k1", .allocation_id = "t1.1", .agent_id = "a1", .device_id = {4, 5}, .device_n = 2};
    begin(f);
    launch(f, "t1", TASK_KIND_COMMAND, 1);
    OK(f, store_allocation_put(f->st, &a, true, &f->err));
    OK(f, store_container_put(f->st, &k, true, &f->err));
    commit(f);
    OK(f, store_launched_task_get(f->st, "t1", &f->a, &t, &f->err));
    assert_string_equal(t.allocation_id, "t1.1");
    assert_int_equal(t.state, ALLOCATION_TERMINATED);
    assert_int_equal(t.exit_kind, EXIT_FAILED);
    assert_int_equal(t.exit_code, 3);
    assert_string_equal(t.container_id, "k1");
    assert_string_equal(t.device_ids, "[4,5]");
}

static size_t listed(struct fixture *f, const struct store_launched_task_filter *filter, const char *expected)
{
    struct store_launched_task_list list;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    OK(f, store_launched_task_list(f->st, filter, &f->a, &list, &f->err));
    for (size_t i = 0; i < list.launched_task_n; i++)
        strbuf_addf(&text, "%s ", list.launched_task[i].id);
    assert_string_equal(strbuf_str(&text), expected);
    return (size_t)list.window.total;
}

static void test_list__has_one_kind_by_owner_and_workspace_and_what_has_not_ended_long_ago(void **state)
{
    struct fixture *f = *state;
    const char *const admin[] = {"admin"}, *const nobody[] = {"nobody"};
    struct task_row ended = {.id = "b", .end_us = T0 + 10};
    begin(f);
    launch(f, "b", TASK_KIND_COMMAND, 1);
    launch(f, "a", TASK_KIND_COMMAND, 2);
    launch(f, "c", TASK_KIND_SHELL, 1);
    OK(f, store_task_put(f->st, &ended, false, &f->err));
    commit(f);
    struct store_launched_task_filter filter = {.kind = "COMMAND", .ended_after_us = T0};
    assert_int_equal(listed(f, &filter, "a b "), 2);
    filter.descending = true;
    listed(f, &filter, "b a ");
    filter.page.limit = 1;
    assert_int_equal(listed(f, &filter, "b "), 2);
    filter = (struct store_launched_task_filter){.kind = "COMMAND", .ended_after_us = T0 + 10};
    listed(f, &filter, "a ");
    filter = (struct store_launched_task_filter){.kind = "COMMAND", .ended_after_us = T0, .workspace_id = 1};
    listed(f, &filter, "b ");
    filter = (struct store_launched_task_filter){.kind = "SHELL", .ended_after_us = T0, .usernames = {admin, 1}};
    listed(f, &filter, "c ");
    filter.usernames = (struct store_texts){nobody, 1};
    listed(f, &filter, "");
}

static void test_context__is_stored_once_for_all_tasks_that_have_it(void **state)
{
    struct fixture *f = *state;
    const void *tgz = NULL;
    size_t n = 0;
    begin(f);
    OK(f, store_context_add(f->st, "cafe", "archive", 7, &f->err));
    OK(f, store_context_add(f->st, "cafe", "archive", 7, &f->err));
    launch(f, "t1", TASK_KIND_COMMAND, 1);
    commit(f);
    OK(f, store_context_get(f->st, "t1", &f->a, &tgz, &n, &f->err));
    assert_int_equal(n, 7);
    assert_memory_equal(tgz, "archive", 7);
    OK(f, store_context_get(f->st, "t2", &f->a, &tgz, &n, &f->err));
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_TRIAL(test_task__comes_back_with_what_core_and_request_wrote),
        TEST_TRIAL(test_task__shows_its_latest_allocation_and_that_ones_first_container),
        TEST_TRIAL(test_list__has_one_kind_by_owner_and_workspace_and_what_has_not_ended_long_ago),
        TEST_TRIAL(test_context__is_stored_once_for_all_tasks_that_have_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
