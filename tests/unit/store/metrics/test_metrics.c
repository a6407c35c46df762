/* Tests metrics: merging, archiving, summaries, best validations, streams, series, workloads. */
#include "store/fixture.h"

#include "common/base/rng.h"
#include "common/json/json.h"
#include "store/experiments/checkpoints.h"
#include "store/metrics/metric_blocks.h"
#include "store/metrics/metric_seal.h"
#include "store/metrics/metrics.h"

/* Most tests run twice: with reports in rows, and with everything sealed after every report. The results must be the
 * same. */
static bool seal_always;

static void seal_all(struct fixture *f, int32_t trial_id)
{
    for (;;) {
        struct metric_seal *s;
        bool done;
        OK(f, store_seal_prepare(f->st, trial_id, 1, &s, &f->err));
        if (!s)
            return;
        OK(f, store_begin(f->st, &f->err));
        OK(f, store_seal_commit(f->st, s, &done, &f->err));
        OK(f, store_commit(f->st, &f->err));
        assert_true(done);
        store_seal_free(s);
    }
}

static int64_t count(struct fixture *f, const char *table)
{
    struct engine_stmt *stmt;
    char sql[64];
    struct engine *e = store_engine(f->st);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
    OK(f, e->ops->prepare(e, sql, &stmt, &f->err));
    OK(f, e->ops->step(stmt, &f->err));
    int64_t n = e->ops->integer(stmt, 0);
    e->ops->finalize(stmt);
    return n;
}

static void begin_run(struct fixture *f, int32_t run)
{
    struct trial_row t = fixture_trial_row(1, 1);
    t.run_id = run;
    OK(f, store_trial_put(f->st, &t, false, &f->err));
}

static struct store_report report(int32_t run, const char *group, int32_t steps, const char *avg)
{
    return (struct store_report){.trial_id = 1,
                                 .run_id = run,
                                 .group = group,
                                 .has_steps = true,
                                 .steps = steps,
                                 .report_us = T0 + steps,
                                 .avg_metrics = avg};
}

static struct store_report_result add(struct fixture *f, int32_t run, const char *group, int32_t steps, const char *avg)
{
    struct store_report r = report(run, group, steps, avg);
    struct store_report_result result;
    OK(f, store_report_valid(&r, &f->err));
    OK(f, store_report_check(f->st, &r, &f->err));
    OK(f, store_report_add(f->st, &r, &result, &f->err));
    if (seal_always)
        seal_all(f, 1);
    return result;
}

/* Returns "steps:metrics" of each report that is not archived. */
static const char *rows(struct fixture *f, const char *group)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    struct store_metric_cursor cursor = {0};
    struct store_metric_row *row;
    size_t n;
    do {
        OK(f, store_metrics_next(f->st, 1, group, &cursor, 2, &f->a, &row, &n, &f->err)); /* reads pages of two */
        for (size_t i = 0; i < n; i++)
            strbuf_addf(&b, "%d:%s ", row[i].total_batches, row[i].metrics);
    } while (n);
    return arena_strdup(&f->a, strbuf_str(&b));
}

static const char *summary(struct fixture *f)
{
    static const int32_t ids[] = {7, 1}; /* one of the trials does not exist */
    const char **s;
    OK(f, store_summary_metrics(f->st, (struct store_ints){ids, 2}, &f->a, &s, &f->err));
    assert_string_equal(s[0], "{}");
    return s[1];
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
    if (seal_always)
        seal_all(f, 1);
    add(f, 1, "validation", 10, "{\"acc\":0.5}");
    assert_string_equal(rows(f, "training"), "10:{\"avg_metrics\":{\"loss\":1.5},\"batch_metrics\":[{\"loss\":2}]} ");
    assert_string_equal(rows(f, "validation"), "10:{\"validation_metrics\":{\"acc\":0.5}} ");
    assert_int_equal(trial(f).total_batches, 10);
}

static int64_t id_at(struct fixture *f, const char *group, int32_t steps)
{
    struct store_metric_cursor cursor = {0};
    struct store_metric_row *row;
    size_t n;
    OK(f, store_metrics_next(f->st, 1, group, &cursor, 1000, &f->a, &row, &n, &f->err));
    for (size_t i = 0; i < n; i++)
        if (row[i].total_batches == steps)
            return row[i].id;
    fail_msg("no report of group %s at step %d", group, steps);
    return 0;
}

static void test_report__of_one_step_merges_its_keys(void **state)
{
    struct fixture *f = *state;
    add(f, 1, "training", 10, "{\"a\":1}");
    int64_t first = id_at(f, "training", 10);
    add(f, 1, "training", 10, "{\"b\":2,\"a\":1.0}"); /* 1 and 1.0 are equal values */
    assert_int_equal(first, id_at(f, "training", 10));
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

#define REFUSED(f, r, kind, words) \
    do { \
        FAILS(f, kind, words, store_report_valid(&(r), &(f)->err)); \
        assert_int_equal(count(f, "metric_reports"), 0); \
    } while (0)

static void test_report__refuses_what_is_no_report(void **state)
{
    struct fixture *f = *state;
    struct store_report r = report(1, "a.b", 1, "{}");
    REFUSED(f, r, ERR_INVALID, "must not contain a dot");
    r.group = "";
    REFUSED(f, r, ERR_INVALID, "needs a group");
    char *long_text = malloc(METRIC_VALUE_MAX + 100);
    memset(long_text, 'g', METRIC_VALUE_MAX + 99);
    long_text[METRIC_NAME_MAX + 1] = '\0';
    r.group = long_text;
    REFUSED(f, r, ERR_INVALID, "has 257 bytes, at most 256");
    r.group = "g";
    r.avg_metrics = "[1]";
    REFUSED(f, r, ERR_INVALID, "expected an object");
    r.avg_metrics = "{\"a\\u0000b\":1}";
    REFUSED(f, r, ERR_INVALID, "character NUL");
    r.avg_metrics = "{\"a\\\\u0000b\":1}"; /* a backslash, followed by the letters u0000 */
    OK(f, store_report_valid(&r, &f->err));
    memset(long_text, 'v', METRIC_VALUE_MAX + 99);
    memcpy(long_text, "{\"a\":\"", 6);
    memcpy(long_text + METRIC_VALUE_MAX + 96, "\"}", 3);
    r.avg_metrics = long_text;
    REFUSED(f, r, ERR_INVALID, "has a value of");
    r.avg_metrics = "{}";
    r.steps = -1;
    REFUSED(f, r, ERR_INVALID, "steps_completed is -1, it must not be negative");
    free(long_text);
}

static void test_report__refuses_100000_keys(void **state)
{
    struct fixture *f = *state;
    cleanup_strbuf struct strbuf avg = STRBUF_INIT;
    for (int i = 0; i < 100000; i++)
        strbuf_addf(&avg, "%c\"key-%d\":%d", i ? ',' : '{', i, i);
    strbuf_addc(&avg, '}');
    struct store_report r = report(1, "training", 1, avg.s);
    REFUSED(f, r, ERR_INVALID, "more than 10000 metrics");
}

static void test_report__refuses_strange_trials_and_runs(void **state)
{
    struct fixture *f = *state;
    struct store_report_result result;
    struct store_report r = report(1, "training", 1, "{\"a\":1}");
    r.trial_id = 5;
    FAILS(f, ERR_NOT_FOUND, "trial '5' not found", store_report_add(f->st, &r, &result, &f->err));
    FAILS(f, ERR_NOT_FOUND, "trial '5' not found", store_report_check(f->st, &r, &f->err));
    begin_run(f, 2);
    r.trial_id = 1;
    FAILS(f, ERR_INVALID, "invalid run id, 1 != 2", store_report_add(f->st, &r, &result, &f->err));
    r.run_id = 3;
    FAILS(f, ERR_INVALID, "invalid run id, 3 != 2", store_report_check(f->st, &r, &f->err));
    struct trial_row t = fixture_trial_row(1, 1);
    t.run_id = r.run_id = 2;
    t.state = RUN_COMPLETED;
    OK(f, store_trial_put(f->st, &t, false, &f->err));
    FAILS(f, ERR_PRECONDITION, "trial 1 has ended (COMPLETED)", store_report_add(f->st, &r, &result, &f->err));
    assert_int_equal(count(f, "metric_reports"), 0);
    assert_int_equal(count(f, "metric_summaries"), 0);
}

static void test_summary__counts_sums_and_bounds(void **state)
{
    struct fixture *f = *state;
    add(f, 1, "training", 1, "{\"x\":4,\"s\":\"hello\",\"when\":\"2026-01-02T03:04:05Z\",\"b\":true}");
    add(f, 1, "training", 3, "{\"x\":-1,\"s\":\"world\"}");
    add(f, 1, "training", 2, "{\"x\":9}"); /* step 2 is reported late, and is not the last step */
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
    /* the metrics are merged into the same report */
    assert_false(add(f, 1, "validation", 30, "{\"extra\":1}").best_of_trial);
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

/* Run 1 reports up to step 30. Run 2 begins again at step 20. */
static void test_newer_run__archives_what_it_does_again(void **state)
{
    struct fixture *f = *state;
    for (int s = 10; s <= 30; s += 10) {
        char loss[32];
        snprintf(loss, sizeof(loss), "{\"loss\":%d}", 40 - s);
        add(f, 1, "training", s, loss);
        add(f, 1, "validation", s, loss);
    }
    struct store_report stepless = {
        .trial_id = 1, .run_id = 1, .group = "gpu", .report_us = T0, .avg_metrics = "{\"u\":1}"};
    struct store_report_result result;
    OK(f, store_report_add(f->st, &stepless, &result, &f->err));
    begin_run(f, 2);
    assert_true(add(f, 2, "training", 20, "{\"loss\":100}").archived_older);
    assert_string_equal(rows(f, "training"), "10:{\"avg_metrics\":{\"loss\":30}} 20:{\"avg_metrics\":{\"loss\":100}} ");
    /* In the other kind of group the report at step 20 stays, and the one at step 30 is archived. */
    assert_string_equal(rows(f, "validation"),
                        "10:{\"validation_metrics\":{\"loss\":30}} 20:{\"validation_metrics\":{\"loss\":20}} ");
    assert_string_equal(rows(f, "gpu"), "0:{\"avg_metrics\":{\"u\":1}} ");
    struct store_trial t = trial(f);
    assert_int_equal(t.total_batches, 20);
    assert_int_equal(t.best_validation.total_batches, 20); /* the validation at 30 was better, but is archived */
    assert_int_equal(t.latest_validation.total_batches, 20);
    double best;
    OK(f, store_best_metric(f->st, 1, &best, NULL, &f->err));
    assert_true(best == 20);
    assert_non_null(strstr(t.summary_metrics, "\"loss\":{\"count\":2,\"sum\":130.0"));
    /* The validation of run 2 at step 20 makes the old one void; at step 30 nothing is left to archive. */
    assert_true(add(f, 2, "validation", 20, "{\"loss\":99}").archived_older);
    assert_false(add(f, 2, "validation", 30, "{\"loss\":98}").archived_older);
    assert_string_equal(rows(f, "validation"),
                        "10:{\"validation_metrics\":{\"loss\":30}} "
                        "20:{\"validation_metrics\":{\"loss\":99}} 30:{\"validation_metrics\":{\"loss\":98}} ");
}

static void test_stepless_reports__neither_merge_nor_archive(void **state)
{
    struct fixture *f = *state;
    struct store_report r = {.trial_id = 1, .run_id = 1, .group = "cpu", .report_us = T0, .avg_metrics = "{\"a\":1}"};
    struct store_report_result result;
    OK(f, store_report_add(f->st, &r, &result, &f->err));
    if (seal_always)
        seal_all(f, 1);
    begin_run(f, 2);
    r.avg_metrics = "{\"a\":2}";
    r.run_id = 2;
    OK(f, store_report_add(f->st, &r, &result, &f->err));
    assert_false(result.archived_older);
    assert_string_equal(rows(f, "cpu"), "0:{\"avg_metrics\":{\"a\":1}} 0:{\"avg_metrics\":{\"a\":2}} ");
}

/* Tests samples in the form of older releases' profiles. */
static void test_samples__stand_at_their_batch_and_go_with_it(void **state)
{
    struct fixture *f = *state;
    struct store_report sample = {
        .trial_id = 1, .of_current_run = true, .group = "timings", .report_us = T0, .avg_metrics = "{\"a\":1}"};
    struct store_report_result result;
    add(f, 1, "training", 10, "{\"loss\":1}");
    static const int32_t batches[] = {5, 5, 10, 15};
    for (size_t i = 0; i < 4; i++) {
        sample.batch = batches[i];
        OK(f, store_report_add(f->st, &sample, &result, &f->err));
    }
    assert_int_equal(trial(f).total_batches, 10);
    if (seal_always)
        seal_all(f, 1);
    begin_run(f, 2);
    sample.batch = 7; /* a sample makes nothing void; only a report with a step does */
    OK(f, store_report_add(f->st, &sample, &result, &f->err));
    assert_false(result.archived_older);
    assert_string_equal(rows(f, "timings"),
                        "5:{\"avg_metrics\":{\"a\":1}} 5:{\"avg_metrics\":{\"a\":1}} "
                        "7:{\"avg_metrics\":{\"a\":1}} 10:{\"avg_metrics\":{\"a\":1}} 15:{\"avg_metrics\":{\"a\":1}} ");
    assert_true(add(f, 2, "training", 8, "{\"loss\":1}").archived_older);
    assert_string_equal(rows(f, "timings"), "5:{\"avg_metrics\":{\"a\":1}} 5:{\"avg_metrics\":{\"a\":1}} "
                                            "7:{\"avg_metrics\":{\"a\":1}} ");
}

static void test_streams__page_through_all_groups_in_order_of_step(void **state)
{
    struct fixture *f = *state;
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
    OK(f, store_metric_batches(f->st, 1, "training", "b", 0, &f->a, &steps, &n, &f->err));
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
    q.has_end = true;
    OK(f, store_metric_series(f->st, &q, &f->a, &p, &n, &f->err));
    assert_int_equal(n, 3);
}

/* Returns the workloads as "T10 V10 C10 …". */
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
    const struct store_checkpoint c = {.uuid = "u",
                                       .task_id = "t",
                                       .trial_id = 1,
                                       .report_us = T0,
                                       .state = "COMPLETED",
                                       .resources = "{}",
                                       .steps_completed = 10};
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
    OK(f, store_checkpoint_set_resources(f->st, "u", "{}", &f->err));
    assert_string_equal(workloads(f, (struct store_workload_filter){.remove_deleted_checkpoints = true}),
                        "T10 V10 T20 of 3");
}

/* ---- sealing ----------------------------------------------------------------------------------------------------- */

static void test_sealed_reports__leave_their_rows_and_keep_their_ids(void **state)
{
    struct fixture *f = *state;
    struct store_metric_cursor cursor = {0};
    struct store_metric_row *row;
    size_t n;
    add(f, 1, "training", 1, "{\"a\":1}");
    int64_t first = id_at(f, "training", 1);
    for (int i = 2; i <= 100; i++)
        add(f, 1, "training", i, "{\"a\":1.5}");
    add(f, 1, "validation", 100, "{\"a\":1}");
    seal_all(f, 1);
    assert_int_equal(count(f, "metric_reports"), 1); /* validations stay rows */
    assert_int_equal(count(f, "metric_blocks"), 1);
    add(f, 1, "training", 101, "{\"a\":2}");
    /* no id is used twice, although the row with the highest id was deleted */
    assert_true(id_at(f, "training", 101) > first + 100);
    OK(f, store_metrics_next(f->st, 1, "training", &cursor, 1000, &f->a, &row, &n, &f->err));
    assert_int_equal(n, 101);
    assert_int_equal(row[0].id, first);
    assert_string_equal(row[0].metrics, "{\"avg_metrics\":{\"a\":1}}");
    assert_string_equal(row[99].metrics, "{\"avg_metrics\":{\"a\":1.5}}");
    assert_int_equal(row[100].id, id_at(f, "training", 101));
}

static void test_seal__waits_for_enough_reports(void **state)
{
    struct fixture *f = *state;
    struct metric_seal *s;
    int32_t *trial;
    size_t n;
    for (int i = 1; i <= 9; i++)
        add(f, 1, "training", i, "{\"a\":1}");
    for (int i = 1; i <= 9; i++)
        add(f, 1, "validation", i, "{\"a\":1}");
    OK(f, store_seal_prepare(f->st, 1, 10, &s, &f->err));
    assert_null(s);
    OK(f, store_seal_trials(f->st, 1, 10, 5, &f->a, &trial, &n, &f->err));
    assert_int_equal(n, 0);
    add(f, 1, "training", 10, "{\"a\":1}");
    OK(f, store_seal_trials(f->st, 1, 10, 5, &f->a, &trial, &n, &f->err));
    assert_int_equal(n, 1);
    OK(f, store_seal_prepare(f->st, 1, 10, &s, &f->err));
    assert_int_equal(store_seal_reports(s), 10);
    store_seal_free(s);
}

/* Changes reports between the two halves of sealing. The second half must notice it, and nothing may be lost. */
static void test_seal__of_what_has_changed_does_nothing(void **state)
{
    struct fixture *f = *state;
    struct metric_seal *s;
    bool done;
    for (int i = 1; i <= 10; i++)
        add(f, 1, "training", i * 10, "{\"a\":1}");
    for (int change = 0; change < 3; change++) {
        OK(f, store_seal_prepare(f->st, 1, 1, &s, &f->err));
        if (change == 0)
            add(f, 1, "training", 15, "{\"a\":1}"); /* the report comes between two that are being sealed */
        else if (change == 1)
            add(f, 1, "training", 20, "{\"b\":1}"); /* the metrics are merged into a report that is being sealed */
        else {
            begin_run(f, 2);
            add(f, 2, "training", 50, "{\"a\":1}"); /* the report archives some that are being sealed */
        }
        const char *before = rows(f, "training");
        OK(f, store_seal_commit(f->st, s, &done, &f->err));
        assert_false(done);
        assert_string_equal(rows(f, "training"), before);
        assert_int_equal(count(f, "metric_blocks"), 0);
        store_seal_free(s);
    }
    seal_all(f, 1);
    OK(f, store_seal_prepare(f->st, 1, 1, &s, &f->err));
    assert_null(s);
}

static void test_blocks__grow_until_they_are_full(void **state)
{
    struct fixture *f = *state;
    struct store_report_result result;
    char avg[64];
    OK(f, store_begin(f->st, &f->err));
    for (int i = 0; i < 12000; i++) {
        snprintf(avg, sizeof(avg), "{\"loss\":0.%04d,\"acc\":%d}", i % 10000 + 1, i % 2);
        struct store_report r = report(1, "training", i, avg);
        OK(f, store_report_add(f->st, &r, &result, &f->err));
        if (i % 1000 == 999) {
            OK(f, store_commit(f->st, &f->err));
            seal_all(f, 1);
            OK(f, store_begin(f->st, &f->err));
        }
    }
    OK(f, store_commit(f->st, &f->err));
    assert_int_equal(count(f, "metric_reports"), 0);
    assert_in_range(count(f, "metric_blocks"), 2, 3);
    assert_non_null(strstr(summary(f), "\"loss\":{\"count\":12000,"));
}

static void test_deleted_trial__takes_its_blocks_along(void **state)
{
    struct fixture *f = *state;
    for (int i = 1; i <= 10; i++)
        add(f, 1, "training", i, "{\"a\":1}");
    seal_all(f, 1);
    assert_int_equal(count(f, "metric_columns"), 1);
    fixture_delete(f, 1);
    assert_int_equal(count(f, "metric_blocks"), 0);
    assert_int_equal(count(f, "metric_columns"), 0);
}

/* Random reports of random runs go into two stores. One seals at random, the other never. Both must give the same
 * answers. */
static void random_metrics(struct rng *rng, struct strbuf *out)
{
    static const char *const name[] = {"loss", "acc", "epoch", "note"};
    static const char *const odd[] = {"\"NaN\"", "\"Infinity\"", "\"text\"", "null", "[1,2]", "12345678901234567890"};
    strbuf_reset(out);
    strbuf_addc(out, '{');
    for (int i = 0; i < 4; i++) {
        if (rng_int(rng, 4) == 0)
            continue;
        strbuf_addf(out, "%s\"%s\":", out->n > 1 ? "," : "", name[i]);
        if (rng_int(rng, 8) == 0)
            strbuf_adds(out, odd[rng_int(rng, 6)]);
        else
            strbuf_addf(out, rng_int(rng, 2) ? "%d" : "%d.25", (int)rng_int(rng, 1000));
    }
    strbuf_addc(out, '}');
}

/* Adds a summary with its names sorted, since sealed summaries have another order of names, which has no meaning. */
static void add_sorted_summary(struct fixture *f, struct strbuf *out)
{
    cleanup_json struct json_object *tree = NULL;
    const char *text = summary(f);
    assert_int_equal(json_parse(text, strlen(text), &tree, &f->err), 0);
    json_print_sorted(tree, 0, out);
}

static const char *everything(struct fixture *f)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    const char *names[] = {"loss", "acc"};
    struct store_series_query q = {
        .trial_id = 1, .group = "training", .names = {names, 2}, .start_batches = 5, .max_points = 40};
    struct store_point *p;
    struct store_workload_list l;
    int32_t *steps;
    size_t n;
    strbuf_addf(&b, "%s\n%s\n", rows(f, NULL), rows(f, "training"));
    add_sorted_summary(f, &b);
    OK(f, store_metric_series(f->st, &q, &f->a, &p, &n, &f->err));
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&b, "%d %s %g\n", p[i].batches, p[i].values, p[i].has_epoch ? p[i].epoch : -1);
    for (int sort = 0; sort < 6; sort++) {
        struct store_workload_filter w = {.trial_id = 1,
                                          .sort_key = sort / 2 == 0   ? NULL
                                                      : sort / 2 == 1 ? "endTime"
                                                                      : "loss",
                                          .descending = sort % 2,
                                          .page = {3, 20}};
        OK(f, store_workload_list(f->st, &w, &f->a, &l, &f->err));
        for (size_t i = 0; i < l.workload_n; i++)
            strbuf_addf(&b, "%d:%d:%s ", l.workload[i].kind, l.workload[i].total_batches, l.workload[i].avg_metrics);
        strbuf_addf(&b, "of %d\n", l.window.total);
    }
    OK(f, store_metric_batches(f->st, 1, "mine", "acc", 3, &f->a, &steps, &n, &f->err));
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&b, "%d ", steps[i]);
    struct store_trial t = trial(f);
    strbuf_addf(&b, "\n%d %d %d", t.total_batches, t.best_validation.total_batches, t.latest_validation.total_batches);
    return arena_strdup(&f->a, b.s);
}

/* Prints where two long answers begin to differ. */
static void assert_same(const char *a, const char *b)
{
    size_t i = 0;
    while (a[i] && a[i] == b[i])
        i++;
    size_t from = i > 60 ? i - 60 : 0;
    if (a[i] != b[i])
        fail_msg("in rows: …%.160s\nsealed:  …%.160s", a + from, b + from);
}

static void test_sealing__is_never_seen_in_an_answer(void **state)
{
    static const char *const group[] = {"training", "validation", "mine", "gpu"};
    struct fixture *plain = *state;
    void *other = NULL;
    struct rng rng;
    cleanup_strbuf struct strbuf avg = STRBUF_INIT;
    if (fixture_server())
        /* a server has only one schema here. SQLite makes this comparison, and the other tests run with sealed
         * reports on both engines */
        skip();
    assert_int_equal(fixture_setup_trial(&other), 0);
    struct fixture *sealed = other;
    rng_init(&rng, 7);
    for (int32_t run = 1, steps = 0; run <= 5; run++) {
        begin_run(plain, run);
        begin_run(sealed, run);
        steps = steps > 20 ? steps - (int32_t)rng_int(&rng, 20) : 0;
        for (int i = 0; i < 60; i++) {
            steps += (int32_t)rng_int(&rng, 3);
            random_metrics(&rng, &avg);
            struct store_report r = report(run, group[rng_int(&rng, 4)], steps, avg.s);
            r.has_steps = strcmp(r.group, "gpu") != 0;
            r.batch_metrics = rng_int(&rng, 10) ? NULL : "[{\"x\":1}]";
            struct store_report_result x, y;
            int a = store_report_add(plain->st, &r, &x, &plain->err),
                b = store_report_add(sealed->st, &r, &y, &sealed->err);
            assert_int_equal(a, b);
            if (a < 0) {
                assert_string_equal(error_msg(&plain->err), error_msg(&sealed->err));
                error_release(&plain->err);
                error_release(&sealed->err);
            } else {
                assert_true(x.archived_older == y.archived_older && x.best_of_trial == y.best_of_trial);
            }
            if (rng_int(&rng, 4) == 0)
                seal_all(sealed, 1);
        }
        assert_same(everything(plain), everything(sealed));
    }
    assert_true(count(sealed, "metric_blocks") > 3);
    fixture_teardown(&other);
}

/* Stores one full block of reports from `first` on, without storing rows before. */
static void put_block(struct fixture *f, struct packer *p, int first)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_builder *b = metric_builder_new(&a);
    struct metric_block block;
    struct metric_packed packed;
    char avg[64];
    for (int i = first; i < first + METRIC_BLOCK_REPORTS; i++) {
        snprintf(avg, sizeof(avg), "{\"y\":%d,\"epoch\":%d}",
                 i == 123456   ? 5000
                 : i == 345678 ? -5000
                               : i % 100,
                 i / 1000);
        const struct report_row r = {.id = i + 1, .run_id = 1, .steps = i, .report_us = T0 + i, .avg_metrics = avg};
        assert_true(metric_builder_add(b, &r));
    }
    metric_builder_finish(b, &block);
    metric_packed_make(p, &block, &a, &packed);
    OK(f, metric_packed_store(f->st, 1, false, "training", &packed, &f->err));
    metric_packed_release(&packed);
    metric_builder_free(b);
}

/* Charts of very many points are drawn from the points that sealing has kept. They must have at most as many points
 * as asked for, both ends and every extreme, and stay within the range. */
static void test_series__of_very_many_points(void **state)
{
    enum { N = 55 * METRIC_BLOCK_REPORTS }; /* more than are unpacked for a chart */
    struct fixture *f = *state;
    const char *names[] = {"y"};
    struct store_series_query q = {.trial_id = 1, .group = "training", .names = {names, 1}, .max_points = 200};
    struct store_point *p;
    struct packer *packer;
    size_t n, spikes = 0;
    OK(f, packer_new(&packer, &f->err));
    OK(f, store_begin(f->st, &f->err));
    for (int i = 0; i < N; i += METRIC_BLOCK_REPORTS)
        put_block(f, packer, i);
    OK(f, store_commit(f->st, &f->err));
    packer_free(packer);
    OK(f, store_metric_series(f->st, &q, &f->a, &p, &n, &f->err));
    assert_in_range(n, 150, 200);
    assert_true(p[0].batches == 0 && p[n - 1].batches == N - 1);
    for (size_t i = 0; i < n; i++)
        spikes += strcmp(p[i].values, "{\"y\":5000}") == 0 || strcmp(p[i].values, "{\"y\":-5000}") == 0;
    assert_int_equal(spikes, 2);
    q.start_batches = 100;
    q.end_batches = N - 100;
    q.has_end = true;
    OK(f, store_metric_series(f->st, &q, &f->a, &p, &n, &f->err));
    assert_true(p[0].batches == 100 && p[n - 1].batches == N - 100);
    q.by_epoch = true;
    q.start_epoch = 10;
    q.end_epoch = 440;
    OK(f, store_metric_series(f->st, &q, &f->a, &p, &n, &f->err));
    assert_true(p[0].batches == 10000 && p[n - 1].batches == 440999);
    q = (struct store_series_query){.trial_id = 1,
                                    .group = "training",
                                    .names = {names, 1},
                                    .max_points = 50,
                                    .start_us = T0 + 1000,
                                    .end_us = T0 + 1020};
    OK(f, store_metric_series(f->st, &q, &f->a, &p, &n, &f->err));
    assert_true(n == 21 && p[0].batches == 1000 && p[20].batches == 1020);
}

/* Reports, summary and best validation of a program that stored rows only must be readable. */
static void test_store_from_before_blocks__keeps_its_metrics(void **state)
{
    struct fixture *f = *state;
    fixture_older(f, "_metric_blocks");
    fixture_exec(
        f,
        "INSERT INTO users (id, username, admin, active, remote, modified_us) VALUES (1, 'admin', 1, 1, 0, 1);"
        "INSERT INTO experiments (id, job_id, state, user_id, project_id, name, description, notes, labels, archived,"
        " unmanaged, start_us, searcher_type, searcher_metric, smaller_is_better, resource_pool,"
        " model_definition_size) VALUES (1, 'job', 'ACTIVE', 1, 1, 'x', '', '', '[]', 0, 0, 1, 'single', 'loss', 1, 'p', 0);"
        "INSERT INTO trials (id, experiment_id, request_id, task_id, state, start_us, seed, hparams, run_id, restarts,"
        " steps_completed, early_exit, stopped_by_searcher, total_batches)"
        " VALUES (1, 1, 'r', 't', 'ACTIVE', 1, 7, '{}', 1, 0, 0, 'NONE', 0, 3);"
        "INSERT INTO metric_reports (trial_id, run_id, group_name, steps, stepless, report_us, avg_metrics) VALUES"
        " (1, 1, 'training', 1, 0, 1, '{\"a\":1}'), (1, 1, 'training', 2, 0, 2, '{\"a\":2.5}'),"
        " (1, 1, 'validation', 3, 0, 3, '{\"loss\":0.5}');"
        "INSERT INTO metric_summaries VALUES (1, 'training', '{\"a\":[\"number\",2,3.5,1.0,2.5,2.5,2]}')");
    fixture_open(f);
    seal_all(f, 1);
    assert_int_equal(count(f, "metric_blocks"), 1);
    add(f, 1, "training", 4, "{\"a\":4}");
    assert_string_equal(rows(f, "training"), "1:{\"avg_metrics\":{\"a\":1}} 2:{\"avg_metrics\":{\"a\":2.5}} "
                                             "4:{\"avg_metrics\":{\"a\":4}} ");
    assert_non_null(strstr(summary(f), "\"a\":{\"count\":3,\"sum\":7.5,\"min\":1.0,\"max\":4.0"));
}

static int setup_sealing(void **state)
{
    seal_always = true;
    return fixture_setup_trial(state);
}

static int teardown_sealing(void **state)
{
    seal_always = false;
    return fixture_teardown(state);
}

#define TEST_TWICE(name) \
    TEST_TRIAL(name), \
    { \
        #name " (sealed)", name, setup_sealing, teardown_sealing, NULL \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_TWICE(test_report__has_the_contracts_shape),
        TEST_TWICE(test_report__of_one_step_merges_its_keys),
        TEST_TWICE(test_report__refuses_another_value_and_changes_nothing),
        TEST_TRIAL(test_report__refuses_what_is_no_report),
        TEST_TRIAL(test_report__refuses_100000_keys),
        TEST_TRIAL(test_report__refuses_strange_trials_and_runs),
        TEST_TWICE(test_summary__counts_sums_and_bounds),
        TEST_TWICE(test_summary__of_groups_and_of_what_is_no_number),
        TEST_TWICE(test_validation__best_and_latest),
        TEST_TRIAL(test_validation__may_be_larger_is_better),
        TEST_TWICE(test_newer_run__archives_what_it_does_again),
        TEST_TWICE(test_stepless_reports__neither_merge_nor_archive),
        TEST_TWICE(test_samples__stand_at_their_batch_and_go_with_it),
        TEST_TWICE(test_streams__page_through_all_groups_in_order_of_step),
        TEST_TWICE(test_names_and_batches__of_an_experiment),
        TEST_TWICE(test_series__keeps_ends_and_peaks_when_it_is_thinned),
        TEST_TWICE(test_workloads__are_reports_and_checkpoints_in_one_list),
        TEST_TRIAL(test_sealed_reports__leave_their_rows_and_keep_their_ids),
        TEST_TRIAL(test_seal__waits_for_enough_reports),
        TEST_TRIAL(test_seal__of_what_has_changed_does_nothing),
        TEST_TRIAL(test_blocks__grow_until_they_are_full),
        TEST_TRIAL(test_deleted_trial__takes_its_blocks_along),
        TEST_TRIAL(test_sealing__is_never_seen_in_an_answer),
        TEST_TRIAL(test_series__of_very_many_points),
        TEST(test_store_from_before_blocks__keeps_its_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
