/* Tests users, their settings, and sessions. */
#include "store/fixture.h"

#include "store/functions.h"

static void test_user__comes_back_whole(void **state)
{
    struct fixture *f = *state;
    const struct store_user in = {
        .id = 2,
        .username = "Ada",
        .display_name = "Ada L.",
        .password_hash = "$argon2id$x",
        .admin = true,
        .active = true,
        .agent = {.set = true, .uid = 1000, .gid = 100, .user = "ada", .group = "users"},
        .modified_us = T0,
    };
    struct store_user out;
    OK(f, store_user_insert(f->st, &in, &f->err));
    OK(f, store_user_by_name(f->st, "ADA", &f->a, &out, &f->err));
    assert_int_equal(out.id, 2);
    assert_string_equal(out.username, "Ada");
    assert_string_equal(out.display_name, "Ada L.");
    assert_string_equal(out.password_hash, "$argon2id$x");
    assert_true(out.admin && out.active && !out.remote && out.agent.set);
    assert_int_equal(out.agent.uid, 1000);
    assert_int_equal(out.agent.gid, 100);
    assert_string_equal(out.agent.user, "ada");
    assert_string_equal(out.agent.group, "users");
    assert_int_equal(out.modified_us, T0);
    assert_int_equal(out.last_auth_us, 0);
}

static void test_user__name_is_unique_without_regard_to_case(void **state)
{
    struct fixture *f = *state;
    const struct store_user again = {.id = 3, .username = "ADA", .modified_us = T0};
    fixture_user(f, 2, "ada");
    FAILS(f, ERR_CONFLICT, "user \"ADA\" already exists", store_user_insert(f->st, &again, &f->err));
}

static void test_user__a_patch_changes_what_it_names_and_nothing_else(void **state)
{
    struct fixture *f = *state;
    struct store_user u;
    fixture_user(f, 2, "ada");
    OK(f, store_user_patch(f->st, &(struct store_user_patch){.password_hash = "hash"}, 2, T0 + 1, &f->err));
    OK(f, store_user_touch_auth(f->st, 2, T0 + 2, &f->err));
    OK(f, store_user_patch(f->st, &(struct store_user_patch){.has_active = true}, 2, T0 + 3, &f->err));
    OK(f, store_user_patch(f->st, &(struct store_user_patch){.display_name = "A"}, 2, T0 + 4, &f->err));
    OK(f, store_user_patch(f->st, &(struct store_user_patch){.agent = {true, 7, 8, "u", "g"}}, 2, T0 + 5, &f->err));
    OK(f, store_user_patch(f->st, &(struct store_user_patch){.has_admin = true, .admin = true}, 2, T0 + 6, &f->err));
    OK(f, store_user_get(f->st, 2, &f->a, &u, &f->err));
    assert_string_equal(u.username, "ada");
    assert_false(u.active);
    assert_true(u.admin && u.agent.set);
    assert_int_equal(u.agent.gid, 8);
    assert_int_equal(u.modified_us, T0 + 6);
    assert_string_equal(u.display_name, "A");
    assert_string_equal(u.password_hash, "hash");
    assert_int_equal(u.last_auth_us, T0 + 2);
    FAILS(f, ERR_NOT_FOUND, "user '9' not found", store_user_get(f->st, 9, &f->a, &u, &f->err));
    FAILS(f, ERR_NOT_FOUND, "user 9 not found", store_user_touch_auth(f->st, 9, T0, &f->err));
}

static void test_user_list__filters_and_sorts(void **state)
{
    struct fixture *f = *state;
    struct store_user_list l;
    fixture_user(f, 1, "carol");
    fixture_user(f, 2, "Bob");
    fixture_user(f, 3, "alice");
    OK(f, store_user_patch(f->st, &(struct store_user_patch){.display_name = "Carpenter", .has_active = true}, 2, T0,
                           &f->err));
    int64_t shown;
    OK(f, store_user_count_shown_as(f->st, "CARPENTER", 1, &shown, &f->err));
    assert_int_equal(shown, 1);
    OK(f, store_user_count_shown_as(f->st, "carpenter", 2, &shown, &f->err));
    assert_int_equal(shown, 0);
    OK(f, store_user_list(f->st, &(struct store_user_filter){.name = "CAR"}, &f->a, &l, &f->err));
    assert_int_equal(l.user_n, 2); /* carol, and Bob, whose display name matches */
    assert_int_equal(l.user[0].id, 1);
    OK(f, store_user_list(
              f->st, &(struct store_user_filter){.has_active = true, .active = true, .sort_by = 2, .descending = true},
              &f->a, &l, &f->err));
    assert_int_equal(l.user_n, 2);
    assert_string_equal(l.user[0].username, "carol");
    OK(f, store_user_list(f->st, &(struct store_user_filter){.page = {1, 1}}, &f->a, &l, &f->err));
    assert_int_equal(l.user_n, 1);
    assert_int_equal(l.user[0].id, 2);
    assert_int_equal(l.window.total, 3);
    FAILS(f, ERR_INVALID, "sort_by",
          store_user_list(f->st, &(struct store_user_filter){.sort_by = 77}, &f->a, &l, &f->err));
}

static void test_user_list__every_sort_is_valid_in_both_directions(void **state)
{
    struct fixture *f = *state;
    struct store_user_list l;
    fixture_user(f, 1, "admin");
    for (int32_t sort = 0; sort <= 8; sort++)
        for (int desc = 0; desc < 2; desc++)
            OK(f, store_user_list(f->st, &(struct store_user_filter){.sort_by = sort, .descending = desc}, &f->a, &l,
                                  &f->err));
}

static void test_settings__are_replaced_by_key_and_reset(void **state)
{
    struct fixture *f = *state;
    struct store_user_setting *s;
    size_t n;
    fixture_user(f, 1, "admin");
    OK(f, store_user_setting_set(f->st, &(struct store_user_setting){"k", "p", "1"}, 1, &f->err));
    OK(f, store_user_setting_set(f->st, &(struct store_user_setting){"k", "p", "2"}, 1, &f->err));
    OK(f, store_user_setting_set(f->st, &(struct store_user_setting){"k", "q", "3"}, 1, &f->err));
    OK(f, store_user_settings(f->st, 1, &f->a, &s, &n, &f->err));
    assert_int_equal(n, 2);
    assert_string_equal(s[0].value, "2");
    OK(f, store_user_settings_reset(f->st, 1, &f->err));
    OK(f, store_user_settings(f->st, 1, &f->a, &s, &n, &f->err));
    assert_int_equal(n, 0);
}

static int64_t add_session(struct fixture *f, uint8_t hash, int32_t user, const char *kind, const char *allocation,
                           int64_t expiry_us)
{
    struct store_session s = {.user_id = user,
                              .kind = kind,
                              .scope = "ALL",
                              .allocation_id = allocation,
                              .created_us = T0,
                              .expiry_us = expiry_us};
    int64_t id;
    s.token_hash[0] = hash;
    OK(f, store_session_insert(f->st, &s, &id, &f->err));
    return id;
}

static size_t sessions(struct fixture *f, struct store_session **ret)
{
    size_t n;
    OK(f, store_sessions_load(f->st, T0, &f->a, ret, &n, &f->err));
    return n;
}

static void put_allocation(struct fixture *f, const char *id, bool insert, int64_t end_us)
{
    struct allocation_row row = {.task_id = "1.x",
                                 .pool = "default",
                                 .state = end_us ? ALLOCATION_TERMINATED : ALLOCATION_RUNNING,
                                 .request_us = T0,
                                 .end_us = end_us};
    snprintf(row.id, sizeof(row.id), "%s", id);
    OK(f, store_allocation_put(f->st, &row, insert, &f->err));
}

static void put_task(struct fixture *f)
{
    struct task_row task = {.id = "1.x", .owner_id = 2, .start_us = T0};
    OK(f, store_task_put(f->st, &task, /* insert= */ true, &f->err));
}

static void test_sessions__end_by_token_user_allocation_and_time(void **state)
{
    struct fixture *f = *state;
    struct store_session *s;
    uint8_t hash[STORE_TOKEN_HASH_SIZE] = {1};
    int64_t n;
    fixture_user(f, 1, "admin");
    fixture_user(f, 2, "ada");
    put_task(f);
    put_allocation(f, "1.x.1", true, 0);
    add_session(f, 1, 1, "LOGIN", NULL, T0 + DAY_US);
    add_session(f, 2, 2, "LOGIN", NULL, T0 + DAY_US);
    add_session(f, 3, 2, "ALLOCATION", "1.x.1", T0 + DAY_US);
    add_session(f, 4, 2, "TASK", "1.x.1", T0 + DAY_US);
    add_session(f, 5, 2, "LOGIN", NULL, T0 - 1);
    assert_int_equal(sessions(f, &s), 4); /* the expired one is not loaded */
    assert_int_equal(s[0].token_hash[0], 1);
    assert_string_equal(s[2].allocation_id, "1.x.1");
    OK(f, store_session_delete(f->st, hash, &f->err));
    add_session(f, 7, 2, "LOGIN", NULL, T0 + DAY_US);
    hash[0] = 7;
    OK(f, store_sessions_end_of_password(f->st, 2, hash, &f->err));
    /* a change of the password ends other logins, but no session of an allocation */
    assert_int_equal(sessions(f, &s), 2);
    assert_string_equal(s[0].kind, "ALLOCATION");
    assert_int_equal(s[1].token_hash[0], 7);
    add_session(f, 4, 2, "TASK", "1.x.1", T0 + DAY_US);
    OK(f, store_sessions_delete_of_allocation(f->st, "1.x.1", &f->err));
    assert_int_equal(sessions(f, &s), 1); /* the session of DET_USER_TOKEN ends with its allocation */
    add_session(f, 8, 2, "ALLOCATION", "1.x.2", T0 + DAY_US);
    add_session(f, 9, 2, "ACCESS_TOKEN", NULL, T0 + DAY_US);
    bool lives;
    OK(f, store_session_lives(f->st, hash, &lives, &f->err));
    assert_true(lives);
    OK(f, store_sessions_end_of_user(f->st, 2, &f->err));
    assert_int_equal(sessions(f, &s), 1); /* a deactivated account has no session left, of whatever kind */
    assert_true(s[0].revoked);
    OK(f, store_session_lives(f->st, hash, &lives, &f->err));
    assert_false(lives);
    OK(f, store_session_lives(f->st, s[0].token_hash, &lives, &f->err));
    assert_false(lives);
    add_session(f, 6, 1, "LOGIN", NULL, T0);
    OK(f, store_sessions_delete_expired(f->st, T0, &n, &f->err));
    assert_int_equal(n, 1);
}

/* A master that ends right after the end of an allocation has not deleted the allocation's sessions yet. */
static size_t tokens(struct fixture *f, struct store_access_token_filter filter, struct store_access_token_list *ret)
{
    OK(f, store_access_token_list(f->st, &filter, &f->a, ret, &f->err));
    return ret->access_token_n;
}

static void test_access_tokens__are_listed_for_a_year_after_their_end(void **state)
{
    struct fixture *f = *state;
    struct store_access_token_list list;
    struct store_access_token t;
    int64_t n;
    fixture_user(f, 1, "admin");
    fixture_user(f, 2, "ada");
    int64_t ended = add_session(f, 1, 2, "ACCESS_TOKEN", NULL, T0 - 365 * DAY_US + 1);
    int32_t id = (int32_t)add_session(f, 2, 2, "ACCESS_TOKEN", NULL, T0 + DAY_US), other;
    other = (int32_t)add_session(f, 3, 1, "ACCESS_TOKEN", NULL, T0 + 2 * DAY_US);
    int64_t login = add_session(f, 4, 2, "LOGIN", NULL, T0 + DAY_US);
    assert_int_equal(tokens(f, (struct store_access_token_filter){0}, &list), 3);
    assert_int_equal(tokens(f, (struct store_access_token_filter){.user_id = 2, .in_force_at = T0}, &list), 1);
    assert_int_equal(list.access_token[0].id, id);
    const int32_t both[] = {other, id};
    struct store_access_token_filter by_expiry = {.ids = {both, 2}, .sort_by = 2, .descending = true};
    assert_int_equal(tokens(f, by_expiry, &list), 2);
    assert_int_equal(list.access_token[0].id, other);
    assert_int_equal(store_access_token_get(f->st, login, &f->a, &t, NULL), -1);
    assert_int_equal(store_access_token_revoke(f->st, login, NULL), -1);
    OK(f, store_access_token_describe(f->st, id, "nightly", &f->err));
    OK(f, store_access_token_count(f->st, 2, T0, &n, &f->err));
    assert_int_equal(n, 1);
    OK(f, store_access_token_revoke(f->st, id, &f->err));
    OK(f, store_access_token_count(f->st, 2, T0, &n, &f->err));
    assert_int_equal(n, 0);
    OK(f, store_access_token_get(f->st, id, &f->a, &t, &f->err));
    assert_true(t.revoked);
    assert_string_equal(t.description, "nightly");
    OK(f, store_sessions_delete_expired(f->st, T0, &n, &f->err));
    assert_int_equal(n, 0);
    OK(f, store_sessions_delete_expired(f->st, T0 + 1, &n, &f->err));
    assert_int_equal(n, 1);
    assert_int_equal(store_access_token_get(f->st, ended, &f->a, &t, NULL), -1);
}

static void test_sessions__of_an_ended_allocation_do_not_come_back(void **state)
{
    struct fixture *f = *state;
    struct store_session *s;
    int64_t n;
    fixture_user(f, 2, "ada");
    put_task(f);
    put_allocation(f, "1.x.1", true, 0);
    put_allocation(f, "1.x.2", true, 0);
    add_session(f, 3, 2, "ALLOCATION", "1.x.1", INT64_MAX);
    add_session(f, 4, 2, "TASK", "1.x.1", INT64_MAX);
    add_session(f, 5, 2, "TASK", "1.x.2", INT64_MAX);
    add_session(f, 6, 2, "TASK", "2.y.1", INT64_MAX); /* the session is deleted with its experiment */
    put_allocation(f, "1.x.1", false, T0 + 1);
    assert_int_equal(sessions(f, &s), 1);
    assert_string_equal(s[0].allocation_id, "1.x.2");
    OK(f, store_sessions_delete_expired(f->st, T0, &n, &f->err));
    assert_int_equal(n, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_user__comes_back_whole),
        TEST(test_user__name_is_unique_without_regard_to_case),
        TEST(test_user__a_patch_changes_what_it_names_and_nothing_else),
        TEST(test_user_list__filters_and_sorts),
        TEST(test_user_list__every_sort_is_valid_in_both_directions),
        TEST(test_settings__are_replaced_by_key_and_reset),
        TEST(test_sessions__end_by_token_user_allocation_and_time),
        TEST(test_sessions__of_an_ended_allocation_do_not_come_back),
        TEST(test_access_tokens__are_listed_for_a_year_after_their_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
