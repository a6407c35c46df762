#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/pipeline/deleted_places.h"

enum { NONE = 0 };

static int setup(void **state)
{
    *state = deleted_places_new();
    return 0;
}

static int teardown(void **state)
{
    deleted_places_free(*state);
    return 0;
}

static void assert_refused(const struct deleted_places *d, int32_t workspace_id, int32_t project_id, const char *words)
{
    struct error err = ERROR_INIT;
    assert_int_equal(deleted_places_check(d, workspace_id, project_id, &err), -1);
    assert_int_equal(err.kind, ERR_PRECONDITION);
    assert_string_equal(error_msg(&err), words);
    error_release(&err);
}

static void test_check__knows_workspaces_and_projects_apart(void **state)
{
    struct deleted_places *d = *state;
    deleted_places_add(d, 7, NONE, 0);
    deleted_places_add(d, NONE, 8, 0);
    assert_refused(d, 7, 1, "workspace 7 is being deleted; choose another workspace");
    assert_refused(d, 7, NONE, "workspace 7 is being deleted; choose another workspace");
    assert_refused(d, 1, 8, "project 8 is being deleted; choose another project");
    assert_int_equal(deleted_places_check(d, 8, 7, NULL), 0);
    assert_int_equal(deleted_places_check(d, 1, NONE, NULL), 0);
}

static void test_remove__of_a_failed_deletion_opens_the_place_again(void **state)
{
    struct deleted_places *d = *state;
    deleted_places_add(d, 7, NONE, 0);
    deleted_places_add(d, NONE, 8, 0);
    deleted_places_remove(d, 7, NONE);
    deleted_places_remove(d, 9, NONE); /* is not there */
    assert_int_equal(deleted_places_check(d, 7, NONE, NULL), 0);
    assert_refused(d, 1, 8, "project 8 is being deleted; choose another project");
}

static void test_remove__leaves_the_place_to_a_second_deletion(void **state)
{
    struct deleted_places *d = *state;
    deleted_places_add(d, 7, NONE, 0);
    deleted_places_add(d, 7, NONE, 1);
    deleted_places_remove(d, 7, NONE);
    assert_refused(d, 7, NONE, "workspace 7 is being deleted; choose another workspace");
}

static void test_add__forgets_what_was_entered_long_ago(void **state)
{
    struct deleted_places *d = *state;
    for (int32_t id = 1; id <= 100; id++)
        deleted_places_add(d, id, NONE, id);
    deleted_places_add(d, 1000, NONE, DELETED_PLACES_KEPT_US + 51);
    assert_int_equal(deleted_places_check(d, 50, NONE, NULL), 0);
    assert_refused(d, 51, NONE, "workspace 51 is being deleted; choose another workspace");
    assert_refused(d, 100, NONE, "workspace 100 is being deleted; choose another workspace");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_check__knows_workspaces_and_projects_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remove__of_a_failed_deletion_opens_the_place_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remove__leaves_the_place_to_a_second_deletion, setup, teardown),
        cmocka_unit_test_setup_teardown(test_add__forgets_what_was_entered_long_ago, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
