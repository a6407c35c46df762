/* PostgreSQL through libpq: what the files postgres_*.c share. Parameters and columns travel in binary form.
 *
 *     postgres_errors.c       SQLSTATE → the failures of store.h
 *     postgres_connection.c   connecting, what a connection is told, connecting again; waiting for an answer
 *     postgres_pipeline.c     statements that are sent ahead, and COPY
 *     postgres_statements.c   preparing and running statements, reading their rows
 *     postgres_wire.c         values in the form of the wire
 *     engine_postgres.c       transactions, and the table of operations
 *
 * Two things that SQLite has by itself are made here. There is one writer at a time: each write transaction takes an
 * advisory lock. And a connection that was lost is opened again, at the beginning of the next transaction or single
 * read. It is never opened again within a transaction, since the first half of the transaction was lost with the
 * connection. */
#ifndef DET_STORE_ENGINE_POSTGRES_H
#define DET_STORE_ENGINE_POSTGRES_H

#include <libpq-fe.h>

#include "common/base/strbuf.h"
#include "store/engine/engine.h"

enum {
    POSTGRES_PARAMS_MAX = 128,
    POSTGRES_AHEAD_MAX = 256, /* so many statements are sent ahead at most before the results are waited for */
};

/* Types by their fixed numbers in the server's pg_type.dat. */
enum postgres_type {
    TYPE_BOOL = 16,
    TYPE_BYTEA = 17,
    TYPE_INT8 = 20,
    TYPE_INT2 = 21,
    TYPE_INT4 = 23,
    TYPE_TEXT = 25,
    TYPE_JSON = 114,
    TYPE_FLOAT8 = 701,
};

struct postgres_engine {
    struct engine base;
    PGconn *conn;
    bool writer;
    bool serving; /* set_durability was called: time-outs apply from then on */
    bool open;    /* the caller has begun a transaction and not ended it; the connection may be lost meanwhile */
    enum store_durability durability;
    unsigned connection; /* the number of the current connection; a prepared statement belongs to one connection */
    unsigned last_name;
    /* the mark of the open write transaction, 0: none; and the last mark given */
    uint64_t mark, last_mark;
    /* the first part of each mark, made at random for each engine, so that no other engine has the same marks */
    char mark_of[24];
    /* time-outs that the server has set for the role or the database; 0: none is set, and ours apply */
    int64_t own_timeout_ms, own_lock_timeout_ms;
    int64_t timeout_ms, lock_timeout_ms; /* the time-outs in force for a statement; 0: there is none */
    int64_t retry_us; /* when a lost connection may be tried again; retry_pause_ms is the pause after that */
    int retry_pause_ms;
    const char *ahead[POSTGRES_AHEAD_MAX]; /* the texts of the statements whose results have not been read yet */
    int ahead_n;
    int ahead_released; /* so many of these statements belong to savepoints that were released */
    bool ahead_of_job;  /* among `ahead` is a statement of a job, not only those that begin and end savepoints */
    bool trusting;      /* jobs have no savepoints, and the end of a job does not wait for results */
    bool job_wrote;     /* the job has sent something other than a SELECT, and so may have changed something */
    const char *ask;    /* the SELECT that goes with the beginning of a write transaction, and its answer */
    int64_t answer;
    unsigned long round_trips; /* how often the server's answer was waited for; connecting is not counted */
};

struct engine_stmt {
    struct postgres_engine *engine;
    char *sql, name[16];
    bool reads;          /* the statement is a SELECT, which changes nothing */
    unsigned connection; /* the connection on which it is prepared; 0: it is not prepared yet */
    int param_n;
    Oid type[POSTGRES_PARAMS_MAX];
    struct sql_value value[POSTGRES_PARAMS_MAX];
    PGresult *result; /* the result whose rows are being read */
    int row;
};

static inline struct postgres_engine *postgres_of(const struct engine *base)
{
    return (struct postgres_engine *)base;
}

/* ---- postgres_errors.c: all return -1 ---------------------------------------------------------------------------- */

int postgres_fail(struct postgres_engine *e, const PGresult *result, const char *doing, struct error *err);
/* for a connection that could not be made at all */
int postgres_fail_connect(struct postgres_engine *e, struct error *err);
int postgres_fail_away(struct postgres_engine *e, struct error *err);
bool postgres_is_good(const PGresult *result);
/* Takes over the result. Returns 0 if the result is good. */
int postgres_finish(struct postgres_engine *e, PGresult *result, const char *doing, struct error *err);

/* ---- postgres_connection.c --------------------------------------------------------------------------------------- */

int postgres_connect(struct postgres_engine *e, const char *uri, struct error *err);
/* Connects again, but not before a pause that doubles with each attempt, so that a server that has just started is not
 * flooded. */
int postgres_reconnect(struct postgres_engine *e, struct error *err);
/* Returns 0 if there is a connection or one can be made. No connection is made within a transaction. */
int postgres_connected(struct postgres_engine *e, struct error *err);
/* Sets the connection's time-outs and durability. */
int postgres_configure(struct postgres_engine *e, struct error *err);
/* Returns the next result of what was sent; NULL after the last one. If the server has not answered when the
 * statement's time is over, the connection is closed. */
PGresult *postgres_next_result(struct postgres_engine *e);
/* Reads all results, and returns the first bad one, else the last. */
PGresult *postgres_result(struct postgres_engine *e);
PGresult *postgres_query(struct postgres_engine *e, const char *sql); /* several statements without parameters */

/* ---- postgres_pipeline.c ----------------------------------------------------------------------------------------- */

/* `doing` names the statement in messages; the text must live until the statement is settled. */
int postgres_send_text(struct postgres_engine *e, const char *text, const char *doing, struct error *err);
/* the statement must be prepared on this connection */
int postgres_send_stmt(struct engine_stmt *s, struct error *err);
/* Waits for everything that was sent. *ret_last receives the last result, only if all results were good; ret_last
 * may be NULL. */
int postgres_settle(struct postgres_engine *e, PGresult **ret_last, struct error *err);
/* Is called before a statement is freed. If its text is still among what was sent, another text takes its place. */
void postgres_forget_text(struct postgres_engine *e, const char *text);
int postgres_copy(struct engine *base, const char *into, const struct engine_rows *rows, struct error *err);

/* ---- postgres_statements.c: operations of engine.h --------------------------------------------------------------- */

int postgres_prepare(struct engine *base, const char *sql, struct engine_stmt **ret, struct error *err);
void postgres_finalize(struct engine_stmt *s);
int postgres_bind(struct engine_stmt *s, int index, const struct sql_value *v, struct error *err);
int postgres_step(struct engine_stmt *s, struct error *err);
int postgres_send(struct engine_stmt *s, struct error *err);
int64_t postgres_changes(struct engine_stmt *s);
void postgres_reset(struct engine_stmt *s);
bool postgres_is_null(struct engine_stmt *s, int column);
int64_t postgres_integer(struct engine_stmt *s, int column);
double postgres_real(struct engine_stmt *s, int column);
const void *postgres_data(struct engine_stmt *s, int column, size_t *ret_n);

/* ---- postgres_wire.c --------------------------------------------------------------------------------------------- */

struct postgres_params {
    const char *value[POSTGRES_PARAMS_MAX];
    int length[POSTGRES_PARAMS_MAX], format[POSTGRES_PARAMS_MAX];
    uint64_t number[POSTGRES_PARAMS_MAX];
};
/* Adds parameter i of the statement; its bytes are borrowed from the value. */
int postgres_put_param(const struct engine_stmt *s, struct postgres_params *w, int i, struct error *err);
int64_t postgres_get_integer(const char *at, int size);
double postgres_get_real(const char *at);
/* postgres_copy_…() write rows in the binary form of COPY. */
void postgres_copy_header(struct strbuf *out);
int postgres_copy_row(const struct sql_value *value, size_t n, struct strbuf *out, struct error *err);
void postgres_copy_trailer(struct strbuf *out);

#endif
