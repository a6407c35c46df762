#include "cmocka_setup.h"

#include <string.h>

#include "agent/python/environment_cache.h"

#define MIB (INT64_C(1) << 20)

static struct cached_environment entry(const char *key, int64_t mib, int64_t used_us, bool in_use)
{
    struct cached_environment e = {.bytes = mib * MIB, .used_us = used_us, .in_use = in_use};
    memcpy(e.key, key, strlen(key) + 1);
    return e;
}

/* The first letters of those that are to be removed, oldest first. */
static const char *removed(const struct cached_environment *e, size_t n)
{
    static char text[16];
    size_t length = 0;
    for (size_t i = 0; i < n; i++)
        if (e[i].remove)
            text[length++] = e[i].key[0];
    text[length] = 0;
    return text;
}

static void test_choose__removes_the_least_recently_used_and_no_more_than_needed(void **state)
{
    struct cached_environment e[] = {entry("b", 10, 20, false), entry("a", 10, 10, false), entry("c", 10, 30, false)};
    assert_true(environment_cache_choose(e, 3, 10 * MIB, 35 * MIB));
    assert_string_equal(removed(e, 3), "a");
    assert_true(environment_cache_choose(e, 3, 10 * MIB, 20 * MIB));
    assert_string_equal(removed(e, 3), "ab");
    assert_true(environment_cache_choose(e, 3, 10 * MIB, 40 * MIB));
    assert_string_equal(removed(e, 3), "");
}

static void test_choose__passes_over_environments_that_tasks_use(void **state)
{
    struct cached_environment e[] = {entry("a", 10, 10, true), entry("b", 10, 20, false), entry("c", 10, 30, true)};
    assert_true(environment_cache_choose(e, 3, 10 * MIB, 30 * MIB));
    assert_string_equal(removed(e, 3), "b");
}

static void test_choose__removes_nothing_if_there_is_no_room_even_then(void **state)
{
    struct cached_environment e[] = {entry("a", 10, 10, false), entry("b", 10, 20, true)};
    assert_false(environment_cache_choose(e, 2, 10 * MIB, 15 * MIB));
    assert_string_equal(removed(e, 2), "");
    assert_false(environment_cache_choose(e, 0, 10 * MIB, 5 * MIB));
}

static void test_choose__without_a_limit_keeps_all(void **state)
{
    struct cached_environment e[] = {entry("a", 1000000, 10, false)};
    assert_true(environment_cache_choose(e, 1, 1000000 * MIB, 0));
    assert_string_equal(removed(e, 1), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choose__removes_the_least_recently_used_and_no_more_than_needed),
        cmocka_unit_test(test_choose__passes_over_environments_that_tasks_use),
        cmocka_unit_test(test_choose__removes_nothing_if_there_is_no_room_even_then),
        cmocka_unit_test(test_choose__without_a_limit_keeps_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
