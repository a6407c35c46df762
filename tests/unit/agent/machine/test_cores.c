#include "cmocka_setup.h"

#include <string.h>

#include "agent/machine/cores.h"
#include "common/base/cleanup.h"

static int numbers[] = {0, 1, 2, 3, 8, 9, 11};
static const struct cores seven = {.id = numbers, .n = 7};

static void test_cores__are_divided_into_neighbours_of_nearly_the_same_number(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct cores slot[3];
    assert_int_equal(cores_divide(&seven, 3, slot, NULL), 0);
    assert_string_equal(cores_text(&slot[0], 1, &a), "0-2");
    assert_string_equal(cores_text(&slot[1], 1, &a), "3,8");
    assert_string_equal(cores_text(&slot[2], 1, &a), "9,11");
    assert_string_equal(cores_text(slot, 3, &a), "0-3,8-9,11");
    assert_string_equal(cores_text((struct cores[]){slot[2], slot[0]}, 2, &a), "0-2,9,11");
}

static void test_cores__fewer_than_slots_are_refused(void **state)
{
    struct cores slot[8];
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(cores_divide(&seven, 8, slot, &err), -1);
    assert_string_equal(error_msg(&err),
                        "cpu_slots is 8, but the agent may use 7 cores of this machine; set it to at most that");
}

static void test_cores__this_process_has_some(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct cores c;
    assert_int_equal(cores_read(&a, &c, NULL), 0);
    assert_true(c.n >= 1);
    for (size_t i = 1; i < c.n; i++)
        assert_true(c.id[i] > c.id[i - 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cores__are_divided_into_neighbours_of_nearly_the_same_number),
        cmocka_unit_test(test_cores__fewer_than_slots_are_refused),
        cmocka_unit_test(test_cores__this_process_has_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
