/* Whose turn it is, and how often: a sealer over made-up rows of two subjects, of which four are enough. */
#include "store/fixture.h"

#include <pthread.h>

#include "common/base/clock.h"
#include "master/writer/sealer.h"
#include "master/writer/writer.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"

enum { ENOUGH = 4, LOOK_US = 1000, PATIENCE_US = 100000000 };

/* Looked at by three threads. */
static struct world {
    pthread_mutex_t lock;
    int rows[2];                /* of "a" and "b" */
    bool left;                  /* an earlier master's */
    int failing_looks, changes; /* how many of each are to come */
    char story[512];
} world;

struct seal {
    int subject, rows;
};

static int subject_of(const char *name)
{
    return name[0] - 'a';
}

static void note_call(const char *what, int subject, int rows, const char *how)
{
    size_t n = strlen(world.story);
    snprintf(world.story + n, sizeof(world.story) - n, "%s %c %d%s|", what, 'a' + subject, rows, how);
}

static int look_for(const struct sealer_look *l, struct seal **ret, struct error *err)
{
    int subject = subject_of(l->subject), rows = world.rows[subject];
    note_call("look", subject, rows, l->rest ? " rest" : "");
    if (world.failing_looks > 0) {
        world.failing_looks--;
        return error_set(err, ERR_INTERNAL, "the disk is bad");
    }
    if (rows < (l->rest ? 1 : ENOUGH))
        return 0;
    *ret = malloc(sizeof(**ret));
    **ret = (struct seal){subject, rows < ENOUGH ? rows : ENOUGH};
    return 0;
}

static int fake_look(struct store *reader, const struct sealer_look *l, void **ret_seal, struct error *err)
{
    struct seal *seal = NULL;
    (void)reader;
    pthread_mutex_lock(&world.lock);
    int rc = look_for(l, &seal, err);
    pthread_mutex_unlock(&world.lock);
    *ret_seal = seal;
    return rc;
}

static int fake_put(struct store *db, const void *seal, struct sealer_size *ret_gone, struct error *err)
{
    const struct seal *s = seal;
    (void)db;
    (void)err;
    pthread_mutex_lock(&world.lock);
    bool changed = world.changes > 0;
    world.changes -= changed;
    ret_gone->rows = changed ? 0 : s->rows;
    world.rows[s->subject] -= (int)ret_gone->rows;
    note_call("put", s->subject, (int)ret_gone->rows, "");
    pthread_mutex_unlock(&world.lock);
    return 0;
}

/* One a page. */
static int fake_left(struct store *reader, const char *after, struct arena *a, struct sealer_left **ret, size_t *ret_n,
                     struct error *err)
{
    int next = *after ? subject_of(after) + 1 : 0;
    (void)reader;
    (void)err;
    *ret_n = world.left && next < 2;
    *ret = arena_new(a, struct sealer_left);
    **ret = (struct sealer_left){.subject = next ? "b" : "a", .size = {.rows = 1}, .rest = true};
    return 0;
}

static const struct sealer_type patient = {
    .subject = "subject",
    .failed = "test.seal_failed",
    .enough = {ENOUGH, INT64_MAX},
    .quiet_us = INT64_MAX,
    .period_us = LOOK_US,
    .look = fake_look,
    .put = fake_put,
    .free = free,
    .left = fake_left,
};

struct cluster {
    struct loop *loop;
    struct pool *readers;
    struct writer *writer;
    struct sealer *sealer;
    struct loop_timer *look;
    const char *end; /* of the story, when the loop stops */
    int64_t deadline_us;
};

static int setup(void **state)
{
    world = (struct world){.lock = PTHREAD_MUTEX_INITIALIZER};
    return fixture_setup(state);
}

static struct cluster start_cluster(struct fixture *f, const struct sealer_type *type)
{
    struct cluster c = {0};
    const struct pool_options o = {.name = "t-reader", .threads = 2, .queue_max = 10};
    assert_int_equal(loop_new(&c.loop, NULL), 0);
    OK(f, pool_new(c.loop, &o, &c.readers, &f->err));
    OK(f, writer_new(c.loop, f->st, &c.writer, &f->err));
    c.sealer = sealer_new(type, c.loop, c.readers, c.writer);
    return c;
}

static void end_cluster(struct cluster *c)
{
    sealer_stop(c->sealer);
    pool_free(c->readers);
    writer_free(c->writer);
    sealer_free(c->sealer);
    loop_free(c->loop);
}

static void add_rows(struct cluster *c, const char *subject, int rows)
{
    pthread_mutex_lock(&world.lock);
    world.rows[subject_of(subject)] += rows;
    pthread_mutex_unlock(&world.lock);
    for (int i = 0; i < rows; i++)
        sealer_added(c->sealer, subject, 1);
}

static void stop_at_end(void *ctx)
{
    struct cluster *c = ctx;
    pthread_mutex_lock(&world.lock);
    size_t n = strlen(world.story), end_n = strlen(c->end);
    bool ended = n >= end_n && strcmp(world.story + n - end_n, c->end) == 0;
    pthread_mutex_unlock(&world.lock);
    if (ended || clock_monotonic_us() > c->deadline_us)
        loop_stop(c->loop);
    else
        loop_timer_arm(c->look, LOOK_US);
}

static void run_until(struct cluster *c, const char *last)
{
    c->end = last;
    c->deadline_us = clock_monotonic_us() + PATIENCE_US;
    c->look = loop_timer_new(c->loop, stop_at_end, c);
    loop_timer_arm(c->look, LOOK_US);
    assert_int_equal(loop_run(c->loop, NULL), 0);
    loop_timer_free(c->look);
}

static void test_sealer__gives_each_its_turn_when_it_has_enough(void **state)
{
    struct cluster c = start_cluster(*state, &patient);
    add_rows(&c, "a", 9); /* twice as much as enough, and one */
    add_rows(&c, "b", 4);
    add_rows(&c, "b", 3);
    run_until(&c, "look a 5|put a 4|");
    end_cluster(&c);
    assert_string_equal(world.story, "look a 9|put a 4|look b 7|put b 4|look a 5|put a 4|");
}

static void test_sealer__one_at_rest_has_turns_until_nothing_is_found(void **state)
{
    struct cluster c = start_cluster(*state, &patient);
    add_rows(&c, "a", 2);
    world.rows[0] += 5; /* nobody told */
    sealer_ended(c.sealer, "a");
    add_rows(&c, "b", 1);
    sealer_ended(c.sealer, "b");
    run_until(&c, "look a 0 rest|");
    assert_int_equal(sealer_stats(c.sealer).rounds, 3);
    assert_int_equal(sealer_stats(c.sealer).rows, 8);
    end_cluster(&c);
    assert_string_equal(
        world.story, "look a 7 rest|put a 4|look b 1 rest|put b 1|look a 3 rest|put a 3|look b 0 rest|look a 0 rest|");
}

static void test_sealer__counts_anew_when_there_was_less_than_counted(void **state)
{
    struct cluster c = start_cluster(*state, &patient);
    add_rows(&c, "a", 3);
    world.rows[0] = 0; /* retention took them */
    add_rows(&c, "a", 1);
    run_until(&c, "look a 1|");
    add_rows(&c, "a", 4);
    run_until(&c, "put a 4|");
    end_cluster(&c);
    assert_string_equal(world.story, "look a 1|look a 5|put a 4|");
}

static void test_sealer__looks_again_when_something_changed_before_it_was_put(void **state)
{
    struct cluster c = start_cluster(*state, &patient);
    world.changes = 1;
    add_rows(&c, "a", 4);
    run_until(&c, "put a 4|");
    end_cluster(&c);
    assert_string_equal(world.story, "look a 4|put a 0|look a 4|put a 4|");
}

static void test_sealer__tries_what_failed_again_when_it_has_rested(void **state)
{
    struct sealer_type hasty = patient;
    hasty.quiet_us = 1;
    world.failing_looks = 2;
    struct cluster c = start_cluster(*state, &hasty);
    add_rows(&c, "a", 1);
    run_until(&c, "look a 0 rest|");
    add_rows(&c, "b", 1); /* a is forgotten, however often it is time to look */
    run_until(&c, "look b 0 rest|");
    end_cluster(&c);
    assert_string_equal(world.story, "look a 1 rest|look a 1 rest|look a 1 rest|put a 1|look a 0 rest|"
                                     "look b 1 rest|put b 1|look b 0 rest|");
}

static void test_sealer__finds_all_that_was_left(void **state)
{
    world.rows[0] = 2;
    world.rows[1] = 6; /* so that it needs more turns, and has the last */
    world.left = true;
    struct cluster c = start_cluster(*state, &patient);
    run_until(&c, "look b 0 rest|");
    end_cluster(&c);
    assert_int_equal(world.rows[0], 0);
    assert_int_equal(world.rows[1], 0);
}

#define TEST_SEALER(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_SEALER(test_sealer__gives_each_its_turn_when_it_has_enough),
        TEST_SEALER(test_sealer__one_at_rest_has_turns_until_nothing_is_found),
        TEST_SEALER(test_sealer__counts_anew_when_there_was_less_than_counted),
        TEST_SEALER(test_sealer__looks_again_when_something_changed_before_it_was_put),
        TEST_SEALER(test_sealer__tries_what_failed_again_when_it_has_rested),
        TEST_SEALER(test_sealer__finds_all_that_was_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
