#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "net/loop/service.h"

static int manager = -1;
static struct loop *loop;

/* A service manager at an abstract address. */
static int open_manager(void **state)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char text[64];
    int n = snprintf(text, sizeof(text), "@det-test-service-%d", (int)getpid());
    memcpy(a.sun_path + 1, text + 1, (size_t)n - 1);
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    if (bind(manager, (struct sockaddr *)&a, (socklen_t)(sizeof(a.sun_family) + (size_t)n)) < 0)
        return -1;
    setenv("NOTIFY_SOCKET", text, 1);
    return loop_new(&loop, NULL);
}

static int close_manager(void **state)
{
    loop_free(loop);
    return close(manager);
}

static const char *read_notification(void)
{
    static char text[1024];
    ssize_t n = recv(manager, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = 0;
    return text;
}

static void stop_loop(void *ctx)
{
    loop_stop(loop);
}

/* A loop that does not turn: what a callback that blocks looks like from outside. */
static void block_loop(void *ctx)
{
    while (*read_notification())
        ;
    int64_t stuck_until_us = clock_monotonic_us() + 100000;
    while (clock_monotonic_us() < stuck_until_us)
        usleep(1000);
    *(int *)ctx = !*read_notification();
    loop_stop(loop);
}

static void test_service__tells_its_life_in_order(void **state)
{
    struct service *s = service_new(loop);
    assert_null(getenv("NOTIFY_SOCKET"));
    service_ready(s);
    service_status(s, "Serving on port %d", 80);
    service_status(s, "Serving on port %d", 80);
    service_reloading(s);
    service_ready(s);
    service_stopping(s);
    assert_string_equal(read_notification(), "READY=1");
    assert_string_equal(read_notification(), "STATUS=Serving on port 80");
    assert_memory_equal(read_notification(), "RELOADING=1\nMONOTONIC_USEC=", 27);
    assert_string_equal(read_notification(), "READY=1");
    assert_string_equal(read_notification(), "STOPPING=1");
    assert_string_equal(read_notification(), "");
    service_free(s);
}

static void test_service__watchdog_is_fed_while_the_loop_turns_and_not_while_it_is_stuck(void **state)
{
    int silent = 0;
    setenv("WATCHDOG_USEC", "40000", 1);
    struct service *s = service_new(loop);
    struct loop_timer *end = loop_timer_new(loop, stop_loop, NULL), *trap = loop_timer_new(loop, block_loop, &silent);
    loop_timer_arm(end, 200000);
    assert_int_equal(loop_run(loop, NULL), 0);
    assert_string_equal(read_notification(), "WATCHDOG=1");
    loop_timer_arm(trap, 0);
    assert_int_equal(loop_run(loop, NULL), 0);
    assert_true(silent);
    loop_timer_arm(end, 60000);
    assert_int_equal(loop_run(loop, NULL), 0);
    assert_string_equal(read_notification(), "WATCHDOG=1");
    loop_timer_free(end);
    loop_timer_free(trap);
    service_free(s);
}

static void test_service__watchdog_of_another_process_is_left_alone(void **state)
{
    setenv("WATCHDOG_USEC", "2000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    struct service *s = service_new(loop);
    struct loop_timer *end = loop_timer_new(loop, stop_loop, NULL);
    loop_timer_arm(end, 50000);
    assert_int_equal(loop_run(loop, NULL), 0);
    assert_string_equal(read_notification(), "");
    loop_timer_free(end);
    service_free(s);
}

static void test_service__a_manager_that_does_not_listen_does_not_hold_the_loop(void **state)
{
    setenv("WATCHDOG_USEC", "2000", 1);
    unsetenv("WATCHDOG_PID");
    struct service *s = service_new(loop);
    for (int i = 0; i < 1000; i++) /* many more than the kernel keeps for it */
        service_status(s, "%d", i);
    struct loop_timer *end = loop_timer_new(loop, stop_loop, NULL);
    loop_timer_arm(end, 50000);
    assert_int_equal(loop_run(loop, NULL), 0);
    loop_timer_free(end);
    service_free(s);
}

static void test_service__without_a_manager_nothing_happens(void **state)
{
    static const char *const address[] = {"", "relative", "/no/such/socket"};
    for (size_t i = 0; i < 3; i++) {
        setenv("NOTIFY_SOCKET", address[i], 1);
        struct service *s = service_new(loop);
        service_ready(s);
        service_free(s);
    }
    assert_string_equal(read_notification(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_service__tells_its_life_in_order, open_manager, close_manager),
        cmocka_unit_test_setup_teardown(test_service__watchdog_is_fed_while_the_loop_turns_and_not_while_it_is_stuck,
                                        open_manager, close_manager),
        cmocka_unit_test_setup_teardown(test_service__watchdog_of_another_process_is_left_alone, open_manager,
                                        close_manager),
        cmocka_unit_test_setup_teardown(test_service__a_manager_that_does_not_listen_does_not_hold_the_loop,
                                        open_manager, close_manager),
        cmocka_unit_test_setup_teardown(test_service__without_a_manager_nothing_happens, open_manager, close_manager),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
