/* One connection to the server: connecting, setting the connection's options, connecting again, and waiting for an
 * answer with a time limit. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/clock.h"
#include "store/engine/postgres.h"

enum {
    LOCK_TIMEOUT_MS = 5000,    /* how long a statement waits for the lock of another master that is ending */
    READ_TIMEOUT_MS = 60000,   /* for one statement of a reader */
    WRITE_TIMEOUT_MS = 300000, /* for one statement of the writer; deleting an experiment takes long */
    /* for a transaction that does nothing: its master is gone, and the transaction still holds the lock */
    IDLE_TIMEOUT_MS = 60000,
    ANSWER_GRACE_MS = 2000, /* how long we wait beyond a time-out, so that the server can report it first */
    RETRY_FIRST_MS = 50,
    RETRY_LAST_MS = 5000,
    VERSION_MIN = 130000, /* pg_current_xact_id exists from this version on */
};

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* Returns false if the time is over. */
static bool wait_readable(PGconn *conn, int64_t end_us)
{
    struct pollfd p = {.fd = PQsocket(conn), .events = POLLIN};
    int64_t left_us = end_us - clock_monotonic_us();
    int ms = !end_us ? -1 : left_us <= 0 ? 0 : (int)(left_us / 1000) + 1;
    return poll(&p, 1, ms) != 0;
}

/* A server that hangs, or a network that drops packets, does not answer. The socket is then shut down, which makes
 * libpq notice that the connection and its transaction are lost. */
PGresult *postgres_next_result(struct postgres_engine *e)
{
    int64_t end_us = e->timeout_ms ? clock_monotonic_us() + (e->timeout_ms + ANSWER_GRACE_MS) * 1000 : 0;
    while (PQstatus(e->conn) == CONNECTION_OK && PQisBusy(e->conn)) {
        if (!wait_readable(e->conn, end_us))
            shutdown(PQsocket(e->conn), SHUT_RDWR);
        if (!PQconsumeInput(e->conn))
            break;
    }
    return PQgetResult(e->conn);
}

PGresult *postgres_result(struct postgres_engine *e)
{
    PGresult *kept = NULL, *next;
    while ((next = postgres_next_result(e))) {
        bool keep = !kept || postgres_is_good(kept);
        PQclear(keep ? kept : next);
        kept = keep ? next : kept;
        if (PQresultStatus(next = kept) == PGRES_COPY_IN)
            break;
    }
    return kept;
}

PGresult *postgres_query(struct postgres_engine *e, const char *sql)
{
    e->round_trips++;
    return PQsendQuery(e->conn, sql) ? postgres_result(e) : NULL;
}

/* ---- a connection that was just made ----------------------------------------------------------------------------- */

static void ignore_notice(void *arg, const char *text)
{
    (void)arg;
    (void)text;
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

/* Reads the time-outs that an administrator has set for our role or our database. They replace ours. */
static int ask_own_timeouts(struct postgres_engine *e, struct error *err)
{
    PGresult *result = postgres_query(e, "SELECT setting FROM pg_settings WHERE name IN ('lock_timeout',"
                                         " 'statement_timeout') ORDER BY name");
    if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 2) {
        e->own_lock_timeout_ms = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
        e->own_timeout_ms = strtoll(PQgetvalue(result, 1, 0), NULL, 10);
    }
    return postgres_finish(e, result, "time-outs", err);
}

/* The settings also make the server notice soon that this master is gone: until then the master's last transaction
 * keeps the lock, and the next master has to wait. */
int postgres_configure(struct postgres_engine *e, struct error *err)
{
    char sql[480];
    int64_t ours = e->writer ? WRITE_TIMEOUT_MS : READ_TIMEOUT_MS;
    bool migrates = e->writer && !e->serving; /* migrations may take any time */
    e->lock_timeout_ms = e->own_lock_timeout_ms ? e->own_lock_timeout_ms : LOCK_TIMEOUT_MS;
    e->timeout_ms = migrates ? 0 : e->own_timeout_ms ? e->own_timeout_ms : ours;
    snprintf(sql, sizeof(sql),
             "SET client_min_messages = warning; SET lock_timeout = %lld; SET statement_timeout = %lld;"
             " SET idle_in_transaction_session_timeout = %d; SET tcp_keepalives_idle = 10;"
             " SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; SET tcp_user_timeout = 20000;"
             " SET default_transaction_read_only = %s; SET synchronous_commit = %s",
             (long long)e->lock_timeout_ms, (long long)e->timeout_ms, IDLE_TIMEOUT_MS, e->writer ? "off" : "on",
             e->durability == STORE_DURABLE_FULL ? "on" : "off");
    return postgres_finish(e, postgres_query(e, sql), "settings of the connection", err);
}

static int greet_server(struct postgres_engine *e, struct error *err)
{
    e->connection++;
    e->ahead_n = 0;
    if (check_server(e, err) < 0 || ask_own_timeouts(e, err) < 0)
        return -1;
    return postgres_configure(e, err);
}

/* ---- connecting -------------------------------------------------------------------------------------------------- */

/* The options let us notice a lost peer after 25 s of silence, or when data that we sent is not acknowledged for 20
 * s. The configuration's URI comes last and takes precedence. */
int postgres_connect(struct postgres_engine *e, const char *uri, struct error *err)
{
    static const char *const key[] = {"connect_timeout",
                                      "fallback_application_name",
                                      "client_encoding",
                                      "keepalives_idle",
                                      "keepalives_interval",
                                      "keepalives_count",
                                      "tcp_user_timeout",
                                      "target_session_attrs",
                                      "dbname",
                                      NULL};
    const char *const value[] = {"5",     "determined-master",           "UTF8", "10", "5", "3",
                                 "20000", e->writer ? "primary" : "any", uri,    NULL};
    e->conn = PQconnectdbParams(key, value, 1);
    if (!e->conn)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    if (PQstatus(e->conn) != CONNECTION_OK)
        return postgres_fail_connect(e, err);
    PQsetNoticeProcessor(e->conn, ignore_notice, NULL);
    return greet_server(e, err);
}

int postgres_reconnect(struct postgres_engine *e, struct error *err)
{
    if (clock_monotonic_us() < e->retry_us)
        return postgres_fail_away(e, err);
    PQreset(e->conn);
    if (PQstatus(e->conn) == CONNECTION_OK && greet_server(e, err) == 0) {
        e->retry_us = e->retry_pause_ms = 0;
        e->base.failure &= ~(unsigned)ENGINE_AWAY;
        return 0;
    }
    e->retry_pause_ms = e->retry_pause_ms ? e->retry_pause_ms * 2 : RETRY_FIRST_MS;
    if (e->retry_pause_ms > RETRY_LAST_MS)
        e->retry_pause_ms = RETRY_LAST_MS;
    e->retry_us = clock_monotonic_us() + e->retry_pause_ms * INT64_C(1000);
    return postgres_fail_away(e, err);
}

int postgres_connected(struct postgres_engine *e, struct error *err)
{
    if (PQstatus(e->conn) == CONNECTION_OK)
        return 0;
    return e->open ? postgres_fail_away(e, err) : postgres_reconnect(e, err);
}
