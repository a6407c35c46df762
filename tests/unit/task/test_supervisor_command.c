/* What a supervisor hears from within a container. */
#include "cmocka_setup.h"

#include <unistd.h>

#include "task/inside.h"
#include "task/supervisor_internal.h"

enum { SAID = 40 };

static int unheard(int fd)
{
    struct inside_message m;
    int n = 0;
    while (inside_hear(fd, &m) > 0)
        n++;
    return n;
}

/* Whoever is in the container may send messages without end. The supervisor has other work, such as a kill. */
static void test_supervisor_command__hears_a_few_messages_in_one_turn_of_the_loop(void **state)
{
    struct supervisor s = {.phase = EXITED};
    int inside;
    assert_int_equal(inside_open(&s.command.fd, &inside, NULL), 0);
    for (int i = 0; i < SAID; i++)
        inside_say(inside, INSIDE_STARTED, 0, "");
    supervisor_hear_container(&s);
    int left = unheard(s.command.fd);
    assert_in_range(left, 1, SAID - 1);
    close(inside);
    close(s.command.fd);
}

static void test_supervisor_command__hears_every_message_before_the_end(void **state)
{
    struct supervisor s = {.phase = EXITED};
    int inside, turns = 0;
    assert_int_equal(inside_open(&s.command.fd, &inside, NULL), 0);
    for (int i = 0; i < SAID; i++)
        inside_say(inside, INSIDE_STARTED, 0, "");
    close(inside);
    for (; s.command.fd >= 0; turns++)
        supervisor_hear_container(&s);
    assert_in_range(turns, 2, SAID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_supervisor_command__hears_a_few_messages_in_one_turn_of_the_loop),
        cmocka_unit_test(test_supervisor_command__hears_every_message_before_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
