/* The writer's jobs trust each other: one that fails late is found, and it alone has failed. On both engines; only on a
 * server are there statements whose failure comes late. */
#include "store/fixture.h"

#include "master/writer.h"
#include "net/loop.h"
#include "store/meta.h"

struct job {
    const char *key; /* written; NULL: a trial that is there already */
    struct loop *loop;
    int runs;
    bool failed, last;
};

static int work(struct store *db, void *arg, struct error *err)
{
    struct job *j = arg;
    struct trial_row twice = fixture_trial_row(1, 1);
    j->runs++;
    return j->key ? store_kv_set(db, j->key, "1", err) : store_trial_put(db, &twice, true, err);
}

static void done(void *arg, const struct error *err)
{
    struct job *j = arg;
    j->failed = err != NULL;
    if (err)
        assert_int_equal(err->kind, ERR_CONFLICT);
    if (j->last)
        loop_stop(j->loop);
}

static void test_writer__finds_the_one_job_that_failed_late(void **state)
{
    struct fixture *f = *state;
    struct loop *loop;
    struct writer *w;
    const char *value;
    assert_int_equal(loop_new(&loop, NULL), 0);
    fixture_user(f, 1, "u");
    fixture_experiment(f, 1);
    fixture_trial(f, 1, 1);
    assert_int_equal(writer_new(loop, f->st, &w, NULL), 0);
    struct job x[] = {{"k.before", loop}, {NULL, loop}, {"k.between", loop}, {NULL, loop}, {"k.after", loop, .last = true}};
    struct writer_job job[5];
    for (int i = 0; i < 5; i++)
        job[i] = (struct writer_job){work, done, &x[i]};
    writer_submit(w, job, 5);
    assert_int_equal(loop_run(loop, NULL), 0);
    writer_free(w);
    loop_free(loop);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(x[i].failed, x[i].key == NULL);
        if (x[i].key)
            OK(f, store_kv_get(f->st, x[i].key, &f->a, &value, &f->err));
    }
    assert_int_equal(x[0].runs, fixture_server() ? 2 : 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_writer__finds_the_one_job_that_failed_late, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
