#include "cmocka_setup.h"

#include <string.h>

#include "api/sso/oauth_rules.h"

#define BACK "https://directory.example.com/back"

static void test_oauth__browsers_are_sent_back_by_https_or_to_their_own_machine(void **state)
{
    static const char *const good[] = {BACK,
                                       "HTTPS://a.b",
                                       "https://a:8443/x?y=1&z=%20",
                                       "http://localhost",
                                       "http://LOCALHOST:8000/x",
                                       "http://127.0.0.1/"};
    static const char *const bad[] = {"",
                                      "a.example.com",
                                      "https://",
                                      "https:///x",
                                      "https://?x",
                                      "ftp://a/",
                                      "javascript:alert(1)",
                                      "http://a.example.com/",
                                      "http://localhost.example.com/",
                                      "http://localhost@evil/",
                                      "http://127.0.0.1.example.com/",
                                      "https://user@a/",
                                      "https://a/#",
                                      "https://a/ x",
                                      "https://a/\n",
                                      "https://a\"b/",
                                      "https://a;b/",
                                      "https://a,b/",
                                      "https://*/",
                                      "https://[2001:db8::1]:8443/",
                                      "http://[::1]:1/",
                                      "https://\xc3\xa4/"};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_int_equal(oauth_check_redirect(good[i], NULL), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(oauth_check_redirect(bad[i], NULL), -1);
    assert_int_equal(oauth_check_redirect(NULL, NULL), -1);
}

static void test_oauth__an_origin_has_no_path(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    assert_string_equal(oauth_origin("https://a.example.com:8443/x?y", &a), "https://a.example.com:8443");
    assert_string_equal(oauth_origin("http://localhost?x", &a), "http://localhost");
    assert_string_equal(oauth_origin("https://a", &a), "https://a");
}

static void test_oauth__an_address_is_compared_to_the_letter(void **state)
{
    static const char *const others[] = {"", BACK "/", BACK "?", "https://directory.example.com/bac",
                                         "https://directory.example.com/Back"};
    assert_int_equal(oauth_check_address(&(struct oauth_request){.redirect_uri = BACK}, BACK, NULL), 0);
    assert_int_equal(oauth_check_address(&(struct oauth_request){.redirect_uri = NULL}, BACK, NULL), 0);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_int_equal(oauth_check_address(&(struct oauth_request){.redirect_uri = others[i]}, BACK, NULL), -1);
}

static void test_oauth__faults_have_the_names_of_the_rfc(void **state)
{
    static const char challenge[] = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    const struct {
        struct oauth_request q;
        const char *fault;
    } all[] = {
        {{.response_type = "code"}, NULL},
        {{.response_type = "code", .challenge = challenge, .challenge_method = "S256"}, NULL},
        {{.response_type = NULL}, "invalid_request"},
        {{.response_type = "token"}, "unsupported_response_type"},
        {{.response_type = "code", .challenge = challenge}, "invalid_request"},
        {{.response_type = "code", .challenge = challenge, .challenge_method = "plain"}, "invalid_request"},
        {{.response_type = "code", .challenge = "short", .challenge_method = "S256"}, "invalid_request"},
        {{.response_type = "code", .challenge_method = "S256"}, "invalid_request"},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const char *fault = oauth_fault(&all[i].q);
        assert_int_equal(!fault, !all[i].fault);
        if (fault)
            assert_string_equal(fault, all[i].fault);
    }
}

static void test_oauth__an_answer_keeps_what_the_address_has(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    assert_string_equal(oauth_answer(BACK, "code", "a-b_c.d", NULL, &a), BACK "?code=a-b_c.d");
    assert_string_equal(oauth_answer(BACK "?app=1", "error", "access_denied", "x&y=\r\n", &a),
                        BACK "?app=1&error=access_denied&state=x%26y%3D%0D%0A");
}

/* The example of RFC 7636, appendix B. */
static void test_oauth__a_verifier_fits_its_challenge(void **state)
{
    static const char verifier[] = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
                      challenge[] = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    assert_true(oauth_verifier_fits(verifier, challenge));
    assert_false(oauth_verifier_fits(challenge, challenge));
    assert_false(oauth_verifier_fits(NULL, challenge));
    assert_false(oauth_verifier_fits("", challenge));
    assert_false(oauth_verifier_fits(verifier, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cN"));
    assert_false(oauth_verifier_fits(verifier, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-c"));
    assert_true(oauth_verifier_fits(NULL, ""));
    assert_false(oauth_verifier_fits(verifier, "")); /* a verifier of another code */
    assert_false(oauth_verifier_fits("", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oauth__browsers_are_sent_back_by_https_or_to_their_own_machine),
        cmocka_unit_test(test_oauth__an_origin_has_no_path),
        cmocka_unit_test(test_oauth__an_address_is_compared_to_the_letter),
        cmocka_unit_test(test_oauth__faults_have_the_names_of_the_rfc),
        cmocka_unit_test(test_oauth__an_answer_keeps_what_the_address_has),
        cmocka_unit_test(test_oauth__a_verifier_fits_its_challenge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
