/* Tests opening, migrations, transactions, epochs, and the state after a crash. */
#include "store/fixture.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store/engine/meta.h"
#include "store/engine/query.h"

static void kv(struct fixture *f, const char *key, const char *value)
{
    OK(f, store_kv_set(f->st, key, value, &f->err));
}

static const char *get(struct fixture *f, const char *key)
{
    const char *value;
    OK(f, store_kv_get(f->st, key, &f->a, &value, &f->err));
    return value;
}

static void run_sql(struct fixture *f, const char *sql)
{
    OK(f, store_engine(f->st)->ops->exec(store_engine(f->st), sql, &f->err));
}

/* Skips a test of something that only a file has. */
static void for_sqlite_only(void)
{
    if (fixture_server())
        skip();
}

static void for_postgres_only(void)
{
    if (!fixture_server())
        skip();
}

static void refused(struct fixture *f, const char *sql, enum error_constraint constraint, const char *name)
{
    assert_int_equal(store_engine(f->st)->ops->exec(store_engine(f->st), sql, &f->err), -1);
    if (!error_is_constraint(&f->err, constraint, name))
        fail_msg("%s: constraint %d \"%s\", %s", sql, f->err.constraint, f->err.constraint_name, error_msg(&f->err));
    error_release(&f->err);
}

static void test_conflict__names_the_constraint_alike_in_both_engines(void **state)
{
    struct fixture *f = *state;
    run_sql(f, "CREATE TABLE cats (id BIGINT PRIMARY KEY, tag TEXT UNIQUE, litter BIGINT NOT NULL, place BIGINT,"
               " UNIQUE (litter, place))");
    run_sql(f, "CREATE TABLE kittens (cat_id BIGINT REFERENCES cats (id))");
    run_sql(f, "INSERT INTO cats (id, tag, litter, place) VALUES (1, 'a', 1, 1)");
    refused(f, "INSERT INTO cats (id, tag, litter, place) VALUES (1, 'b', 2, 1)", CONSTRAINT_PRIMARY_KEY, "cats");
    refused(f, "INSERT INTO cats (id, tag, litter, place) VALUES (2, 'a', 2, 1)", CONSTRAINT_UNIQUE, "cats.tag");
    refused(f, "INSERT INTO cats (id, tag, litter, place) VALUES (2, 'b', 1, 1)", CONSTRAINT_UNIQUE,
            "cats.litter_place");
    refused(f, "INSERT INTO cats (id, tag, litter, place) VALUES (2, 'b', NULL, 1)", CONSTRAINT_OTHER, "");
    refused(f, "INSERT INTO kittens (cat_id) VALUES (7)", CONSTRAINT_FOREIGN_KEY, "");
    run_sql(f, "CREATE UNIQUE INDEX cats_by_tag ON cats (lower(tag))");
    refused(f, "INSERT INTO cats (id, tag, litter, place) VALUES (2, 'A', 2, 1)", CONSTRAINT_UNIQUE, "cats_by_tag");
}

static void test_open__brings_an_empty_directory_to_the_last_version(void **state)
{
    struct fixture *f = *state;
    fixture_begin_empty(f);
    fixture_open(f);
    assert_int_equal(fixture_number(f, "SELECT max(number) FROM migrations"), SQL_MIGRATION_NR);
}

static void test_open__makes_a_file_for_its_owner_alone(void **state)
{
    struct fixture *f = *state;
    struct stat st;
    for_sqlite_only();
    fixture_begin_empty(f);
    fixture_open(f);
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void test_open__says_why_it_cannot(void **state)
{
    struct fixture *f = *state;
    struct store *other = NULL;
    for_sqlite_only();
    FAILS(f, ERR_NOT_FOUND, "opening the database /nowhere/master.db",
          store_open("/nowhere/master.db", STORE_DURABLE_FULL, &other, &f->err));
    FAILS(f, ERR_IO, "opening the database /nowhere/master.db",
          store_open_reader("/nowhere/master.db", &other, &f->err));
}

static void test_open__keeps_what_was_there(void **state)
{
    struct fixture *f = *state;
    kv(f, "a", "1");
    store_close(f->st);
    fixture_open(f);
    assert_string_equal(get(f, "a"), "1");
}

static void test_open__refuses_a_database_of_a_newer_version(void **state)
{
    struct fixture *f = *state;
    char sentence[512];
    run_sql(f, "INSERT INTO migrations (number, name) VALUES (9000, '9000_from_the_future')");
    store_close(f->st);
    f->st = NULL;
    snprintf(sentence, sizeof(sentence),
             "the database %s is of version 9000, this program knows versions up to %d: run the"
             " release that wrote it, or restore a backup from before the upgrade",
             f->path, (int)SQL_MIGRATION_NR);
    FAILS(f, ERR_PRECONDITION, sentence, store_open(f->path, STORE_DURABLE_FULL, &f->st, &f->err));
}

static void test_open__leaves_the_tables_of_another_program_alone(void **state)
{
    struct fixture *f = *state;
    run_sql(f, "DELETE FROM migrations"); /* the database now looks like one of another program */
    store_close(f->st);
    f->st = NULL;
    FAILS(f, ERR_PRECONDITION, "holds users and experiments of another program",
          store_open(f->path, STORE_DURABLE_FULL, &f->st, &f->err));
}

static void test_open__says_which_file_is_no_database(void **state)
{
    struct fixture *f = *state;
    for_sqlite_only();
    store_close(f->st);
    f->st = NULL;
    FILE *file = fopen(f->path, "w");
    for (int i = 0; i < 1000; i++)
        fputs("this is not a database ", file);
    fclose(file);
    FAILS(f, ERR_IO, f->path, store_open(f->path, STORE_DURABLE_FULL, &f->st, &f->err));
}

static void test_statements__are_all_valid(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < Q_NR; i++)
        if (!store_named_stmt(f->st, (enum sql_query)i, &f->err))
            fail_msg("%s: %s", sql_queries[i].name, error_msg(&f->err));
    for (int i = 0; i < C_NR; i++)
        if (!store_copy_stmt(f->st, (enum sql_copy)i, &f->err))
            fail_msg("%s: %s", sql_copies[i].name, error_msg(&f->err));
}

static void test_reader__sees_commits_and_cannot_write(void **state)
{
    struct fixture *f = *state;
    struct store *reader;
    const char *value;
    OK(f, store_open_reader(f->path, &reader, &f->err));
    OK(f, store_begin(f->st, &f->err));
    kv(f, "a", "1");
    OK(f, store_kv_get(reader, "a", &f->a, &value, &f->err));
    assert_null(value); /* only committed versions are seen */
    OK(f, store_commit(f->st, &f->err));
    OK(f, store_kv_get(reader, "a", &f->a, &value, &f->err));
    assert_string_equal(value, "1");
    assert_int_equal(store_kv_set(reader, "a", "2", &f->err), -1);
    error_release(&f->err);
    store_close(reader);
}

static void test_savepoint__a_failing_job_does_not_sink_the_group(void **state)
{
    struct fixture *f = *state;
    OK(f, store_begin(f->st, &f->err));
    OK(f, store_savepoint(f->st, &f->err));
    kv(f, "first", "1");
    OK(f, store_release(f->st, &f->err));
    OK(f, store_savepoint(f->st, &f->err));
    kv(f, "second", "1");
    OK(f, store_rollback_to(f->st, &f->err));
    OK(f, store_savepoint(f->st, &f->err));
    kv(f, "third", "1");
    OK(f, store_release(f->st, &f->err));
    OK(f, store_commit(f->st, &f->err));
    assert_non_null(get(f, "first"));
    assert_null(get(f, "second"));
    assert_non_null(get(f, "third"));
}

static void test_epoch__grows_with_each_start(void **state)
{
    struct fixture *f = *state;
    int64_t first, second;
    OK(f, store_next_epoch(f->st, &first, &f->err));
    store_close(f->st);
    fixture_open(f);
    OK(f, store_next_epoch(f->st, &second, &f->err));
    assert_int_equal(first, 1);
    assert_int_equal(second, 2);
}

static void test_epoch__a_master_that_was_taken_over_writes_no_more(void **state)
{
    struct fixture *f = *state;
    struct store *other;
    int64_t epoch;
    OK(f, store_next_epoch(f->st, &epoch, &f->err));
    OK(f, store_begin(f->st, &f->err));
    OK(f, store_commit(f->st, &f->err));
    OK(f, store_open(f->path, STORE_DURABLE_NORMAL, &other, &f->err));
    OK(f, store_next_epoch(other, &epoch, &f->err));
    FAILS(f, ERR_ABORTED, "another master has taken over", store_begin(f->st, &f->err));
    assert_int_equal(store_engine(f->st)->failure, ENGINE_FENCED);
    assert_false(store_in_transaction(f->st));
    OK(f, store_begin(other, &f->err));
    OK(f, store_commit(other, &f->err));
    store_close(other);
}

static void test_full_disk__is_told_apart_and_the_batch_can_be_tried_again(void **state)
{
    struct fixture *f = *state;
    for_sqlite_only();
    char *big = calloc(1, 1 << 20);
    memset(big, 'x', (1 << 20) - 1);
    assert_int_equal(store_engine(f->st)->ops->exec(store_engine(f->st), "PRAGMA max_page_count=200", &f->err), 0);
    OK(f, store_begin(f->st, &f->err));
    FAILS(f, ERR_UNAVAILABLE, "full", store_kv_set(f->st, "big", big, &f->err));
    assert_true(store_is_full(f->st));
    assert_false(store_engine(f->st)->failure & ENGINE_BROKEN);
    store_rollback(f->st);
    store_clear_failure(f->st);
    assert_int_equal(store_engine(f->st)->ops->exec(store_engine(f->st), "PRAGMA max_page_count=100000", &f->err), 0);
    OK(f, store_begin(f->st, &f->err));
    kv(f, "big", big);
    OK(f, store_commit(f->st, &f->err));
    assert_false(store_is_full(f->st));
    free(big);
}

/* The child commits one row, writes another, and is killed before it commits that. */
static void write_and_die(const char *path, int ready)
{
    struct store *st;
    struct error err = ERROR_INIT;
    if (store_open(path, STORE_DURABLE_FULL, &st, &err) < 0 || store_begin(st, &err) < 0 ||
        store_kv_set(st, "committed", "1", &err) < 0 || store_commit(st, &err) < 0 || store_begin(st, &err) < 0 ||
        store_kv_set(st, "uncommitted", "1", &err) < 0 || write(ready, "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void test_kill_in_the_middle__committed_is_there_uncommitted_is_not(void **state)
{
    struct fixture *f = *state;
    int fd[2], status;
    char byte;
    store_close(f->st);
    f->st = NULL;
    assert_int_equal(pipe(fd), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        write_and_die(f->path, fd[1]);
    close(fd[1]);
    assert_int_equal(read(fd[0], &byte, 1), 1);
    close(fd[0]);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    fixture_open(f);
    assert_non_null(get(f, "committed"));
    assert_null(get(f, "uncommitted"));
}

/* ---- a server that cannot be reached ----------------------------------------------------------------------------- */

static void test_server__a_place_is_named_without_its_password(void **state)
{
    static const char place[] = "postgresql://det:secret@/d?host=/nowhere";
    struct fixture *f = *state;
    struct store *other;
    FAILS(f, ERR_UNAVAILABLE, "opening the database postgresql://det@/d?host=/nowhere: no connection: ",
          store_open(place, STORE_DURABLE_FULL, &other, &f->err));
    assert_int_equal(store_open(place, STORE_DURABLE_FULL, &other, &f->err), -1);
    assert_null(strstr(error_msg(&f->err), "secret"));
    error_release(&f->err);
}

static void test_server__a_connection_lost_while_idle_is_not_noticed(void **state)
{
    struct fixture *f = *state;
    struct store *reader;
    const char *value;
    for_postgres_only();
    OK(f, store_open_reader(f->path, &reader, &f->err));
    OK(f, store_begin(f->st, &f->err));
    kv(f, "a", "1");
    OK(f, store_commit(f->st, &f->err));
    OK(f, store_kv_get(reader, "a", &f->a, &value, &f->err));
    fixture_cut_connections();
    OK(f, store_kv_get(reader, "a", &f->a, &value, &f->err));
    assert_string_equal(value, "1");
    OK(f, store_begin(f->st, &f->err));
    kv(f, "a", "2");
    OK(f, store_commit(f->st, &f->err));
    assert_string_equal(get(f, "a"), "2");
    assert_false(store_is_away(f->st) || store_is_away(reader));
    store_close(reader);
}

static void test_server__a_transaction_cut_in_the_middle_can_be_tried_again(void **state)
{
    struct fixture *f = *state;
    for_postgres_only();
    OK(f, store_begin(f->st, &f->err));
    kv(f, "a", "1");
    fixture_cut_connections();
    FAILS(f, ERR_UNAVAILABLE, "away", store_kv_set(f->st, "b", "1", &f->err));
    assert_true(store_is_away(f->st));
    store_rollback(f->st);
    assert_false(store_in_transaction(f->st));
    store_clear_failure(f->st);
    OK(f, store_begin(f->st, &f->err));
    assert_null(get(f, "a"));
    kv(f, "a", "2");
    OK(f, store_commit(f->st, &f->err));
    assert_string_equal(get(f, "a"), "2");
}

/* A lost connection is opened again at the beginning of a transaction, never within one: what the transaction had
 * written before is lost, and the rest alone would be half a job. */
static void test_server__nothing_is_written_beside_a_transaction_that_was_lost(void **state)
{
    struct fixture *f = *state;
    struct store_experiment *x;
    size_t n;
    for_postgres_only();
    OK(f, store_begin(f->st, &f->err));
    kv(f, "a", "1");
    fixture_cut_connections();
    FAILS(f, ERR_UNAVAILABLE, "away", store_kv_set(f->st, "b", "1", &f->err));
    FAILS(f, ERR_UNAVAILABLE, "away", store_kv_set(f->st, "c", "1", &f->err));
    FAILS(f, ERR_UNAVAILABLE, "away", store_experiments_unfinished(f->st, &f->a, &x, &n, &f->err));
    FAILS(f, ERR_UNAVAILABLE, "away", store_rollback_to(f->st, &f->err));
    store_rollback(f->st);
    store_clear_failure(f->st);
    assert_null(get(f, "a"));
    assert_null(get(f, "c"));
}

static void test_server__what_became_of_a_commit_is_asked(void **state)
{
    struct fixture *f = *state;
    for_postgres_only();
    OK(f, store_begin(f->st, &f->err));
    kv(f, "a", "1");
    fixture_cut_connections();
    FAILS(f, ERR_UNAVAILABLE, "before the commit", store_commit(f->st, &f->err));
    assert_true(store_is_away(f->st));
    store_clear_failure(f->st);
    assert_null(get(f, "a"));
}

static void test_server__a_transaction_with_a_failed_statement_is_not_committed(void **state)
{
    struct fixture *f = *state;
    for_postgres_only();
    OK(f, store_begin(f->st, &f->err));
    kv(f, "a", "1");
    FAILS(f, ERR_CONFLICT, "experiment 9 does not exist", store_snapshot_set(f->st, 9, "{}", &f->err));
    FAILS(f, ERR_INTERNAL, "a statement of the transaction has failed", store_commit(f->st, &f->err));
    assert_null(get(f, "a"));
}

static void test_server__two_writers_wait_for_each_other(void **state)
{
    struct fixture *f = *state;
    struct store *other;
    for_postgres_only();
    OK(f, store_open(f->path, STORE_DURABLE_NORMAL, &other, &f->err));
    OK(f, store_begin(f->st, &f->err));
    FAILS(f, ERR_UNAVAILABLE, "is a second master running on it?", store_begin(other, &f->err));
    OK(f, store_commit(f->st, &f->err));
    OK(f, store_begin(other, &f->err));
    store_close(other);
}

static void test_cluster_id__is_the_first_proposal_for_ever(void **state)
{
    struct fixture *f = *state;
    const char *id;
    OK(f, store_cluster_id(f->st, "first", &f->a, &id, &f->err));
    assert_string_equal(id, "first");
    OK(f, store_cluster_id(f->st, "second", &f->a, &id, &f->err));
    assert_string_equal(id, "first");
}

static void test_heartbeat__comes_back(void **state)
{
    struct fixture *f = *state;
    assert_null(get(f, "heartbeat_us"));
    OK(f, store_heartbeat_set(f->st, 17, &f->err));
    assert_string_equal(get(f, "heartbeat_us"), "17");
}

static void test_ids__are_never_used_twice(void **state)
{
    struct fixture *f = *state;
    int64_t last;
    OK(f, store_last_id(f->st, STORE_IDS_TRIALS, &last, &f->err));
    assert_int_equal(last, 0);
    fixture_user(f, 1, "admin");
    fixture_experiment(f, 4);
    fixture_trial(f, 9, 4);
    fixture_delete(f, 4);
    OK(f, store_last_id(f->st, STORE_IDS_EXPERIMENTS, &last, &f->err));
    assert_int_equal(last, 4);
    OK(f, store_last_id(f->st, STORE_IDS_TRIALS, &last, &f->err));
    assert_int_equal(last, 9);
    OK(f, store_last_id(f->st, STORE_IDS_WORKSPACES, &last, &f->err));
    assert_int_equal(last, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_open__brings_an_empty_directory_to_the_last_version),
        TEST(test_open__makes_a_file_for_its_owner_alone),
        TEST(test_open__says_why_it_cannot),
        TEST(test_open__keeps_what_was_there),
        TEST(test_open__refuses_a_database_of_a_newer_version),
        TEST(test_open__leaves_the_tables_of_another_program_alone),
        TEST(test_open__says_which_file_is_no_database),
        TEST(test_statements__are_all_valid),
        TEST(test_reader__sees_commits_and_cannot_write),
        TEST(test_savepoint__a_failing_job_does_not_sink_the_group),
        TEST(test_conflict__names_the_constraint_alike_in_both_engines),
        TEST(test_epoch__grows_with_each_start),
        TEST(test_epoch__a_master_that_was_taken_over_writes_no_more),
        TEST(test_full_disk__is_told_apart_and_the_batch_can_be_tried_again),
        TEST(test_kill_in_the_middle__committed_is_there_uncommitted_is_not),
        TEST(test_server__a_place_is_named_without_its_password),
        TEST(test_server__a_connection_lost_while_idle_is_not_noticed),
        TEST(test_server__a_transaction_cut_in_the_middle_can_be_tried_again),
        TEST(test_server__nothing_is_written_beside_a_transaction_that_was_lost),
        TEST(test_server__what_became_of_a_commit_is_asked),
        TEST(test_server__a_transaction_with_a_failed_statement_is_not_committed),
        TEST(test_server__two_writers_wait_for_each_other),
        TEST(test_cluster_id__is_the_first_proposal_for_ever),
        TEST(test_heartbeat__comes_back),
        TEST(test_ids__are_never_used_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
