/* What the tests of the store share: a database in a directory of its own, and the few rows that most tests need. */
#ifndef DET_TESTS_UNIT_STORE_FIXTURE_H
#define DET_TESTS_UNIT_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/strbuf.h"
#include "core/records/rows.h"
#include "store/cluster/tasks.h"
#include "store/engine/engine.h"
#include "store/engine/query.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"
#include "store/functions.h"
#include "store/logs/task_logs.h"
#include "store/store.h"

#define T0 INT64_C(1700000000000000)
#define DAY_US INT64_C(86400000000)

struct fixture {
    char dir[64], path[256];
    struct store *st;
    struct arena a;
    struct error err;
};

/* A call that must succeed; if it fails, the error is printed. */
#define OK(f, call) \
    do { \
        if ((call) < 0) \
            fail_msg("%s: %s", #call, error_msg(&(f)->err)); \
    } while (0)
/* A call that must fail with this kind of error, and with these words in its message. */
#define FAILS(f, error_kind, words, call) \
    do { \
        assert_int_equal((call), -1); \
        if ((f)->err.kind != (error_kind) || !strstr(error_msg(&(f)->err), words)) \
            fail_msg("%s said (%d): %s", #call, (f)->err.kind, error_msg(&(f)->err)); \
        error_release(&(f)->err); \
    } while (0)

static inline void fixture_open(struct fixture *f)
{
    OK(f, store_open(f->path, STORE_DURABLE_NORMAL, &f->st, &f->err));
}

/* If DET_TEST_POSTGRES names a database on a server (tests/support/postgres.py starts one), the tests run on that
 * server, each in a database of its own. */
static inline const char *fixture_server(void)
{
    return getenv("DET_TEST_POSTGRES");
}

/* Cuts all connections, as a restart of the server or an administrator would. */
static inline void fixture_cut_connections(void)
{
    struct engine *e;
    assert_int_equal(engine_postgres.open(fixture_server(), true, &e, NULL), 0);
    assert_int_equal(e->ops->exec(e,
                                  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                  " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
                                  NULL),
                     0);
    e->ops->close(e);
}

#define FIXTURE_DATABASE "of_this_test"
#define FIXTURE_FIRST_DATABASE "of_the_first_test"

static inline void fixture_at_server(struct fixture *f, const char *sql)
{
    struct engine *e;
    OK(f, engine_postgres.open(fixture_server(), true, &e, &f->err));
    OK(f, e->ops->exec(e, sql, &f->err));
    e->ops->close(e);
}

static inline void fixture_drop(struct fixture *f)
{
    fixture_at_server(f, "DROP DATABASE " FIXTURE_DATABASE " WITH (FORCE)");
}

/* Writes where a database of the server is: as fixture_server() says, with another name of a database. */
static inline void fixture_place(struct fixture *f, const char *database)
{
    const char *server = fixture_server(), *name = strstr(server, "/postgres?");
    assert_non_null(name);
    snprintf(f->path, sizeof(f->path), "%.*s/%s%s", (int)(name - server), server, database, name + strlen("/postgres"));
}

static inline void fixture_remove(const char *path)
{
    static const char *const suffix[] = {"", "-wal", "-shm"};
    char name[280];
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s%s", path, suffix[i]);
        unlink(name);
    }
}

static inline void fixture_copy_file(const char *from, const char *to)
{
    char buf[65536];
    size_t n;
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    while ((n = fread(buf, 1, sizeof(buf), in)) > 0)
        assert_int_equal(fwrite(buf, 1, n, out), n);
    assert_int_equal(ferror(in), 0);
    assert_int_equal(fclose(out), 0);
    fclose(in);
}

/* The store of the first test, before that test has written into it: a program's later tests begin with copies of it,
 * since all migrations take longer than most tests. */
static char fixture_first[64];

static inline void fixture_forget_first(void)
{
    fixture_remove(fixture_first);
}

static inline void fixture_make_first(struct fixture *f)
{
    if (fixture_server()) {
        fixture_at_server(f, "CREATE DATABASE " FIXTURE_FIRST_DATABASE);
        fixture_place(f, FIXTURE_FIRST_DATABASE);
        snprintf(fixture_first, sizeof(fixture_first), FIXTURE_FIRST_DATABASE);
    } else {
        int fd;
        snprintf(fixture_first, sizeof(fixture_first), "/tmp/det-first-store-XXXXXX");
        fd = mkstemp(fixture_first);
        assert_true(fd >= 0);
        close(fd);
        snprintf(f->path, sizeof(f->path), "%s", fixture_first);
        atexit(fixture_forget_first);
    }
    fixture_open(f);
    store_close(f->st);
}

static inline int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    snprintf(f->dir, sizeof(f->dir), "/tmp/det-store-XXXXXX");
    if (!mkdtemp(f->dir))
        return -1;
    if (!*fixture_first)
        fixture_make_first(f);
    if (fixture_server()) {
        fixture_at_server(f, "CREATE DATABASE " FIXTURE_DATABASE " TEMPLATE " FIXTURE_FIRST_DATABASE
                             " STRATEGY FILE_COPY");
        fixture_place(f, FIXTURE_DATABASE);
    } else {
        snprintf(f->path, sizeof(f->path), "%s/master.db", f->dir);
        fixture_copy_file(fixture_first, f->path);
    }
    fixture_open(f);
    *state = f;
    return 0;
}

/* Closes the database and leaves an empty one in its place, without tables. */
static inline void fixture_begin_empty(struct fixture *f)
{
    store_close(f->st);
    f->st = NULL;
    if (fixture_server()) {
        fixture_drop(f);
        fixture_at_server(f, "CREATE DATABASE " FIXTURE_DATABASE);
    } else {
        fixture_remove(f->path);
    }
}

/* Carries out a statement in the database without migrating it. */
static inline void fixture_exec(struct fixture *f, const char *sql)
{
    struct engine *e;
    OK(f, (fixture_server() ? &engine_postgres : &engine_sqlite)->open(f->path, true, &e, &f->err));
    OK(f, e->ops->exec(e, sql, &f->err));
    e->ops->close(e);
}

/* Makes the database as a program would have left it whose last migration is the one before the migration with
 * `before` in its name. The database is closed. */
static inline void fixture_older(struct fixture *f, const char *before)
{
    fixture_begin_empty(f);
    fixture_exec(f, "CREATE TABLE migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL)");
    for (int i = 0; !strstr(sql_migrations[i].name, before); i++) {
        char row[160];
        fixture_exec(f, sql_migrations[i].text[fixture_server() ? SQL_POSTGRES : SQL_SQLITE]);
        snprintf(row, sizeof(row), "INSERT INTO migrations VALUES (%d, '%s')", i + 1, sql_migrations[i].name);
        fixture_exec(f, row);
    }
}

static inline int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    store_close(f->st);
    arena_release(&f->a);
    if (fixture_server())
        fixture_drop(f);
    else
        fixture_remove(f->path);
    rmdir(f->dir);
    error_release(&f->err);
    free(f);
    return 0;
}

/* Returns the one number that a SELECT gives. */
static inline int64_t fixture_number(struct fixture *f, const char *sql)
{
    const struct engine_ops *ops = store_engine(f->st)->ops;
    struct engine_stmt *s;
    OK(f, ops->prepare(store_engine(f->st), sql, &s, &f->err));
    assert_int_equal(ops->step(s, &f->err), 1);
    int64_t number = ops->integer(s, 0);
    ops->finalize(s);
    return number;
}

static inline void fixture_user(struct fixture *f, int32_t id, const char *name)
{
    const struct store_user u = {.id = id, .username = name, .active = true, .modified_us = T0};
    OK(f, store_user_insert(f->st, &u, &f->err));
}

static inline struct store_experiment fixture_experiment_row(int32_t id)
{
    return (struct store_experiment){
        .id = id,
        .job_id = "",
        .state = "ACTIVE",
        .user_id = 1,
        .project_id = 1,
        .name = "digits",
        .description = "",
        .notes = "",
        .labels = "[]",
        .start_us = T0 + id,
        .searcher_type = "single",
        .searcher_metric = "loss",
        .smaller_is_better = true,
        .resource_pool = "default",
        .config = "{\"name\":\"digits\"}",
        .original_config = "name: digits\n",
    };
}

static inline void fixture_experiment(struct fixture *f, int32_t id)
{
    struct store_experiment x = fixture_experiment_row(id);
    char job[32];
    snprintf(job, sizeof(job), "job-%d", id);
    x.job_id = job;
    OK(f, store_experiment_insert(f->st, &x, "tgz", 3, &f->err));
}

static inline void fixture_give(struct fixture *f, int32_t experiment_id, int32_t user_id)
{
    struct store_experiment x;
    OK(f, store_experiment_get(f->st, experiment_id, false, &f->a, &x, &f->err));
    struct experiment_row row = {.id = x.id,
                                 .owner_id = user_id,
                                 .progress = x.progress,
                                 .end_us = x.end_us,
                                 .queue_position = x.queue_position};
    OK(f, run_state_parse(x.state, &row.state));
    OK(f, store_experiment_put(f->st, &row, &f->err));
}

/* Deletes an experiment, with or without an open transaction. */
static inline void fixture_delete(struct fixture *f, int32_t experiment_id)
{
    for (bool more = true; more;)
        OK(f, store_experiment_delete_part(f->st, experiment_id, 0, 1000, &more, &f->err));
}

static inline struct trial_row fixture_trial_row(int32_t id, int32_t experiment_id)
{
    struct trial_row t = {.id = id,
                          .experiment_id = experiment_id,
                          .state = RUN_ACTIVE,
                          .start_us = T0 + id,
                          .seed = 7,
                          .hparams = "{\"lr\":0.1}",
                          .run_id = 1};
    snprintf(t.request_id, sizeof(t.request_id), "00000000-0000-0000-0000-%012d", id % 100000000);
    snprintf(t.task_id, sizeof(t.task_id), "%d.%s", experiment_id, t.request_id);
    return t;
}

static inline void fixture_trial(struct fixture *f, int32_t id, int32_t experiment_id)
{
    struct trial_row t = fixture_trial_row(id, experiment_id);
    struct task_row k = {.trial_id = id, .start_us = T0};
    OK(f, store_trial_put(f->st, &t, true, &f->err));
    memcpy(k.id, t.task_id, sizeof(k.id));
    snprintf(k.job_id, sizeof(k.job_id), "job-%d", experiment_id);
    OK(f, store_task_put(f->st, &k, true, &f->err));
}

/* Makes user 1 "admin", and experiment 1 with trial 1. */
static inline int fixture_setup_trial(void **state)
{
    if (fixture_setup(state) < 0)
        return -1;
    struct fixture *f = *state;
    fixture_user(f, 1, "admin");
    fixture_experiment(f, 1);
    fixture_trial(f, 1, 1);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
#define TEST_TRIAL(name) cmocka_unit_test_setup_teardown(name, fixture_setup_trial, fixture_teardown)

static inline int fixture_append_numbered(struct fixture *f, const char *task_id, const char *container_id,
                                          int64_t first_seq, const struct store_log_line *line, size_t line_n,
                                          int64_t *ret_first_id, size_t *ret_skipped, int64_t *ret_seq,
                                          struct error *err)
{
    struct store_log_batch b;
    store_log_batch_make(&b, line, line_n);
    int rc = store_task_log_append_numbered(f->st, task_id, container_id, first_seq, &b, ret_first_id, ret_skipped,
                                            ret_seq, err);
    store_log_batch_release(&b);
    return rc;
}

#endif
