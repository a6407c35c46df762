/* Tests the tables of join tokens and of agents that wait: what is found, what ends, and what they hold at most. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/cluster/joining.h"
#include "api/pipeline/identity.h"
#include "store/rows.h"

#define S INT64_C(1000000)

static void put(struct joining *j, int id, const char *text, int uses_max, int64_t expiry_us)
{
    struct store_join_token row = {.id = id, .uses_max = uses_max, .expiry_us = expiry_us};
    token_hash(text, row.hash);
    joining_put_token(j, &row);
}

static void test_a_token__is_found_until_it_has_ended_or_is_used_up(void **state)
{
    (void)state;
    cleanup_error struct error err = ERROR_INIT;
    struct joining *j = joining_new();
    put(j, 1, "join-a", 2, 10 * S);
    put(j, 2, "join-b", 0, 10 * S);
    assert_int_equal(joining_find_token(j, "join-a", 9 * S)->id, 1);
    assert_int_equal(joining_find_token(j, "join-b", 9 * S)->id, 2);
    assert_null(joining_find_token(j, "join-c", 9 * S));
    assert_null(joining_find_token(j, "a", 9 * S));
    assert_null(joining_find_token(j, "join-a", 10 * S));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(joining_check_token(j, 1, 0, &err), 0);
        joining_use_token(j, 1);
        joining_use_token(j, 2);
    }
    assert_null(joining_find_token(j, "join-a", 0));
    assert_int_equal(joining_check_token(j, 1, 0, &err), -1);
    assert_non_null(joining_find_token(j, "join-b", 0));
    joining_return_token_use(j, 1);
    assert_int_equal(joining_check_token(j, 1, 0, &err), 0);
    joining_drop_token(j, 2);
    assert_null(joining_find_token(j, "join-b", 0));
    joining_forget_ended(j, 10 * S);
    assert_int_equal(joining_token_n(j), 0);
    joining_free(j);
}

static struct pending_agent asked(const char *id, const char *address, const char *key)
{
    struct pending_agent p = {0};
    snprintf(p.id, sizeof(p.id), "%s", id);
    snprintf(p.address, sizeof(p.address), "%s", address);
    token_hash(key, p.hash);
    return p;
}

static void test_an_agent_that_waits__is_one_entry_however_often_it_asks_and_is_forgotten(void **state)
{
    (void)state;
    cleanup_error struct error err = ERROR_INIT;
    struct joining *j = joining_new();
    struct pending_agent p = asked("a", "10.0.0.1", "k"), other = asked("a", "10.0.0.2", "other");
    bool is_new;
    size_t n;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(joining_ask(j, &p, i * S, &is_new, &err), 0);
        assert_int_equal(is_new, i == 0);
    }
    assert_int_equal(joining_ask(j, &other, 5 * S, &is_new, &err), 0);
    const struct pending_agent *all = joining_pending(j, 5 * S, &n), *found;
    assert_int_equal(n, 2);
    assert_int_equal(all[0].first_us, 0);
    assert_int_equal(all[0].last_us, 4 * S);
    char fingerprint[JOINING_FINGERPRINT + 1];
    joining_fingerprint(other.hash, fingerprint);
    assert_int_equal(joining_find_pending(j, "a", fingerprint, 5 * S, &found, &err), 0);
    assert_string_equal(found->address, "10.0.0.2");
    joining_drop_pending(j, found);
    assert_int_equal(joining_find_pending(j, "a", fingerprint, 5 * S, &found, &err), -1);
    joining_pending(j, (4 + JOINING_PENDING_S) * S, &n);
    assert_int_equal(n, 0);
    joining_free(j);
}

static void test_the_agents_that_wait__are_a_bounded_number(void **state)
{
    (void)state;
    struct joining *j = joining_new();
    bool is_new;
    size_t n;
    for (int i = 0; i < 3 * JOINING_PENDING_MAX; i++) {
        char id[32], address[32];
        cleanup_error struct error err = ERROR_INIT;
        snprintf(id, sizeof(id), "a%d", i);
        snprintf(address, sizeof(address), "10.0.%d.1", i / JOINING_OF_ADDRESS_MAX);
        struct pending_agent p = asked(id, address, id);
        assert_int_equal(joining_ask(j, &p, S, &is_new, &err), i < JOINING_PENDING_MAX ? 0 : -1);
    }
    joining_pending(j, S, &n);
    assert_int_equal(n, JOINING_PENDING_MAX);
    cleanup_error struct error err = ERROR_INIT;
    struct pending_agent late = asked("late", "10.0.0.1", "late");
    assert_int_equal(joining_ask(j, &late, (1 + JOINING_PENDING_S) * S, &is_new, &err), 0);
    joining_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_token__is_found_until_it_has_ended_or_is_used_up),
        cmocka_unit_test(test_an_agent_that_waits__is_one_entry_however_often_it_asks_and_is_forgotten),
        cmocka_unit_test(test_the_agents_that_wait__are_a_bounded_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
