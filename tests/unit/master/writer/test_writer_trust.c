/* The writer's jobs trust each other: one that fails is found, late or not, and it alone has failed. On both engines;
 * only on a server are there statements whose failure comes late, and jobs without savepoints. */
#include "store/fixture.h"

#include "master/writer/writer.h"
#include "net/loop/loop.h"
#include "store/engine/meta.h"
#include "store/functions.h"

enum kind {
    WRITES,           /* the key of the job */
    FAILS_LATE,       /* a trial that is there already */
    REFUSES,          /* having looked */
    WRITES_AND_FAILS, /* the key of the job */
};

struct job {
    enum kind kind;
    const char *key;
    struct loop *loop;
    int runs;
    bool failed, last;
};

static int write_value(struct store *db, void *arg, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct job *j = arg;
    struct trial_row twice = fixture_trial_row(1, 1);
    struct agent_row *row;
    size_t n;
    j->runs++;
    if (j->kind == FAILS_LATE)
        return store_trial_put(db, &twice, true, err);
    if ((j->kind == REFUSES ? store_agents_all(db, &a, &row, &n, err) : store_kv_set(db, j->key, "1", err)) < 0)
        return -1;
    return j->kind == WRITES ? 0 : error_set(err, ERR_CONFLICT, "as it happens");
}

static void write_done(void *arg, const struct error *err)
{
    struct job *j = arg;
    j->failed = err != NULL;
    if (err)
        assert_int_equal(err->kind, ERR_CONFLICT);
    if (j->last)
        loop_stop(j->loop);
}

/* As one group. How often the first was done. */
static int runs_of_first(struct fixture *f, struct job *x, int n)
{
    struct writer_job job[8];
    struct loop *loop;
    struct writer *w;
    const char *value;
    assert_int_equal(loop_new(&loop, NULL), 0);
    assert_int_equal(writer_new(loop, f->st, &w, NULL), 0);
    x[n - 1].last = true;
    for (int i = 0; i < n; i++) {
        x[i].loop = loop;
        job[i] = (struct writer_job){write_value, write_done, &x[i]};
    }
    writer_submit(w, job, (size_t)n);
    assert_int_equal(loop_run(loop, NULL), 0);
    writer_free(w);
    loop_free(loop);
    for (int i = 0; i < n; i++) {
        assert_int_equal(x[i].failed, x[i].kind != WRITES);
        if (!x[i].key)
            continue;
        int rc = store_kv_get(f->st, x[i].key, &f->a, &value, &f->err);
        assert_int_equal(rc == 0 && value, x[i].kind == WRITES);
        error_release(&f->err);
    }
    return x[0].runs;
}

static void test_writer__finds_the_one_job_that_failed_late(void **state)
{
    struct fixture *f = *state;
    struct job x[] = {{WRITES, "k.before"}, {FAILS_LATE}, {WRITES, "k.between"}, {FAILS_LATE}, {WRITES, "k.after"}};
    assert_int_equal(runs_of_first(f, x, 5), fixture_server() ? 2 : 1);
}

static void test_writer__takes_back_the_one_job_that_wrote_and_failed(void **state)
{
    struct fixture *f = *state;
    struct job x[] = {{WRITES, "k.before"}, {WRITES_AND_FAILS, "k.lost"}, {WRITES, "k.after"}};
    assert_int_equal(runs_of_first(f, x, 3), fixture_server() ? 2 : 1);
}

static void test_writer__does_no_group_again_for_a_job_that_changed_nothing(void **state)
{
    struct fixture *f = *state;
    struct job x[] = {{WRITES, "k.before"}, {REFUSES}, {WRITES, "k.between"}, {REFUSES}, {WRITES, "k.after"}};
    assert_int_equal(runs_of_first(f, x, 5), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_TRIAL(test_writer__finds_the_one_job_that_failed_late),
        TEST_TRIAL(test_writer__takes_back_the_one_job_that_wrote_and_failed),
        TEST_TRIAL(test_writer__does_no_group_again_for_a_job_that_changed_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
