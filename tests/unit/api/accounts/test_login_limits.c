#include "cmocka_setup.h"

#include <stdio.h>
#include <string.h>

#include "api/accounts/login_limits.h"

#define NOW INT64_C(1700000000000000)
#define SECOND 1000000LL

static struct login_attempt attempt_login(const char *account, const char *address)
{
    struct address a;
    struct login_attempt at;
    assert_int_equal(address_parse(address, strlen(address), &a), 0);
    login_attempt_init(&at, account, &a);
    return at;
}

static void fail_at(struct login_limits *l, const char *account, const char *address, int times, int64_t now_us)
{
    struct login_attempt at = attempt_login(account, address);
    for (int i = 0; i < times; i++)
        login_limits_failed(l, &at, now_us);
}

static void succeed_at(struct login_limits *l, const char *account, const char *address, int64_t now_us)
{
    struct login_attempt at = attempt_login(account, address);
    login_limits_succeeded(l, &at, now_us);
}

static struct login_verdict ask_login(const struct login_limits *l, const char *account, const char *address,
                                      int64_t now_us)
{
    struct login_attempt at = attempt_login(account, address);
    return login_limits_ask(l, &at, now_us);
}

static void test_pair__five_failures_are_free_then_each_doubles_the_wait(void **state)
{
    struct login_limits *l = login_limits_new();
    static const int expected[] = {0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300};
    int64_t now = NOW;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        fail_at(l, "ann", "192.0.2.1", 1, now);
        struct login_verdict v = ask_login(l, "ann", "192.0.2.1", now);
        assert_int_equal(v.wait_s, expected[i]);
        /* the same account, since case does not matter */
        assert_int_equal(ask_login(l, "ANN", "192.0.2.1", now).wait_s, expected[i]);
        now += v.wait_s * SECOND;
        assert_int_equal(ask_login(l, "ann", "192.0.2.1", now).wait_s,
                         0); /* a login that waits as long as it was told is let through */
    }
    fail_at(l, "ann", "192.0.2.1", 1, now);
    assert_int_equal(ask_login(l, "ann", "192.0.2.1", now + 900 * SECOND).wait_s, 0);
    fail_at(l, "ann", "192.0.2.1", 1, now + 900 * SECOND);
    /* the failures are forgotten, so this is the first of five again */
    assert_int_equal(ask_login(l, "ann", "192.0.2.1", now + 900 * SECOND).wait_s, 0);
    login_limits_free(l);
}

static void test_pair__a_success_forgets_failures(void **state)
{
    struct login_limits *l = login_limits_new();
    fail_at(l, "ann", "192.0.2.1", 7, NOW);
    assert_int_equal(ask_login(l, "ann", "192.0.2.1", NOW).wait_s, 4);
    succeed_at(l, "ann", "192.0.2.1", NOW + 4 * SECOND);
    fail_at(l, "ann", "192.0.2.1", 4, NOW + 5 * SECOND);
    assert_int_equal(ask_login(l, "ann", "192.0.2.1", NOW + 5 * SECOND).wait_s, 0);
    login_limits_free(l);
}

static void test_account__is_not_locked_by_who_fails_elsewhere(void **state)
{
    struct login_limits *l = login_limits_new();
    for (int i = 0; i < 200; i++) {
        char from[32];
        snprintf(from, sizeof(from), "198.51.100.%d", i);
        fail_at(l, "ann", from, 50, NOW);
    }
    struct login_verdict v = ask_login(l, "ann", "192.0.2.1", NOW);
    assert_int_equal(v.wait_s, 0);
    assert_int_equal(v.standing, LOGIN_CLEAN);
    login_limits_free(l);
}

static void test_address__twenty_accounts_then_one_in_ten_seconds(void **state)
{
    struct login_limits *l = login_limits_new();
    for (int i = 0; i < 20; i++) {
        char account[16];
        snprintf(account, sizeof(account), "u%d", i);
        assert_int_equal(ask_login(l, account, "2001:db8::1", NOW).wait_s, 0);
        assert_int_equal(ask_login(l, account, "2001:db8::1", NOW).standing, i ? LOGIN_SUSPECT : LOGIN_CLEAN);
        fail_at(l, account, "2001:db8::1", 1, NOW);
    }
    /* an address in the same network as the others */
    struct login_verdict v = ask_login(l, "one more", "2001:db8::2", NOW);
    assert_int_equal(v.wait_s, 10);
    assert_true(v.of_address);
    assert_int_equal(ask_login(l, "one more", "2001:db8:0:1::1", NOW).wait_s, 0);
    assert_int_equal(ask_login(l, "one more", "2001:db8::1", NOW + 10 * SECOND).wait_s, 0);
    fail_at(l, "one more", "2001:db8::1", 1, NOW + 10 * SECOND);
    assert_int_equal(ask_login(l, "yet another", "2001:db8::1", NOW + 10 * SECOND).wait_s, 10);
    assert_int_equal(ask_login(l, "ann", "2001:db8::1", NOW + 300 * SECOND).standing, LOGIN_CLEAN);
    login_limits_free(l);
}

static void test_tries__make_an_address_suspect_and_refuse_nothing(void **state)
{
    struct login_limits *l = login_limits_new();
    struct login_attempt at = attempt_login("ann", "192.0.2.1");
    for (int i = 0; i < 1000; i++) {
        struct login_verdict v = login_limits_ask(l, &at, NOW);
        assert_int_equal(v.wait_s, 0);
        assert_int_equal(v.standing, i < 3 ? LOGIN_CLEAN : LOGIN_SUSPECT);
        login_limits_tried(l, &at, NOW);
    }
    assert_int_equal(ask_login(l, "ann", "192.0.2.1", NOW + 57 * SECOND).standing, LOGIN_SUSPECT);
    assert_int_equal(ask_login(l, "ann", "192.0.2.1", NOW + 58 * SECOND).standing, LOGIN_CLEAN);
    succeed_at(l, "ann", "192.0.2.1", NOW);
    assert_int_equal(ask_login(l, "ann", "192.0.2.1", NOW).standing, LOGIN_KNOWN);
    login_limits_free(l);
}

static void test_known__who_has_logged_in_from_there_is_not_held_up_by_neighbours(void **state)
{
    struct login_limits *l = login_limits_new();
    succeed_at(l, "ann", "192.0.2.1", NOW);
    fail_at(l, "bob", "192.0.2.1", 100, NOW);
    assert_int_equal(ask_login(l, "ann", "192.0.2.1", NOW).wait_s, 0);
    assert_int_equal(ask_login(l, "ann", "192.0.2.1", NOW).standing, LOGIN_KNOWN);
    assert_true(ask_login(l, "carol", "192.0.2.1", NOW).wait_s > 0);
    fail_at(l, "ann", "192.0.2.1", 6, NOW); /* the account's own failures from this address still count */
    assert_int_equal(ask_login(l, "ann", "192.0.2.1", NOW).wait_s, 2);
    assert_int_equal(ask_login(l, "ann", "192.0.2.2", NOW).standing, LOGIN_CLEAN);
    login_limits_free(l);
}

static void test_tables__are_bounded_and_forget_what_was_touched_longest_ago(void **state)
{
    struct login_limits *l = login_limits_new();
    fail_at(l, "old", "192.0.2.1", 6, NOW);
    fail_at(l, "kept", "192.0.2.2", 6, NOW);
    for (int i = 0; i < LOGIN_TABLE_MAX - 1; i++) {
        char account[16];
        snprintf(account, sizeof(account), "u%d", i);
        fail_at(l, account, "198.51.100.1", 1, NOW);
        if (i == LOGIN_TABLE_MAX / 2)
            fail_at(l, "kept", "192.0.2.2", 1, NOW);
    }
    assert_int_equal(ask_login(l, "old", "192.0.2.1", NOW).wait_s, 0);
    assert_int_equal(ask_login(l, "kept", "192.0.2.2", NOW).wait_s, 4);
    login_limits_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pair__five_failures_are_free_then_each_doubles_the_wait),
        cmocka_unit_test(test_pair__a_success_forgets_failures),
        cmocka_unit_test(test_account__is_not_locked_by_who_fails_elsewhere),
        cmocka_unit_test(test_address__twenty_accounts_then_one_in_ten_seconds),
        cmocka_unit_test(test_tries__make_an_address_suspect_and_refuse_nothing),
        cmocka_unit_test(test_known__who_has_logged_in_from_there_is_not_held_up_by_neighbours),
        cmocka_unit_test(test_tables__are_bounded_and_forget_what_was_touched_longest_ago),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
