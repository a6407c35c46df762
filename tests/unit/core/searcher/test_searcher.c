#include "cmocka_setup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/rng.h"
#include "core/searcher/searcher.h"

#define SPACE \
    "{\"lr\": {\"type\": \"log\", \"base\": 10, \"minval\": -4, \"maxval\": -1}, \"n\": {\"type\": \"int\", \"minval\": 1, \"maxval\": 9}}"

static struct searcher *new_searcher(const char *config)
{
    struct searcher *s;
    cleanup_error struct error err = ERROR_INIT;
    if (searcher_new(config, SPACE, 42, &s, &err) < 0)
        fail_msg("%s", error_msg(&err));
    return s;
}

static int tell_searcher(struct searcher *s, enum searcher_event_type type, size_t trial, struct searcher_actions *a)
{
    return searcher_step(s, &(struct searcher_event){.type = type, .trial = trial}, a, NULL);
}

static int exit_early(struct searcher *s, size_t trial, enum searcher_exit reason, struct searcher_actions *a)
{
    return searcher_step(s, &(struct searcher_event){.type = SEARCHER_EXITED_EARLY, .trial = trial, .reason = reason},
                         a, NULL);
}

static void expect_shutdown(struct searcher_actions *a, bool cancel, bool failure)
{
    assert_int_equal(a->n, 1);
    assert_int_equal(a->item[0].type, SEARCHER_SHUTDOWN);
    assert_int_equal(a->item[0].cancel, cancel);
    assert_int_equal(a->item[0].failure, failure);
    searcher_actions_release(a);
}

/* ---- the trials -------------------------------------------------------------------------------------------------- */

/* Runs one trial that ends early for this reason, or that ends well if `early` is false. */
static void end_single(bool early, enum searcher_exit reason, bool cancel, bool failure)
{
    struct searcher *s = new_searcher("{\"name\": \"single\"}");
    struct searcher_actions a = SEARCHER_ACTIONS_INIT;
    assert_int_equal(tell_searcher(s, SEARCHER_STARTED, 0, &a), 1);
    searcher_actions_release(&a);
    if (early) {
        assert_int_equal(exit_early(s, 0, reason, &a), 1);
        assert_int_equal(exit_early(s, 0, reason, &a), 0); /* an event that is told twice counts once */
    }
    assert_int_equal(a.n, 0);
    assert_int_equal(tell_searcher(s, SEARCHER_EXITED, 0, &a), 1);
    expect_shutdown(&a, cancel, failure);
    assert_int_equal(tell_searcher(s, SEARCHER_EXITED, 0, &a), 0);
    searcher_free(s);
}

static void test_single__ends_as_its_trial_ended(void **state)
{
    end_single(false, SEARCHER_EXIT_ERRORED, false, false);
    end_single(true, SEARCHER_EXIT_ERRORED, false, true);
    end_single(true, SEARCHER_EXIT_USER_CANCELED, true, false);
    end_single(true, SEARCHER_EXIT_INVALID_HP, false, false);
}

static void test_random__one_success_among_failures_is_a_success(void **state)
{
    struct searcher *s = new_searcher("{\"name\": \"random\", \"max_trials\": 3}");
    struct searcher_actions created = SEARCHER_ACTIONS_INIT, a = SEARCHER_ACTIONS_INIT;
    tell_searcher(s, SEARCHER_STARTED, 0, &created);
    assert_int_equal(created.n, 3);
    for (size_t i = 0; i < 3; i++) {
        if (i != 1)
            exit_early(s, i, SEARCHER_EXIT_ERRORED, &a);
        tell_searcher(s, SEARCHER_EXITED, i, &a);
    }
    expect_shutdown(&a, false, false);
    searcher_actions_release(&created);
    searcher_free(s);
}

static void test_random__a_trial_with_invalid_hyperparameters_is_replaced(void **state)
{
    struct searcher *s = new_searcher("{\"name\": \"random\", \"max_trials\": 1}");
    struct searcher_actions a = SEARCHER_ACTIONS_INIT;
    tell_searcher(s, SEARCHER_STARTED, 0, &a);
    exit_early(s, 0, SEARCHER_EXIT_INVALID_HP, &a);
    tell_searcher(s, SEARCHER_EXITED, 0, &a);
    assert_int_equal(a.n, 2);
    assert_int_equal(a.item[1].type, SEARCHER_CREATE);
    searcher_actions_release(&a);
    searcher_free(s);
}

static void test_random__progress_is_the_mean_of_its_trials(void **state)
{
    struct searcher *s = new_searcher("{\"name\": \"random\", \"max_trials\": 4, \"max_concurrent_trials\": 2}");
    struct searcher_actions a = SEARCHER_ACTIONS_INIT;
    tell_searcher(s, SEARCHER_STARTED, 0, &a);
    struct searcher_event half = {.type = SEARCHER_PROGRESS, .trial = 0, .progress = 0.5};
    /* a progress that is not a number counts as 0 */
    struct searcher_event none = {.type = SEARCHER_PROGRESS, .trial = 1, .progress = NAN};
    searcher_step(s, &half, &a, NULL);
    searcher_step(s, &none, &a, NULL);
    assert_true(searcher_progress(s) == 0.25);
    searcher_actions_release(&a);
    searcher_free(s);
}

static void test_searcher__refuses_events_of_trials_that_it_does_not_have(void **state)
{
    struct searcher *s = new_searcher("{\"name\": \"single\"}");
    struct searcher_actions a = SEARCHER_ACTIONS_INIT;
    tell_searcher(s, SEARCHER_STARTED, 0, &a);
    assert_int_equal(tell_searcher(s, SEARCHER_EXITED, 1, &a), -1);
    assert_int_equal(tell_searcher(s, SEARCHER_STARTED, 0, &a), -1);
    assert_int_equal(searcher_find(s, "00000000-0000-4000-8000-000000000000"), SIZE_MAX);
    assert_int_equal(searcher_find(s, a.item[0].request_id), 0);
    searcher_actions_release(&a);
    searcher_free(s);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

#define PROMOTE \
    "{\"name\": \"async_halving\", \"metric\": \"loss\", \"num_rungs\": 2, \"max_trials\": 4, \"divisor\": 2, " \
    "\"max_length\": {\"batches\": 8}, \"max_concurrent_trials\": 2}"

static int complete_operation(struct searcher *s, size_t trial, int64_t length, double metric,
                              struct searcher_actions *a, struct error *err)
{
    struct searcher_event ev = {
        .type = SEARCHER_OPERATION_COMPLETED, .trial = trial, .length = length, .metric = metric, .run = 1};
    return searcher_step(s, &ev, a, err);
}

static void test_operation__only_what_was_asked_for_can_be_completed(void **state)
{
    struct searcher *s = new_searcher(PROMOTE), *today = new_searcher("{\"name\": \"single\"}");
    struct searcher_actions a = SEARCHER_ACTIONS_INIT;
    cleanup_error struct error err = ERROR_INIT;
    tell_searcher(s, SEARCHER_STARTED, 0, &a);
    assert_int_equal(searcher_operation(s, 0).length, 4);
    assert_int_equal(complete_operation(s, 0, 5, 1, &a, &err), -1);
    assert_int_equal(err.kind, ERR_PRECONDITION);
    assert_string_equal(error_msg(&err), "the trial was asked to train until 4, and reports that it did until 5");
    assert_int_equal(complete_operation(s, 0, 4, 1, &a, NULL), 1);
    assert_true(searcher_operation(s, 0).completed);
    /* the operation is reported again, because the answer was lost */
    assert_int_equal(complete_operation(s, 0, 4, 1, &a, NULL), 0);
    searcher_actions_release(&a);
    tell_searcher(today, SEARCHER_STARTED, 0, &a);
    assert_int_equal(complete_operation(today, 0, 1, 1, &a, NULL), -1);
    searcher_actions_release(&a);
    searcher_free(s);
    searcher_free(today);
}

/* Li et al. 2020, Algorithm 2: a trial whose result was not good enough goes on when other trials have had worse
 * results. */
static void test_promotion__later_results_promote_an_earlier_trial(void **state)
{
    struct searcher *s = new_searcher(PROMOTE);
    struct searcher_actions a = SEARCHER_ACTIONS_INIT;
    tell_searcher(s, SEARCHER_STARTED, 0, &a);
    searcher_actions_release(&a);
    complete_operation(s, 0, 4, 0.5, &a, NULL); /* with one result at the rung no trial is promoted yet */
    assert_true(searcher_operation(s, 0).completed && !searcher_operation(s, 0).closed);
    complete_operation(s, 1, 4, 0.9, &a, NULL);
    assert_int_equal(searcher_operation(s, 0).length, 8);
    /* the report is repeated, because its first answer was lost */
    assert_int_equal(complete_operation(s, 0, 4, 0.5, &a, NULL), 0);
    assert_false(searcher_operation(s, 0).completed);
    searcher_actions_release(&a);
    searcher_free(s);
}

/* A waiting trial that was killed still has a place among the best. The next trial must not wait for it for ever. */
static void test_promotion__a_trial_that_is_gone_is_passed_over(void **state)
{
    struct searcher *s = new_searcher(PROMOTE);
    struct searcher_actions a = SEARCHER_ACTIONS_INIT;
    tell_searcher(s, SEARCHER_STARTED, 0, &a);
    complete_operation(s, 0, 4, 0.1, &a, NULL);
    exit_early(s, 0, SEARCHER_EXIT_USER_CANCELED, &a);
    tell_searcher(s, SEARCHER_EXITED, 0, &a);
    complete_operation(s, 1, 4, 0.9, &a, NULL);
    assert_false(searcher_operation(s, 1).length == 8);
    complete_operation(s, 2, 4, 0.8, &a, NULL);
    complete_operation(s, 3, 4, 0.7, &a, NULL);
    assert_int_equal(searcher_operation(s, 3).length, 8);
    complete_operation(s, 3, 8, 0.1, &a, NULL);
    for (size_t i = 1; i < 4; i++) {
        assert_true(searcher_operation(s, i).closed);
        tell_searcher(s, SEARCHER_EXITED, i, &a);
    }
    assert_int_equal(a.item[a.n - 1].type, SEARCHER_SHUTDOWN);
    searcher_actions_release(&a);
    searcher_free(s);
}

/* ---- today's halving --------------------------------------------------------------------------------------------- */

#define BY_TIME \
    "{\"name\": \"async_halving\", \"metric\": \"loss\", \"num_rungs\": 2, \"max_trials\": 9, \"divisor\": 3, " \
    "\"max_time\": 9, \"time_metric\": \"batches\", \"max_concurrent_trials\": 2}"

static int report_validation(struct searcher *s, size_t trial, double time, double metric, struct searcher_actions *a)
{
    struct searcher_event ev = {.type = SEARCHER_VALIDATED, .trial = trial, .metric = metric, .time = time};
    return searcher_step(s, &ev, a, NULL);
}

/* A trial that was stopped goes on validating until it notices that it was stopped. */
static void test_asha__a_stopped_trial_counts_once(void **state)
{
    struct searcher *s = new_searcher(BY_TIME);
    struct searcher_actions a = SEARCHER_ACTIONS_INIT;
    tell_searcher(s, SEARCHER_STARTED, 0, &a);
    report_validation(s, 0, 3, 0.1, &a);
    searcher_actions_release(&a);
    report_validation(s, 1, 3, 0.2, &a);
    assert_int_equal(a.n, 2); /* the trial is stopped, and another one is created in its place */
    report_validation(s, 1, 4, 0.2, &a);
    exit_early(s, 1, SEARCHER_EXIT_ERRORED, &a);
    assert_int_equal(a.n, 2);
    searcher_actions_release(&a);
    searcher_free(s);
}

static void test_metrics__what_is_missing_is_named(void **state)
{
    struct searcher *s = new_searcher(BY_TIME), *random = new_searcher("{\"name\": \"random\", \"max_trials\": 1}");
    struct searcher_event ev = {0};
    static const struct {
        const char *metrics, *sentence;
    } rows[] = {
        {"{\"batches\": 1}", "error parsing searcher metric: the validation reports no metric \"loss\""},
        {"{\"loss\": \"NaN\", \"batches\": 1}",
         "error parsing searcher metric: the metric \"loss\" is no number but \"NaN\""},
        {"{\"loss\": 1, \"batches\": null}",
         "error parsing searcher time metric: the metric \"batches\" is no number but null"},
        {"[1]", "validation metrics: are no object"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cleanup_error struct error err = ERROR_INIT;
        assert_int_equal(searcher_read_metrics(s, rows[i].metrics, &ev, &err), -1);
        assert_string_equal(error_msg(&err), rows[i].sentence);
    }
    assert_int_equal(searcher_read_metrics(random, "{}", &ev, NULL), 0);
    searcher_free(s);
    searcher_free(random);
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

static void test_event__is_read_back_as_it_was_printed(void **state)
{
    static const struct searcher_event events[] = {
        {.type = SEARCHER_STARTED},
        {.type = SEARCHER_VALIDATED, .trial = 7, .metric = 0.1, .time = 1e300},
        {.type = SEARCHER_OPERATION_COMPLETED, .trial = 8, .metric = -INFINITY, .length = 9000, .run = 3},
        {.type = SEARCHER_PROGRESS, .trial = 9, .progress = 1.0 / 3},
        {.type = SEARCHER_EXITED_EARLY, .trial = 10, .reason = SEARCHER_EXIT_INVALID_HP},
        {.type = SEARCHER_EXITED, .trial = 4294967295},
    };
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        cleanup_strbuf struct strbuf text = STRBUF_INIT;
        struct searcher_event back;
        searcher_event_print(&events[i], &text);
        assert_int_equal(searcher_event_parse(text.s, text.n - 1, &back, NULL), 0);
        assert_memory_equal(&back, &events[i], sizeof(back));
    }
    static const char *const bad[] = {"",         "q 1",          "v",         "v 1",    "v 1 2",      "v 1 x 2",
                                      "v -1 1 1", "v 1 1 1 1",    "e 1 9",     "e 1 -1", "o 1 1 -1 1", "o 1 1 1",
                                      "vx 1 1 1", "x 4294967296", "p 0 1e999", "p 0 "};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct searcher_event back;
        assert_int_equal(searcher_event_parse(bad[i], strlen(bad[i]), &back, NULL), -1);
    }
}

static void expect_same_text(const struct searcher *a, const struct searcher *b)
{
    cleanup_strbuf struct strbuf x = STRBUF_INIT, y = STRBUF_INIT;
    searcher_snapshot(a, &x);
    searcher_snapshot(b, &y);
    assert_string_equal(x.s, y.s);
}

static void test_snapshot__of_version_1_is_read(void **state)
{
    const char *config = "{\"name\": \"random\", \"max_trials\": 6, \"max_concurrent_trials\": 2}";
    struct searcher *s = new_searcher(config), *old = new_searcher(config);
    struct searcher_actions a = SEARCHER_ACTIONS_INIT, b = SEARCHER_ACTIONS_INIT;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    tell_searcher(s, SEARCHER_STARTED, 0, &a);
    exit_early(s, 0, SEARCHER_EXIT_ERRORED, &a);
    strbuf_addf(&text,
                "{\"method\":\"random\",\"drawn\":2,\"requested\":2,\"trials\":{\"%s\":\"efp\",\"%s\":\"p\"},"
                "\"state\":{\"created_trials\":2,\"pending_trials\":1}}",
                a.item[0].request_id, a.item[1].request_id);
    assert_int_equal(searcher_restore(old, text.s, NULL, NULL), 0);
    tell_searcher(s, SEARCHER_EXITED, 0, &a);
    tell_searcher(old, SEARCHER_EXITED, 0, &b);
    assert_int_equal(b.n, 1);
    assert_string_equal(a.item[2].request_id, b.item[0].request_id);
    assert_string_equal(a.item[2].hparams, b.item[0].hparams);
    searcher_actions_release(&a);
    searcher_actions_release(&b);
    searcher_free(s);
    searcher_free(old);
}

static void refuse_snapshot(const char *config, const char *snapshot, const char *events, const char *sentence)
{
    struct searcher *s = new_searcher(config);
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(searcher_restore(s, snapshot, events, &err), -1);
    assert_string_equal(error_msg(&err), sentence);
    searcher_free(s);
}

static void test_snapshot__that_cannot_be_is_refused(void **state)
{
    const char *random = "{\"name\": \"random\", \"max_trials\": 2}";
    refuse_snapshot(random, "[]", NULL, "searcher snapshot: is no object");
    refuse_snapshot(random, "{\"version\":2,\"method\":\"grid\"}", NULL,
                    "searcher snapshot: is not one of a random searcher");
    refuse_snapshot(random, "{\"version\":3,\"method\":\"random\"}", NULL,
                    "searcher snapshot: is of version 3, this program knows up to 2");
    refuse_snapshot(random, "{\"version\":2,\"method\":\"random\",\"events\":1}", NULL,
                    "searcher snapshot: flags: is no list");
    refuse_snapshot(random, "{\"version\":2,\"method\":\"random\",\"events\":1,\"flags\":[999]}", NULL,
                    "searcher snapshot: flags[0]: is no number from 0 to 127");
    refuse_snapshot(random, "{\"version\":2,\"method\":\"random\",\"events\":1,\"flags\":[0],\"state\":{}}", NULL,
                    "searcher snapshot: created_trials: is no number from 0 to 1");
    refuse_snapshot(random,
                    "{\"version\":2,\"method\":\"random\",\"events\":1,\"flags\":[0],"
                    "\"state\":{\"created_trials\":1}}",
                    "nonsense\n", "searcher events: \"nonsense\" is no event of a searcher");
    refuse_snapshot(PROMOTE,
                    "{\"version\":2,\"method\":\"async_halving\",\"events\":1,\"flags\":[0],"
                    "\"state\":{\"rungs\":[],\"trials\":[]}}",
                    NULL, "searcher snapshot: rungs or trials: do not fit this search");
}

/* ---- every method, any order of reports, killed between any two events ------------------------------------------- */

static const char *const searches[] = {
    "{\"name\": \"single\"}",
    "{\"name\": \"single\", \"max_length\": 7}",
    "{\"name\": \"random\", \"max_trials\": 7, \"max_concurrent_trials\": 3}",
    "{\"name\": \"random\", \"max_trials\": 5, \"max_concurrent_trials\": 0, \"max_length\": {\"epochs\": 2}}",
    "{\"name\": \"grid\", \"max_concurrent_trials\": 4}",
    BY_TIME,
    PROMOTE,
    "{\"name\": \"async_halving\", \"metric\": \"loss\", \"num_rungs\": 3, \"max_trials\": 12, \"divisor\": 3, "
    "\"max_length\": {\"records\": 900}, \"stop_once\": true, \"max_concurrent_trials\": 0}",
    "{\"name\": \"async_halving\", \"metric\": \"loss\", \"num_rungs\": 3, \"max_trials\": 27, \"divisor\": 3, "
    "\"max_length\": {\"batches\": 27}, \"smaller_is_better\": false}",
    "{\"name\": \"adaptive_asha\", \"metric\": \"loss\", \"max_trials\": 16, \"max_time\": 64, \"time_metric\": \"t\"}",
    "{\"name\": \"adaptive_asha\", \"metric\": \"loss\", \"max_trials\": 20, \"max_length\": {\"batches\": 64}, "
    "\"mode\": \"conservative\", \"max_concurrent_trials\": 5}",
    "{\"name\": \"adaptive_asha\", \"metric\": \"loss\", \"max_trials\": 9, \"max_time\": 81, \"time_metric\": \"t\", "
    "\"divisor\": 3, \"bracket_rungs\": [1, 3, 2]}",
    "{\"name\": \"adaptive_simple\", \"metric\": \"loss\", \"max_trials\": 8, \"max_length\": {\"epochs\": 16}, "
    "\"mode\": \"aggressive\"}",
};
enum { SEARCH_N = sizeof(searches) / sizeof(searches[0]) };
#define GRID_SPACE \
    "{\"a\": {\"type\": \"int\", \"minval\": 0, \"maxval\": 5, \"count\": 3}, \"b\": {\"c\": {\"type\": \"categorical\", \"vals\": [1, null, [2]]}}}"

enum { TRIALS_MAX = 256 };

/* A simulated cluster: which trials live, how far they have trained, and what they were asked for. */
struct play {
    struct searcher *searcher;
    const char *config;
    struct rng rng;
    struct strbuf snapshot, events; /* the texts that a store would hold */
    size_t trial_n, live_n, most_at_work;
    struct {
        size_t trial;
        int64_t length;
        double metric;
    } result[4 * TRIALS_MAX];
    size_t result_n;
    /* if not 0, the search has one bracket, and the test checks that only the best part of its results goes on */
    double divisor;
    bool promotes, bigger_is_better;
    struct {
        bool live, stopped;
        int64_t time, length;
        bool open, closed;
    } trial[TRIALS_MAX];
    bool over, failed;
    struct strbuf story; /* all actions */
};

static struct searcher *new_of(const char *config)
{
    struct searcher *s;
    cleanup_error struct error err = ERROR_INIT;
    if (searcher_new(config, GRID_SPACE, 7, &s, &err) < 0)
        fail_msg("%s", error_msg(&err));
    return s;
}

static size_t at_work(const struct play *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->trial_n; i++)
        n += p->trial[i].live && !p->trial[i].stopped && (p->trial[i].length == 0 || p->trial[i].open);
    return n;
}

/* Checks that the trial is among the best of its rung, by counting all results of the rung again. */
static void expect_among_best(const struct play *p, size_t trial, int64_t length)
{
    size_t n = 0, better = 0;
    double own = 0;
    for (size_t i = 0; i < p->result_n; i++)
        if (p->result[i].trial == trial && p->result[i].length == length)
            own = p->result[i].metric;
    for (size_t i = 0; i < p->result_n; i++) {
        if (p->result[i].length != length)
            continue;
        n++;
        better += p->bigger_is_better ? p->result[i].metric > own : p->result[i].metric < own;
    }
    size_t best = (size_t)((double)n / p->divisor);
    if (better >= best && !(better == 0 && !p->promotes))
        fail_msg("trial %zu goes on, %zu of %zu are better", trial, better, n);
}

static void do_action(struct play *p, const struct searcher_action *a)
{
    strbuf_addf(&p->story, "%d %zu %s %u %s %lld\n", a->type, a->trial, a->request_id, a->trial_seed,
                a->hparams ? a->hparams : "", (long long)a->length);
    switch (a->type) {
    case SEARCHER_CREATE:
        assert_int_equal(a->trial, p->trial_n);
        assert_in_range(a->trial, 0, TRIALS_MAX - 1);
        p->trial[p->trial_n++].live = true;
        p->live_n++;
        break;
    case SEARCHER_VALIDATE_AFTER:
        if (p->divisor > 0 && p->trial[a->trial].length > 0)
            expect_among_best(p, a->trial, p->trial[a->trial].length);
        assert_false(p->trial[a->trial].closed);
        assert_true(a->length >= p->trial[a->trial].length);
        p->trial[a->trial].length = a->length;
        p->trial[a->trial].open = true;
        break;
    case SEARCHER_CLOSE:
        assert_false(p->trial[a->trial].closed);
        p->trial[a->trial].closed = true;
        break;
    case SEARCHER_STOP:
        p->trial[a->trial].stopped = true;
        break;
    default:
        p->over = true;
    }
}

static void play_event(struct play *p, struct searcher_event ev)
{
    struct searcher_actions a = SEARCHER_ACTIONS_INIT;
    int rv = searcher_step(p->searcher, &ev, &a, NULL);
    assert_int_not_equal(rv, -1);
    if (rv > 0)
        searcher_event_print(&ev, &p->events);
    else
        assert_int_equal(a.n, 0);
    for (size_t i = 0; i < a.n; i++)
        do_action(p, &a.item[i]);
    if (at_work(p) > p->most_at_work)
        p->most_at_work = at_work(p);
    searcher_actions_release(&a);
}

static void end_trial(struct play *p, size_t i)
{
    p->trial[i].live = false;
    p->live_n--;
    play_event(p, (struct searcher_event){.type = SEARCHER_EXITED, .trial = i});
}

/* Lets a live trial make its next move. */
static void play_trial(struct play *p, size_t i, int fail_in_100)
{
    double metric = rng_unit(&p->rng);
    uint64_t dice = rng_int(&p->rng, 100);
    bool waits = p->trial[i].length > 0 && !p->trial[i].open;
    if (dice < (uint64_t)fail_in_100) {
        play_event(p, (struct searcher_event){.type = SEARCHER_EXITED_EARLY,
                                              .trial = i,
                                              .reason = (enum searcher_exit)rng_int(&p->rng, 3)});
        end_trial(p, i);
    } else if (p->trial[i].stopped || (waits && p->trial[i].closed) || p->trial[i].time > 100) {
        end_trial(p, i);
    } else if (p->trial[i].open) {
        p->trial[i].open = false;
        assert_in_range(p->result_n, 0, sizeof(p->result) / sizeof(p->result[0]) - 1);
        p->result[p->result_n].trial = i;
        p->result[p->result_n].length = p->trial[i].length;
        p->result[p->result_n++].metric = metric;
        play_event(p, (struct searcher_event){.type = SEARCHER_OPERATION_COMPLETED,
                                              .trial = i,
                                              .metric = metric,
                                              .length = p->trial[i].length,
                                              .run = 1});
    } else if (!waits) {
        p->trial[i].time += 1 + (int64_t)rng_int(&p->rng, 40);
        play_event(p, (struct searcher_event){.type = SEARCHER_PROGRESS, .trial = i, .progress = metric});
        play_event(p, (struct searcher_event){
                          .type = SEARCHER_VALIDATED, .trial = i, .metric = metric, .time = (double)p->trial[i].time});
    }
}

static void take_snapshot(struct play *p)
{
    strbuf_reset(&p->snapshot);
    strbuf_reset(&p->events);
    searcher_snapshot(p->searcher, &p->snapshot);
}

/* Frees the searcher, and makes it again from what was stored. */
static void crash_searcher(struct play *p)
{
    struct searcher *again = new_of(p->config);
    cleanup_error struct error err = ERROR_INIT;
    if (searcher_restore(again, p->snapshot.s, strbuf_str(&p->events), &err) < 0)
        fail_msg("%s", error_msg(&err));
    expect_same_text(p->searcher, again);
    assert_int_equal(searcher_event_n(p->searcher), searcher_event_n(again));
    assert_true(searcher_progress(p->searcher) == searcher_progress(again));
    searcher_free(p->searcher);
    p->searcher = again;
}

static void play_init(struct play *p, const char *config, uint32_t seed)
{
    *p = (struct play){.config = config, .searcher = new_of(config)};
    rng_init(&p->rng, seed);
}

static void play_on(struct play *p, int fail_in_100, bool with_crashes)
{
    take_snapshot(p);
    play_event(p, (struct searcher_event){.type = SEARCHER_STARTED});
    for (int turn = 0; !p->over; turn++) {
        assert_in_range(turn, 0, 100000); /* makes sure that the search comes to an end */
        size_t i = (size_t)rng_int(&p->rng, p->trial_n);
        if (p->trial[i].live)
            play_trial(p, i, fail_in_100);
        if (turn % 11 == 0)
            take_snapshot(p);
        if (with_crashes)
            crash_searcher(p);
    }
    assert_int_equal(p->live_n, 0);
    assert_in_range(searcher_progress(p->searcher) * 1000, 0, 1000);
}

static void play_search(struct play *p, const char *config, uint32_t seed, int fail_in_100, bool with_crashes)
{
    play_init(p, config, seed);
    play_on(p, fail_in_100, with_crashes);
}

static void play_release(struct play *p)
{
    searcher_free(p->searcher);
    strbuf_release(&p->snapshot);
    strbuf_release(&p->events);
    strbuf_release(&p->story);
}

static void test_any_search__killed_between_any_two_events_goes_on_in_the_same_way(void **state)
{
    static struct play undisturbed, crashed;
    for (size_t i = 0; i < SEARCH_N; i++) {
        for (uint32_t seed = 0; seed < 4; seed++) {
            int fail_in_100 = seed % 2 ? 15 : 0;
            play_search(&undisturbed, searches[i], seed, fail_in_100, false);
            play_search(&crashed, searches[i], seed, fail_in_100, true);
            assert_string_equal(undisturbed.story.s, crashed.story.s);
            play_release(&undisturbed);
            play_release(&crashed);
        }
    }
}

/* Checks the number of trials in all and at the same time, if none has invalid hyperparameters. A trial that was
 * stopped and a trial that waits do not count as being at work. */
static void test_any_search__keeps_its_limits(void **state)
{
    static const size_t trials[SEARCH_N] = {1, 1, 7, 5, 9, 9, 4, 12, 27, 16, 20, 9, 8};
    static const size_t at_once[SEARCH_N] = {1, 1, 3, 5, 4, 2, 4, 12, 27, 16, 20, 9, 8};
    static struct play p;
    for (size_t i = 0; i < SEARCH_N; i++) {
        for (uint32_t seed = 100; seed < 110; seed++) {
            play_search(&p, searches[i], seed, 0, false);
            assert_in_range(p.trial_n, 1, trials[i]);
            assert_in_range(p.most_at_work, 1, at_once[i]);
            play_release(&p);
        }
    }
}

static void test_halving__only_who_is_among_the_best_goes_on(void **state)
{
    static struct play p;
    static const struct {
        int search;
        double divisor;
        bool promotes, bigger;
    } rows[] = {{6, 2, true, false}, {7, 3, false, false}, {8, 3, true, true}};
    for (size_t i = 0; i < 3; i++) {
        for (uint32_t seed = 0; seed < 20; seed++) {
            play_init(&p, searches[rows[i].search], seed);
            p.divisor = rows[i].divisor;
            p.promotes = rows[i].promotes;
            p.bigger_is_better = rows[i].bigger;
            play_on(&p, 0, false);
            play_release(&p);
        }
    }
}

/* ---- bad configurations ------------------------------------------------------------------------------------------ */

static void expect_refused(const char *config, const char *space, const char *sentence)
{
    struct searcher *s;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(searcher_new(config, space, 1, &s, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_string_equal(error_msg(&err), sentence);
}

static void test_searcher__a_new_search_begins_with_a_bounded_number_of_trials(void **state)
{
    cleanup_error struct error many = ERROR_INIT, large = ERROR_INIT;
    struct searcher *s = new_searcher("{\"name\": \"random\", \"max_trials\": 3001, \"max_concurrent_trials\": 0}");
    assert_int_equal(searcher_check_start(s, 2, &many), -1);
    assert_string_equal(error_msg(&many),
                        "searcher.max_concurrent_trials: 3001 trials would begin at once, at most 3000 can; set it, "
                        "or set it lower");
    searcher_free(s);
    s = new_searcher("{\"name\": \"random\", \"max_trials\": 3001, \"max_concurrent_trials\": 43}");
    assert_int_equal(searcher_check_start(s, 2, NULL), 0);
    assert_int_equal(searcher_check_start(s, 100000, &large), -1);
    assert_string_equal(
        error_msg(&large),
        "searcher.max_concurrent_trials: 43 trials would begin at once, each with up to 100000 bytes of "
        "hyperparameters; at most 41 such trials can, set it lower");
    searcher_free(s);
    s = new_searcher("{\"name\": \"random\", \"max_trials\": 1}");
    assert_int_equal(searcher_check_start(s, 100 * 1024 * 1024, NULL), 0);
    searcher_free(s);
}

static void test_searcher__says_what_is_wrong_with_a_configuration(void **state)
{
    expect_refused("{\"name\": \"magic\"}", "{}",
                   "<config>.searcher: name must be one of single, random, grid, async_halving, adaptive_asha, "
                   "sync_halving, adaptive, adaptive_simple, custom; found \"magic\"");
    expect_refused("{}", "{}", "<config>.searcher: \"name\" must be set");
    expect_refused("{\"name\": \"random\"}", "{}", "searcher.max_trials: must be 1 or more");
    expect_refused("{\"name\": \"random\", \"max_trials\": 1000000, \"max_concurrent_trials\": 0}", "{}",
                   "searcher.max_concurrent_trials: 1000000 trials would begin at once, at most 100000 can; set it, or "
                   "set it lower");
    expect_refused("{\"name\": \"async_halving\", \"max_trials\": 4, \"max_time\": 4, \"time_metric\": \"t\"}", "{}",
                   "searcher.num_rungs: must be 1 to 100");
    expect_refused("{\"name\": \"adaptive_asha\", \"max_trials\": 4, \"max_time\": 4, \"time_metric\": \"t\", "
                   "\"bracket_rungs\": [1, 101]}",
                   "{}", "searcher.bracket_rungs[1]: must be 1 to 100");
    expect_refused("{\"name\": \"grid\"}", "{\"a\": {\"type\": \"int\", \"minval\": 1, \"maxval\": 2}}",
                   "hyperparameters.a: a grid search needs a \"count\" of 1 or more here");
    expect_refused("{\"name\": \"grid\"}",
                   "{\"a\": {\"type\": \"double\", \"minval\": 1, \"maxval\": 2, \"count\": 4294967296}, \"b\": "
                   "{\"type\": \"double\", \"minval\": 1, \"maxval\": 2, \"count\": 4294967296}}",
                   "hyperparameters: the grid has more than 9007199254740992 points; give smaller counts");
}

static void test_hyperparameters__that_cannot_be_drawn_are_refused(void **state)
{
    expect_refused("{\"name\": \"single\"}", "{\"lr\": {\"type\": \"double\", \"minval\": 1}}",
                   "hyperparameters.lr: needs the numbers minval and maxval");
    expect_refused("{\"name\": \"single\"}", "{\"net\": {\"k\": {\"type\": \"categorical\", \"vals\": []}}}",
                   "hyperparameters.k: needs a list vals with at least one value");
    expect_refused("{\"name\": \"single\"}",
                   "{\"x\": {\"type\": \"double\", \"minval\": -1.5e308, \"maxval\": 1.5e308}}",
                   "hyperparameters.x: the range from -1.5e+308 to 1.5e+308 is too wide");
    expect_refused("{\"name\": \"single\"}",
                   "{\"x\": {\"type\": \"log\", \"base\": 10, \"minval\": 1, \"maxval\": 400}}",
                   "hyperparameters.x: minval and maxval are exponents of base 10, which gives 10 to inf");
}

static void test_searcher__custom_is_refused_with_a_way_out(void **state)
{
    struct searcher *s;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(searcher_new("{\"name\": \"custom\"}", "{}", 1, &s, &err), -1);
    assert_non_null(strstr(error_msg(&err), "\"custom\" cannot run; choose adaptive_asha"));
}

static void test_retired_searcher__runs_under_its_new_name_and_says_so(void **state)
{
    static const struct {
        const char *config, *warning;
    } rows[] = {
        {"{\"name\": \"adaptive_simple\", \"max_trials\": 8, \"max_length\": {\"epochs\": 16}}",
         "the searcher \"adaptive_simple\" has been retired and runs as adaptive_asha"},
        {"{\"name\": \"adaptive\", \"budget\": {\"epochs\": 64}, \"max_length\": {\"epochs\": 16}}",
         "the searcher \"adaptive\" has been retired and runs as adaptive_asha"},
        {"{\"name\": \"sync_halving\", \"num_rungs\": 2, \"budget\": {\"epochs\": 64}, \"max_length\": {\"epochs\": 16}}",
         "the searcher \"sync_halving\" has been retired and runs as async_halving"},
    };
    for (size_t i = 0; i < 3; i++) {
        cleanup_strbuf struct strbuf text = STRBUF_INIT;
        struct searcher *s = new_searcher(rows[i].config);
        assert_int_equal(searcher_warning(s, &text), 1);
        assert_string_equal(text.s, rows[i].warning);
        searcher_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single__ends_as_its_trial_ended),
        cmocka_unit_test(test_random__one_success_among_failures_is_a_success),
        cmocka_unit_test(test_random__a_trial_with_invalid_hyperparameters_is_replaced),
        cmocka_unit_test(test_random__progress_is_the_mean_of_its_trials),
        cmocka_unit_test(test_searcher__refuses_events_of_trials_that_it_does_not_have),
        cmocka_unit_test(test_operation__only_what_was_asked_for_can_be_completed),
        cmocka_unit_test(test_promotion__later_results_promote_an_earlier_trial),
        cmocka_unit_test(test_promotion__a_trial_that_is_gone_is_passed_over),
        cmocka_unit_test(test_asha__a_stopped_trial_counts_once),
        cmocka_unit_test(test_metrics__what_is_missing_is_named),
        cmocka_unit_test(test_event__is_read_back_as_it_was_printed),
        cmocka_unit_test(test_snapshot__of_version_1_is_read),
        cmocka_unit_test(test_snapshot__that_cannot_be_is_refused),
        cmocka_unit_test(test_any_search__killed_between_any_two_events_goes_on_in_the_same_way),
        cmocka_unit_test(test_any_search__keeps_its_limits),
        cmocka_unit_test(test_halving__only_who_is_among_the_best_goes_on),
        cmocka_unit_test(test_searcher__a_new_search_begins_with_a_bounded_number_of_trials),
        cmocka_unit_test(test_searcher__says_what_is_wrong_with_a_configuration),
        cmocka_unit_test(test_hyperparameters__that_cannot_be_drawn_are_refused),
        cmocka_unit_test(test_searcher__custom_is_refused_with_a_way_out),
        cmocka_unit_test(test_retired_searcher__runs_under_its_new_name_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
