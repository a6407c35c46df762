/* What is sent ahead and what goes in many rows at once: in order, a job's failure its own, on both engines. */
#include "store/fixture.h"

#include "store/agents.h"
#include "store/meta.h"

enum { MANY = 1000 };

/* Rows of the core, made for as many trials as a test wants. */
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

static void begin_job(struct fixture *f) { OK(f, store_savepoint(f->st, &f->err)); }

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

/* More than a group that is sent ahead holds. */
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

/* Few rows are sent ahead: on a server the failure comes with the release, and is that job's alone. */
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

/* A job that gives up by itself, with statements of its own still on their way. */
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
