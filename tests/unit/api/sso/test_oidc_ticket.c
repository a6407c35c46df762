#include "cmocka_setup.h"

#include <string.h>

#include "api/sso/oidc_ticket.h"

static const uint8_t key[OIDC_TICKET_KEY] = "a key of thirty-two bytes or so";
static const uint8_t other_key[OIDC_TICKET_KEY] = "another one";
#define NOW INT64_C(1700000000000000)
#define SECOND_US INT64_C(1000000)

static struct oidc_ticket ticket_for(const char *relay, struct arena *a)
{
    struct oidc_ticket t;
    assert_int_equal(oidc_ticket_new(key, NOW, relay, a, &t, NULL), 0);
    return t;
}

static enum error_kind opening(const uint8_t *with, int64_t now_us, const char *cookie, const char *state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    struct oidc_ticket t;
    return oidc_ticket_open(with, now_us, cookie, state, &a, &t, &err) == 0 ? ERR_NONE : err.kind;
}

static void test_ticket__comes_back_as_it_was(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct oidc_ticket t = ticket_for("/det/experiments/1?a=b", &a), back;
    assert_int_equal(oidc_ticket_open(key, NOW, t.cookie, t.state, &a, &back, NULL), 0);
    assert_string_equal(back.relay, "/det/experiments/1?a=b");
    assert_string_equal(back.nonce, t.nonce);
    assert_string_equal(back.verifier, t.verifier);
    assert_int_equal(strlen(t.verifier), 43); /* RFC 7636 asks for 43 to 128 characters */
    assert_string_not_equal(t.nonce, t.state);
    assert_string_not_equal(t.verifier, t.state);
}

static void test_ticket__no_two_are_alike(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    assert_string_not_equal(ticket_for("", &a).state, ticket_for("", &a).state);
}

static void test_ticket__ends_after_ten_minutes(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct oidc_ticket t = ticket_for("", &a);
    assert_int_equal(opening(key, NOW + 600 * SECOND_US, t.cookie, t.state), ERR_NONE);
    assert_int_equal(opening(key, NOW + 601 * SECOND_US, t.cookie, t.state), ERR_DEADLINE);
}

static void test_ticket__that_was_changed_is_refused(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct oidc_ticket t = ticket_for("cli", &a), u = ticket_for("cli", &a);
    assert_int_equal(opening(key, NOW, u.cookie, t.state), ERR_INVALID);
    assert_int_equal(opening(other_key, NOW, t.cookie, t.state), ERR_INVALID);
    assert_int_equal(opening(key, NOW, NULL, t.state), ERR_INVALID);
    assert_int_equal(opening(key, NOW, t.cookie, NULL), ERR_INVALID);
    assert_int_equal(opening(key, NOW, t.cookie, ""), ERR_INVALID);
    for (size_t i = 0; i < strlen(t.cookie); i++) {
        char *changed = arena_strdup(&a, t.cookie);
        changed[i] = changed[i] == 'x' ? 'y' : 'x';
        assert_int_equal(opening(key, NOW, changed, t.state), ERR_INVALID);
    }
}

static void test_relay__leads_to_no_other_host(void **state)
{
    static const char *const good[] = {"", "cli", "cli=true", "/", "/det/", "/det/login?x=https://y"};
    static const char *const bad[] = {"//evil", "/\\evil",   "\\\\evil", "https://evil", "evil",  "/a\tb",
                                      "/a\nb",  "cli=false", "/a b",     "/\xc3\xa4",    "/a\x7f"};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_int_equal(oidc_relay_check(good[i], NULL), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(oidc_relay_check(bad[i], NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ticket__comes_back_as_it_was),
        cmocka_unit_test(test_ticket__no_two_are_alike),
        cmocka_unit_test(test_ticket__ends_after_ten_minutes),
        cmocka_unit_test(test_ticket__that_was_changed_is_refused),
        cmocka_unit_test(test_relay__leads_to_no_other_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
