#include "cmocka_setup.h"

#include <string.h>

#include "api/accounts/account_rules.h"

static void test_username__is_trimmed_lower_case_ascii(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const char *name;
    assert_int_equal(account_username("  Ann.Lee@Lab-7 ", &a, &name, NULL), 0);
    assert_string_equal(name, "ann.lee@lab-7");
    const char *const wrong[] = {
        "",
        "   ",
        "a\tb",
        "ann\n",
        "a\x7f",
        "team/ann",
        ".",
        "..",
        "\xd0\xb0nn",      /* Cyrillic a */
        "ann\xe2\x80\x8b", /* zero width space */
        "ann\xc2\xa0",     /* no-break space */
        ("\xe2\x80\xae"
         "nna"),          /* right-to-left override */
        "\xef\xbc\xa1nn", /* fullwidth A */
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cleanup_error struct error err = ERROR_INIT;
        assert_int_equal(account_username(wrong[i], &a, &name, &err), -1);
        assert_int_equal(err.kind, ERR_INVALID);
    }
    char longest[ACCOUNT_NAME_MAX + 2] = {0};
    memset(longest, 'x', ACCOUNT_NAME_MAX);
    assert_int_equal(account_username(longest, &a, &name, NULL), 0);
    longest[ACCOUNT_NAME_MAX] = 'x';
    assert_int_equal(account_username(longest, &a, &name, NULL), -1);
}

static void test_display_name__keeps_its_case_and_may_be_empty(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const char *name;
    assert_int_equal(account_display_name(" Ann Lee ", &a, &name, NULL), 0);
    assert_string_equal(name, "Ann Lee");
    assert_int_equal(account_display_name("", &a, &name, NULL), 0);
    assert_string_equal(name, "");
    assert_int_equal(account_display_name("Ann\xe2\x80\x8b", &a, &name, NULL), -1);
}

static void test_link__sentinels_and_root_are_refused(void **state)
{
    struct wire_user_agent_user_group g = {.has_agent_uid = true,
                                           .has_agent_gid = true,
                                           .agent_uid = 1,
                                           .agent_gid = INT32_MAX,
                                           .agent_user = "u",
                                           .agent_group = "g"};
    assert_int_equal(account_check_link(&g, false, NULL), 0);
    g.agent_uid = -1; /* the JSON value UINT32_MAX is read as -1 */
    assert_int_equal(account_check_link(&g, true, NULL), -1);
    g.agent_uid = INT32_MIN;
    assert_int_equal(account_check_link(&g, true, NULL), -1);
    g.agent_uid = 0;
    assert_int_equal(account_check_link(&g, false, NULL), -1);
    assert_int_equal(account_check_link(&g, true, NULL), 0);
    g.agent_uid = 1;
    g.agent_gid = 0;
    assert_int_equal(account_check_link(&g, false, NULL), -1);
    g.has_agent_gid = false;
    assert_int_equal(account_check_link(&g, false, NULL), 0);
}

static void test_link__of_a_user_has_all_four(void **state)
{
    const struct wire_user_agent_user_group whole = {.has_agent_uid = true,
                                                     .has_agent_gid = true,
                                                     .agent_uid = 1,
                                                     .agent_gid = 1,
                                                     .agent_user = "u",
                                                     .agent_group = "g"};
    assert_int_equal(account_check_link_is_whole(&whole, NULL), 0);
    struct wire_user_agent_user_group g[4] = {whole, whole, whole, whole};
    g[0].has_agent_uid = false;
    g[1].has_agent_gid = false;
    g[2].agent_user = NULL;
    g[3].agent_group = "";
    for (int i = 0; i < 4; i++)
        assert_int_equal(account_check_link_is_whole(&g[i], NULL), -1);
}

static int check_names(const char *user, const char *group)
{
    struct wire_user_agent_user_group g = {.agent_user = user, .agent_group = group};
    return account_check_link(&g, /* allow_root= */ false, NULL);
}

static void test_link__has_names_that_fit_into_passwd_and_paths(void **state)
{
    char longest[ACCOUNT_AGENT_NAME_MAX + 2] = {0};
    memset(longest, 'x', ACCOUNT_AGENT_NAME_MAX);
    assert_int_equal(check_names("ann", "domain users"), 0);
    assert_int_equal(check_names("LAB\\ann", "j\xc3\xbcrgen"), 0);
    assert_int_equal(check_names(NULL, longest), 0);
    longest[ACCOUNT_AGENT_NAME_MAX] = 'x';
    assert_int_equal(check_names(longest, NULL), -1);
    static const char *const wrong[] = {"a:0:0", "a/b", "a\nroot", "a\x7f", "\t"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(check_names(wrong[i], NULL), -1);
        assert_int_equal(check_names("ann", wrong[i]), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_link__has_names_that_fit_into_passwd_and_paths),
        cmocka_unit_test(test_username__is_trimmed_lower_case_ascii),
        cmocka_unit_test(test_display_name__keeps_its_case_and_may_be_empty),
        cmocka_unit_test(test_link__sentinels_and_root_are_refused),
        cmocka_unit_test(test_link__of_a_user_has_all_four),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
