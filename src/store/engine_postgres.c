/* PostgreSQL, through libpq. Parameters and columns travel in binary form.
 *
 * What SQLite gives by itself is made here: one writer at a time (an advisory lock that each write transaction takes),
 * and a connection that is there: one that was lost is opened again at the next transaction or single read. When the
 * server goes away while a commit is under way, the server itself is asked later what became of the transaction. */
#include "store/engine.h"

#include <endian.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    LOCK_TIMEOUT_MS = 5000,        /* for another master that is on its way out */
    READ_TIMEOUT_MS = 60000,       /* one statement of a reader */
    WRITE_TIMEOUT_MS = 300000,     /* one statement of the writer: deleting an experiment takes its time */
    COMMIT_PATIENCE_S = 60,        /* for the server to come back and tell what became of a commit */
    RETRY_FIRST_MS = 50,
    RETRY_LAST_MS = 5000,
    PARAMS_MAX = 64,
    VERSION_MIN = 130000,          /* pg_current_xact_id */
};
#define WRITER_LOCK "pg_advisory_xact_lock(4919360147)"

/* Types by their fixed numbers (pg_type.dat). */
enum type {
    TYPE_BOOL = 16, TYPE_BYTEA = 17, TYPE_INT8 = 20, TYPE_INT2 = 21, TYPE_INT4 = 23, TYPE_TEXT = 25, TYPE_JSON = 114,
    TYPE_FLOAT8 = 701,
};

struct postgres_engine {
    struct engine base;
    PGconn *conn;
    bool writer;
    enum store_durability durability;
    unsigned connection;    /* counts them: statements belong to one */
    unsigned last_name;
    int64_t changes;
    char transaction[24];   /* id of the write transaction that is open */
    int64_t retry_ms;       /* when a lost connection may be tried again, and how long to wait after that */
    int retry_pause_ms;
};

struct engine_stmt {
    struct postgres_engine *engine;
    char *sql, name[16];
    unsigned connection; /* the one it is prepared on; 0: none yet */
    int param_n;
    Oid type[PARAMS_MAX];
    struct sql_value value[PARAMS_MAX];
    PGresult *result; /* what is being read */
    int row;
};

static struct postgres_engine *self(const struct engine *base) { return (struct postgres_engine *)base; }

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

static void sleep_ms(int ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL); }

/* ---- failures ---- */

/* The server's sentence; libpq ends it with a line feed. */
static int fail_text(struct error *err, enum error_kind kind, const char *doing, const char *text)
{
    return error_set(err, kind, "%s: %.*s", doing, (int)strcspn(text, "\n"), text);
}

static int fail_away(struct postgres_engine *e, struct error *err)
{
    const char *text = PQerrorMessage(e->conn);
    e->base.failure |= ENGINE_AWAY;
    return error_set(err, ERR_UNAVAILABLE, "the database server is away, the master goes on when it is back: %.*s",
                     (int)strcspn(text, "\n"), text);
}

static bool is_class(const char *state, const char *class) { return strncmp(state, class, strlen(class)) == 0; }

/* In SQLite's words (engine.h). The names of constraints are those that PostgreSQL gives: projects_key_key. */
static int fail_conflict(const PGresult *result, const char *state, const char *text, struct error *err)
{
    const char *table = PQresultErrorField(result, PG_DIAG_TABLE_NAME);
    const char *name = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
    size_t table_n = table ? strlen(table) : 0;
    if (strcmp(state, "23503") == 0)
        return error_set(err, ERR_CONFLICT, "FOREIGN KEY constraint failed: %s", text);
    if (strcmp(state, "23505") != 0 || !table || !name || strncmp(name, table, table_n) != 0)
        return error_set(err, ERR_CONFLICT, "%s", text);
    const char *column = name + table_n + (name[table_n] == '_');
    size_t n = strlen(column);
    if (n > 4 && strcmp(column + n - 4, "_key") == 0)
        n -= 4;
    return error_set(err, ERR_CONFLICT, "UNIQUE constraint failed: %s.%.*s", table, (int)n, column);
}

/* What went wrong, in the terms of store.h. */
static int fail(struct postgres_engine *e, const PGresult *result, const char *doing, struct error *err)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (PQstatus(e->conn) == CONNECTION_BAD || !state || !text || is_class(state, "08") || is_class(state, "57P0"))
        return fail_away(e, err);
    if (is_class(state, "23"))
        return fail_conflict(result, state, text, err);
    if (strcmp(state, "53100") == 0) {
        e->base.failure |= ENGINE_FULL;
        return error_set(err, ERR_UNAVAILABLE,
                         "the disk that holds the database is full: make room, the master goes on by itself");
    }
    if (strcmp(state, "53200") == 0)
        return error_set(err, ERR_NO_MEMORY, "the database server is out of memory: %s", text);
    if (is_class(state, "40")) { /* serialization, deadlock: the same again will do */
        e->base.failure |= ENGINE_AWAY;
        return error_set(err, ERR_UNAVAILABLE, "the database asks to try again: %s", text);
    }
    if (strcmp(state, "55P03") == 0)
        return error_set(err, ERR_UNAVAILABLE,
                         "the database is locked by another process for more than %d s (is a second master"
                         " running on it?)", LOCK_TIMEOUT_MS / 1000);
    if (strcmp(state, "57014") == 0)
        return error_set(err, ERR_UNAVAILABLE, "the database took more than %d s for one statement",
                         (e->writer ? WRITE_TIMEOUT_MS : READ_TIMEOUT_MS) / 1000);
    if (is_class(state, "22021") || is_class(state, "22P05"))
        return error_set(err, ERR_INVALID, "a text holds what the database can't store: %s", text);
    if (is_class(state, "54"))
        return error_set(err, ERR_TOO_LARGE, "a value is too large for the database: %s", text);
    if (is_class(state, "58") || is_class(state, "XX")) {
        e->base.failure |= ENGINE_BROKEN;
        return error_set(err, ERR_IO, "%s: %s (PostgreSQL error %s)", doing, text, state);
    }
    return error_set(err, ERR_INTERNAL, "%s: %s (PostgreSQL error %s)", doing, text, state);
}

static bool is_good(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
}

/* Takes the result. */
static int finish(struct postgres_engine *e, PGresult *result, const char *doing, struct error *err)
{
    int rc = is_good(result) ? 0 : fail(e, result, doing, err);
    PQclear(result);
    return rc;
}

static int op_exec(struct engine *base, const char *sql, struct error *err)
{
    return finish(self(base), PQexec(self(base)->conn, sql), sql, err);
}

/* ---- the connection ---- */

static void ignore_notice(void *arg, const char *text)
{
    (void)arg;
    (void)text;
}

/* What a connection is told before its first statement. */
static int configure(struct postgres_engine *e, struct error *err)
{
    char sql[320];
    snprintf(sql, sizeof(sql),
             "SET client_min_messages = warning; SET lock_timeout = %d; SET statement_timeout = %d;"
             " SET default_transaction_read_only = %s; SET synchronous_commit = %s",
             LOCK_TIMEOUT_MS, e->writer ? WRITE_TIMEOUT_MS : READ_TIMEOUT_MS, e->writer ? "off" : "on",
             e->durability == STORE_DURABLE_FULL ? "on" : "off");
    e->connection++;
    return op_exec(&e->base, sql, err);
}

static int check_server(const struct postgres_engine *e, struct error *err)
{
    const char *encoding = PQparameterStatus(e->conn, "server_encoding");
    if (PQserverVersion(e->conn) < VERSION_MIN)
        return error_set(err, ERR_PRECONDITION, "the server is PostgreSQL %s, needed is %d or later",
                         PQparameterStatus(e->conn, "server_version"), VERSION_MIN / 10000);
    if (!encoding || strcmp(encoding, "UTF8") != 0)
        return error_set(err, ERR_PRECONDITION,
                         "the database has the encoding %s, needed is UTF8 (createdb -E UTF8 -T template0 NAME)",
                         encoding ? encoding : "?");
    return 0;
}

static int connect_first(struct postgres_engine *e, const char *uri, struct error *err)
{
    static const char *const key[] = {"connect_timeout", "fallback_application_name", "client_encoding", "dbname",
                                      NULL};
    const char *const value[] = {"5", "determined-master", "UTF8", uri, NULL};
    e->conn = PQconnectdbParams(key, value, 1);
    if (!e->conn)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    if (PQstatus(e->conn) != CONNECTION_OK)
        return fail_text(err, ERR_UNAVAILABLE, "no connection", PQerrorMessage(e->conn));
    PQsetNoticeProcessor(e->conn, ignore_notice, NULL);
    return check_server(e, err) < 0 ? -1 : configure(e, err);
}

/* Not more often than the pause allows, which doubles: a server that starts is not stormed. */
static int reconnect(struct postgres_engine *e, struct error *err)
{
    if (now_ms() < e->retry_ms)
        return fail_away(e, err);
    PQreset(e->conn);
    if (PQstatus(e->conn) == CONNECTION_OK) {
        e->retry_ms = e->retry_pause_ms = 0;
        return configure(e, err);
    }
    e->retry_pause_ms = e->retry_pause_ms ? e->retry_pause_ms * 2 : RETRY_FIRST_MS;
    if (e->retry_pause_ms > RETRY_LAST_MS)
        e->retry_pause_ms = RETRY_LAST_MS;
    e->retry_ms = now_ms() + e->retry_pause_ms;
    return fail_away(e, err);
}

static int connected(struct postgres_engine *e, struct error *err)
{
    return PQstatus(e->conn) == CONNECTION_OK ? 0 : reconnect(e, err);
}

static void op_close(struct engine *base)
{
    if (!base)
        return;
    PQfinish(self(base)->conn);
    free(base);
}

static int op_open(const char *uri, bool writer, struct engine **ret, struct error *err)
{
    struct postgres_engine *e = calloc(1, sizeof(*e));
    if (!e)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    *e = (struct postgres_engine){.base.ops = &engine_postgres, .writer = writer, .durability = STORE_DURABLE_NORMAL};
    if (connect_first(e, uri, err) < 0) {
        op_close(&e->base);
        return -1;
    }
    *ret = &e->base;
    return 0;
}

/* A durable commit flushes the log up to itself: what was committed lazily before it becomes durable with it. */
static int op_set_durability(struct engine *base, enum store_durability durability, struct error *err)
{
    self(base)->durability = durability;
    return op_exec(base, durability == STORE_DURABLE_FULL ? "SET synchronous_commit = on"
                                                          : "SET synchronous_commit = off", err);
}

/* ---- transactions ---- */

static bool op_in_transaction(const struct engine *base)
{
    PGTransactionStatusType status = PQtransactionStatus(self(base)->conn);
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR || status == PQTRANS_ACTIVE;
}

static int begin_write(struct postgres_engine *e, struct error *err)
{
    PGresult *result = PQexec(e->conn, "BEGIN; SELECT " WRITER_LOCK "; SELECT pg_current_xact_id()::text");
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        snprintf(e->transaction, sizeof(e->transaction), "%s", PQgetvalue(result, 0, 0));
    if (finish(e, result, "BEGIN", err) == 0)
        return 0;
    if (op_in_transaction(&e->base))
        PQclear(PQexec(e->conn, "ROLLBACK"));
    return -1;
}

static int begin_once(struct postgres_engine *e, bool write, struct error *err)
{
    e->transaction[0] = '\0';
    return write ? begin_write(e, err) : op_exec(&e->base, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", err);
}

/* That a connection went while it was idle shows at its next use. Nothing is lost then: once more, on a new one. */
static int op_begin(struct engine *base, bool write, struct error *err)
{
    struct postgres_engine *e = self(base);
    if (PQstatus(e->conn) == CONNECTION_OK) {
        if (begin_once(e, write, err) == 0)
            return 0;
        if (PQstatus(e->conn) == CONNECTION_OK)
            return -1;
        error_release(err);
    }
    if (reconnect(e, err) < 0)
        return -1;
    e->base.failure &= ~(unsigned)ENGINE_AWAY;
    return begin_once(e, write, err);
}

/* 1 it is committed, 0 it is not, -1 the server can't tell yet. */
static int ask_what_became(struct postgres_engine *e)
{
    const char *const id[] = {e->transaction};
    if (connected(e, NULL) < 0)
        return -1;
    PGresult *result = PQexecParams(e->conn, "SELECT pg_xact_status($1::xid8)", 1, NULL, id, NULL, NULL, 0);
    int rc = -1;
    if (PQresultStatus(result) == PGRES_TUPLES_OK && !PQgetisnull(result, 0, 0)) {
        const char *status = PQgetvalue(result, 0, 0);
        rc = strcmp(status, "committed") == 0 ? 1 : strcmp(status, "aborted") == 0 ? 0 : -1;
    }
    PQclear(result);
    return rc;
}

/* The connection went while the commit was on its way. To write again what was committed would double it, to report
 * failure for it as well: only the server knows. */
static int resolve_commit(struct postgres_engine *e, struct error *err)
{
    int64_t end = now_ms() + COMMIT_PATIENCE_S * 1000;
    int known;
    while ((known = ask_what_became(e)) < 0 && now_ms() < end)
        sleep_ms(RETRY_FIRST_MS);
    e->base.failure &= ~(unsigned)ENGINE_AWAY;
    if (known > 0)
        return 0;
    if (known == 0) {
        e->base.failure |= ENGINE_AWAY;
        return error_set(err, ERR_UNAVAILABLE, "the database server went away before the commit; it is tried again");
    }
    e->base.failure |= ENGINE_BROKEN;
    return error_set(err, ERR_IO, "the database server went away during a commit and did not come back within %d s",
                     COMMIT_PATIENCE_S);
}

static int op_commit(struct engine *base, struct error *err)
{
    struct postgres_engine *e = self(base);
    PGresult *result = PQexec(e->conn, "COMMIT");
    bool rolled_back = is_good(result) && strcmp(PQcmdStatus(result), "ROLLBACK") == 0;
    bool lost = PQstatus(e->conn) == CONNECTION_BAD;
    if (lost && e->transaction[0]) {
        PQclear(result);
        return resolve_commit(e, err);
    }
    if (finish(e, result, "COMMIT", err) < 0)
        return -1;
    /* A transaction in which a statement failed, and no savepoint took that back, cannot be committed. */
    return rolled_back ? error_set(err, ERR_INTERNAL, "COMMIT: a statement of the transaction has failed") : 0;
}

static int64_t op_total_changes(const struct engine *base) { return self(base)->changes; }

/* ---- statements ---- */

static void op_reset(struct engine_stmt *s)
{
    PQclear(s->result);
    s->result = NULL;
    for (int i = 0; i < s->param_n; i++)
        s->value[i] = (struct sql_value){.type = SQL_NULL};
}

static void op_finalize(struct engine_stmt *s)
{
    if (!s)
        return;
    op_reset(s);
    if (s->connection && s->connection == s->engine->connection && PQstatus(s->engine->conn) == CONNECTION_OK) {
        char sql[32];
        snprintf(sql, sizeof(sql), "DEALLOCATE %s", s->name);
        PQclear(PQexec(s->engine->conn, sql));
    }
    free(s->sql);
    free(s);
}

static bool is_known_column(Oid type)
{
    return type == TYPE_BOOL || type == TYPE_BYTEA || type == TYPE_INT8 || type == TYPE_INT4 || type == TYPE_TEXT ||
           type == TYPE_FLOAT8;
}

static int check_columns(const PGresult *description, struct error *err)
{
    for (int i = 0; i < PQnfields(description); i++)
        if (!is_known_column(PQftype(description, i)))
            return error_set(err, ERR_INTERNAL, "column %d (%s) has the type %u, which the store does not read", i + 1,
                             PQfname(description, i), PQftype(description, i));
    return 0;
}

/* Reads the types that the server chose for the parameters; *ret_narrow when one is too small for our numbers: beside a
 * plain 0, PostgreSQL takes a parameter for 32 bits wide. */
static int describe(struct engine_stmt *s, bool *ret_narrow, struct error *err)
{
    PGresult *d = PQdescribePrepared(s->engine->conn, s->name);
    *ret_narrow = false;
    if (!is_good(d))
        return finish(s->engine, d, s->sql, err);
    int rc = check_columns(d, err);
    s->param_n = PQnparams(d);
    if (rc == 0 && s->param_n > PARAMS_MAX)
        rc = error_set(err, ERR_INTERNAL, "a statement has %d parameters, allowed are %d", s->param_n, PARAMS_MAX);
    for (int i = 0; rc == 0 && i < s->param_n; i++) {
        s->type[i] = PQparamtype(d, i);
        if (s->type[i] == TYPE_INT4 || s->type[i] == TYPE_INT2) {
            s->type[i] = TYPE_INT8;
            *ret_narrow = true;
        }
    }
    PQclear(d);
    return rc;
}

static int prepare_with(struct engine_stmt *s, int type_n, struct error *err)
{
    struct postgres_engine *e = s->engine;
    snprintf(s->name, sizeof(s->name), "s%u", ++e->last_name);
    return finish(e, PQprepare(e->conn, s->name, s->sql, type_n, s->type), s->sql, err);
}

static int prepare_here(struct engine_stmt *s, struct error *err)
{
    bool narrow;
    s->connection = 0;
    if (prepare_with(s, 0, err) < 0 || describe(s, &narrow, err) < 0)
        return -1;
    if (narrow && (prepare_with(s, s->param_n, err) < 0 || describe(s, &narrow, err) < 0))
        return -1;
    s->connection = s->engine->connection;
    return 0;
}

static int op_prepare(struct engine *base, const char *sql, struct engine_stmt **ret, struct error *err)
{
    struct engine_stmt *s = calloc(1, sizeof(*s));
    if (!s || !(s->sql = strdup(sql))) {
        free(s);
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    }
    s->engine = self(base);
    if (connected(s->engine, err) < 0 || prepare_here(s, err) < 0) {
        op_finalize(s);
        return -1;
    }
    *ret = s;
    return 0;
}

static int op_bind(struct engine_stmt *s, int index, const struct sql_value *v, struct error *err)
{
    if (index < 1 || index > s->param_n)
        return error_set(err, ERR_INTERNAL, "%s: there is no parameter %d", s->sql, index);
    s->value[index - 1] = *v;
    return 0;
}

/* Parameters in the form of the wire. */
struct wire {
    const char *value[PARAMS_MAX];
    int length[PARAMS_MAX], format[PARAMS_MAX];
    uint64_t number[PARAMS_MAX];
};

static void put_number(struct wire *w, int i, uint64_t bits)
{
    w->number[i] = htobe64(bits);
    w->value[i] = (const char *)&w->number[i];
    w->length[i] = 8;
}

static void put_real(struct wire *w, int i, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    put_number(w, i, bits);
}

static int put_value(const struct engine_stmt *s, struct wire *w, int i, struct error *err)
{
    const struct sql_value *v = &s->value[i];
    bool bytes = v->type == SQL_TEXT || v->type == SQL_BLOB;
    Oid type = s->type[i];
    w->format[i] = 1;
    if (v->type == SQL_NULL)
        return 0;
    if (v->type == SQL_INT && type == TYPE_INT8)
        put_number(w, i, (uint64_t)v->integer);
    else if (v->type == SQL_INT && type == TYPE_FLOAT8)
        put_real(w, i, (double)v->integer);
    else if (v->type == SQL_REAL && type == TYPE_FLOAT8)
        put_real(w, i, v->real);
    else if (bytes && v->n > INT32_MAX)
        return error_set(err, ERR_TOO_LARGE, "a value is too large for the database");
    else if (bytes && (type == TYPE_TEXT || type == TYPE_JSON || type == TYPE_BYTEA)) {
        w->value[i] = v->n ? v->data : "";
        w->length[i] = (int)v->n;
    } else
        return error_set(err, ERR_INTERNAL, "%s: parameter %d does not fit the type %u", s->sql, i + 1, type);
    return 0;
}

static void count_changes(struct postgres_engine *e, PGresult *result)
{
    if (strncmp(PQcmdStatus(result), "SELECT", 6) != 0)
        e->changes += strtoll(PQcmdTuples(result), NULL, 10);
}

static int execute_once(struct engine_stmt *s, struct error *err)
{
    struct postgres_engine *e = s->engine;
    struct wire w = {0};
    if (s->connection != e->connection && prepare_here(s, err) < 0)
        return -1;
    for (int i = 0; i < s->param_n; i++)
        if (put_value(s, &w, i, err) < 0)
            return -1;
    PGresult *result = PQexecPrepared(e->conn, s->name, s->param_n, w.value, w.length, w.format, 1);
    if (!is_good(result))
        return finish(e, result, s->sql, err);
    count_changes(e, result);
    s->result = result;
    s->row = -1;
    return 0;
}

/* A reader's single statement is run again when the connection turns out to be gone: it changes nothing. */
static int execute(struct engine_stmt *s, struct error *err)
{
    struct postgres_engine *e = s->engine;
    bool alone = PQtransactionStatus(e->conn) == PQTRANS_IDLE || PQstatus(e->conn) == CONNECTION_BAD;
    if (alone && connected(e, err) < 0)
        return -1;
    if (execute_once(s, err) == 0)
        return 0;
    if (e->writer || !alone || PQstatus(e->conn) == CONNECTION_OK)
        return -1;
    error_release(err);
    if (reconnect(e, err) < 0)
        return -1;
    e->base.failure &= ~(unsigned)ENGINE_AWAY;
    return execute_once(s, err);
}

static int op_step(struct engine_stmt *s, struct error *err)
{
    if (!s->result && execute(s, err) < 0)
        return -1;
    return ++s->row < PQntuples(s->result) ? 1 : 0;
}

/* ---- columns ---- */

static bool op_is_null(struct engine_stmt *s, int column) { return PQgetisnull(s->result, s->row, column); }

static uint64_t number_bits(const char *at, int size)
{
    uint64_t bits = 0;
    for (int i = 0; i < size; i++)
        bits = bits << 8 | (unsigned char)at[i];
    return bits;
}

static double float_of(const char *at)
{
    uint64_t bits = number_bits(at, 8);
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

static int64_t op_integer(struct engine_stmt *s, int column)
{
    const char *at = PQgetvalue(s->result, s->row, column);
    if (op_is_null(s, column))
        return 0;
    switch (PQftype(s->result, column)) {
    case TYPE_INT8: return (int64_t)number_bits(at, 8);
    case TYPE_INT4: return (int32_t)number_bits(at, 4);
    case TYPE_BOOL: return *at != 0;
    case TYPE_FLOAT8: return (int64_t)float_of(at);
    default: return 0;
    }
}

static double op_real(struct engine_stmt *s, int column)
{
    if (!op_is_null(s, column) && PQftype(s->result, column) == TYPE_FLOAT8)
        return float_of(PQgetvalue(s->result, s->row, column));
    return (double)op_integer(s, column);
}

static const void *op_data(struct engine_stmt *s, int column, size_t *ret_n)
{
    *ret_n = (size_t)PQgetlength(s->result, s->row, column);
    return op_is_null(s, column) ? NULL : PQgetvalue(s->result, s->row, column);
}

const struct engine_ops engine_postgres = {
    .name = "postgres",
    .dialect = SQL_POSTGRES,
    .open = op_open,
    .set_durability = op_set_durability,
    .close = op_close,
    .exec = op_exec,
    .begin = op_begin,
    .commit = op_commit,
    .in_transaction = op_in_transaction,
    .total_changes = op_total_changes,
    .prepare = op_prepare,
    .finalize = op_finalize,
    .bind = op_bind,
    .step = op_step,
    .reset = op_reset,
    .is_null = op_is_null,
    .integer = op_integer,
    .real = op_real,
    .data = op_data,
};
