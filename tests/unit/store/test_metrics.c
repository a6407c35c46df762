/* Metrics: merging, archiving, summaries, bests, streams, series, workloads. */
#include "store/fixture.h"

#include "store/checkpoints.h"
#include "store/metrics.h"

static struct store_report report(int32_t run, const char *group, int32_t steps, const char *avg)
{
    return (struct store_report){.trial_id = 1, .run_id = run, .group = group, .has_steps = true, .steps = steps,
                                 .report_us = T0 + steps, .avg_metrics = avg};
}

static struct store_report_result add(struct fixture *f, int32_t run, const char *group, int32_t steps,
                                      const char *avg)
{
    struct store_report r = report(run, group, steps, avg);
    struct store_report_result result;
    OK(f, store_report_add(f->st, &r, &result, &f->err));
    return result;
}

/* "steps:metrics" of each report that is not archived. */
static const char *rows(struct fixture *f, const char *group)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    struct store_metric_cursor cursor = {0};
    struct store_metric_row *row;
    size_t n;
    do {
        OK(f, store_metrics_next(f->st, 1, group, &cursor, 2, &f->a, &row, &n, &f->err)); /* pages of two */
        for (size_t i = 0; i < n; i++)
            strbuf_addf(&b, "%d:%s ", row[i].total_batches, row[i].metrics);
    } while (n);
    return arena_strdup(&f->a, strbuf_str(&b));
}

static const char *summary(struct fixture *f)
{
    const char *s;
    OK(f, store_summary_metrics(f->st, 1, &f->a, &s, &f->err));
    return s;
}

static struct store_trial trial(struct fixture *f)
{
    struct store_trial t;
    OK(f, store_trial_get(f->st, 1, true, &f->a, &t, &f->err));
    return t;
}

static void test_report__has_the_contracts_shape(void **state)
{
    struct fixture *f = *state;
    struct store_report r = report(1, "training", 10, "{\"loss\":1.5}");
    struct store_report_result result;
    r.batch_metrics = "[{\"loss\":2}]";
    OK(f, store_report_add(f->st, &r, &result, &f->err));
    add(f, 1, "validation", 10, "{\"acc\":0.5}");
    assert_string_equal(rows(f, "training"), "10:{\"avg_metrics\":{\"loss\":1.5},\"batch_metrics\":[{\"loss\":2}]} ");
    assert_string_equal(rows(f, "validation"), "10:{\"validation_metrics\":{\"acc\":0.5}} ");
    assert_int_equal(trial(f).total_batches, 10);
}

static void test_report__of_one_step_merges_its_keys(void **state)
{
    struct fixture *f = *state;
    int64_t first = add(f, 1, "training", 10, "{\"a\":1}").id;
    int64_t second = add(f, 1, "training", 10, "{\"b\":2,\"a\":1.0}").id; /* 1 and 1.0 are equal */
    assert_int_equal(first, second);
    assert_string_equal(rows(f, "training"), "10:{\"avg_metrics\":{\"a\":1,\"b\":2}} ");
    assert_string_equal(summary(f),
                        "{\"avg_metrics\":{\"a\":{\"count\":1,\"sum\":1.0,\"min\":1.0,\"max\":1.0,\"mean\":1.0,"
                                    "\"last\":1,\"type\":\"number\"},"
                                    "\"b\":{\"count\":1,\"sum\":2.0,\"min\":2.0,\"max\":2.0,"
                                    "\"mean\":2.0,\"last\":2,\"type\":\"number\"}}}");
}

static void test_report__refuses_another_value_and_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct store_report_result result;
    add(f, 1, "training", 10, "{\"a\":1}");
    struct store_report r = report(1, "training", 10, "{\"a\":2,\"b\":3}");
    FAILS(f, ERR_INVALID, "training metric \"a\" at step 10 with another value (1, now 2)",
          store_report_add(f->st, &r, &result, &f->err));
    assert_string_equal(rows(f, "training"), "10:{\"avg_metrics\":{\"a\":1}} ");
    r = report(1, "training", 11, "{\"a\":1}");
    r.batch_metrics = "[{}]";
    OK(f, store_report_add(f->st, &r, &result, &f->err));
    FAILS(f, ERR_INVALID, "already reported batch metrics", store_report_add(f->st, &r, &result, &f->err));
}

static void test_report__refuses_bad_groups_trials_and_metrics(void **state)
{
    struct fixture *f = *state;
    struct store_report_result result;
    struct store_report r = report(1, "a.b", 1, "{}");
    FAILS(f, ERR_INVALID, "must not contain a dot", store_report_add(f->st, &r, &result, &f->err));
    r.group = "";
    FAILS(f, ERR_INVALID, "needs a group", store_report_add(f->st, &r, &result, &f->err));
    r.group = "g";
    r.avg_metrics = "[1]";
    FAILS(f, ERR_INVALID, "expected an object", store_report_add(f->st, &r, &result, &f->err));
    r.avg_metrics = "{\"a\":";
    FAILS(f, ERR_INVALID, "metrics of trial 1", store_report_add(f->st, &r, &result, &f->err));
    r.avg_metrics = "{}";
    r.trial_id = 5;
    FAILS(f, ERR_NOT_FOUND, "trial '5' not found", store_report_add(f->st, &r, &result, &f->err));
}

static void test_summary__counts_sums_and_bounds(void **state)
{
    struct fixture *f = *state;
    add(f, 1, "training", 1, "{\"x\":4,\"s\":\"hello\",\"when\":\"2026-01-02T03:04:05Z\",\"b\":true}");
    add(f, 1, "training", 3, "{\"x\":-1,\"s\":\"world\"}");
    add(f, 1, "training", 2, "{\"x\":9}"); /* late: not the last */
    assert_string_equal(
        summary(f),
        "{\"avg_metrics\":{"
        "\"x\":{\"count\":3,\"sum\":12.0,\"min\":-1.0,\"max\":9.0,\"mean\":4.0,\"last\":-1,\"type\":\"number\"},"
        "\"s\":{\"count\":2,\"last\":\"world\",\"type\":\"string\"},"
        "\"when\":{\"count\":1,\"last\":\"2026-01-02T03:04:05Z\",\"type\":\"date\"},"
        "\"b\":{\"count\":1,\"last\":true,\"type\":\"boolean\"}}}");
}

static void test_summary__of_groups_and_of_what_is_no_number(void **state)
{
    struct fixture *f = *state;
    add(f, 1, "validation", 1, "{\"loss\":\"NaN\"}");
    add(f, 1, "validation", 2, "{\"loss\":2}");
    add(f, 1, "mine", 1, "{\"x\":\"Infinity\"}");
    add(f, 1, "mine", 2, "{\"x\":\"text\"}");
    assert_string_equal(summary(f),
                        "{\"mine\":{\"x\":{\"count\":2,\"last\":\"text\",\"type\":\"string\"}},"
                        "\"validation_metrics\":{\"loss\":{\"count\":2,\"sum\":\"NaN\",\"min\":2.0,\"max\":2.0,"
                        "\"mean\":\"NaN\",\"last\":2,\"type\":\"number\"}}}");
}

static void test_validation__best_and_latest(void **state)
{
    struct fixture *f = *state;
    struct store_experiment x;
    double best;
    int32_t best_trial;
    FAILS(f, ERR_NOT_FOUND, "no validation", store_best_metric(f->st, 1, &best, &best_trial, &f->err));
    assert_true(add(f, 1, "validation", 10, "{\"loss\":0.5}").best_of_trial);
    assert_true(add(f, 1, "validation", 20, "{\"loss\":0.25}").best_of_trial);
    assert_false(add(f, 1, "validation", 30, "{\"loss\":0.75}").best_of_trial);
    assert_false(add(f, 1, "validation", 30, "{\"extra\":1}").best_of_trial); /* merged into the same report */
    assert_false(add(f, 1, "validation", 40, "{\"loss\":\"NaN\"}").best_of_trial);
    struct store_trial t = trial(f);
    assert_int_equal(t.best_validation.total_batches, 20);
    assert_string_equal(t.best_validation.metrics, "{\"loss\":0.25}");
    assert_int_equal(t.latest_validation.total_batches, 40);
    assert_true(t.has_searcher_metric && t.searcher_metric == 0.25);
    OK(f, store_best_metric(f->st, 1, &best, &best_trial, &f->err));
    assert_true(best == 0.25 && best_trial == 1);
    OK(f, store_experiment_get(f->st, 1, false, &f->a, &x, &f->err));
    assert_true(x.has_best && x.best_metric == 0.25 && x.best_trial_id == 1);
}

static void test_validation__may_be_larger_is_better(void **state)
{
    struct fixture *f = *state;
    struct store_experiment row = fixture_experiment_row(2);
    double best;
    int32_t best_trial;
    row.job_id = "job-2";
    row.smaller_is_better = false;
    OK(f, store_experiment_insert(f->st, &row, "", 0, &f->err));
    fixture_trial(f, 2, 2);
    fixture_trial(f, 3, 2);
    struct store_report r = report(1, "validation", 1, "{\"loss\":0.5}");
    struct store_report_result result;
    r.trial_id = 2;
    OK(f, store_report_add(f->st, &r, &result, &f->err));
    r.trial_id = 3;
    r.avg_metrics = "{\"loss\":0.7}";
    OK(f, store_report_add(f->st, &r, &result, &f->err));
    OK(f, store_best_metric(f->st, 2, &best, &best_trial, &f->err));
    assert_true(best == 0.7 && best_trial == 3);
}

/* Run 1 reports to step 30; run 2 begins again at step 20. */
static void test_newer_run__archives_what_it_does_again(void **state)
{
    struct fixture *f = *state;
    for (int s = 10; s <= 30; s += 10) {
        char loss[32];
        snprintf(loss, sizeof(loss), "{\"loss\":%d}", 40 - s);
        add(f, 1, "training", s, loss);
        add(f, 1, "validation", s, loss);
    }
    struct store_report stepless = {.trial_id = 1, .run_id = 1, .group = "gpu", .report_us = T0,
                                    .avg_metrics = "{\"u\":1}"};
    struct store_report_result result;
    OK(f, store_report_add(f->st, &stepless, &result, &f->err));
    assert_true(add(f, 2, "training", 20, "{\"loss\":100}").archived_older);
    assert_string_equal(rows(f, "training"), "10:{\"avg_metrics\":{\"loss\":30}} 20:{\"avg_metrics\":{\"loss\":100}} ");
    /* Step 20 of the other kind of group stays, step 30 goes. */
    assert_string_equal(rows(f, "validation"),
                        "10:{\"validation_metrics\":{\"loss\":30}} 20:{\"validation_metrics\":{\"loss\":20}} ");
    assert_string_equal(rows(f, "gpu"), "0:{\"avg_metrics\":{\"u\":1}} ");
    struct store_trial t = trial(f);
    assert_int_equal(t.total_batches, 20);
    assert_int_equal(t.best_validation.total_batches, 20); /* 30 was better, and is gone */
    assert_int_equal(t.latest_validation.total_batches, 20);
    double best;
    OK(f, store_best_metric(f->st, 1, &best, NULL, &f->err));
    assert_true(best == 20);
    assert_non_null(strstr(t.summary_metrics, "\"loss\":{\"count\":2,\"sum\":130.0"));
    /* Its own validation at 20 voids the old one; at 30 nothing is left to archive. */
    assert_true(add(f, 2, "validation", 20, "{\"loss\":99}").archived_older);
    assert_false(add(f, 2, "validation", 30, "{\"loss\":98}").archived_older);
    assert_string_equal(rows(f, "validation"), "10:{\"validation_metrics\":{\"loss\":30}} "
                        "20:{\"validation_metrics\":{\"loss\":99}} 30:{\"validation_metrics\":{\"loss\":98}} ");
}

static void test_stepless_reports__neither_merge_nor_archive(void **state)
{
    struct fixture *f = *state;
    struct store_report r = {.trial_id = 1, .run_id = 1, .group = "cpu", .report_us = T0, .avg_metrics = "{\"a\":1}"};
    struct store_report_result result;
    OK(f, store_report_add(f->st, &r, &result, &f->err));
    r.avg_metrics = "{\"a\":2}";
    r.run_id = 2;
    OK(f, store_report_add(f->st, &r, &result, &f->err));
    assert_false(result.archived_older);
    assert_string_equal(rows(f, "cpu"), "0:{\"avg_metrics\":{\"a\":1}} 0:{\"avg_metrics\":{\"a\":2}} ");
}

static void test_streams__page_through_all_groups_in_order_of_step(void **state)
{
    struct fixture *f = *state;
    struct store_metric_row *row;
    size_t n;
    for (int s = 1; s <= 5; s++) {
        add(f, 1, "training", s, "{\"a\":1}");
        add(f, 1, "mine", s, "{\"b\":1}");
    }
    const char *all = rows(f, NULL);
    int count = 0;
    for (const char *p = all; (p = strstr(p, "avg_metrics")); p++)
        count++;
    assert_int_equal(count, 10);
    assert_memory_equal(all, "1:", 2);
    OK(f, store_metrics_at(f->st, 1, "mine", 3, &f->a, &row, &n, &f->err));
    assert_int_equal(n, 1);
    assert_string_equal(row[0].group, "mine");
}

static void test_names_and_batches__of_an_experiment(void **state)
{
    struct fixture *f = *state;
    const int32_t one[] = {1};
    struct store_metric_name *name;
    int32_t *steps;
    size_t n;
    add(f, 1, "training", 1, "{\"a\":1}");
    add(f, 1, "training", 5, "{\"a\":1,\"b\":2}");
    add(f, 1, "validation", 5, "{\"v\":1}");
    OK(f, store_metric_names(f->st, (struct store_ints){one, 1}, &f->a, &name, &n, &f->err));
    assert_int_equal(n, 3);
    assert_string_equal(name[1].name, "b");
    assert_string_equal(name[2].group, "validation");
    OK(f, store_metric_batches(f->st, 1, "training", "b", &f->a, &steps, &n, &f->err));
    assert_int_equal(n, 1);
    assert_int_equal(steps[0], 5);
}

static void test_series__keeps_ends_and_peaks_when_it_is_thinned(void **state)
{
    struct fixture *f = *state;
    const char *names[] = {"y"};
    struct store_series_query q = {.trial_id = 1, .group = "training", .names = {names, 1}, .max_points = 10};
    struct store_point *p;
    size_t n;
    bool peak = false;
    for (int s = 0; s < 200; s++) {
        char avg[64];
        snprintf(avg, sizeof(avg), "{\"y\":%d,\"epoch\":%d,\"other\":1}", s == 77 ? 1000 : 1, s / 10);
        add(f, 1, "training", s, avg);
    }
    OK(f, store_metric_series(f->st, &q, &f->a, &p, &n, &f->err));
    assert_int_equal(n, 10);
    assert_int_equal(p[0].batches, 0);
    assert_int_equal(p[9].batches, 199);
    for (size_t i = 0; i < n; i++)
        peak |= p[i].batches == 77 && strcmp(p[i].values, "{\"y\":1000}") == 0 && p[i].has_epoch && p[i].epoch == 7;
    assert_true(peak);
    q.start_batches = 50;
    q.end_batches = 52;
    OK(f, store_metric_series(f->st, &q, &f->a, &p, &n, &f->err));
    assert_int_equal(n, 3);
}

/* "T10 V10 C10 …" */
static const char *workloads(struct fixture *f, struct store_workload_filter filter)
{
    struct store_workload_list l;
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    filter.trial_id = 1;
    OK(f, store_workload_list(f->st, &filter, &f->a, &l, &f->err));
    for (size_t i = 0; i < l.workload_n; i++)
        strbuf_addf(&b, "%c%d ", "TVC"[l.workload[i].kind], l.workload[i].total_batches);
    strbuf_addf(&b, "of %d", l.window.total);
    return arena_strdup(&f->a, b.s);
}

static void test_workloads__are_reports_and_checkpoints_in_one_list(void **state)
{
    struct fixture *f = *state;
    add(f, 1, "training", 10, "{\"loss\":3}");
    add(f, 1, "validation", 10, "{\"loss\":2}");
    add(f, 1, "training", 20, "{\"loss\":1}");
    add(f, 1, "mine", 20, "{\"z\":1}");
    const struct store_checkpoint c = {.uuid = "u", .task_id = "t", .trial_id = 1, .report_us = T0,
                                       .state = "COMPLETED",
                                       .resources = "{}", .steps_completed = 10};
    OK(f, store_checkpoint_put(f->st, &c, &f->err));
    assert_string_equal(workloads(f, (struct store_workload_filter){0}), "T10 V10 C10 T20 of 4");
    assert_string_equal(workloads(f, (struct store_workload_filter){.descending = true}), "T20 C10 V10 T10 of 4");
    assert_string_equal(workloads(f, (struct store_workload_filter){.filter = 1}), "C10 of 1");
    assert_string_equal(workloads(f, (struct store_workload_filter){.filter = 2}), "V10 of 1");
    assert_string_equal(workloads(f, (struct store_workload_filter){.filter = 3}), "V10 C10 of 2");
    assert_string_equal(workloads(f, (struct store_workload_filter){.sort_key = "loss"}), "T20 V10 T10 C10 of 4");
    assert_string_equal(workloads(f, (struct store_workload_filter){.sort_key = "loss", .descending = true}),
                        "T10 V10 T20 C10 of 4");
    assert_string_equal(workloads(f, (struct store_workload_filter){.sort_key = "endTime"}), "C10 T10 V10 T20 of 4");
    assert_string_equal(workloads(f, (struct store_workload_filter){.page = {1, 2}}), "V10 C10 of 4");
    assert_string_equal(workloads(f, (struct store_workload_filter){.group = "mine"}), "C10 T20 of 2");
    OK(f, store_checkpoint_set_state(f->st, "u", "DELETED", &f->err));
    assert_string_equal(workloads(f, (struct store_workload_filter){.remove_deleted_checkpoints = true}),
                        "T10 V10 T20 of 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_TRIAL(test_report__has_the_contracts_shape),
        TEST_TRIAL(test_report__of_one_step_merges_its_keys),
        TEST_TRIAL(test_report__refuses_another_value_and_changes_nothing),
        TEST_TRIAL(test_report__refuses_bad_groups_trials_and_metrics),
        TEST_TRIAL(test_summary__counts_sums_and_bounds),
        TEST_TRIAL(test_summary__of_groups_and_of_what_is_no_number),
        TEST_TRIAL(test_validation__best_and_latest),
        TEST_TRIAL(test_validation__may_be_larger_is_better),
        TEST_TRIAL(test_newer_run__archives_what_it_does_again),
        TEST_TRIAL(test_stepless_reports__neither_merge_nor_archive),
        TEST_TRIAL(test_streams__page_through_all_groups_in_order_of_step),
        TEST_TRIAL(test_names_and_batches__of_an_experiment),
        TEST_TRIAL(test_series__keeps_ends_and_peaks_when_it_is_thinned),
        TEST_TRIAL(test_workloads__are_reports_and_checkpoints_in_one_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
