/* When heads become blocks: enough of them, a task that is over, what an earlier master left; and not after a stop. */
#include "store/fixture.h"

#include "master/logs/log_sealer.h"
#include "master/writer/writer.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"
#include "store/logs/log_seal.h"
#include "store/logs/task_logs.h"

enum { LOOK_US = 1000 };

struct cluster {
    struct fixture *f;
    struct loop *loop;
    struct pool *readers;
    struct writer *writer;
    struct sealer *sealer;
    struct loop_timer *look;
    int64_t waiting_bytes; /* the loop stops when so many wait, after one round at least */
};

static int64_t count_rows(struct fixture *f)
{
    struct store *reader;
    struct engine_stmt *stmt;
    OK(f, store_open_reader(f->path, &reader, &f->err));
    struct engine *e = store_engine(reader);
    OK(f, e->ops->prepare(e, "SELECT count(*) FROM task_log_blocks", &stmt, &f->err));
    OK(f, e->ops->step(stmt, &f->err));
    int64_t n = e->ops->integer(stmt, 0);
    e->ops->finalize(stmt);
    store_close(reader);
    return n;
}

static void look_at_rows(void *ctx)
{
    struct cluster *c = ctx;
    struct sealer_stats now = sealer_stats(c->sealer);
    if (now.rounds > 0 && now.waiting_bytes == c->waiting_bytes)
        loop_stop(c->loop);
    else
        loop_timer_arm(c->look, LOOK_US);
}

static void run_until_waiting(struct cluster *c, int64_t bytes)
{
    c->waiting_bytes = bytes;
    c->look = loop_timer_new(c->loop, look_at_rows, c);
    loop_timer_arm(c->look, LOOK_US);
    assert_int_equal(loop_run(c->loop, NULL), 0);
}

static void add_heads(struct fixture *f, const char *task_id, int n)
{
    const struct store_log_line line = {.time_us = T0, .level = 3, .text = "a line\n", .text_n = 7};
    int64_t first;
    OK(f, store_begin(f->st, &f->err));
    for (int i = 0; i < n; i++)
        OK(f, store_task_log_append(f->st, task_id, &line, 1, &first, &f->err));
    OK(f, store_commit(f->st, &f->err));
}

static int open_reader(void *ctx, void **ret, struct error *err)
{
    return store_open_reader(((struct fixture *)ctx)->path, (struct store **)ret, err);
}

static void close_reader(void *reader)
{
    store_close(reader);
}

static struct cluster start_cluster(struct fixture *f)
{
    struct cluster c = {.f = f};
    const struct pool_options o = {.name = "t-reader",
                                   .threads = 1,
                                   .queue_max = 10,
                                   .worker_init = open_reader,
                                   .worker_release = close_reader,
                                   .ctx = f};
    assert_int_equal(loop_new(&c.loop, NULL), 0);
    OK(f, pool_new(c.loop, &o, &c.readers, &f->err));
    OK(f, writer_new(c.loop, f->st, &c.writer, &f->err));
    c.sealer = sealer_new(&log_sealer, c.loop, c.readers, c.writer);
    return c;
}

static void end_cluster(struct cluster *c)
{
    sealer_stop(c->sealer);
    pool_free(c->readers);
    writer_free(c->writer);
    sealer_free(c->sealer);
    loop_timer_free(c->look);
    loop_free(c->loop);
}

static void test_log_sealer__seals_what_an_earlier_master_left(void **state)
{
    struct fixture *f = *state;
    add_heads(f, "t", LOG_SEAL_HEADS);
    add_heads(f, "u", 3); /* too few, and its task may go on */
    struct cluster c = start_cluster(f);
    sealer_ended(c.sealer, "nobody knows this task");
    run_until_waiting(&c, 3 * 7);
    assert_int_equal(count_rows(f), 1 + 3);
    assert_int_equal(sealer_stats(c.sealer).rounds, 1);
    end_cluster(&c);
}

static void test_log_sealer__seals_the_rest_when_a_task_is_over(void **state)
{
    struct fixture *f = *state;
    add_heads(f, "t", 3);
    struct cluster c = start_cluster(f);
    for (int i = 0; i < 3; i++)
        sealer_added(c.sealer, "t", 7);
    sealer_ended(c.sealer, "t");
    run_until_waiting(&c, 0);
    assert_int_equal(count_rows(f), 1);
    assert_int_equal(sealer_stats(c.sealer).rounds, 1);
    end_cluster(&c);
}

static void test_log_sealer__begins_nothing_once_it_is_stopped(void **state)
{
    struct fixture *f = *state;
    add_heads(f, "t", 3);
    struct cluster c = start_cluster(f);
    sealer_stop(c.sealer);
    for (int i = 0; i < 3; i++)
        sealer_added(c.sealer, "t", 7);
    sealer_ended(c.sealer, "t");
    end_cluster(&c);
    assert_int_equal(count_rows(f), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_log_sealer__seals_what_an_earlier_master_left, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_log_sealer__seals_the_rest_when_a_task_is_over, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_log_sealer__begins_nothing_once_it_is_stopped, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
