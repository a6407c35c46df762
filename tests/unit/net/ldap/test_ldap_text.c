#include "cmocka_setup.h"

#include "net/ldap/ldap_text.h"

static void expect_template(const char *template, const char *name, const char *dn, const char *expected)
{
    struct strbuf out = STRBUF_INIT;
    ldap_add_template(&out, template, name, dn);
    assert_string_equal(strbuf_str(&out), expected);
    strbuf_release(&out);
}

static void test_ldap_text__leaves_ordinary_names(void **state)
{
    expect_template("uid={},ou=people", "ada.b-c_d@example.com", NULL, "uid=ada.b-c_d@example.com,ou=people");
    expect_template("(|(uid={})(mail={}))", "ada", NULL, "(|(uid=ada)(mail=ada))");
}

static void test_ldap_text__leaves_no_syntax_in_a_name(void **state)
{
    expect_template("(uid={})", "*)(uid=*", NULL, "(uid=\\2a\\29\\28uid\\3d\\2a)");
    expect_template("uid={},dc=x", "a,b+c=d\\\"<>;#", NULL, "uid=a\\2cb\\2bc\\3dd\\5c\\22\\3c\\3e\\3b\\23,dc=x");
    expect_template("uid={}", " a ", NULL, "uid=\\20a\\20");
    expect_template("uid={}", "\xc3\xa9\x01", NULL, "uid=\\c3\\a9\\01");
}

static void test_ldap_text__a_name_is_put_in_once(void **state)
{
    expect_template("(&(uid={})(x={dn}))", "{dn}", "{}", "(&(uid=\\7bdn\\7d)(x=\\7b\\7d))");
    expect_template("(member={dn})", "ada", "uid=ada,dc=x", "(member=uid\\3dada\\2cdc\\3dx)");
    expect_template("(member={dn})", "ada", NULL, "(member={dn})");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ldap_text__leaves_ordinary_names),
        cmocka_unit_test(test_ldap_text__leaves_no_syntax_in_a_name),
        cmocka_unit_test(test_ldap_text__a_name_is_put_in_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
