#include "cmocka_setup.h"

#include <stdlib.h>

#include "common/base/compare.h"

static void test_compare__sorts_numbers_however_far_apart(void **state)
{
    (void)state;
    int32_t n[] = {5, INT32_MAX, -1, INT32_MIN, 5};
    const int32_t sorted[] = {INT32_MIN, -1, 5, 5, INT32_MAX};
    qsort(n, 5, sizeof(*n), compare_int32);
    assert_memory_equal(n, sorted, sizeof(n));
}

static void test_compare__sorts_texts_by_their_bytes(void **state)
{
    (void)state;
    const char *text[] = {"b", "\xc3\xa4", "B", "", "ba"};
    qsort(text, 5, sizeof(*text), compare_texts);
    assert_string_equal(text[0], "");
    assert_string_equal(text[1], "B");
    assert_string_equal(text[3], "ba");
    assert_string_equal(text[4], "\xc3\xa4");
}

static void test_compare__a_directory_is_followed_by_its_members(void **state)
{
    (void)state;
    assert_true(compare_paths("a", "a/b") < 0);
    assert_true(compare_paths("a/b", "a-b") < 0);
    assert_true(compare_paths("a.c", "a/z") > 0);
    assert_true(compare_paths("a/\xc3\xa4", "a/z") > 0);
    assert_int_equal(compare_paths("a/b", "a/b"), 0);
}

static void test_compare__a_text_is_one_of_the_words(void **state)
{
    (void)state;
    const char *const words[] = {"yes", "on", NULL}, *const none[] = {NULL};
    assert_true(text_is_one_of("on", words));
    assert_false(text_is_one_of("o", words));
    assert_false(text_is_one_of("", none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare__sorts_numbers_however_far_apart),
        cmocka_unit_test(test_compare__sorts_texts_by_their_bytes),
        cmocka_unit_test(test_compare__a_directory_is_followed_by_its_members),
        cmocka_unit_test(test_compare__a_text_is_one_of_the_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
