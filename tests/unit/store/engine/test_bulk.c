/* Tests statements that are sent ahead, and rows that are written many at once: they are carried out in order, and a
 * failure is reported to the job that caused it, on both engines. */
#include "store/fixture.h"

#include "store/engine/meta.h"
#include "store/engine/postgres.h"
#include "store/functions.h"
#include "store/metrics/metrics.h"

enum { MANY = 1000 };

/* Rows of the core, for as many trials as a test needs. */
struct many {
    struct trial_row trial[MANY];
    const struct trial_row *at[MANY];
    struct task_row task[MANY];
    const struct task_row *task_at[MANY];
};

static struct many *many_new(int32_t first, int32_t experiment_id)
{
    struct many *m = calloc(1, sizeof(*m));
    for (int i = 0; i < MANY; i++) {
        m->trial[i] = fixture_trial_row(first + i, experiment_id);
        m->at[i] = &m->trial[i];
        m->task[i] = (struct task_row){.trial_id = first + i, .start_us = T0};
        memcpy(m->task[i].id, m->trial[i].task_id, sizeof(m->task[i].id));
        snprintf(m->task[i].job_id, sizeof(m->task[i].job_id), "job-%d", experiment_id);
        m->task_at[i] = &m->task[i];
    }
    return m;
}

static int32_t trials_of_experiment(struct fixture *f)
{
    struct store_experiment x;
    OK(f, store_experiment_get(f->st, 1, false, &f->a, &x, &f->err));
    return x.num_trials;
}

static bool has_trial(struct fixture *f, int32_t id)
{
    struct store_trial t;
    int rc = store_trial_get(f->st, id, false, &f->a, &t, &f->err);
    error_release(&f->err);
    return rc == 0;
}

static void put_agent(struct fixture *f, const char *id)
{
    struct agent_row x = {.enabled = true};
    snprintf(x.id, sizeof(x.id), "%s", id);
    snprintf(x.pool, sizeof(x.pool), "default");
    OK(f, store_agent_put(f->st, &x, &f->err));
}

static size_t agents(struct fixture *f)
{
    struct agent_row *row;
    size_t n;
    OK(f, store_agents_all(f->st, &f->a, &row, &n, &f->err));
    return n;
}

static void begin_job(struct fixture *f)
{
    OK(f, store_savepoint(f->st, &f->err));
}

static void test_many_trials__are_all_there_with_every_column(void **state)
{
    struct fixture *f = *state;
    struct many *m = many_new(2, 1);
    struct store_trial out;
    m->trial[MANY - 1].end_us = T0 + 9;
    m->trial[MANY - 1].seed = 4000000000u;
    snprintf(m->trial[MANY - 1].latest_checkpoint, sizeof(m->trial[0].latest_checkpoint), "ck");
    OK(f, store_begin(f->st, &f->err));
    begin_job(f);
    OK(f, store_trials_insert(f->st, m->at, MANY, &f->err));
    OK(f, store_tasks_insert(f->st, m->task_at, MANY, &f->err));
    OK(f, store_release(f->st, &f->err));
    OK(f, store_commit(f->st, &f->err));
    assert_int_equal(trials_of_experiment(f), 1 + MANY);
    OK(f, store_trial_get(f->st, 1 + MANY, false, &f->a, &out, &f->err));
    out.row.hparams = m->trial[MANY - 1].hparams;
    assert_memory_equal(&out.row, &m->trial[MANY - 1], sizeof(out.row));
    free(m);
}

static void test_many_trials__with_one_that_is_there_already_are_none(void **state)
{
    struct fixture *f = *state;
    struct many *m = many_new(2, 1);
    m->trial[MANY - 1].id = 1;
    OK(f, store_begin(f->st, &f->err));
    begin_job(f);
    put_agent(f, "before");
    OK(f, store_release(f->st, &f->err));
    begin_job(f);
    FAILS(f, ERR_CONFLICT, "trial 2 of experiment 1 and others", store_trials_insert(f->st, m->at, MANY, &f->err));
    OK(f, store_rollback_to(f->st, &f->err));
    begin_job(f);
    put_agent(f, "after");
    OK(f, store_release(f->st, &f->err));
    OK(f, store_commit(f->st, &f->err));
    assert_int_equal(trials_of_experiment(f), 1);
    assert_false(has_trial(f, 2));
    assert_int_equal(agents(f), 2);
    free(m);
}

static void test_sent_ahead__is_run_in_its_turn(void **state)
{
    struct fixture *f = *state;
    OK(f, store_begin(f->st, &f->err));
    begin_job(f);
    put_agent(f, "one");
    assert_int_equal(agents(f), 1);
    put_agent(f, "two");
    OK(f, store_agent_delete(f->st, "one", &f->err));
    assert_int_equal(agents(f), 1);
    OK(f, store_release(f->st, &f->err));
    OK(f, store_commit(f->st, &f->err));
    assert_int_equal(agents(f), 1);
}

/* Sends more statements than a group that is sent ahead holds. */
static void test_sent_ahead__may_be_any_number(void **state)
{
    struct fixture *f = *state;
    char id[16];
    OK(f, store_begin(f->st, &f->err));
    begin_job(f);
    for (int i = 0; i < MANY; i++) {
        snprintf(id, sizeof(id), "a%d", i);
        put_agent(f, id);
    }
    OK(f, store_release(f->st, &f->err));
    OK(f, store_commit(f->st, &f->err));
    assert_int_equal(agents(f), MANY);
}

/* Few rows are sent ahead. On a server the failure is then reported by the release, and to this job alone. */
static void test_sent_ahead__a_failure_belongs_to_its_own_job(void **state)
{
    struct fixture *f = *state;
    struct trial_row twice = fixture_trial_row(1, 1);
    OK(f, store_begin(f->st, &f->err));
    begin_job(f);
    put_agent(f, "before");
    OK(f, store_release(f->st, &f->err));
    begin_job(f);
    put_agent(f, "lost");
    if (store_trial_put(f->st, &twice, true, &f->err) == 0)
        assert_int_equal(store_release(f->st, &f->err), -1);
    assert_int_equal(f->err.kind, ERR_CONFLICT);
    error_release(&f->err);
    OK(f, store_rollback_to(f->st, &f->err));
    begin_job(f);
    put_agent(f, "after");
    OK(f, store_release(f->st, &f->err));
    OK(f, store_commit(f->st, &f->err));
    assert_int_equal(agents(f), 2);
    assert_int_equal(trials_of_experiment(f), 1);
}

/* A job rolls back by itself while statements of its own are still sent ahead. */
static void test_sent_ahead__goes_with_the_savepoint(void **state)
{
    struct fixture *f = *state;
    OK(f, store_begin(f->st, &f->err));
    begin_job(f);
    put_agent(f, "lost");
    OK(f, store_rollback_to(f->st, &f->err));
    begin_job(f);
    put_agent(f, "kept");
    OK(f, store_release(f->st, &f->err));
    OK(f, store_commit(f->st, &f->err));
    assert_int_equal(agents(f), 1);
}

static void test_sent_ahead__goes_with_the_transaction(void **state)
{
    struct fixture *f = *state;
    OK(f, store_begin(f->st, &f->err));
    begin_job(f);
    put_agent(f, "lost");
    store_rollback(f->st);
    assert_false(store_in_transaction(f->st));
    assert_int_equal(agents(f), 0);
}

static void test_sent_ahead__is_tried_again_when_the_connection_took_it_along(void **state)
{
    struct fixture *f = *state;
    if (!fixture_server())
        skip();
    for (int attempt = 0; attempt < 2; attempt++) {
        OK(f, store_begin(f->st, &f->err));
        begin_job(f);
        put_agent(f, "kept");
        if (attempt == 0) {
            fixture_cut_connections();
            FAILS(f, ERR_UNAVAILABLE, "away", store_release(f->st, &f->err));
            assert_true(store_is_away(f->st));
            store_rollback(f->st);
            store_clear_failure(f->st);
        }
    }
    OK(f, store_release(f->st, &f->err));
    OK(f, store_commit(f->st, &f->err));
    assert_int_equal(agents(f), 1);
}

/* ---- round trips for a report and for a batch of lines ----------------------------------------------------------- */

static unsigned long round_trips(const struct fixture *f)
{
    return postgres_of(store_engine(f->st))->round_trips;
}

static void add_report(struct fixture *f, const char *group, int32_t steps)
{
    const struct store_report r = {.trial_id = 1,
                                   .run_id = 1,
                                   .group = group,
                                   .has_steps = true,
                                   .steps = steps,
                                   .report_us = T0 + steps,
                                   .avg_metrics = "{\"loss\":0.5}"};
    struct store_report_result result;
    begin_job(f);
    OK(f, store_report_add(f->st, &r, &result, &f->err));
    OK(f, store_release(f->st, &f->err));
}

static void add_lines(struct fixture *f, int64_t seq)
{
    const struct store_log_line line = {.time_us = T0, .level = 3, .text = "x\n", .text_n = 2};
    int64_t first, last;
    size_t skipped;
    begin_job(f);
    OK(f, fixture_append_numbered(f, "t", "c", seq, &line, 1, &first, &skipped, &last, &f->err));
    OK(f, store_release(f->st, &f->err));
}

static void begin_group(struct fixture *f, bool trusting)
{
    store_trust(f->st, trusting);
    OK(f, store_begin(f->st, &f->err));
}

/* Runs two groups of ten jobs each, and returns the round trips of the second one. The first group prepares the
 * statements and is not counted. */
static unsigned long trips_of_ten(struct fixture *f, void job(struct fixture *f, int i), bool trusting)
{
    unsigned long before = 0;
    for (int i = 0; i < 20; i++) {
        if (i % 10 == 0)
            before = round_trips(f);
        if (i % 10 == 0)
            begin_group(f, trusting);
        job(f, i);
        if (i % 10 == 9)
            OK(f, store_commit(f->st, &f->err));
    }
    return round_trips(f) - before;
}

static void training_job(struct fixture *f, int i)
{
    add_report(f, "training", 10 * i + 1);
}
static void validation_job(struct fixture *f, int i)
{
    add_report(f, "validation", 1000 + 10 * i);
}
static void lines_job(struct fixture *f, int i)
{
    add_lines(f, i + 1);
}

static void test_reports_and_lines__cost_a_round_trip_for_each_answer_that_they_need(void **state)
{
    struct fixture *f = *state;
    int64_t epoch;
    if (!fixture_server())
        skip();
    OK(f, store_next_epoch(f->st, &epoch, &f->err));
    /* One round trip begins the transaction (with lock, mark and epoch), each job takes one for what it reads, and
     * one commits. */
    assert_int_equal(trips_of_ten(f, training_job, true), 1 + 10 + 1);
    assert_int_equal(trips_of_ten(f, lines_job, true), 1 + 10 + 1);
}

static void test_validations__wait_for_their_id_as_well(void **state)
{
    struct fixture *f = *state;
    if (!fixture_server())
        skip();
    assert_int_equal(trips_of_ten(f, validation_job, true), 1 + 20 + 1);
}

static void test_without_trust__each_release_waits(void **state)
{
    struct fixture *f = *state;
    if (!fixture_server())
        skip();
    assert_int_equal(trips_of_ten(f, training_job, false), 1 + 20 + 1);
}

/* ---- a failure that is reported late ----------------------------------------------------------------------------- */

static void test_with_trust__a_late_failure_tangles_the_group(void **state)
{
    struct fixture *f = *state;
    struct trial_row twice = fixture_trial_row(1, 1);
    struct agent_row *row;
    size_t n;
    if (!fixture_server())
        skip();
    put_agent(f, "kept"); /* prepares the statement first, since preparing would wait for the result */
    begin_group(f, true);
    begin_job(f);
    /* the failure is not known yet, since no result was waited for */
    OK(f, store_trial_put(f->st, &twice, true, &f->err));
    OK(f, store_release(f->st, &f->err));
    begin_job(f);
    put_agent(f, "lost");
    assert_int_equal(store_agents_all(f->st, &f->a, &row, &n, &f->err), -1);
    assert_true(store_is_tangled(f->st));
    error_release(&f->err);
    store_rollback(f->st);
    store_clear_failure(f->st);
    assert_int_equal(agents(f), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_TRIAL(test_many_trials__are_all_there_with_every_column),
        TEST_TRIAL(test_many_trials__with_one_that_is_there_already_are_none),
        TEST(test_sent_ahead__is_run_in_its_turn),
        TEST(test_sent_ahead__may_be_any_number),
        TEST_TRIAL(test_sent_ahead__a_failure_belongs_to_its_own_job),
        TEST(test_sent_ahead__goes_with_the_savepoint),
        TEST(test_sent_ahead__goes_with_the_transaction),
        TEST(test_sent_ahead__is_tried_again_when_the_connection_took_it_along),
        TEST_TRIAL(test_reports_and_lines__cost_a_round_trip_for_each_answer_that_they_need),
        TEST_TRIAL(test_validations__wait_for_their_id_as_well),
        TEST_TRIAL(test_without_trust__each_release_waits),
        TEST_TRIAL(test_with_trust__a_late_failure_tangles_the_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
