/* Tests experiments: rows, documents, labels, deletion, snapshots. */
#include "store/fixture.h"

#include "store/logs/task_logs.h"

static void test_experiment__comes_back_whole(void **state)
{
    struct fixture *f = *state;
    struct store_experiment x = fixture_experiment_row(2), y;
    const void *tgz;
    size_t n;
    x.job_id = "job-2";
    x.description = "d";
    x.labels = "[\"a\",\"b\"]";
    x.has_parent = true;
    x.parent_id = 1;
    x.unmanaged = true;
    x.external_id = "ext";
    x.queue_position = 77;
    OK(f, store_experiment_insert(f->st, &x, "tarball", 7, &f->err));
    OK(f, store_experiment_by_external_id(f->st, "ext", &f->a, &y, &f->err));
    assert_int_equal(y.id, 2);
    assert_string_equal(y.state, "ACTIVE");
    assert_string_equal(y.labels, "[\"a\",\"b\"]");
    assert_true(y.has_parent && y.unmanaged && y.smaller_is_better && !y.has_best && !y.has_progress &&
                !y.parent_archived);
    assert_int_equal(y.parent_id, 1);
    assert_string_equal(y.config, x.config);
    assert_string_equal(y.original_config, x.original_config);
    assert_int_equal(y.model_definition_size, 7);
    assert_string_equal(y.username, "admin");
    assert_string_equal(y.project_name, "Uncategorized");
    assert_string_equal(y.workspace_name, "Uncategorized");
    assert_int_equal(y.queue_position, 77);
    OK(f, store_experiment_model_definition(f->st, 2, &f->a, &tgz, &n, &f->err));
    assert_int_equal(n, 7);
    assert_memory_equal(tgz, "tarball", 7);
    FAILS(f, ERR_CONFLICT, "external id \"ext\"",
          store_experiment_insert(f->st,
                                  &(struct store_experiment){.id = 3,
                                                             .job_id = "j3",
                                                             .state = "ACTIVE",
                                                             .user_id = 1,
                                                             .project_id = 1,
                                                             .name = "",
                                                             .config = "{}",
                                                             .original_config = "",
                                                             .external_id = "ext"},
                                  "", 0, &f->err));
    x.id = 4;
    x.external_id = NULL;
    x.project_id = 99;
    FAILS(f, ERR_CONFLICT, "project 99", store_experiment_insert(f->st, &x, "", 0, &f->err));
    FAILS(f, ERR_NOT_FOUND, "experiment '5' not found", store_experiment_get(f->st, 5, false, &f->a, &y, &f->err));
}

static void test_experiment__follows_the_core(void **state)
{
    struct fixture *f = *state;
    struct store_experiment x;
    struct experiment_row row = {.id = 1,
                                 .job_id = "job-1",
                                 .state = RUN_COMPLETED,
                                 .progress = 1,
                                 .start_us = T0,
                                 .end_us = T0 + 9,
                                 .queue_position = 5,
                                 .owner_id = 1};
    OK(f, store_experiment_put(f->st, &row, &f->err));
    OK(f, store_experiment_get(f->st, 1, true, &f->a, &x, &f->err));
    assert_string_equal(x.state, "COMPLETED");
    assert_int_equal(x.end_us, T0 + 9);
    assert_int_equal(x.queue_position, 5);
    assert_true(x.has_progress && x.progress == 1);
    row.id = 9;
    FAILS(f, ERR_NOT_FOUND, "experiment 9 not found", store_experiment_put(f->st, &row, &f->err));
}

static void test_experiment__takes_every_state_of_the_core_and_no_other(void **state)
{
    struct fixture *f = *state;
    for (int s = 0; s < RUN_STATE_NR; s++)
        OK(f, store_experiment_set_state(f->st, 1, run_state_name((enum run_state)s), 0, &f->err));
    FAILS(f, ERR_CONFLICT, "no state \"RUNNING\"", store_experiment_set_state(f->st, 1, "RUNNING", 0, &f->err));
}

static void test_experiment__unfinished_are_neither_over_nor_being_deleted(void **state)
{
    struct fixture *f = *state;
    struct store_experiment *x;
    size_t n;
    for (int32_t id = 2; id <= 5; id++)
        fixture_experiment(f, id);
    OK(f, store_experiment_set_state(f->st, 1, "COMPLETED", T0, &f->err));
    OK(f, store_experiment_set_state(f->st, 2, "DELETING", T0, &f->err));
    OK(f, store_experiment_set_state(f->st, 3, "DELETE_FAILED", T0, &f->err));
    OK(f, store_experiment_set_state(f->st, 4, "STOPPING_KILLED", T0, &f->err));
    OK(f, store_experiments_unfinished(f->st, &f->a, &x, &n, &f->err));
    assert_int_equal(n, 2);
    assert_int_equal(x[0].id, 4);
    assert_string_equal(x[1].config, "{\"name\":\"digits\"}");
}

static void test_experiment__a_deletion_cut_short_has_failed(void **state)
{
    struct fixture *f = *state;
    struct store_experiment_brief x;
    OK(f, store_experiment_set_state(f->st, 1, "DELETING", 0, &f->err));
    OK(f, store_experiments_fail_deletions(f->st, &f->err));
    OK(f, store_experiment_brief(f->st, 1, &x, &f->err));
    assert_int_equal(x.state, RUN_DELETE_FAILED);
    FAILS(f, ERR_NOT_FOUND, "experiment '9' not found", store_experiment_brief(f->st, 9, &x, &f->err));
}

static void test_experiment__patch_touches_what_is_named(void **state)
{
    struct fixture *f = *state;
    struct store_experiment x;
    OK(f,
       store_experiment_patch(f->st, 1, &(struct store_experiment_patch){.notes = "n", .labels = "[\"x\"]"}, &f->err));
    OK(f, store_experiment_patch(f->st, 1, &(struct store_experiment_patch){.name = "new"}, &f->err));
    OK(f, store_experiment_set_archived(f->st, 1, true, &f->err));
    OK(f, store_experiment_set_config(f->st, 1, "{\"v\":2}", "gpu", &f->err));
    OK(f, store_experiment_get(f->st, 1, true, &f->a, &x, &f->err));
    assert_string_equal(x.name, "new");
    assert_string_equal(x.notes, "n");
    assert_string_equal(x.labels, "[\"x\"]");
    assert_string_equal(x.config, "{\"v\":2}");
    assert_string_equal(x.resource_pool, "gpu");
    assert_true(x.archived);
}

/* ---- labels, deletion, snapshots --------------------------------------------------------------------------------- */

static void test_labels__the_most_used_first(void **state)
{
    struct fixture *f = *state;
    const char **label;
    size_t n;
    fixture_experiment(f, 2);
    OK(f, store_experiment_patch(f->st, 1, &(struct store_experiment_patch){.labels = "[\"b\"]"}, &f->err));
    OK(f, store_experiment_patch(f->st, 2, &(struct store_experiment_patch){.labels = "[\"a\",\"b\"]"}, &f->err));
    OK(f, store_experiment_labels(f->st, 0, (struct store_ints){0}, &f->a, &label, &n, &f->err));
    assert_int_equal(n, 2);
    assert_string_equal(label[0], "b");
    assert_string_equal(label[1], "a");
}

static void test_delete__leaves_nothing_behind(void **state)
{
    struct fixture *f = *state;
    struct trial_row t = fixture_trial_row(1, 1);
    const struct store_log_line line = {.time_us = T0, .text = "x\n", .text_n = 2};
    struct store_trial trial;
    struct store_task task;
    size_t skipped;
    int64_t id, seq;
    OK(f, fixture_append_numbered(f, t.task_id, "c1", 1, &line, 1, &id, &skipped, &seq, &f->err));
    bool more = true;
    int parts = 0;
    for (; more; parts++)
        OK(f, store_experiment_delete_part(f->st, 1, 0, 1, &more, &f->err));
    assert_in_range(parts, 3, 10); /* one call for each row, and a last one that finds nothing more */
    FAILS(f, ERR_NOT_FOUND, "trial '1' not found", store_trial_get(f->st, 1, false, &f->a, &trial, &f->err));
    FAILS(f, ERR_NOT_FOUND, "not found", store_task_get(f->st, t.task_id, &f->a, &task, &f->err));
    OK(f, store_task_log_last_id(f->st, t.task_id, &id, &f->err));
    assert_int_equal(id, 0);
    OK(f, store_task_log_mark(f->st, "c1", &seq, &f->err));
    assert_int_equal(seq, 0);
    assert_int_equal(fixture_number(f, "SELECT count(*) FROM jobs"), 0);
}

static void test_snapshot__is_replaced_and_deleted(void **state)
{
    struct fixture *f = *state;
    const char *s;
    OK(f, store_snapshot_set(f->st, 1, "{\"n\":1}", &f->err));
    OK(f, store_snapshot_set(f->st, 1, "{\"n\":2}", &f->err));
    OK(f, store_snapshot_get(f->st, 1, &f->a, &s, &f->err));
    assert_string_equal(s, "{\"n\":2}");
    OK(f, store_snapshot_delete(f->st, 1, &f->err));
    OK(f, store_snapshot_get(f->st, 1, &f->a, &s, &f->err));
    assert_null(s);
    FAILS(f, ERR_CONFLICT, "experiment 9 does not exist", store_snapshot_set(f->st, 9, "{}", &f->err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_TRIAL(test_experiment__comes_back_whole),
        TEST_TRIAL(test_experiment__follows_the_core),
        TEST_TRIAL(test_experiment__takes_every_state_of_the_core_and_no_other),
        TEST_TRIAL(test_experiment__unfinished_are_neither_over_nor_being_deleted),
        TEST_TRIAL(test_experiment__a_deletion_cut_short_has_failed),
        TEST_TRIAL(test_experiment__patch_touches_what_is_named),
        TEST_TRIAL(test_labels__the_most_used_first),
        TEST_TRIAL(test_delete__leaves_nothing_behind),
        TEST_TRIAL(test_snapshot__is_replaced_and_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
