#include "cmocka_setup.h"

#include <string.h>

#include "common/base/cleanup.h"
#include "common/config/python_requirements.h"

static void check(const char *text, const char *words)
{
    cleanup_error struct error err = ERROR_INIT;
    int r = python_requirements_check(text, &err);
    if ((r == 0) != !words || (words && !strstr(error_msg(&err), words)))
        fail_msg("\"%s\": %s", text, r ? error_msg(&err) : "accepted");
}

static void test_requirements__may_be_what_a_requirements_file_of_packages_holds(void **state)
{
    check("numpy", NULL);
    check("# a comment\n\nnumpy==2.0 ; python_version < '3.13'  # why\ntorch[extra]>=2\n", NULL);
    check("numpy==2.0 \\\n    --hash=sha256:abc\n", NULL);
    check("--extra-index-url https://download.pytorch.org/whl/cpu\n-i https://x/simple\ntorch", NULL);
    check("--only-binary :all:\n--pre\nx", NULL);
    check("x @ https://host/x-1.0-py3-none-any.whl#sha256=ab", NULL);
    check("git+https://github.com/a/b@v1", NULL);
}

static void test_requirements__that_name_files_or_other_options_are_refused(void **state)
{
    check("-r other.txt\nnumpy", "\"-r other.txt\" has an option that is not allowed here");
    check("-e .\n", "not allowed here");
    check("--trusted-host x\nnumpy", "not allowed here");
    check("--index-urls https://x\nnumpy", "not allowed here");
    check("./package\n", "\"./package\" names a file");
    check("/etc/passwd", "names a file");
    check("x @ file:///etc/passwd", "names a file");
    check("FILE:///etc/passwd", "names a file");
    check("--find-links /home/ada/wheels\nnumpy", "must name an address");
    check("--index-url=file:///x\nnumpy", "must name an address");
    check("num\x01py", "control characters");
}

static void test_requirements__without_a_package_are_refused(void **state)
{
    check("", "names no package");
    check("# only a comment\n--pre\n", "names no package");
}

static void test_normalize__drops_comments_and_empty_lines_only(void **state)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    python_requirements_normalize("# head\n\n  numpy==2.0  # why\r\nx @ https://h/x#sha256=1\n", &b);
    assert_string_equal(strbuf_str(&b), "numpy==2.0\nx @ https://h/x#sha256=1\n");
}

static void test_interpreter__is_an_absolute_path(void **state)
{
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(python_interpreter_check("/usr/bin/python3.11", &err), 0);
    assert_int_equal(python_interpreter_check("python3", &err), -1);
    assert_non_null(strstr(error_msg(&err), "absolute path"));
    error_release(&err);
    assert_int_equal(python_interpreter_check("/usr/bin/python3\nnumpy", &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requirements__may_be_what_a_requirements_file_of_packages_holds),
        cmocka_unit_test(test_requirements__that_name_files_or_other_options_are_refused),
        cmocka_unit_test(test_requirements__without_a_package_are_refused),
        cmocka_unit_test(test_normalize__drops_comments_and_empty_lines_only),
        cmocka_unit_test(test_interpreter__is_an_absolute_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
