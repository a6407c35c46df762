/* The writer against a real store: order, one transaction for many, a failing job alone, what waits for the commit. */
#include "cmocka_setup.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/system/log.h"
#include "master/writer/writer.h"
#include "net/loop/loop.h"
#include "store/engine/meta.h"
#include "store/store.h"

struct fixture {
    char dir[64], path[96];
    struct loop *loop;
    struct store *db;
    struct writer *w;
    char story[4096];
    int expected; /* events until the loop may stop */
    atomic_bool all_queued;
};

static struct fixture f;

static void note_word(const char *word)
{
    size_t n = strlen(f.story);
    snprintf(f.story + n, sizeof(f.story) - n, "%s", word);
    if (--f.expected == 0)
        loop_stop(f.loop);
}

static int setup(void **state)
{
    f = (struct fixture){.dir = "/tmp/det-writer-XXXXXX"};
    assert_non_null(mkdtemp(f.dir));
    snprintf(f.path, sizeof(f.path), "%s/db", f.dir);
    int64_t epoch;
    assert_int_equal(loop_new(&f.loop, NULL), 0);
    assert_int_equal(store_open(f.path, STORE_DURABLE_NORMAL, &f.db, NULL), 0);
    assert_int_equal(store_next_epoch(f.db, &epoch, NULL), 0);
    assert_int_equal(writer_new(f.loop, f.db, &f.w, NULL), 0);
    return 0;
}

static int teardown(void **state)
{
    char command[160];
    writer_free(f.w);
    store_close(f.db);
    loop_free(f.loop);
    snprintf(command, sizeof(command), "rm -rf %s", f.dir);
    return system(command);
}

struct write {
    const char *key, *value;
    bool fail;
    char word[16];
};

static int write_value(struct store *db, void *job, struct error *err)
{
    struct write *w = job;
    if (store_kv_set(db, w->key, w->value, err) < 0)
        return -1;
    return w->fail ? error_set(err, ERR_CONFLICT, "no") : 0;
}

static void write_done(void *job, const struct error *err)
{
    struct write *w = job;
    char word[32];
    snprintf(word, sizeof(word), "%s%s ", w->word, err ? "!" : "");
    note_word(word);
}

static void note_commit(void *ctx)
{
    note_word(ctx);
}

static const char *stored_value(const char *key, struct arena *a)
{
    struct store *reader;
    const char *value = NULL;
    assert_int_equal(store_open_reader(f.path, &reader, NULL), 0);
    assert_int_equal(store_kv_get(reader, key, a, &value, NULL), 0);
    store_close(reader);
    return value;
}

static void run_until(int events)
{
    f.expected = events;
    assert_int_equal(loop_run(f.loop, NULL), 0);
}

static void test_writer__completes_jobs_in_order_and_waiters_behind_their_job(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct write one = {"k.one", "1", .word = "one"}, two = {"k.two", "2", .word = "two"},
                 three = {"k.one", "3", .word = "three"};
    struct writer_job job[] = {{write_value, write_done, &one},
                               {write_value, write_done, &two},
                               {write_value, write_done, &three}};
    uint64_t t1 = writer_submit(f.w, &job[0], 1);
    writer_when_committed(f.w, t1, note_commit, "(one) ");
    uint64_t t3 = writer_submit(f.w, &job[1], 2);
    writer_when_committed(f.w, t3, note_commit, "(all) ");
    assert_true(writer_committed(f.w) < t1);
    run_until(5);
    assert_string_equal(f.story, "one (one) two three (all) ");
    assert_string_equal(stored_value("k.one", &a), "3");
    assert_int_equal(writer_committed(f.w), t3);
    writer_when_committed(f.w, t1, note_commit, "(late) "); /* at once */
    assert_non_null(strstr(f.story, "(late)"));
}

static void test_writer__a_failing_job_undoes_itself_only(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct write good = {"k.good", "1", .word = "good"}, bad = {"k.bad", "1", .fail = true, .word = "bad"};
    struct write after = {"k.after", "1", .word = "after"};
    struct writer_job job[] = {{write_value, write_done, &good},
                               {write_value, write_done, &bad},
                               {write_value, write_done, &after}};
    writer_submit(f.w, job, 3);
    run_until(3);
    assert_string_equal(f.story, "good bad! after ");
    assert_string_equal(stored_value("k.good", &a), "1");
    assert_null(stored_value("k.bad", &a));
    assert_string_equal(stored_value("k.after", &a), "1");
}

struct flaky {
    struct write write;
    int runs;
};

/* Finds the store locked at first. */
static int flaky_work(struct store *db, void *job, struct error *err)
{
    struct flaky *k = job;
    if (k->runs++ == 0)
        return error_set(err, ERR_UNAVAILABLE, "locked");
    return write_value(db, &k->write, err);
}

static void flaky_done(void *job, const struct error *err)
{
    write_done(&((struct flaky *)job)->write, err);
}

static void test_writer__waits_with_what_must_be_written(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct write before = {"k.before", "1", .word = "before"};
    struct flaky may = {{"k.may", "1", .word = "may"}}, must = {{"k.must", "1", .word = "must"}};
    struct writer_job job[] = {{write_value, write_done, &before},
                               {flaky_work, flaky_done, &may},
                               {flaky_work, flaky_done, &must, .must = true}};
    writer_submit(f.w, job, 3);
    run_until(3);
    /* The group was repeated as a whole, so the second try of the one that may fail went well. */
    assert_string_equal(f.story, "before may must ");
    assert_string_equal(stored_value("k.must", &a), "1");
    assert_int_equal(must.runs, 2);
    assert_int_equal(writer_stats(f.w).retries, 1);
    assert_false(writer_is_troubled(f.w));
}

static void test_writer__takes_what_waits_into_one_transaction(void **state)
{
    enum { N = 2000 };
    struct write *w = calloc(N, sizeof(*w));
    struct writer_job *job = calloc(N, sizeof(*job));
    for (int i = 0; i < N; i++) {
        w[i] = (struct write){.key = "k.many", .value = "x"};
        job[i] = (struct writer_job){write_value, NULL, &w[i]};
    }
    uint64_t before = writer_stats(f.w).commits;
    uint64_t ticket = writer_submit(f.w, job, N);
    writer_when_committed(f.w, ticket, note_commit, "done");
    run_until(1);
    assert_int_equal(writer_stats(f.w).jobs, N);
    assert_int_equal(writer_stats(f.w).commits - before, 1);
    free(w);
    free(job);
}

static int slow_work(struct store *db, void *job, struct error *err)
{
    usleep(100000); /* longer than a group may take: GROUP_US_MAX */
    return write_value(db, job, err);
}

/* So that the others are queued while it is at work, however late this thread comes to submit them. */
static int slow_work_until_all_queued(struct store *db, void *job, struct error *err)
{
    while (!atomic_load(&f.all_queued))
        usleep(1000);
    return slow_work(db, job, err);
}

static void test_writer__commits_what_it_has_when_jobs_take_long(void **state)
{
    struct write w[5] = {{"k.a", "1", .word = "a"},
                         {"k.b", "1", .word = "b"},
                         {"k.c", "1", .word = "c"},
                         {"k.d", "1", .word = "d"},
                         {"k.e", "1", .word = "e"}};
    struct writer_job first = {slow_work_until_all_queued, write_done, &w[0]},
                      pair[] = {{slow_work, write_done, &w[1]}, {write_value, write_done, &w[2]}},
                      more[] = {{slow_work, write_done, &w[3]}, {write_value, write_done, &w[4]}};
    uint64_t before = writer_stats(f.w).commits;
    writer_submit(f.w, &first, 1);
    writer_submit(f.w, pair, 2);
    writer_submit(f.w, &more[0], 1);
    writer_submit(f.w, &more[1], 1);
    atomic_store(&f.all_queued, true);
    run_until(5);
    assert_string_equal(f.story, "a b c d e ");
    assert_int_equal(writer_stats(f.w).commits - before, 4); /* a, b with c, d, e */
}

static void slow_done(void *job, const struct error *err)
{
    usleep(10000);
    write_done(job, err);
}

static void submit_others(void *ctx)
{
    note_word(ctx);
}

static void first_done(void *job, const struct error *err)
{
    loop_post(f.loop, submit_others, "others ");
    slow_done(job, err);
}

static void test_writer__between_completions_others_have_their_turn(void **state)
{
    struct write w[3] = {{"k.a", "1", .word = "a"}, {"k.b", "1", .word = "b"}, {"k.c", "1", .word = "c"}};
    struct writer_job job[] = {{write_value, first_done, &w[0]},
                               {write_value, slow_done, &w[1]},
                               {write_value, slow_done, &w[2]}};
    writer_submit(f.w, job, 3);
    run_until(4);
    assert_string_equal(f.story, "a others b c ");
}

static void test_writer__finishes_what_is_queued_before_it_ends(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct write last = {"k.last", "1", .word = "last"};
    struct writer_job job = {write_value, write_done, &last};
    f.expected = 100;
    writer_submit(f.w, &job, 1);
    writer_free(f.w);
    f.w = NULL;
    assert_string_equal(f.story, "last ");
    assert_string_equal(stored_value("k.last", &a), "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_writer__completes_jobs_in_order_and_waiters_behind_their_job, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_writer__a_failing_job_undoes_itself_only, setup, teardown),
        cmocka_unit_test_setup_teardown(test_writer__waits_with_what_must_be_written, setup, teardown),
        cmocka_unit_test_setup_teardown(test_writer__takes_what_waits_into_one_transaction, setup, teardown),
        cmocka_unit_test_setup_teardown(test_writer__commits_what_it_has_when_jobs_take_long, setup, teardown),
        cmocka_unit_test_setup_teardown(test_writer__between_completions_others_have_their_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_writer__finishes_what_is_queued_before_it_ends, setup, teardown),
    };
    log_init("test_writer", LOG_WARNING, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
