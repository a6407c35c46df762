#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/base/word_list.h"

static void test_word_list__keeps_all_words_in_order_and_ends_with_null(void **state)
{
    (void)state;
    cleanup_arena struct arena a = ARENA_INIT;
    struct word_list w = {.arena = &a};
    for (int i = 0; i < 1000; i++) {
        word_list_add(&w, arena_printf(&a, "%d", i));
        assert_null(w.item[i + 1]);
    }
    assert_int_equal(w.n, 1000);
    for (int i = 0; i < 1000; i++)
        assert_string_equal(w.item[i], arena_printf(&a, "%d", i));
}

static void test_word_list__an_option_without_a_value_is_left_out(void **state)
{
    (void)state;
    cleanup_arena struct arena a = ARENA_INIT;
    struct word_list w = {.arena = &a};
    char word[] = "program";
    word_list_add_copy(&w, word);
    word[0] = 'P';
    word_list_add_option(&w, "--port", "8080");
    word_list_add_option(&w, "--pool", NULL);
    assert_int_equal(w.n, 3);
    assert_string_equal(w.item[0], "program");
    assert_string_equal(w.item[1], "--port");
    assert_string_equal(w.item[2], "8080");
    assert_null(w.item[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_word_list__keeps_all_words_in_order_and_ends_with_null),
        cmocka_unit_test(test_word_list__an_option_without_a_value_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
