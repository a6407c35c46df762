#include "cmocka_setup.h"

#include "api/rights/permissions.h"

enum { ANN = 7, BEN = 8, VISION = 3, HERE = 11, THERE = 12 };

static bool may(struct permissions *p, int32_t user_id, enum permission what, int32_t workspace_id)
{
    return permission_set_has(permissions_of(p, user_id), what, workspace_id);
}

static void test_a_role__of_a_workspace_holds_in_that_workspace_only(void **state)
{
    struct permissions *p = permissions_new();
    permissions_give(p, &(struct role_given){.user_id = ANN, .role_id = ROLE_EDITOR, .workspace_id = HERE});
    assert_true(may(p, ANN, PERMISSION_UPDATE_EXPERIMENT, HERE));
    assert_false(may(p, ANN, PERMISSION_UPDATE_EXPERIMENT, THERE));
    assert_false(may(p, ANN, PERMISSION_UPDATE_EXPERIMENT, 0));
    assert_false(may(p, ANN, PERMISSION_DELETE_WORKSPACE, HERE));
    assert_false(may(p, BEN, PERMISSION_UPDATE_EXPERIMENT, HERE));
    permissions_free(p);
}

static void test_a_role__of_the_cluster_holds_in_each_workspace(void **state)
{
    struct permissions *p = permissions_new();
    permissions_give(p, &(struct role_given){.user_id = ANN, .role_id = ROLE_VIEWER});
    assert_true(may(p, ANN, PERMISSION_VIEW_PROJECT, 0) && may(p, ANN, PERMISSION_VIEW_PROJECT, HERE));
    permissions_give(p, &(struct role_given){.user_id = ANN, .role_id = ROLE_EDITOR, .workspace_id = HERE});
    assert_true(may(p, ANN, PERMISSION_UPDATE_PROJECT, HERE));
    assert_false(may(p, ANN, PERMISSION_UPDATE_PROJECT, THERE));
    assert_true(may(p, ANN, PERMISSION_VIEW_PROJECT, THERE));
    permissions_free(p);
}

static void test_roles__of_one_workspace_add_up_and_are_taken_one_by_one(void **state)
{
    struct permissions *p = permissions_new();
    const struct role_given viewer = {.user_id = ANN, .role_id = ROLE_VIEWER, .workspace_id = HERE};
    permissions_give(p, &(struct role_given){.group_id = VISION, .role_id = ROLE_EDITOR, .workspace_id = HERE});
    permissions_give(p, &viewer);
    permissions_give(p, &viewer);
    permissions_join(p, VISION, ANN);
    assert_int_equal(permissions_of(p, ANN)->at_n, 1);
    assert_true(may(p, ANN, PERMISSION_UPDATE_PROJECT, HERE));
    permissions_leave(p, VISION, ANN);
    assert_false(may(p, ANN, PERMISSION_UPDATE_PROJECT, HERE));
    assert_true(may(p, ANN, PERMISSION_VIEW_PROJECT, HERE));
    permissions_take(p, &viewer);
    assert_false(may(p, ANN, PERMISSION_VIEW_PROJECT, HERE));
    permissions_free(p);
}

static void test_a_group__gives_its_members_what_it_gets_later_and_nothing_when_it_is_gone(void **state)
{
    struct permissions *p = permissions_new();
    permissions_join(p, VISION, ANN);
    permissions_join(p, VISION, BEN);
    assert_false(may(p, ANN, PERMISSION_VIEW_PROJECT, HERE));
    permissions_give(p, &(struct role_given){.group_id = VISION, .role_id = ROLE_VIEWER, .workspace_id = HERE});
    assert_true(may(p, ANN, PERMISSION_VIEW_PROJECT, HERE) && may(p, BEN, PERMISSION_VIEW_PROJECT, HERE));
    permissions_drop_group(p, VISION);
    assert_false(may(p, ANN, PERMISSION_VIEW_PROJECT, HERE) || may(p, BEN, PERMISSION_VIEW_PROJECT, HERE));
    /* a user with the number of the group is somebody else */
    assert_false(may(p, VISION, PERMISSION_VIEW_PROJECT, HERE));
    permissions_free(p);
}

static void test_a_workspace__that_gets_the_number_of_a_deleted_one_starts_without_members(void **state)
{
    struct permissions *p = permissions_new();
    permissions_give(p, &(struct role_given){.user_id = ANN, .role_id = ROLE_EDITOR, .workspace_id = HERE});
    permissions_give(p, &(struct role_given){.user_id = ANN, .role_id = ROLE_EDITOR, .workspace_id = THERE});
    assert_true(may(p, ANN, PERMISSION_VIEW_PROJECT, HERE));
    permissions_drop_workspace(p, HERE);
    assert_false(may(p, ANN, PERMISSION_VIEW_PROJECT, HERE));
    assert_true(may(p, ANN, PERMISSION_VIEW_PROJECT, THERE));
    permissions_free(p);
}

static void test_nobody__has_permissions(void **state)
{
    struct permissions *p = permissions_new();
    permissions_give(p, &(struct role_given){.user_id = ANN, .role_id = 9999});
    for (int32_t user_id = -1; user_id <= ANN; user_id++)
        assert_int_equal(permission_set_in(permissions_of(p, user_id), HERE), 0);
    permissions_free(p);
}

/* A request that has begun goes on with what its user was allowed when it began. */
static void test_a_set_that_is_held__stays_as_it_was(void **state)
{
    struct permissions *p = permissions_new();
    const struct role_given g = {.user_id = ANN, .role_id = ROLE_EDITOR, .workspace_id = HERE};
    permissions_give(p, &g);
    const struct permission_set *held = permission_set_ref(permissions_of(p, ANN));
    permissions_take(p, &g);
    assert_int_equal(permission_set_in(permissions_of(p, ANN), HERE), 0);
    permissions_free(p);
    assert_true(permission_set_has(held, PERMISSION_UPDATE_PROJECT, HERE));
    permission_set_unref(held);
}

/* Many changes in any order, compared with what a plain list of assignments says. */
static void test_changes__in_any_order_agree_with_a_plain_list(void **state)
{
    enum { USERS = 12, PLACES = 6, STEPS = 4000 };
    static bool has[USERS + 1][PLACES + 1];
    struct permissions *p = permissions_new();
    uint32_t random = 1;
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525u + 1013904223u;
        const struct role_given g = {.user_id = 1 + (int32_t)(random >> 8) % USERS,
                                     .role_id = ROLE_VIEWER,
                                     .workspace_id = 1 + (int32_t)(random >> 16) % PLACES};
        bool give = random >> 31;
        has[g.user_id][g.workspace_id] = give;
        if (give)
            permissions_give(p, &g);
        else
            permissions_take(p, &g);
        for (int32_t place = 1; place <= PLACES; place++)
            assert_int_equal(may(p, g.user_id, PERMISSION_VIEW_PROJECT, place), has[g.user_id][place]);
    }
    permissions_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_role__of_a_workspace_holds_in_that_workspace_only),
        cmocka_unit_test(test_a_role__of_the_cluster_holds_in_each_workspace),
        cmocka_unit_test(test_roles__of_one_workspace_add_up_and_are_taken_one_by_one),
        cmocka_unit_test(test_a_group__gives_its_members_what_it_gets_later_and_nothing_when_it_is_gone),
        cmocka_unit_test(test_a_workspace__that_gets_the_number_of_a_deleted_one_starts_without_members),
        cmocka_unit_test(test_nobody__has_permissions),
        cmocka_unit_test(test_a_set_that_is_held__stays_as_it_was),
        cmocka_unit_test(test_changes__in_any_order_agree_with_a_plain_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
