/* Tests configuration templates. */
#include "store/fixture.h"

#include "store/accounts/workspace_deletion.h"
#include "store/accounts/workspaces.h"
#include "store/functions.h"

static void add(struct fixture *f, const char *name, int32_t workspace)
{
    const struct store_template t = {.name = name, .config = "{\"a\":[1]}", .workspace_id = workspace};
    OK(f, store_template_insert(f->st, &t, &f->err));
}

static void test_template__comes_back_changes_its_configuration_and_name_and_goes(void **state)
{
    struct fixture *f = *state;
    struct store_template t;
    add(f, "small", 1);
    OK(f, store_template_get(f->st, "small", &f->a, &t, &f->err));
    assert_string_equal(t.config, "{\"a\":[1]}");
    assert_int_equal(t.workspace_id, 1);
    OK(f, store_template_set_config(f->st, "small", "{}", &f->err));
    OK(f, store_template_rename(f->st, "small", "tiny", &f->err));
    OK(f, store_template_get(f->st, "tiny", &f->a, &t, &f->err));
    assert_string_equal(t.config, "{}");
    OK(f, store_template_delete(f->st, "tiny", &f->err));
    FAILS(f, ERR_NOT_FOUND, "template 'tiny' not found", store_template_get(f->st, "tiny", &f->a, &t, &f->err));
}

static void test_template__what_cannot_be_is_refused_with_its_reason(void **state)
{
    struct fixture *f = *state;
    add(f, "a", 1);
    add(f, "b", 1);
    const struct store_template again = {.name = "a", .config = "{}", .workspace_id = 1};
    const struct store_template nowhere = {.name = "c", .config = "{}", .workspace_id = 99};
    FAILS(f, ERR_CONFLICT, "template 'a' already exists", store_template_insert(f->st, &again, &f->err));
    FAILS(f, ERR_CONFLICT, "workspace 99 does not exist", store_template_insert(f->st, &nowhere, &f->err));
    FAILS(f, ERR_CONFLICT, "template 'b' already exists", store_template_rename(f->st, "a", "b", &f->err));
    FAILS(f, ERR_NOT_FOUND, "template 'x' not found", store_template_rename(f->st, "x", "y", &f->err));
    FAILS(f, ERR_NOT_FOUND, "template 'x' not found", store_template_set_config(f->st, "x", "{}", &f->err));
    FAILS(f, ERR_NOT_FOUND, "template 'x' not found", store_template_delete(f->st, "x", &f->err));
}

static void expect_names(struct fixture *f, const struct store_template_filter *filter, int32_t total,
                         const char *names)
{
    struct store_template_list list;
    cleanup_strbuf struct strbuf found = STRBUF_INIT;
    OK(f, store_template_list(f->st, filter, &f->a, &list, &f->err));
    for (size_t i = 0; i < list.template_n; i++)
        strbuf_addf(&found, "%s ", list.template[i].name);
    assert_string_equal(strbuf_str(&found), names);
    assert_int_equal(list.window.total, total);
}

static void test_templates__are_listed_by_name_with_filters_and_pages(void **state)
{
    struct fixture *f = *state;
    const struct store_workspace w = {.id = 2, .name = "w", .user_id = 1, .created_us = T0};
    const int32_t second[] = {2};
    OK(f, store_workspace_insert(f->st, &w, &f->err));
    add(f, "Big", 1);
    add(f, "biggest", 2);
    add(f, "other", 2);
    expect_names(f, &(struct store_template_filter){0}, 3, "Big biggest other ");
    expect_names(f, &(struct store_template_filter){.descending = true}, 3, "other biggest Big ");
    expect_names(f, &(struct store_template_filter){.name = "BIG"}, 2, "Big biggest ");
    expect_names(f, &(struct store_template_filter){.workspace_ids = {second, 1}}, 2, "biggest other ");
    expect_names(f, &(struct store_template_filter){.page = {.offset = 1, .limit = 1}}, 3, "biggest ");
    expect_names(f, &(struct store_template_filter){.page = {.limit = -2}}, 3, "");
    struct store_ints none;
    OK(f, store_workspace_deletion_start(f->st, (struct store_workspace_deletion){.workspace_id = 2}, &f->a, &none,
                                         &f->err));
    expect_names(f, &(struct store_template_filter){0}, 1, "Big ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_template__comes_back_changes_its_configuration_and_name_and_goes),
        TEST(test_template__what_cannot_be_is_refused_with_its_reason),
        TEST(test_templates__are_listed_by_name_with_filters_and_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
