#include "cmocka_setup.h"

#include <string.h>

#include "agent/task/ready_watch.h"

static enum ready_sign sign_of(struct ready_watch *w, const char *line)
{
    return ready_watch_line(w, line, strlen(line));
}

static void test_the_sign_is_found_at_the_beginning_of_a_line_and_once(void **state)
{
    struct ready_watch *w = ready_watch_new("Server listening on", NULL);
    assert_non_null(w);
    assert_int_equal(sign_of(w, "sshd: Server listening on 127.0.0.1"), READY_SIGN_NONE);
    assert_int_equal(sign_of(w, ""), READY_SIGN_NONE);
    assert_int_equal(sign_of(w, "Server listening on 127.0.0.1 port 3200.\n"), READY_SIGN_READY);
    assert_int_equal(sign_of(w, "Server listening on :: port 3200.\n"), READY_SIGN_NONE);
    ready_watch_free(w);
}

static void test_a_pattern_may_begin_anywhere_if_it_says_so(void **state)
{
    struct ready_watch *w = ready_watch_new("^.*Jupyter Server .* is running.*$", "");
    assert_int_equal(sign_of(w, "INFO: [ServerApp] Jupyter Server 2.14 is running at:\n"), READY_SIGN_READY);
    ready_watch_free(w);
}

static void test_a_task_waits_once_and_not_any_more_when_it_is_ready(void **state)
{
    struct ready_watch *w = ready_watch_new("TensorBoard contains metrics", "TensorBoard is waiting");
    assert_int_equal(sign_of(w, "TensorBoard is waiting for metrics."), READY_SIGN_WAITS);
    assert_int_equal(sign_of(w, "TensorBoard is waiting for metrics."), READY_SIGN_NONE);
    assert_int_equal(sign_of(w, "TensorBoard contains metrics"), READY_SIGN_READY);
    ready_watch_free(w);
    w = ready_watch_new("TensorBoard contains metrics", "TensorBoard is waiting");
    assert_int_equal(sign_of(w, "TensorBoard contains metrics"), READY_SIGN_READY);
    assert_int_equal(sign_of(w, "TensorBoard is waiting for metrics."), READY_SIGN_NONE);
    ready_watch_free(w);
}

static void test_nothing_is_looked_for_without_a_pattern_that_is_one(void **state)
{
    assert_null(ready_watch_new(NULL, NULL));
    assert_null(ready_watch_new("", "waits"));
    assert_null(ready_watch_new("(", NULL));
    ready_watch_free(NULL);
}

/* A task decides what its lines are. None of them may keep the agent busy. */
static void test_a_line_that_takes_too_many_steps_does_not_match(void **state)
{
    char line[100001];
    struct ready_watch *w = ready_watch_new("(a+)+b", NULL);
    memset(line, 'a', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    assert_int_equal(sign_of(w, line), READY_SIGN_NONE);
    assert_int_equal(sign_of(w, "aab"), READY_SIGN_READY);
    ready_watch_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_sign_is_found_at_the_beginning_of_a_line_and_once),
        cmocka_unit_test(test_a_pattern_may_begin_anywhere_if_it_says_so),
        cmocka_unit_test(test_a_task_waits_once_and_not_any_more_when_it_is_ready),
        cmocka_unit_test(test_nothing_is_looked_for_without_a_pattern_that_is_one),
        cmocka_unit_test(test_a_line_that_takes_too_many_steps_does_not_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
