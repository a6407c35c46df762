/* The rule that names of several kinds of objects share. */
#include "cmocka_setup.h"

#include <string.h>

#include "api/pipeline/names.h"

static void test_name__is_visible_and_short(void **state)
{
    char long_name[NAME_MAX_BYTES + 2];
    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    static const char *const wrong[] = {NULL, "", " ", "   ", " a", "a ", "a\tb", "a\x7f", "a\nb"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(name_check("group", wrong[i], "", NULL), -1);
    assert_int_equal(name_check("group", long_name, "", NULL), -1);
    assert_int_equal(name_check("group", long_name + 1, "", NULL), 0);
    assert_int_equal(name_check("group", "on call/\xc3\xa4", "", NULL), 0);
}

static void test_name__may_lack_more_characters(void **state)
{
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(name_check("template", "a/b", "/", &err), -1);
    assert_string_equal(error_msg(&err), "the name of a template has no '/'");
    assert_int_equal(name_check("template", "a.b", "/", NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name__is_visible_and_short),
        cmocka_unit_test(test_name__may_lack_more_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
