#include "cmocka_setup.h"

#include <ctype.h>
#include <string.h>

#include "api/accounts/password.h"

static const char *wire_form(const char *password, bool hashed, struct arena *a)
{
    const char *ret = NULL;
    assert_int_equal(password_wire_form(password, hashed, a, &ret, NULL), 0);
    return ret;
}

static void test_wire_form__is_the_released_clients_hash(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    /* The SHA-512 of "GubPEmmotfiK9TMD6Zdw" + "password", computed by another implementation. */
    assert_string_equal(wire_form("password", false, &a),
                        "112ded61f568879685bb7849596d3372f9de8e18733483f25363123bc4aa98eb"
                        "7abe69b4c0487140dafce136cc1c5e452cc93748f6ef961e26325bc34717da65");
    assert_string_equal(wire_form("0123", true, &a), "0123");
    assert_string_equal(wire_form("", false, &a), "");
    assert_string_equal(wire_form(NULL, false, &a), "");
}

static void test_wire_form__refuses_what_is_too_long(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    char *text = arena_alloc(&a, PASSWORD_PLAIN_MAX + 2);
    memset(text, 'x', PASSWORD_PLAIN_MAX + 1);
    const char *ret;
    assert_int_equal(password_wire_form(text, false, &a, &ret, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID);
}

static void test_stored_form__matches_its_password_and_no_other(void **state)
{
    char one[PASSWORD_STORED_MAX], two[PASSWORD_STORED_MAX];
    assert_int_equal(password_store_form("abc", one, NULL), 0);
    assert_int_equal(password_store_form("abc", two, NULL), 0);
    assert_string_not_equal(one, two); /* the salts differ */
    assert_int_equal(strncmp(one, "$argon2id$", 10), 0);
    assert_true(password_matches("abc", one));
    assert_false(password_matches("abd", one));
    assert_false(password_matches("", one));
    assert_false(password_matches("abc", "garbage"));
}

static void test_blank__matches_only_an_account_that_has_none(void **state)
{
    char stored[PASSWORD_STORED_MAX];
    assert_int_equal(password_store_form("", stored, NULL), 0);
    assert_string_equal(stored, "");
    assert_true(password_matches("", ""));
    assert_false(password_matches("abc", ""));
}

static bool may_become(const char *password, bool hashed, const char *username)
{
    return password_check_new(password, hashed, 8, username, NULL) == 0;
}

static void test_new__has_eight_characters_and_is_not_the_name(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    assert_true(may_become("12345678", false, "ann"));
    assert_false(may_become("1234567", false, "ann"));
    assert_false(may_become("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", false, "ann")); /* four characters in eight bytes */
    assert_false(may_become("Annabella", false, "annabella"));
    /* The client has hashed the password: only the form of a hash can be checked, and that it is not the hash of the
     * user name. */
    assert_true(may_become(wire_form("x", false, &a), true, "ann"));
    assert_false(may_become(wire_form("ann", false, &a), true, "ann"));
    assert_false(may_become("12345678", true, "ann"));
    assert_false(may_become("", true, "ann"));
}

static void test_generated__has_every_class_and_differs(void **state)
{
    char last[17] = "";
    for (int i = 0; i < 50; i++) {
        char p[17];
        bool upper = false, lower = false, digit = false;
        assert_int_equal(password_generate(p, NULL), 0);
        assert_int_equal(strlen(p), 16);
        for (char *c = p; *c; c++) {
            upper |= isupper((unsigned char)*c) != 0;
            lower |= islower((unsigned char)*c) != 0;
            digit |= isdigit((unsigned char)*c) != 0;
        }
        assert_true(upper && lower && digit);
        assert_null(strpbrk(p, "0O1lI"));
        assert_string_not_equal(p, last);
        memcpy(last, p, sizeof(p));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_form__is_the_released_clients_hash),
        cmocka_unit_test(test_wire_form__refuses_what_is_too_long),
        cmocka_unit_test(test_stored_form__matches_its_password_and_no_other),
        cmocka_unit_test(test_blank__matches_only_an_account_that_has_none),
        cmocka_unit_test(test_new__has_eight_characters_and_is_not_the_name),
        cmocka_unit_test(test_generated__has_every_class_and_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
