/* What is recognised in the last lines of a task. */
#include "cmocka_setup.h"

#include <string.h>

#include "common/base/cleanup.h"
#include "task/missing_module.h"

static void test_missing_module__is_named_by_pythons_own_words(void **state)
{
    (void)state;
    static const struct {
        const char *line, *name;
    } row[] = {
        {"ModuleNotFoundError: No module named 'torch'\n", "torch"},
        {"ModuleNotFoundError: No module named 'a.b_c'; 'a' is not a package\n", "a.b_c"},
        {"/usr/bin/python3: No module named torch.distributed\n", "torch.distributed"},
        {"(ModuleNotFoundError: No module named 'torch')\n", "torch"},
        {"No module named x.\n", "x"},
        {"No module named ", ""},
        {"No module named ''\n", ""},
        {"no module named 'torch'\n", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct missing_module m = {.name = ""};
        missing_module_scan(&m, row[i].line, strlen(row[i].line));
        assert_string_equal(m.name, row[i].name);
    }
}

static void test_missing_module__the_first_one_counts(void **state)
{
    (void)state;
    static const char one[] = "No module named 'one'", two[] = "No module named 'two'";
    struct missing_module m = {.name = ""};
    missing_module_scan(&m, one, strlen(one));
    missing_module_scan(&m, two, strlen(two));
    assert_string_equal(m.name, "one");
}

static void test_missing_module__of_a_name_that_is_too_long_is_none(void **state)
{
    (void)state;
    char line[300] = "No module named '";
    memset(line + strlen(line), 'a', MODULE_NAME_MAX + 1);
    struct missing_module m = {.name = ""};
    missing_module_scan(&m, line, strlen(line));
    assert_string_equal(m.name, "");
    missing_module_scan(&m, line, strlen(line) - 1);
    assert_int_equal(strlen(m.name), MODULE_NAME_MAX);
}

static void test_missing_module__is_explained_with_and_without_an_interpreter(void **state)
{
    (void)state;
    struct missing_module m = {.name = "torch"};
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    missing_module_explain(&m, "/usr/bin/python3", &text);
    assert_non_null(strstr(strbuf_str(&text), "'torch' was not found"));
    assert_non_null(strstr(strbuf_str(&text), "which is /usr/bin/python3"));
    assert_non_null(strstr(strbuf_str(&text), "docs/python-environment.md"));
    strbuf_reset(&text);
    missing_module_explain(&m, NULL, &text);
    assert_non_null(strstr(strbuf_str(&text), "PATH has no python3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_module__is_named_by_pythons_own_words),
        cmocka_unit_test(test_missing_module__the_first_one_counts),
        cmocka_unit_test(test_missing_module__of_a_name_that_is_too_long_is_none),
        cmocka_unit_test(test_missing_module__is_explained_with_and_without_an_interpreter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
