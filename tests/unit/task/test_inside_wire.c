#include "cmocka_setup.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "task/inside.h"

static struct taskspec spec_of(char **argv)
{
    static char *none[] = {NULL};
    return (struct taskspec){.argv = argv, .env = none, .cwd = "/", .cgroup_procs = none, .image = "i", .engine = "e"};
}

static void test_inside_wire__an_order_arrives_whatever_its_size(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    int outside, inside;
    char *big = arena_alloc(&a, 3000001);
    memset(big, 'x', 3000000);
    big[3000000] = 0;
    char *argv[] = {"sh", big, NULL};
    struct taskspec spec = spec_of(argv), got;
    struct missing_module missing = {.name = "torch"}, got_missing;
    enum inside_want want;
    assert_int_equal(inside_open(&outside, &inside, NULL), 0);
    assert_int_equal(inside_order(outside, INSIDE_EXPLAIN, &missing, &spec, NULL), 0);
    assert_int_equal(inside_take_order(inside, &a, &want, &got_missing, &got, NULL), 0);
    assert_int_equal(want, INSIDE_EXPLAIN);
    assert_string_equal(got.argv[1], big);
    assert_string_equal(got_missing.name, "torch");
    close(outside);
    close(inside);
}

static void test_inside_wire__no_order_is_an_error(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    int outside, inside;
    struct taskspec got;
    struct missing_module missing;
    enum inside_want want;
    assert_int_equal(inside_open(&outside, &inside, NULL), 0);
    inside_say(outside, INSIDE_STARTED, 0, "a message without a file");
    assert_int_equal(inside_take_order(inside, &a, &want, &missing, &got, &err), -1);
    close(outside);
    assert_int_equal(inside_take_order(inside, &a, &want, &missing, &got, NULL), -1);
    close(inside);
    int p[2];
    assert_int_equal(pipe(p), 0);
    assert_int_equal(inside_take_order(p[0], &a, &want, &missing, &got, NULL), -1);
    close(p[0]);
    close(p[1]);
}

static void test_inside_wire__who_speaks_is_known_by_the_kernel(void **state)
{
    int outside, inside;
    struct inside_message m;
    assert_int_equal(inside_open(&outside, &inside, NULL), 0);
    assert_int_equal(inside_hear(outside, &m), 0);
    pid_t pid = fork();
    if (pid == 0) {
        inside_say(inside, INSIDE_ENDED, 0x0300, "text");
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    assert_int_equal(inside_hear(outside, &m), 1);
    assert_int_equal(m.pid, pid);
    assert_int_equal(m.said, INSIDE_ENDED);
    assert_int_equal(m.number, 0x0300);
    assert_string_equal(m.text, "text");
    assert_int_equal(write(inside, "short", 5), 5);
    assert_int_equal(inside_hear(outside, &m), -1);
    close(inside);
    assert_int_equal(inside_hear(outside, &m), -1);
    inside_say(outside, INSIDE_STARTED, 0, ""); /* nobody listens: nothing happens */
    close(outside);
}

/* The kernel reports the order that nobody has read before it gives what was said. */
static void test_inside_wire__what_was_said_is_heard_although_the_order_was_not_read(void **state)
{
    int outside, inside;
    struct inside_message m;
    assert_int_equal(inside_open(&outside, &inside, NULL), 0);
    assert_int_equal(write(outside, "order", 5), 5);
    inside_say(inside, INSIDE_STARTING, 0, "");
    inside_say(inside, INSIDE_STARTED, 0, "");
    close(inside);
    assert_int_equal(inside_hear(outside, &m), 1);
    assert_int_equal(m.said, INSIDE_STARTING);
    assert_int_equal(inside_hear(outside, &m), 1);
    assert_int_equal(m.said, INSIDE_STARTED);
    assert_int_equal(inside_hear(outside, &m), -1);
    close(outside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inside_wire__what_was_said_is_heard_although_the_order_was_not_read),
        cmocka_unit_test(test_inside_wire__an_order_arrives_whatever_its_size),
        cmocka_unit_test(test_inside_wire__no_order_is_an_error),
        cmocka_unit_test(test_inside_wire__who_speaks_is_known_by_the_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
