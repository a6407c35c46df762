#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/files/ignore.h"

static bool is_ignored(const char *patterns, const char *path, bool directory)
{
    struct ignore ig = IGNORE_INIT;
    ignore_add_file(&ig, patterns, strlen(patterns));
    bool ret = ignore_matches(&ig, path, directory);
    ignore_release(&ig);
    return ret;
}

static void test_ignore__follows_gitignore(void **state)
{
    assert_true(is_ignored("*.log", "a/b.log", false));
    assert_false(is_ignored("/*.log", "a/b.log", false));
    assert_true(is_ignored("a/*.log", "a/b.log", false));
    assert_false(is_ignored("a/*.log", "a/c/b.log", false));
    assert_true(is_ignored("a/**/b", "a/b", false));
    assert_true(is_ignored("a/**/b", "a/x/y/b", false));
    assert_true(is_ignored("**/x", "a/b/x", false));
    assert_true(is_ignored("a/**", "a/b/c", false));
    assert_false(is_ignored("a/**", "a", true));
    assert_true(is_ignored("data/", "data", true));
    assert_false(is_ignored("data/", "data", false));
    assert_false(is_ignored("*.log\n!keep.log", "keep.log", false));
    assert_true(is_ignored("!keep.log\n*.log", "keep.log", false));
    assert_true(is_ignored("[a-c]?[!x]", "bzy", false));
    assert_false(is_ignored("[a-c]?[!x]", "bzx", false));
    assert_true(is_ignored("[[:digit:]]*", "7up", false));
    assert_false(is_ignored("# x", "# x", false));
    assert_true(is_ignored("\\# x", "# x", false));
    assert_true(is_ignored("trailing  ", "trailing", false));
    assert_true(is_ignored("trailing\\ ", "trailing ", false));
    assert_true(is_ignored("\xef\xbb\xbf"
                           "first\r\nsecond",
                           "first", false));
    assert_false(is_ignored("broken[", "broken[", false));
}

static void test_ignore__ends_on_patterns_made_to_take_forever(void **state)
{
    assert_false(is_ignored("a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b",
                            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false));
    assert_false(is_ignored("**/a/**/a/**/a/**/a/**/b", "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/c", false));
}

static void test_ignore__always_leaves_out_a_few_names(void **state)
{
    assert_true(ignore_always("__pycache__"));
    assert_true(ignore_always("x.pyc"));
    assert_true(ignore_always(".git"));
    assert_false(ignore_always(".gitignore"));
    assert_false(ignore_always("pyc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ignore__follows_gitignore),
        cmocka_unit_test(test_ignore__ends_on_patterns_made_to_take_forever),
        cmocka_unit_test(test_ignore__always_leaves_out_a_few_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
