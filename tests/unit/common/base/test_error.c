#include "cmocka_setup.h"

#include <errno.h>

#include "common/base/error.h"

static void test_error__wrapping_puts_the_context_in_front_and_keeps_the_kind(void **state)
{
    struct error err cleanup_error = ERROR_INIT;
    assert_int_equal(error_set(&err, ERR_NOT_FOUND, "no pool \"%s\"", "gpu"), -1);
    assert_int_equal(error_wrap(&err, "experiment %d", 41), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_string_equal(error_msg(&err), "experiment 41: no pool \"gpu\"");
}

static void test_error__a_second_one_replaces_the_first(void **state)
{
    struct error err cleanup_error = ERROR_INIT;
    error_set(&err, ERR_NOT_FOUND, "first");
    error_set(&err, ERR_CONFLICT, "second");
    assert_int_equal(err.kind, ERR_CONFLICT);
    assert_string_equal(error_msg(&err), "second");
}

static void test_error__errno_gives_kind_and_text(void **state)
{
    struct error err cleanup_error = ERROR_INIT;
    errno = ENOENT;
    error_errno(&err, "opening %s", "/x");
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_string_equal(error_msg(&err), "opening /x: No such file or directory");
    errno = EACCES;
    error_errno(&err, "opening %s", "/x");
    assert_int_equal(err.kind, ERR_IO);
    assert_int_equal(errno, EACCES);
}

static void test_error__moves_and_leaves_nothing_behind(void **state)
{
    struct error from cleanup_error = ERROR_INIT, to cleanup_error = ERROR_INIT;
    error_set(&to, ERR_IO, "old");
    error_set(&from, ERR_ABORTED, "new");
    error_move(&to, &from);
    assert_string_equal(error_msg(&to), "new");
    assert_int_equal(from.kind, ERR_NONE);
    assert_null(from.msg);
}

static void test_error__one_kind_is_no_failure_and_all_others_are_passed_on(void **state)
{
    struct error why cleanup_error = ERROR_INIT, err cleanup_error = ERROR_INIT;
    assert_false(error_pass_unless(&why, ERR_NOT_FOUND, &err));
    error_set(&why, ERR_NOT_FOUND, "no row");
    assert_false(error_pass_unless(&why, ERR_NOT_FOUND, &err));
    assert_int_equal(err.kind, ERR_NONE);
    error_set(&why, ERR_IO, "no disk");
    assert_true(error_pass_unless(&why, ERR_NOT_FOUND, &err));
    assert_int_equal(err.kind, ERR_IO);
    assert_string_equal(error_msg(&err), "no disk");
    assert_int_equal(why.kind, ERR_NONE);
    error_set(&why, ERR_IO, "no disk");
    assert_true(error_pass_unless(&why, ERR_NOT_FOUND, NULL));
}

static void test_error__a_copy_says_the_same_and_leaves_the_original(void **state)
{
    struct error from cleanup_error = ERROR_INIT, to cleanup_error = ERROR_INIT;
    error_set(&to, ERR_IO, "old");
    error_set(&from, ERR_ABORTED, "new");
    error_copy(&to, &from);
    assert_int_equal(to.kind, ERR_ABORTED);
    assert_string_equal(error_msg(&to), "new");
    assert_string_equal(error_msg(&from), "new");
    assert_ptr_not_equal(to.msg, from.msg);
    error_copy(&to, NULL);
    assert_int_equal(to.kind, ERR_NONE);
    assert_null(to.msg);
}

static void test_error__a_constraint_keeps_its_kind_and_name_until_another_error(void **state)
{
    struct error err cleanup_error = ERROR_INIT, copy cleanup_error = ERROR_INIT;
    assert_int_equal(error_set_constraint(&err, CONSTRAINT_UNIQUE, "projects.key", "duplicate %s", "key"), -1);
    assert_int_equal(err.kind, ERR_CONFLICT);
    error_wrap(&err, "project 3");
    error_copy(&copy, &err);
    assert_string_equal(error_msg(&copy), "project 3: duplicate key");
    assert_true(error_is_constraint(&copy, CONSTRAINT_UNIQUE, "projects.key"));
    assert_true(error_is_constraint(&copy, CONSTRAINT_UNIQUE, NULL));
    assert_false(error_is_constraint(&copy, CONSTRAINT_UNIQUE, "projects.name"));
    assert_false(error_is_constraint(&copy, CONSTRAINT_FOREIGN_KEY, NULL));
    error_set(&copy, ERR_CONFLICT, "something else");
    assert_false(error_is_constraint(&copy, CONSTRAINT_UNIQUE, NULL));
    assert_false(error_is_constraint(NULL, CONSTRAINT_UNIQUE, NULL));
}

static void test_error__nobody_has_to_care(void **state)
{
    assert_int_equal(error_set(NULL, ERR_IO, "x"), -1);
    assert_int_equal(error_wrap(NULL, "x"), -1);
    assert_int_equal(error_errno(NULL, "x"), -1);
    struct error from = ERROR_INIT;
    error_set(&from, ERR_IO, "x");
    error_move(NULL, &from);
    assert_null(from.msg);
}

static void test_error__each_status_has_its_own_text(void **state)
{
    assert_string_equal(error_http_text(ERR_NONE), "OK");
    assert_string_equal(error_http_text(ERR_BAD_GATEWAY), "Bad Gateway");
    assert_string_equal(error_http_text(ERR_DEADLINE), "Gateway Timeout");
    for (int kind = ERR_NONE + 1; kind < ERR_NR; kind++)
        for (int other = ERR_NONE + 1; other < ERR_NR; other++)
            assert_int_equal(strcmp(error_http_text((enum error_kind)kind), error_http_text((enum error_kind)other)) ==
                                 0,
                             error_http_status((enum error_kind)kind) == error_http_status((enum error_kind)other));
}

static void test_error__kinds_have_the_numbers_of_the_contract(void **state)
{
    assert_int_equal(error_http_status(ERR_UNIMPLEMENTED), 501);
    assert_int_equal(error_rpc_code(ERR_UNIMPLEMENTED), 12);
    assert_string_equal(error_rpc_name(ERR_UNIMPLEMENTED), "Unimplemented");
    assert_int_equal(error_http_status(ERR_CONFLICT), 409);
    assert_int_equal(error_http_status(ERR_PRECONDITION), 400);
    assert_int_equal(error_http_status(ERR_NONE), 200);
    assert_int_equal(error_exit_code(ERR_USAGE), 2);
    for (int kind = ERR_NONE + 1; kind < ERR_NR; kind++) {
        assert_in_range(error_http_status((enum error_kind)kind), 400, 599);
        assert_in_range(error_rpc_code((enum error_kind)kind), 1, 16);
        assert_true(error_exit_code((enum error_kind)kind) != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error__wrapping_puts_the_context_in_front_and_keeps_the_kind),
        cmocka_unit_test(test_error__a_second_one_replaces_the_first),
        cmocka_unit_test(test_error__errno_gives_kind_and_text),
        cmocka_unit_test(test_error__moves_and_leaves_nothing_behind),
        cmocka_unit_test(test_error__one_kind_is_no_failure_and_all_others_are_passed_on),
        cmocka_unit_test(test_error__a_copy_says_the_same_and_leaves_the_original),
        cmocka_unit_test(test_error__a_constraint_keeps_its_kind_and_name_until_another_error),
        cmocka_unit_test(test_error__nobody_has_to_care),
        cmocka_unit_test(test_error__each_status_has_its_own_text),
        cmocka_unit_test(test_error__kinds_have_the_numbers_of_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
