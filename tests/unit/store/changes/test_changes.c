/* Tests the audit log: what is noted, and that a check finds whatever was altered, removed or put in another order. */
#include "store/fixture.h"

#include "store/changes/changes.h"

#define ALICE \
    "1700000000000001\x1f" \
    "7\x1f" \
    "12\x1f" \
    "session\x1f" \
    "10.0.0.7\x1f" \
    "PatchProject\x1f" \
    "alice"

static void run_sql(struct fixture *f, const char *sql)
{
    OK(f, store_engine(f->st)->ops->exec(store_engine(f->st), sql, &f->err));
}

static void change_as(struct fixture *f, const char *author, const char *sql)
{
    OK(f, store_begin(f->st, &f->err));
    OK(f, store_act_as(f->st, author, &f->err));
    run_sql(f, sql);
    OK(f, store_act_as(f->st, NULL, &f->err));
    OK(f, store_commit(f->st, &f->err));
}

static size_t records(struct fixture *f, struct change_record **ret)
{
    size_t n;
    OK(f, store_changes_after(f->st, 0, 0, 0, "", "", 100, &f->a, ret, &n, &f->err));
    return n;
}

static void verify(struct fixture *f)
{
    struct store_change_head head;
    OK(f, store_changes_verify(f->st, &f->a, &head, &f->err));
}

static void damaged(struct fixture *f, const char *words)
{
    struct store_change_head head;
    FAILS(f, ERR_PRECONDITION, words, store_changes_verify(f->st, &f->a, &head, &f->err));
}

/* Three records: a project is renamed three times. */
static void rename_thrice(struct fixture *f)
{
    change_as(f, ALICE, "UPDATE projects SET name = 'one' WHERE id = 1");
    change_as(f, ALICE, "UPDATE projects SET name = 'two' WHERE id = 1");
    change_as(f, ALICE, "UPDATE projects SET name = 'three' WHERE id = 1");
}

static void test_change__of_an_author_is_recorded(void **state)
{
    struct fixture *f = *state;
    struct change_record *c;
    change_as(f, ALICE, "UPDATE projects SET name = 'one', description = 'd' WHERE id = 1");
    assert_int_equal(records(f, &c), 1);
    assert_int_equal(c->seq, 1);
    assert_int_equal(c->at_us, 1700000000000001);
    assert_int_equal(c->user_id, 7);
    assert_int_equal(c->session_id, 12);
    assert_string_equal(c->username, "alice");
    assert_string_equal(c->via, "session");
    assert_string_equal(c->address, "10.0.0.7");
    assert_string_equal(c->route, "PatchProject");
    assert_string_equal(c->kind, "project");
    assert_string_equal(c->object_id, "1");
    assert_string_equal(c->action, "update");
    assert_non_null(strstr(c->old_values, "Uncategorized"));
    assert_non_null(strstr(c->new_values, "one"));
    assert_null(strstr(c->new_values, "workspace_id"));
    verify(f);
}

static void test_change__without_an_author_is_not_recorded(void **state)
{
    struct fixture *f = *state;
    struct change_record *c;
    change_as(f, ALICE, "UPDATE projects SET name = 'one' WHERE id = 1");
    change_as(f, NULL, "UPDATE projects SET name = 'two' WHERE id = 1");
    change_as(f, ALICE, "UPDATE projects SET name = 'two' WHERE id = 1"); /* changes nothing */
    assert_int_equal(records(f, &c), 1);
}

static void test_change__is_rolled_back_with_its_record(void **state)
{
    struct fixture *f = *state;
    struct change_record *c;
    OK(f, store_begin(f->st, &f->err));
    OK(f, store_savepoint(f->st, &f->err));
    OK(f, store_act_as(f->st, ALICE, &f->err));
    run_sql(f, "UPDATE projects SET name = 'one' WHERE id = 1");
    OK(f, store_rollback_to(f->st, &f->err));
    OK(f, store_act_as(f->st, NULL, &f->err));
    OK(f, store_commit(f->st, &f->err));
    assert_int_equal(records(f, &c), 0);
    verify(f);
}

static void test_change__hides_secrets(void **state)
{
    struct fixture *f = *state;
    struct change_record *c;
    change_as(f, ALICE,
              "INSERT INTO users (id, username, password_hash, admin, active, remote, modified_us)"
              " VALUES (9, 'bob', 'CANARY-1', 0, 1, 0, 1)");
    change_as(f, ALICE, "UPDATE users SET password_hash = 'CANARY-2' WHERE id = 9");
    change_as(f, ALICE, "UPDATE workspaces SET checkpoint_storage = '{\"secret_key\": \"CANARY-3\"}' WHERE id = 1");
    change_as(f, ALICE, "DELETE FROM users WHERE id = 9");
    assert_int_equal(records(f, &c), 4);
    for (int i = 0; i < 4; i++) {
        assert_true(!c[i].old_values || !strstr(c[i].old_values, "CANARY"));
        assert_true(!c[i].new_values || !strstr(c[i].new_values, "CANARY"));
    }
    assert_non_null(strstr(c[1].new_values, "(hidden)"));
    assert_non_null(strstr(c[3].old_values, "bob"));
    assert_null(c[3].new_values);
}

static void test_records__cannot_be_updated(void **state)
{
    struct fixture *f = *state;
    rename_thrice(f);
    assert_int_equal(store_engine(f->st)->ops->exec(store_engine(f->st), "UPDATE changes SET username = 'x'", &f->err),
                     -1);
    assert_non_null(strstr(error_msg(&f->err), "records of the audit log cannot be changed"));
    error_release(&f->err);
    store_rollback(f->st);
}

/* What somebody can do who writes into the database past the master. */
static void tamper(struct fixture *f, const char *sql)
{
    run_sql(f, fixture_server() ? "DROP TRIGGER changes_stay ON changes" : "DROP TRIGGER changes_stay");
    run_sql(f, sql);
}

static void test_verify__finds_an_altered_field(void **state)
{
    static const char *const set[] = {
        "at_us = at_us + 1",
        "user_id = 8",
        "username = 'bob'",
        "via = 'none'",
        "session_id = 13",
        "address = '10.0.0.8'",
        "route = 'X'",
        "kind = 'x'",
        "object_id = '2'",
        "action = 'insert'",
        "old_values = '{}'",
        "new_values = '{}'",
        "new_values = NULL",
        "user_id = NULL",
        "hash = '0000000000000000000000000000000000000000000000000000000000000000'",
    };
    struct fixture *f = *state;
    rename_thrice(f);
    verify(f);
    tamper(f, "CREATE TABLE kept AS SELECT * FROM changes");
    for (size_t i = 0; i < sizeof(set) / sizeof(*set); i++) {
        char sql[200];
        snprintf(sql, sizeof(sql), "UPDATE changes SET %s WHERE seq = 2", set[i]);
        run_sql(f, sql);
        damaged(f, "record 2");
        run_sql(f, "DELETE FROM changes");
        run_sql(f, "INSERT INTO changes SELECT * FROM kept");
        verify(f);
    }
}

static void test_verify__finds_a_removed_record(void **state)
{
    struct fixture *f = *state;
    rename_thrice(f);
    tamper(f, "DELETE FROM changes WHERE seq = 2");
    damaged(f, "record 2 is missing");
}

static void test_verify__finds_removed_records_at_the_end_and_at_the_beginning(void **state)
{
    struct fixture *f = *state;
    rename_thrice(f);
    tamper(f, "CREATE TABLE kept AS SELECT * FROM changes");
    run_sql(f, "DELETE FROM changes WHERE seq = 3");
    damaged(f, "it ends with record 2, but record 3 was written");
    run_sql(f, "INSERT INTO changes SELECT * FROM kept WHERE seq = 3");
    verify(f);
    run_sql(f, "DELETE FROM changes WHERE seq = 1");
    damaged(f, "record 1 is missing");
    run_sql(f, "DELETE FROM changes");
    damaged(f, "it ends with record 0, but record 3 was written");
}

static void test_verify__finds_another_order(void **state)
{
    struct fixture *f = *state;
    rename_thrice(f);
    tamper(f, "UPDATE changes SET seq = 10 WHERE seq = 2");
    run_sql(f, "UPDATE changes SET seq = 2 WHERE seq = 3");
    run_sql(f, "UPDATE changes SET seq = 3 WHERE seq = 10");
    damaged(f, "record 2");
}

/* The head in the database goes along with the records; only a head that was noted elsewhere tells. */
static void test_chain__shows_that_head_and_end_were_removed_together(void **state)
{
    struct fixture *f = *state;
    struct change_record *c;
    struct change_chain chain;
    rename_thrice(f);
    records(f, &c);
    change_chain_begin(&chain, 2, c[1].hash);
    tamper(f, "DELETE FROM changes WHERE seq = 3");
    run_sql(f, "UPDATE change_head SET seq = 2, hash = (SELECT hash FROM changes WHERE seq = 2)");
    verify(f);
    FAILS(f, ERR_PRECONDITION, "record 3 was written", change_chain_end(&chain, 3, c[2].hash, &f->err));
}

static void test_trim__keeps_the_rest_verifiable(void **state)
{
    struct fixture *f = *state;
    struct change_record *c;
    int64_t n;
    rename_thrice(f);
    OK(f, store_changes_trim(f->st, 1700000000000001, 100, &n, &f->err));
    assert_int_equal(n, 0);
    OK(f, store_changes_trim(f->st, 1700000000000002, 2, &n, &f->err));
    assert_int_equal(n, 2);
    assert_int_equal(records(f, &c), 1);
    verify(f);
    OK(f, store_changes_trim(f->st, 1700000000000002, 2, &n, &f->err));
    verify(f);
    change_as(f, ALICE, "UPDATE projects SET name = 'four' WHERE id = 1");
    assert_int_equal(records(f, &c), 1);
    assert_int_equal(c->seq, 4);
    verify(f);
}

static void test_triggers__are_there_after_the_next_start(void **state)
{
    struct fixture *f = *state;
    struct change_record *c;
    store_close(f->st);
    fixture_open(f);
    rename_thrice(f);
    assert_int_equal(records(f, &c), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_change__of_an_author_is_recorded),
        TEST(test_change__without_an_author_is_not_recorded),
        TEST(test_change__is_rolled_back_with_its_record),
        TEST(test_change__hides_secrets),
        TEST(test_records__cannot_be_updated),
        TEST(test_verify__finds_an_altered_field),
        TEST(test_verify__finds_a_removed_record),
        TEST(test_verify__finds_removed_records_at_the_end_and_at_the_beginning),
        TEST(test_verify__finds_another_order),
        TEST(test_chain__shows_that_head_and_end_were_removed_together),
        TEST(test_trim__keeps_the_rest_verifiable),
        TEST(test_triggers__are_there_after_the_next_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
