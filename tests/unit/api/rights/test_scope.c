#include "cmocka_setup.h"

#include "api/rights/scope.h"

static void test_scopes__keep_their_names_in_the_store_and_on_the_wire(void **state)
{
    for (enum access_scope s = ACCESS_SCOPE_READ; s <= ACCESS_SCOPE_ALL; s++) {
        enum access_scope back = ACCESS_SCOPE_NONE;
        assert_int_equal(access_scope_of_name(access_scope_name(s)), s);
        assert_int_equal(access_scope_of_wire(access_scope_to_wire(s), &back, NULL), 0);
        assert_int_equal(back, s);
    }
    assert_string_equal(access_scope_name(ACCESS_SCOPE_LOGIN), "ALL");
}

static void test_scopes__that_are_unknown_give_no_rights(void **state)
{
    enum access_scope got = ACCESS_SCOPE_NONE;
    assert_int_equal(access_scope_of_name(""), ACCESS_SCOPE_NONE);
    assert_int_equal(access_scope_of_name("all"), ACCESS_SCOPE_NONE);
    assert_int_equal(access_scope_of_wire((enum wire_user_token_scope)4, &got, NULL), -1);
    assert_int_equal(got, ACCESS_SCOPE_NONE);
}

static void test_scopes__all_is_what_a_client_without_scopes_gets(void **state)
{
    enum access_scope got = ACCESS_SCOPE_NONE;
    assert_int_equal(access_scope_of_wire(WIRE_USER_TOKEN_SCOPE_UNSPECIFIED, &got, NULL), 0);
    assert_int_equal(got, ACCESS_SCOPE_ALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scopes__keep_their_names_in_the_store_and_on_the_wire),
        cmocka_unit_test(test_scopes__that_are_unknown_give_no_rights),
        cmocka_unit_test(test_scopes__all_is_what_a_client_without_scopes_gets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
