#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/loop/loop.h"

struct story { /* what happened, in order, as text */
    struct loop *loop;
    char text[256];
    int turns, posts_seen;
    struct loop_timer *timer;
};

static struct story story_new(void)
{
    struct story s = {0};
    assert_int_equal(loop_new(&s.loop, NULL), 0);
    return s;
}

static void tell_story(struct story *s, const char *what)
{
    size_t n = strlen(s->text);
    snprintf(s->text + n, sizeof(s->text) - n, "%s ", what);
}

static void run_story(struct story *s)
{
    assert_int_equal(loop_run(s->loop, NULL), 0);
    loop_free(s->loop);
}

static void stop_loop(void *ctx)
{
    struct story *s = ctx;
    loop_stop(s->loop);
}

static void tell_a(void *ctx)
{
    tell_story(ctx, "a");
}
static void tell_b(void *ctx)
{
    tell_story(ctx, "b");
}

static void post_b_then_stop(void *ctx)
{
    struct story *s = ctx;
    loop_post(s->loop, tell_b, s);
    loop_post(s->loop, stop_loop, s);
    tell_story(s, "posted");
}

static void tell_turn_end(void *ctx)
{
    tell_story(ctx, "|");
}

static void test_loop_post__keeps_the_order_and_runs_what_a_post_posts_in_a_later_turn(void **state)
{
    struct story s = story_new();
    loop_on_turn_end(s.loop, tell_turn_end, &s);
    loop_post(s.loop, tell_a, &s);
    loop_post(s.loop, post_b_then_stop, &s);
    run_story(&s);
    assert_string_equal(s.text, "a posted | b | ");
}

#define POSTERS 4
#define POSTS_EACH 500

static void count_post(void *ctx)
{
    struct story *s = ctx;
    if (++s->posts_seen == POSTERS * POSTS_EACH)
        loop_stop(s->loop);
}

static void *post_many(void *ctx)
{
    struct story *s = ctx;
    for (int i = 0; i < POSTS_EACH; i++)
        loop_post(s->loop, count_post, s);
    return NULL;
}

static void test_loop_post__loses_nothing_from_several_threads(void **state)
{
    struct story s = story_new();
    pthread_t thread[POSTERS];
    for (int i = 0; i < POSTERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, post_many, &s), 0);
    assert_int_equal(loop_run(s.loop, NULL), 0);
    for (int i = 0; i < POSTERS; i++)
        pthread_join(thread[i], NULL);
    loop_free(s.loop);
    assert_int_equal(s.posts_seen, POSTERS * POSTS_EACH);
}

static void test_loop_timer__runs_once_in_the_order_of_their_times(void **state)
{
    struct story s = story_new();
    struct loop_timer *a = loop_timer_new(s.loop, tell_a, &s);
    struct loop_timer *b = loop_timer_new(s.loop, tell_b, &s);
    struct loop_timer *end = loop_timer_new(s.loop, stop_loop, &s);
    loop_timer_arm(end, 30000);
    loop_timer_arm(a, 20000);
    loop_timer_arm(b, 5000);
    assert_int_equal(loop_run(s.loop, NULL), 0);
    assert_string_equal(s.text, "b a ");
    assert_true(loop_take_max_delay_us(s.loop) >= 0);
    assert_int_equal(loop_take_max_delay_us(s.loop), 0);
    loop_timer_free(a);
    loop_timer_free(b);
    loop_timer_free(end);
    loop_free(s.loop);
}

static void test_loop_timer__disarmed_stays_silent_and_rearmed_moves(void **state)
{
    struct story s = story_new();
    struct loop_timer *a = loop_timer_new(s.loop, tell_a, &s);
    struct loop_timer *b = loop_timer_new(s.loop, tell_b, &s);
    loop_timer_arm(a, 1000);
    loop_timer_disarm(a);
    loop_timer_arm(b, 3600 * 1000000ll);
    loop_timer_arm(b, 2000);
    struct loop_timer *end = loop_timer_new(s.loop, stop_loop, &s);
    loop_timer_arm(end, 10000);
    assert_int_equal(loop_run(s.loop, NULL), 0);
    assert_string_equal(s.text, "b ");
    loop_timer_free(a);
    loop_timer_free(b);
    loop_timer_free(end);
    loop_free(s.loop);
}

static void free_own_timer_and_stop(void *ctx)
{
    struct story *s = ctx;
    loop_timer_free(s->timer);
    loop_stop(s->loop);
}

static void test_loop_timer__may_be_freed_by_its_own_callback(void **state)
{
    struct story s = story_new();
    s.timer = loop_timer_new(s.loop, free_own_timer_and_stop, &s);
    loop_timer_arm(s.timer, 0);
    run_story(&s);
}

static void test_loop_on_signal__runs_on_the_loop(void **state)
{
    struct story s = story_new();
    loop_on_signal(s.loop, SIGUSR1, tell_a, &s);
    loop_on_signal(s.loop, SIGUSR1, stop_loop, &s);
    raise(SIGUSR1);
    run_story(&s);
    assert_string_equal(s.text, "a ");
}

static void read_byte_and_stop(int fd, void *ctx)
{
    struct story *s = ctx;
    char text[2] = "";
    assert_int_equal(read(fd, text, 1), 1);
    tell_story(s, text);
    loop_stop(s->loop);
}

static void write_byte(int fd, void *ctx)
{
    struct story *s = ctx;
    assert_int_equal(write(fd, "x", 1), 1);
    tell_story(s, "w");
}

static void test_loop_watch__tells_readable_and_writable(void **state)
{
    struct story s = story_new();
    int fd[2];
    assert_int_equal(pipe(fd), 0);
    struct loop_watch *r = loop_watch_readable(s.loop, fd[0], read_byte_and_stop, &s);
    struct loop_watch *w = loop_watch_writable(s.loop, fd[1], write_byte, &s);
    assert_int_equal(loop_run(s.loop, NULL), 0);
    loop_watch_free(r);
    loop_watch_free(w);
    loop_free(s.loop);
    close(fd[0]);
    close(fd[1]);
    assert_memory_equal(s.text, "w ", 2);
    assert_non_null(strstr(s.text, "x "));
}

static void test_loop_new__raises_the_limit_of_open_files(void **state)
{
    struct story s = story_new();
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    assert_true(files.rlim_cur == files.rlim_max);
    loop_free(s.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop_post__keeps_the_order_and_runs_what_a_post_posts_in_a_later_turn),
        cmocka_unit_test(test_loop_post__loses_nothing_from_several_threads),
        cmocka_unit_test(test_loop_timer__runs_once_in_the_order_of_their_times),
        cmocka_unit_test(test_loop_timer__disarmed_stays_silent_and_rearmed_moves),
        cmocka_unit_test(test_loop_timer__may_be_freed_by_its_own_callback),
        cmocka_unit_test(test_loop_on_signal__runs_on_the_loop),
        cmocka_unit_test(test_loop_watch__tells_readable_and_writable),
        cmocka_unit_test(test_loop_new__raises_the_limit_of_open_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
