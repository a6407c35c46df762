/* PostgreSQL as an engine: transactions, and finding out whether a commit took place when the connection was lost
 * during it. The rest is in postgres_*.c (postgres.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/must.h"
#include "store/engine/postgres.h"

enum {
    COMMIT_PATIENCE_S = 60, /* how long a commit waits for the server to come back and tell whether it took place */
    ASK_PAUSE_US = 50000,
};
#define WRITER_LOCK "pg_advisory_xact_lock(4919360147)"

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void op_close(struct engine *base)
{
    if (!base)
        return;
    PQfinish(postgres_of(base)->conn);
    free(base);
}

static int op_open(const char *uri, bool writer, struct engine **ret, struct error *err)
{
    struct postgres_engine *e = must_calloc(1, sizeof(*e));
    e->base.ops = &engine_postgres;
    e->writer = writer;
    e->durability = STORE_DURABLE_NORMAL;
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
        free(e);
        return error_errno(err, "no random bytes");
    }
    snprintf(e->mark_of, sizeof(e->mark_of), "%llx", (unsigned long long)random);
    if (postgres_connect(e, uri, err) < 0) {
        op_close(&e->base);
        return -1;
    }
    *ret = &e->base;
    return 0;
}

/* When the durability is raised, earlier commits need nothing: a durable commit flushes the log up to itself, and
 * with it what was committed before without a flush. */
static int op_set_durability(struct engine *base, enum store_durability durability, struct error *err)
{
    struct postgres_engine *e = postgres_of(base);
    e->durability = durability;
    e->serving = true;
    return postgres_settle(e, NULL, err) < 0 ? -1 : postgres_configure(e, err);
}

static int op_exec(struct engine *base, const char *sql, struct error *err)
{
    struct postgres_engine *e = postgres_of(base);
    if (postgres_settle(e, NULL, err) < 0)
        return -1;
    return postgres_finish(e, postgres_query(e, sql), sql, err);
}

/* ---- transactions ------------------------------------------------------------------------------------------------ */

/* A transaction that was lost with its connection still counts as open, so that nothing is run outside of it until
 * the caller has rolled it back. */
static bool op_in_transaction(const struct engine *base)
{
    return postgres_of(base)->open;
}

static void op_rollback(struct engine *base)
{
    struct postgres_engine *e = postgres_of(base);
    postgres_settle(e, NULL, NULL);
    if (PQtransactionStatus(e->conn) == PQTRANS_INTRANS || PQtransactionStatus(e->conn) == PQTRANS_INERROR)
        PQclear(postgres_query(e, "ROLLBACK"));
    e->open = false;
}

/* Each write transaction writes a mark of its own into one row. When the connection is lost during a commit, the row
 * says whether the commit took place. pg_xact_status() cannot say so: it knows nothing of a transaction that was
 * lost in a crash of the server, or it speaks of a later transaction that has got the same number. Migrations leave
 * no mark, since there are no tables yet. */
#define MARK_KEY "store.commit"

static int begin_write(struct postgres_engine *e, struct error *err)
{
    cleanup_strbuf struct strbuf sql = STRBUF_INIT;
    uint64_t mark = ++e->last_mark;
    strbuf_adds(&sql, "BEGIN; SELECT " WRITER_LOCK);
    if (e->serving)
        strbuf_addf(&sql,
                    "; INSERT INTO kv (key, value) VALUES ('" MARK_KEY "', '%s-%llu') ON CONFLICT (key) DO UPDATE"
                    " SET value = excluded.value",
                    e->mark_of, (unsigned long long)mark);
    if (e->ask)
        strbuf_addf(&sql, "; %s", e->ask);
    PGresult *result = postgres_query(e, sql.s);
    if (e->ask && PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1)
        /* results of statements without parameters are texts */
        e->answer = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    if (postgres_finish(e, result, "BEGIN", err) < 0)
        return -1;
    if (e->serving)
        e->mark = mark;
    return 0;
}

static int begin_once(struct postgres_engine *e, bool write, struct error *err)
{
    e->mark = 0;
    int rc = write ? begin_write(e, err) : op_exec(&e->base, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", err);
    if (rc < 0)
        op_rollback(&e->base);
    e->open = rc == 0;
    return rc;
}

/* A connection that was lost while it was idle is noticed only when it is used next. Nothing has been lost with it
 * then, so the transaction is begun again over a new connection. */
static int op_begin(struct engine *base, bool write, struct error *err)
{
    struct postgres_engine *e = postgres_of(base);
    postgres_settle(e, NULL, NULL);
    if (PQstatus(e->conn) == CONNECTION_OK) {
        if (begin_once(e, write, err) == 0)
            return 0;
        if (PQstatus(e->conn) == CONNECTION_OK)
            return -1;
        error_release(err);
    }
    return postgres_reconnect(e, err) < 0 ? -1 : begin_once(e, write, err);
}

static int op_begin_asking(struct engine *base, const char *ask, int64_t *ret, struct error *err)
{
    struct postgres_engine *e = postgres_of(base);
    e->ask = ask;
    e->answer = 0;
    int rc = op_begin(base, true, err);
    e->ask = NULL;
    *ret = e->answer;
    return rc;
}

/* ---- the end of a commit ----------------------------------------------------------------------------------------- */

/* Returns 1 if the transaction is committed, 0 if it is not, and -1 if the server cannot tell yet. Taking the
 * writer's lock waits until the server has ended the lost connection's session, which may still be committing. */
static int ask_what_became(struct postgres_engine *e)
{
    char sql[256];
    if (postgres_connected(e, NULL) < 0)
        return -1;
    snprintf(sql, sizeof(sql),
             "BEGIN; SELECT " WRITER_LOCK "; SELECT count(*)::text FROM kv WHERE key = '" MARK_KEY
             "' AND value = '%s-%llu'",
             e->mark_of, (unsigned long long)e->mark);
    PGresult *result = postgres_query(e, sql);
    int rc = PQresultStatus(result) == PGRES_TUPLES_OK ? PQgetvalue(result, 0, 0)[0] == '1' : -1;
    PQclear(result);
    PQclear(postgres_query(e, "ROLLBACK"));
    return rc;
}

/* Finds out whether a commit took place when the connection was lost during it. If the commit took place, writing
 * again would double what it wrote, and reporting a failure would be wrong; only the server knows. */
static int resolve_commit(struct postgres_engine *e, struct error *err)
{
    int64_t end_us = clock_monotonic_us() + COMMIT_PATIENCE_S * INT64_C(1000000);
    int known;
    while ((known = ask_what_became(e)) < 0 && clock_monotonic_us() < end_us)
        usleep(ASK_PAUSE_US);
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
    struct postgres_engine *e = postgres_of(base);
    cleanup_error struct error why = ERROR_INIT;
    PGresult *result = NULL;
    int rc = postgres_send_text(e, "COMMIT", "COMMIT", &why);
    if (rc == 0)
        rc = postgres_settle(e, &result, &why);
    bool rolled_back = rc == 0 && strcmp(PQcmdStatus(result), "ROLLBACK") == 0;
    PQclear(result);
    if (PQstatus(e->conn) == CONNECTION_BAD && e->mark) {
        e->open = false;
        return resolve_commit(e, err);
    }
    if (rc < 0) {
        error_move(err, &why);
        return -1;
    }
    e->open = false;
    /* If a statement fails, and no savepoint undoes it, the transaction cannot be committed. */
    return rolled_back ? error_set(err, ERR_INTERNAL, "COMMIT: a statement of the transaction has failed") : 0;
}

/* ---- savepoints -------------------------------------------------------------------------------------------------- */

/* A savepoint takes two statements and a transaction number of its own, which is much for a small job. Jobs that run
 * with trust (store_trust()) have no savepoint. */
static int op_savepoint(struct engine *base, struct error *err)
{
    struct postgres_engine *e = postgres_of(base);
    e->job_wrote = false;
    return e->trusting ? 0 : postgres_send_text(e, "SAVEPOINT job", "SAVEPOINT", err);
}

static void op_trust(struct engine *base, bool trusting)
{
    postgres_of(base)->trusting = trusting;
}

/* A failure of a statement that the job sent ahead has to be reported as this job's. Without trust the release waits
 * for the results; with trust a failure is noticed later. */
static int op_release(struct engine *base, struct error *err)
{
    struct postgres_engine *e = postgres_of(base);
    if (!e->trusting && postgres_send_text(e, "RELEASE job", "RELEASE", err) < 0)
        return -1;
    if (e->ahead_of_job && !e->trusting)
        return postgres_settle(e, NULL, err);
    e->ahead_released = e->ahead_n;
    return 0;
}

/* Ends a job that failed and has no savepoint. This is possible only if the job has changed nothing. */
static int leave_job(struct postgres_engine *e, struct error *err)
{
    if (!e->job_wrote && PQstatus(e->conn) == CONNECTION_OK && PQtransactionStatus(e->conn) != PQTRANS_INERROR)
        return 0;
    e->base.failure |= ENGINE_TANGLED;
    return error_set(err, ERR_INTERNAL, "a job that has changed something cannot be taken back alone");
}

/* Rolling back to the savepoint also undoes what was sent ahead. If the connection is lost, the ROLLBACK fails. */
static int op_rollback_to(struct engine *base, struct error *err)
{
    if (postgres_of(base)->trusting)
        return leave_job(postgres_of(base), err);
    postgres_settle(postgres_of(base), NULL, NULL);
    return op_exec(base, "ROLLBACK TO job; RELEASE job", err);
}

/* The author is a setting of the transaction. A rollback to a savepoint brings back what was set before it. */
static int op_act_as(struct engine *base, const char *author, struct error *err)
{
    struct postgres_engine *e = postgres_of(base);
    cleanup_strbuf struct strbuf sql = STRBUF_INIT;
    char *text = PQescapeLiteral(e->conn, author ? author : "", author ? strlen(author) : 0);
    if (!text)
        return PQstatus(e->conn) == CONNECTION_BAD
                   ? postgres_fail_away(e, err)
                   : error_set(err, ERR_INTERNAL, "the author of a change can't be sent");
    strbuf_addf(&sql, "SELECT set_config('det.actor', %s, true)", text);
    PQfreemem(text);
    return postgres_send_text(e, sql.s, "the author of a change", err);
}

static int op_settle(struct engine *base, struct error *err)
{
    return postgres_settle(postgres_of(base), NULL, err);
}

const struct engine_ops engine_postgres = {
    .name = "postgres",
    .dialect = SQL_POSTGRES,
    .open = op_open,
    .set_durability = op_set_durability,
    .close = op_close,
    .exec = op_exec,
    .begin = op_begin,
    .begin_asking = op_begin_asking,
    .trust = op_trust,
    .act_as = op_act_as,
    .commit = op_commit,
    .rollback = op_rollback,
    .savepoint = op_savepoint,
    .release = op_release,
    .rollback_to = op_rollback_to,
    .in_transaction = op_in_transaction,
    .prepare = postgres_prepare,
    .finalize = postgres_finalize,
    .bind = postgres_bind,
    .step = postgres_step,
    .send = postgres_send,
    .settle = op_settle,
    .copy = postgres_copy,
    .changes = postgres_changes,
    .reset = postgres_reset,
    .is_null = postgres_is_null,
    .integer = postgres_integer,
    .real = postgres_real,
    .data = postgres_data,
};
