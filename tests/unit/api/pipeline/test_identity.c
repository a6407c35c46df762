#include "cmocka_setup.h"

#include <stdio.h>
#include <string.h>

#include "api/pipeline/identity.h"

#define NOW INT64_C(1700000000000000)

static struct identity_user make_user(int id, const char *name, bool active)
{
    struct identity_user u = {.id = id, .active = active, .admin = id == 1};
    snprintf(u.username, sizeof(u.username), "%s", name);
    return u;
}

static struct token put_session(struct identities *ids, int64_t id, int user_id, int64_t expires_at_us,
                                const char *allocation)
{
    struct token t;
    struct identity_session s = {.kind = *allocation ? PRINCIPAL_TASK : PRINCIPAL_USER,
                                 .id = id,
                                 .user_id = user_id,
                                 .expires_at_us = expires_at_us};
    snprintf(s.allocation_id, sizeof(s.allocation_id), "%s", allocation);
    assert_int_equal(token_new(&t, NULL), 0);
    identities_put_session(ids, t.hash, &s);
    return t;
}

static enum error_kind kind_for(struct identities *ids, const char *token, int64_t now_us)
{
    struct principal who;
    cleanup_error struct error err = ERROR_INIT;
    return identities_authenticate(ids, token, now_us, &who, &err) == 0 ? ERR_NONE : err.kind;
}

static struct identities *two_users(void)
{
    struct identities *ids = identities_new();
    struct identity_user ann = make_user(1, "ann", true), bob = make_user(2, "bob", false);
    identities_put_user(ids, &ann);
    identities_put_user(ids, &bob);
    return ids;
}

static void test_token__is_fresh_each_time_and_known_by_its_hash_only(void **state)
{
    struct token a, b;
    uint8_t hash[TOKEN_HASH_BYTES];
    assert_int_equal(token_new(&a, NULL), 0);
    assert_int_equal(token_new(&b, NULL), 0);
    assert_string_not_equal(a.text, b.text);
    assert_int_equal(strncmp(a.text, "det1.", 5), 0);
    assert_null(strpbrk(a.text, "+/="));
    token_hash(a.text, hash);
    assert_memory_equal(hash, a.hash, sizeof(hash));
}

static void test_authenticate__refuses_missing_unknown_and_expired_tokens(void **state)
{
    struct identities *ids = two_users();
    struct token t = put_session(ids, 7, 1, NOW + 10, "");
    assert_int_equal(kind_for(ids, NULL, NOW), ERR_UNAUTHENTICATED);
    assert_int_equal(kind_for(ids, "", NOW), ERR_UNAUTHENTICATED);
    assert_int_equal(kind_for(ids, "det1.nonsense", NOW), ERR_UNAUTHENTICATED);
    assert_int_equal(kind_for(ids, t.text, NOW), ERR_NONE);
    assert_int_equal(kind_for(ids, t.text, NOW + 10), ERR_UNAUTHENTICATED);
    identities_free(ids);
}

static void test_authenticate__refuses_inactive_users_with_another_kind(void **state)
{
    struct identities *ids = two_users();
    struct token t = put_session(ids, 7, 2, NOW + 10, "");
    assert_int_equal(kind_for(ids, t.text, NOW), ERR_FORBIDDEN);
    struct identity_user bob = make_user(2, "bob", true);
    identities_put_user(ids, &bob);
    assert_int_equal(kind_for(ids, t.text, NOW), ERR_NONE);
    identities_free(ids);
}

static void test_authenticate__says_who_it_is_and_for_which_allocation(void **state)
{
    struct identities *ids = two_users();
    struct token login = put_session(ids, 7, 1, NOW + 10, ""), task = put_session(ids, 8, 1, 0, "1.x.1");
    struct principal who;
    assert_int_equal(identities_authenticate(ids, login.text, NOW, &who, NULL), 0);
    assert_int_equal(who.kind, PRINCIPAL_USER);
    assert_string_equal(who.username, "ann");
    assert_true(who.admin);
    assert_int_equal(identities_authenticate(ids, task.text, NOW + 1000, &who, NULL), 0);
    assert_int_equal(who.kind, PRINCIPAL_TASK);
    assert_string_equal(who.allocation_id, "1.x.1");
    identities_free(ids);
}

static void test_sessions__end_with_logout_password_and_allocation(void **state)
{
    struct identities *ids = two_users();
    struct token a = put_session(ids, 1, 1, NOW + 10, ""), b = put_session(ids, 2, 1, NOW + 10, "");
    struct token task = put_session(ids, 3, 1, 0, "1.x.1"), other = put_session(ids, 4, 1, 0, "1.x.2");
    identities_drop_session(ids, a.hash);
    assert_int_equal(kind_for(ids, a.text, NOW), ERR_UNAUTHENTICATED);
    identities_drop_sessions_of_user(ids, 1, IDENTITY_END_PASSWORD, NULL);
    assert_int_equal(kind_for(ids, b.text, NOW), ERR_UNAUTHENTICATED);
    assert_int_equal(kind_for(ids, task.text, NOW), ERR_NONE);
    identities_drop_sessions_of_allocation(ids, "1.x.1");
    assert_int_equal(kind_for(ids, task.text, NOW), ERR_UNAUTHENTICATED);
    assert_int_equal(kind_for(ids, other.text, NOW), ERR_NONE);
    assert_int_equal(identities_session_count(ids), 1);
    identities_free(ids);
}

static struct token put_of_kind(struct identities *ids, enum principal_kind kind, bool access_token)
{
    struct token t;
    struct identity_session s = {.kind = kind,
                                 .access_token = access_token,
                                 .scope = ACCESS_SCOPE_READ,
                                 .user_id = 1,
                                 .expires_at_us = NOW + 10};
    assert_int_equal(token_new(&t, NULL), 0);
    identities_put_session(ids, t.hash, &s);
    return t;
}

/* What is left of a login, an access token, and both sessions of a task. */
static void check_what_ends(enum identity_end end, const bool lives[4])
{
    struct identities *ids = two_users();
    struct token t[] = {put_of_kind(ids, PRINCIPAL_USER, false), put_of_kind(ids, PRINCIPAL_USER, true),
                        put_of_kind(ids, PRINCIPAL_USER_TOKEN, false), put_of_kind(ids, PRINCIPAL_TASK, false)};
    struct token spared = put_of_kind(ids, PRINCIPAL_USER, false);
    identities_drop_sessions_of_user(ids, 1, end, spared.hash);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(kind_for(ids, t[i].text, NOW), lives[i] ? ERR_NONE : ERR_UNAUTHENTICATED);
    assert_int_equal(kind_for(ids, spared.text, NOW), ERR_NONE);
    identities_free(ids);
}

static void test_sessions__each_end_of_a_user_has_its_own_reach(void **state)
{
    check_what_ends(IDENTITY_END_ALL, (bool[]){false, false, false, false});
    check_what_ends(IDENTITY_END_PASSWORD, (bool[]){false, true, false, true});
    check_what_ends(IDENTITY_END_LOGINS, (bool[]){false, true, true, true});
}

static void test_authenticate__says_what_the_token_may_do(void **state)
{
    struct identities *ids = two_users();
    struct token t = put_of_kind(ids, PRINCIPAL_USER, true);
    struct principal who;
    assert_int_equal(identities_authenticate(ids, t.text, NOW, &who, NULL), 0);
    assert_true(who.access_token);
    assert_int_equal(who.scope, ACCESS_SCOPE_READ);
    identities_free(ids);
}

static void test_sessions__expired_ones_are_forgotten(void **state)
{
    struct identities *ids = two_users();
    put_session(ids, 1, 1, NOW - 1, "");
    put_session(ids, 2, 1, NOW, "");
    put_session(ids, 3, 1, NOW + 1, "");
    put_session(ids, 4, 1, 0, "1.x.1");
    identities_drop_expired(ids, NOW);
    assert_int_equal(identities_session_count(ids), 2);
    identities_free(ids);
}

static void test_users__are_found_by_their_new_name_after_a_change(void **state)
{
    struct identities *ids = two_users();
    struct identity_user ann = make_user(1, "anna", true);
    identities_put_user(ids, &ann);
    assert_null(identities_user_by_name(ids, "ann"));
    assert_int_equal(identities_user_by_name(ids, "anna")->id, 1);
    assert_null(identities_user(ids, 9));
    identities_free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token__is_fresh_each_time_and_known_by_its_hash_only),
        cmocka_unit_test(test_authenticate__refuses_missing_unknown_and_expired_tokens),
        cmocka_unit_test(test_authenticate__refuses_inactive_users_with_another_kind),
        cmocka_unit_test(test_authenticate__says_who_it_is_and_for_which_allocation),
        cmocka_unit_test(test_sessions__end_with_logout_password_and_allocation),
        cmocka_unit_test(test_sessions__each_end_of_a_user_has_its_own_reach),
        cmocka_unit_test(test_authenticate__says_what_the_token_may_do),
        cmocka_unit_test(test_sessions__expired_ones_are_forgotten),
        cmocka_unit_test(test_users__are_found_by_their_new_name_after_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
