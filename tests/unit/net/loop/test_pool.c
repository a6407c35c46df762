#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "net/loop/pool.h"

struct fixture {
    struct loop *loop;
    struct pool *pool;
    pthread_t loop_thread;
    sem_t gate;          /* jobs that block wait here */
    atomic_int contexts; /* worker contexts alive */
    atomic_int worked;
    int done, stop_after;
};

struct job {
    struct fixture *f;
    bool ran_elsewhere;
    void *worker;
};

static void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    sem_init(&f->gate, 0, 0);
    f->loop_thread = pthread_self();
    assert_int_equal(loop_new(&f->loop, NULL), 0);
}

static void work_on_job(void *worker, void *job)
{
    struct job *j = job;
    j->ran_elsewhere = !pthread_equal(pthread_self(), j->f->loop_thread);
    j->worker = worker;
    j->f->worked++;
}

static void wait_at_gate(void *worker, void *job)
{
    struct job *j = job;
    sem_wait(&j->f->gate);
    work_on_job(worker, job);
}

static void job_done(void *job)
{
    struct job *j = job;
    assert_true(pthread_equal(pthread_self(), j->f->loop_thread));
    if (++j->f->done == j->f->stop_after)
        loop_stop(j->f->loop);
}

static int make_context(void *ctx, void **ret_worker, struct error *err)
{
    struct fixture *f = ctx;
    f->contexts++;
    *ret_worker = f;
    return 0;
}

static void release_context(void *worker)
{
    struct fixture *f = worker;
    f->contexts--;
}

static void test_pool__works_elsewhere_and_is_done_on_the_loop(void **state)
{
    struct fixture f;
    fixture_init(&f);
    struct pool_options o = {.name = "test",
                             .threads = 3,
                             .queue_max = 100,
                             .worker_init = make_context,
                             .worker_release = release_context,
                             .ctx = &f};
    assert_int_equal(pool_new(f.loop, &o, &f.pool, NULL), 0);
    assert_int_equal(f.contexts, 3); /* all of them before pool_new returned */

    struct job job[50];
    f.stop_after = 50;
    for (int i = 0; i < 50; i++) {
        job[i] = (struct job){.f = &f};
        assert_int_equal(pool_submit(f.pool, work_on_job, job_done, &job[i], NULL), 0);
    }
    assert_int_equal(loop_run(f.loop, NULL), 0);
    for (int i = 0; i < 50; i++) {
        assert_true(job[i].ran_elsewhere);
        assert_ptr_equal(job[i].worker, &f);
    }
    assert_int_equal(pool_depth(f.pool), 0);
    pool_free(f.pool);
    assert_int_equal(f.contexts, 0);
    loop_free(f.loop);
}

static void test_pool_submit__refuses_when_the_queue_is_full(void **state)
{
    struct fixture f;
    fixture_init(&f);
    struct pool_options o = {.name = "narrow", .threads = 1, .queue_max = 2};
    assert_int_equal(pool_new(f.loop, &o, &f.pool, NULL), 0);

    struct job job = {.f = &f};
    cleanup_error struct error err = ERROR_INIT;
    int accepted = 0;
    while (accepted < 10 && pool_submit(f.pool, wait_at_gate, job_done, &job, &err) == 0)
        accepted++;
    assert_in_range(accepted, 2, 3); /* two wait; the thread may have taken one of them already */
    assert_int_equal(err.kind, ERR_UNAVAILABLE);
    assert_non_null(strstr(error_msg(&err), "narrow"));

    for (int i = 0; i < accepted; i++)
        sem_post(&f.gate);
    f.stop_after = accepted;
    assert_int_equal(loop_run(f.loop, NULL), 0);
    assert_int_equal(f.worked, accepted); /* what was refused never ran */
    pool_free(f.pool);
    loop_free(f.loop);
}

static void test_pool_free__runs_what_is_queued_with_its_done_callbacks(void **state)
{
    struct fixture f;
    fixture_init(&f);
    struct pool_options o = {.name = "test", .threads = 2, .queue_max = 100};
    assert_int_equal(pool_new(f.loop, &o, &f.pool, NULL), 0);
    struct job job[20];
    for (int i = 0; i < 20; i++) {
        job[i] = (struct job){.f = &f};
        assert_int_equal(pool_submit(f.pool, work_on_job, job_done, &job[i], NULL), 0);
    }
    pool_free(f.pool); /* the loop has not run at all */
    assert_int_equal(f.done, 20);
    loop_free(f.loop);
}

static int fail_the_second(void *ctx, void **ret_worker, struct error *err)
{
    struct fixture *f = ctx;
    if (++f->worked == 2)
        return error_set(err, ERR_IO, "the second connection does not open");
    return make_context(ctx, ret_worker, err);
}

static void test_pool_new__reports_a_worker_that_cannot_start_and_releases_the_others(void **state)
{
    struct fixture f;
    fixture_init(&f);
    struct pool_options o = {.name = "test",
                             .threads = 3,
                             .queue_max = 1,
                             .worker_init = fail_the_second,
                             .worker_release = release_context,
                             .ctx = &f};
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(pool_new(f.loop, &o, &f.pool, &err), -1);
    assert_string_equal(error_msg(&err), "the second connection does not open");
    assert_int_equal(f.contexts, 0);
    loop_free(f.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool__works_elsewhere_and_is_done_on_the_loop),
        cmocka_unit_test(test_pool_submit__refuses_when_the_queue_is_full),
        cmocka_unit_test(test_pool_free__runs_what_is_queued_with_its_done_callbacks),
        cmocka_unit_test(test_pool_new__reports_a_worker_that_cannot_start_and_releases_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
