#include "cmocka_setup.h"

#include <string.h>

#include "common/system/random.h"

static void test_random__fills_all_bytes_and_differs_each_time(void **state)
{
    (void)state;
    unsigned char first[RANDOM_MAX] = {0}, second[RANDOM_MAX] = {0};
    assert_int_equal(random_bytes(first, sizeof(first), NULL), 0);
    assert_int_equal(random_bytes(second, sizeof(second) - 1, NULL), 0);
    assert_memory_not_equal(first, second, 16);
    assert_memory_not_equal(first + 240, second + 240, 15);
    assert_int_equal(second[RANDOM_MAX - 1], 0);
}

static void test_random__a_uuid_is_of_version_4_and_differs_each_time(void **state)
{
    (void)state;
    char first[UUID_TEXT_MAX], second[UUID_TEXT_MAX];
    assert_int_equal(random_uuid(first, NULL), 0);
    assert_int_equal(random_uuid(second, NULL), 0);
    assert_int_equal(strlen(first), UUID_TEXT_MAX - 1);
    assert_int_equal(first[14], '4');
    assert_string_not_equal(first, second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random__fills_all_bytes_and_differs_each_time),
        cmocka_unit_test(test_random__a_uuid_is_of_version_4_and_differs_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
