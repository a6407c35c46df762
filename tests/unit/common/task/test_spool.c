#include "cmocka_setup.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/rng.h"
#include "common/task/spool.h"

struct fixture {
    char path[64];
    int dir;
    struct spool *spool;
    struct spool_batch batch;
};

static void for_each_file(struct fixture *x, void (*fn)(int dir, const char *name))
{
    DIR *d = opendir(x->path);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.')
            fn(x->dir, e->d_name);
    closedir(d);
}

static void remove_file(int dir, const char *name)
{
    unlinkat(dir, name, 0);
}

static int set_up(void **state)
{
    struct fixture *x = calloc(1, sizeof(*x));
    memcpy(x->path, "/tmp/det-spool-XXXXXX", 22);
    assert_non_null(mkdtemp(x->path));
    x->dir = open(x->path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(spool_open(x->dir, 64 * 1024, &x->spool, NULL), 0);
    *state = x;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *x = *state;
    spool_free(x->spool);
    for_each_file(x, remove_file);
    rmdir(x->path);
    close(x->dir);
    strbuf_release(&x->batch.line);
    free(x);
    return 0;
}

static void reopen_spool(struct fixture *x)
{
    spool_free(x->spool);
    assert_int_equal(spool_open(x->dir, 64 * 1024, &x->spool, NULL), 0);
}

static void append_line(struct fixture *x, uint64_t number)
{
    char text[80];
    int n = snprintf(text, sizeof(text), "line %llu of the task, with some words to fill it\n",
                     (unsigned long long)number);
    spool_append(x->spool, &(struct task_line){
                               .time_us = (int64_t)number, .stdtype = TASK_STDOUT, .text = text, .text_n = (size_t)n});
}

static void append_range(struct fixture *x, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i <= last; i++) {
        append_line(x, i);
        if (i % 7 == 0)
            assert_int_equal(spool_flush(x->spool, NULL), 0);
    }
    assert_int_equal(spool_flush(x->spool, NULL), 0);
}

/* Reads everything behind `after` in batches of `bytes` and checks that the lines are those numbers, in order. */
static uint64_t read_all(struct fixture *x, uint64_t after, size_t bytes)
{
    for (;;) {
        assert_int_equal(spool_read(x->spool, after, bytes, &x->batch, NULL), 0);
        if (!x->batch.count)
            return after;
        assert_int_equal(x->batch.first, after + 1);
        struct cursor c = cursor_of(x->batch.line.s, x->batch.line.n);
        for (uint32_t i = 0; i < x->batch.count; i++) {
            struct task_line l;
            assert_int_equal(task_line_decode(&c, &l), 0);
            assert_int_equal(l.time_us, ++after);
        }
        assert_true(cursor_done(&c));
    }
}

static void test_spool__gives_lines_back_in_order_from_any_point(void **state)
{
    struct fixture *x = *state;
    append_range(x, 1, 400);
    assert_int_equal(read_all(x, 0, 1000), 400);
    assert_int_equal(read_all(x, 399, 1000), 400);
    assert_int_equal(read_all(x, 123, 1), 400);
    assert_int_equal(read_all(x, 400, 1000), 400);
}

static void test_spool__survives_its_supervisor(void **state)
{
    struct fixture *x = *state;
    append_range(x, 1, 500);
    spool_ack(x->spool, 300);
    reopen_spool(x);
    assert_int_equal(spool_last(x->spool), 500);
    assert_in_range(spool_acked(x->spool), 0, 300);
    assert_int_equal(read_all(x, 300, 4096), 500);
    append_range(x, 501, 600);
    assert_int_equal(read_all(x, 300, 4096), 600);
}

static void test_spool__keeps_the_numbering_when_all_lines_are_gone(void **state)
{
    struct fixture *x = *state;
    append_range(x, 1, 500);
    spool_ack(x->spool, 500);
    reopen_spool(x);
    assert_int_equal(spool_last(x->spool), 500);
    append_range(x, 501, 510);
    assert_int_equal(read_all(x, 500, 4096), 510);
}

static char torn_file[32];
static void remember_last(int dir, const char *name)
{
    if (strcmp(name, torn_file) > 0)
        memcpy(torn_file, name, 21);
}

/* The last record loses its end, byte by byte: whatever is left of it must not be taken for a line. */
static void test_spool__cuts_off_a_torn_record(void **state)
{
    struct fixture *x = *state;
    append_range(x, 1, 3);
    append_line(x, 4);
    torn_file[0] = 0;
    for_each_file(x, remember_last);
    struct stat before, after;
    fstatat(x->dir, torn_file, &before, 0);
    spool_flush(x->spool, NULL);
    fstatat(x->dir, torn_file, &after, 0);
    for (off_t size = after.st_size - 1; size > before.st_size; size -= 5) {
        int fd = openat(x->dir, torn_file, O_WRONLY);
        assert_int_equal(ftruncate(fd, size), 0);
        close(fd);
        reopen_spool(x);
        assert_int_equal(spool_last(x->spool), 3);
        append_line(x, 4);
        spool_flush(x->spool, NULL);
        assert_int_equal(read_all(x, 0, 4096), 4);
    }
}

static void test_spool__is_full_at_its_limit_until_acknowledged(void **state)
{
    struct fixture *x = *state;
    uint64_t n = 0;
    while (!spool_full(x->spool)) {
        append_range(x, n + 1, n + 20);
        n += 20;
        assert_in_range(n, 0, 2000);
    }
    assert_int_equal(read_all(x, 0, 4096), n);
    spool_ack(x->spool, n / 2);
    assert_false(spool_full(x->spool));
    assert_int_equal(read_all(x, n / 2, 4096), n);
    spool_ack(x->spool, n);
    assert_int_equal(read_all(x, n, 4096), n);
}

static void test_spool__goes_on_behind_a_number_that_others_have_seen(void **state)
{
    struct fixture *x = *state;
    append_range(x, 1, 10);
    spool_ack(x->spool, 25);
    assert_int_equal(spool_last(x->spool), 25);
    append_range(x, 26, 30);
    assert_int_equal(read_all(x, 25, 4096), 30);
    reopen_spool(x);
    assert_int_equal(spool_last(x->spool), 30);
}

/* Any order of writing, confirming, reading and crashing keeps the promise: what is not confirmed is there. */
static void test_spool__keeps_every_line_in_random_use(void **state)
{
    struct fixture *x = *state;
    struct rng r;
    rng_init(&r, 20261121);
    uint64_t last = 0, acked = 0;
    for (int i = 0; i < 3000; i++) {
        uint64_t what = rng_int(&r, 10);
        if (what < 5 && !spool_full(x->spool)) {
            uint64_t n = rng_limit(&r, 60) + 1;
            append_range(x, last + 1, last + n);
            last += n;
        } else if (what < 8) {
            acked += rng_limit(&r, last - acked);
            spool_ack(x->spool, acked);
        } else if (what < 9) {
            assert_int_equal(read_all(x, acked, rng_limit(&r, 5000) + 1), last);
        } else {
            reopen_spool(x);
            assert_int_equal(spool_last(x->spool), last);
        }
    }
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_spool__gives_lines_back_in_order_from_any_point),
        TEST(test_spool__survives_its_supervisor),
        TEST(test_spool__keeps_the_numbering_when_all_lines_are_gone),
        TEST(test_spool__cuts_off_a_torn_record),
        TEST(test_spool__is_full_at_its_limit_until_acknowledged),
        TEST(test_spool__goes_on_behind_a_number_that_others_have_seen),
        TEST(test_spool__keeps_every_line_in_random_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
