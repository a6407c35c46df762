#include "cmocka_setup.h"

#include <string.h>

#include "agent/python/environment_key.h"

static const char *const numpy[] = {"numpy==2.0\n"};
static const struct environment_content usual = {.interpreter = "/usr/bin/python3",
                                                 .version = "3.11.2",
                                                 .tag = "cpython-311",
                                                 .machine = "x86_64",
                                                 .base = "",
                                                 .list = numpy,
                                                 .list_n = 1};

static void test_key__is_the_same_for_the_same_content(void **state)
{
    char one[ENVIRONMENT_KEY_LENGTH + 1], two[ENVIRONMENT_KEY_LENGTH + 1];
    environment_key(&usual, one);
    environment_key(&usual, two);
    assert_string_equal(one, two);
    assert_int_equal(strlen(one), ENVIRONMENT_KEY_LENGTH);
    assert_int_equal(strspn(one, "0123456789abcdef"), ENVIRONMENT_KEY_LENGTH);
}

static void test_key__differs_if_any_part_of_the_content_differs(void **state)
{
    static const char *const two_lists[] = {"numpy==2.0\n", "x\n"}, *const other_list[] = {"numpy==2.1\n"};
    /* parts that would be the same text if they were only put together */
    static const char *const shifted[] = {"x86_64numpy==2.0\n"};
    struct environment_content c[] = {usual, usual, usual, usual, usual, usual, usual, usual, usual};
    char key[9][ENVIRONMENT_KEY_LENGTH + 1];
    c[1].interpreter = "/opt/python3";
    c[2].version = "3.11.3";
    c[3].tag = "cpython-311d";
    c[4].machine = "aarch64";
    c[5].base = "/opt/conda";
    c[6].list = other_list;
    c[7].list = two_lists, c[7].list_n = 2;
    c[8].machine = "", c[8].list = shifted;
    for (size_t i = 0; i < 9; i++) {
        environment_key(&c[i], key[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(key[i], key[j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key__is_the_same_for_the_same_content),
        cmocka_unit_test(test_key__differs_if_any_part_of_the_content_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
