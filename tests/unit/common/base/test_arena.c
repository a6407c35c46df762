#include "cmocka_setup.h"

#include <string.h>

#include "common/base/arena.h"

static void test_arena__gives_zeroed_memory_aligned_to_16(void **state)
{
    struct arena a cleanup_arena = ARENA_INIT;
    for (size_t n = 0; n < 100; n++) {
        char *p = arena_alloc(&a, n);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, n);
    }
}

static void test_arena__keeps_what_was_given_out_before_it_grew(void **state)
{
    struct arena a cleanup_arena = ARENA_INIT;
    char *first = arena_strdup(&a, "first");
    memset(arena_alloc(&a, 1 << 20), 1, 1 << 20);
    char *pieces[10000], expected[32];
    for (int i = 0; i < 10000; i++)
        pieces[i] = arena_printf(&a, "piece %d", i);
    for (int i = 0; i < 10000; i++) {
        snprintf(expected, sizeof(expected), "piece %d", i);
        assert_string_equal(pieces[i], expected);
    }
    assert_string_equal(first, "first");
}

static void test_arena__copies_strings_up_to_their_length(void **state)
{
    struct arena a cleanup_arena = ARENA_INIT;
    assert_null(arena_strdup(&a, NULL));
    assert_string_equal(arena_strndup(&a, "abcdef", 3), "abc");
    assert_string_equal(arena_strndup(&a, NULL, 0), "");
    assert_memory_equal(arena_dup(&a, "a\0b", 3), "a\0b", 3);
}

static void test_arena__counts_and_is_usable_after_release(void **state)
{
    struct arena a = ARENA_INIT;
    arena_alloc(&a, 20);
    assert_int_equal(a.total, 32);
    arena_release(&a);
    assert_int_equal(a.total, 0);
    assert_string_equal(arena_strdup(&a, "again"), "again");
    arena_release(&a);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena__gives_zeroed_memory_aligned_to_16),
        cmocka_unit_test(test_arena__keeps_what_was_given_out_before_it_grew),
        cmocka_unit_test(test_arena__copies_strings_up_to_their_length),
        cmocka_unit_test(test_arena__counts_and_is_usable_after_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
