/* Tests workspaces, pins and projects. */
#include "store/fixture.h"

#include "store/accounts/workspace_deletion.h"
#include "store/accounts/workspaces.h"

static void add_workspace(struct fixture *f, int32_t id, const char *name, int32_t user)
{
    const struct store_workspace w = {.id = id, .name = name, .user_id = user, .created_us = T0};
    OK(f, store_workspace_insert(f->st, &w, &f->err));
}

static void add_project(struct fixture *f, int32_t id, int32_t workspace, const char *name, const char *key)
{
    const struct store_project p = {.id = id,
                                    .workspace_id = workspace,
                                    .user_id = 1,
                                    .name = name,
                                    .key = key,
                                    .description = "",
                                    .created_us = T0 + id};
    OK(f, store_project_insert(f->st, &p, &f->err));
}

static void test_uncategorized__is_there_and_cannot_be_changed(void **state)
{
    struct fixture *f = *state;
    struct store_workspace w;
    struct store_project p;
    OK(f, store_workspace_get(f->st, 1, 0, &f->a, &w, &f->err));
    OK(f, store_project_get(f->st, 1, &f->a, &p, &f->err));
    assert_string_equal(w.name, "Uncategorized");
    assert_string_equal(p.name, "Uncategorized");
    assert_string_equal(p.workspace_name, "Uncategorized");
    assert_true(w.immutable && p.immutable);
    FAILS(f, ERR_PRECONDITION, "immutable", store_workspace_update(f->st, &w, &f->err));
    FAILS(f, ERR_PRECONDITION, "immutable", store_project_update(f->st, &p, &f->err));
}

static void test_workspace__comes_back_whole_with_its_counts(void **state)
{
    struct fixture *f = *state;
    struct store_workspace w = {
        .id = 2,
        .name = "vision",
        .user_id = 1,
        .archived = true,
        .checkpoint_storage = "{\"type\":\"shared_fs\"}",
        .default_compute_pool = "gpu",
        .agent = {.has_uid = true, .uid = 5, .user = "u"},
        .created_us = T0,
    };
    OK(f, store_workspace_insert(f->st, &w, &f->err));
    add_project(f, 2, 2, "p", "PPP");
    OK(f, store_experiment_set_project(f->st, 1, 2, &f->err));
    OK(f, store_workspace_by_name(f->st, "vision", 0, &f->a, &w, &f->err));
    assert_int_equal(w.id, 2);
    assert_true(w.archived && !w.immutable && w.agent.has_uid && !w.agent.has_gid && !w.agent.group);
    assert_int_equal(w.agent.uid, 5);
    assert_string_equal(w.checkpoint_storage, "{\"type\":\"shared_fs\"}");
    assert_string_equal(w.default_compute_pool, "gpu");
    assert_null(w.default_aux_pool);
    assert_string_equal(w.username, "admin");
    assert_int_equal(w.num_projects, 1);
    assert_int_equal(w.num_experiments, 1);
    FAILS(f, ERR_CONFLICT, "workspace \"vision\" already exists", store_workspace_insert(f->st, &w, &f->err));
}

static void test_workspace_list__knows_pins_names_and_owners(void **state)
{
    struct fixture *f = *state;
    struct store_workspace_list l;
    const char *ada[] = {"ada"};
    const int32_t one[] = {1};
    fixture_user(f, 2, "ada");
    add_workspace(f, 2, "Vision", 2);
    add_workspace(f, 3, "vision-old", 1);
    OK(f, store_workspace_pin(f->st, 3, 2, true, T0 + 5, &f->err));
    OK(f, store_workspace_list(
              f->st,
              &(struct store_workspace_filter){.name = "VIS", .asking_user_id = 2, .sort_by = 2, .descending = true},
              &f->a, &l, &f->err));
    assert_int_equal(l.workspace_n, 2);
    assert_int_equal(l.workspace[0].id, 3);
    assert_int_equal(l.workspace[0].pinned_us, T0 + 5);
    OK(f, store_workspace_list(f->st, &(struct store_workspace_filter){.name_exact = "vision"}, &f->a, &l, &f->err));
    assert_int_equal(l.workspace_n, 0);
    OK(f,
       store_workspace_list(f->st,
                            &(struct store_workspace_filter){.asking_user_id = 2, .has_pinned = true, .pinned = true},
                            &f->a, &l, &f->err));
    assert_int_equal(l.workspace_n, 1);
    OK(f, store_workspace_list(f->st, &(struct store_workspace_filter){.usernames = {ada, 1}}, &f->a, &l, &f->err));
    assert_int_equal(l.workspace_n, 1);
    OK(f, store_workspace_list(f->st, &(struct store_workspace_filter){.usernames = {ada, 1}, .user_ids = {one, 1}},
                               &f->a, &l, &f->err));
    assert_int_equal(l.workspace_n, 3);
    OK(f, store_workspace_pin(f->st, 3, 2, false, T0, &f->err));
    OK(f,
       store_workspace_list(f->st,
                            &(struct store_workspace_filter){.asking_user_id = 2, .has_pinned = true, .pinned = true},
                            &f->a, &l, &f->err));
    assert_int_equal(l.workspace_n, 0);
}

static void test_project__names_and_keys_are_unique(void **state)
{
    struct fixture *f = *state;
    add_workspace(f, 2, "w", 1);
    add_project(f, 2, 2, "p", "KEY");
    struct store_project p = {.id = 3, .workspace_id = 2, .user_id = 1, .name = "p", .key = "K2", .created_us = T0};
    FAILS(f, ERR_CONFLICT, "project \"p\" already exists in workspace 2", store_project_insert(f->st, &p, &f->err));
    p.name = "q";
    p.key = "KEY";
    FAILS(f, ERR_CONFLICT, "the key \"KEY\" already exists", store_project_insert(f->st, &p, &f->err));
    p.workspace_id = 9;
    p.key = "K3";
    FAILS(f, ERR_CONFLICT, "workspace 9 does not exist", store_project_insert(f->st, &p, &f->err));
    OK(f, store_project_by_key(f->st, "KEY", &f->a, &p, &f->err));
    assert_int_equal(p.id, 2);
    assert_string_equal(p.notes, "[]");
    struct store_ints none;
    OK(f, store_workspace_deletion_start(f->st, (struct store_workspace_deletion){.project_id = 2}, &f->a, &none,
                                         &f->err));
    FAILS(f, ERR_NOT_FOUND, "project '2' not found", store_project_get(f->st, 2, &f->a, &p, &f->err));
}

static void test_project_place__says_which_name_is_unknown_and_whether_it_is_archived(void **state)
{
    struct fixture *f = *state;
    struct store_project_place place;
    add_workspace(f, 2, "w", 1);
    add_project(f, 2, 2, "p", "KEY");
    OK(f, store_project_place_by_names(f->st, "w", "p", &f->a, &place, &f->err));
    assert_int_equal(place.id, 2);
    assert_false(place.archived);
    FAILS(f, ERR_NOT_FOUND, "workspace 'v' not found",
          store_project_place_by_names(f->st, "v", "p", &f->a, &place, &f->err));
    FAILS(f, ERR_NOT_FOUND, "project 'q' not found",
          store_project_place_by_names(f->st, "w", "q", &f->a, &place, &f->err));
    FAILS(f, ERR_NOT_FOUND, "project '9' not found", store_project_place_get(f->st, 9, &f->a, &place, &f->err));
    struct store_workspace w;
    OK(f, store_workspace_get(f->st, 2, 1, &f->a, &w, &f->err));
    w.archived = true;
    OK(f, store_workspace_update(f->st, &w, &f->err));
    OK(f, store_project_place_get(f->st, 2, &f->a, &place, &f->err));
    assert_string_equal(place.name, "p");
    assert_true(place.archived);
}

static void test_project_list__counts_experiments_and_runs(void **state)
{
    struct fixture *f = *state;
    struct store_project_list l;
    OK(f, store_project_list(f->st, &(struct store_project_filter){.workspace_id = 1}, &f->a, &l, &f->err));
    assert_int_equal(l.project_n, 1);
    assert_int_equal(l.project[0].num_experiments, 1);
    assert_int_equal(l.project[0].num_active_experiments, 1);
    assert_int_equal(l.project[0].num_runs, 1);
    assert_int_equal(l.project[0].last_experiment_started_us, T0 + 1);
    for (int32_t sort = 0; sort <= 5; sort++)
        for (int desc = 0; desc < 2; desc++)
            OK(f, store_project_list(f->st,
                                     &(struct store_project_filter){.sort_by = sort, .descending = desc, .name = "unc"},
                                     &f->a, &l, &f->err));
    assert_int_equal(l.project_n, 1);
    OK(f, store_project_list(f->st, &(struct store_project_filter){.has_archived = true, .archived = true}, &f->a, &l,
                             &f->err));
    assert_int_equal(l.project_n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_uncategorized__is_there_and_cannot_be_changed),
        TEST_TRIAL(test_workspace__comes_back_whole_with_its_counts),
        TEST_TRIAL(test_workspace_list__knows_pins_names_and_owners),
        TEST_TRIAL(test_project__names_and_keys_are_unique),
        TEST_TRIAL(test_project_place__says_which_name_is_unknown_and_whether_it_is_archived),
        TEST_TRIAL(test_project_list__counts_experiments_and_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
