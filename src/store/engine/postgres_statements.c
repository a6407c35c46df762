/* Statements: they are prepared once on each connection, run, and their rows are read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "store/engine/postgres.h"

/* ---- preparing --------------------------------------------------------------------------------------------------- */

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

/* Reads the types that the server chose for the parameters. *ret_narrow is set when a type is too small for our
 * numbers: next to a plain 0, PostgreSQL takes a parameter to be 32 bits wide. */
static int read_description(struct engine_stmt *s, const PGresult *d, bool *ret_narrow, struct error *err)
{
    if (check_columns(d, err) < 0)
        return -1;
    s->param_n = PQnparams(d);
    if (s->param_n > POSTGRES_PARAMS_MAX)
        return error_set(err, ERR_INTERNAL, "a statement has %d parameters, allowed are %d", s->param_n,
                         POSTGRES_PARAMS_MAX);
    for (int i = 0; i < s->param_n; i++) {
        s->type[i] = PQparamtype(d, i);
        if (s->type[i] == TYPE_INT4 || s->type[i] == TYPE_INT2) {
            s->type[i] = TYPE_INT8;
            *ret_narrow = true;
        }
    }
    return 0;
}

static int prepare_with(struct engine_stmt *s, int type_n, bool *ret_narrow, struct error *err)
{
    struct postgres_engine *e = s->engine;
    *ret_narrow = false;
    snprintf(s->name, sizeof(s->name), "s%u", ++e->last_name);
    e->round_trips += 2;
    PGresult *r = PQsendPrepare(e->conn, s->name, s->sql, type_n, s->type) ? postgres_result(e) : NULL;
    if (postgres_finish(e, r, s->sql, err) < 0)
        return -1;
    PGresult *d = PQsendDescribePrepared(e->conn, s->name) ? postgres_result(e) : NULL;
    if (!postgres_is_good(d))
        return postgres_finish(e, d, s->sql, err);
    int rc = read_description(s, d, ret_narrow, err);
    PQclear(d);
    return rc;
}

static int prepare_here(struct engine_stmt *s, struct error *err)
{
    bool narrow;
    s->connection = 0;
    if (postgres_settle(s->engine, NULL, err) < 0 || prepare_with(s, 0, &narrow, err) < 0)
        return -1;
    if (narrow && prepare_with(s, s->param_n, &narrow, err) < 0)
        return -1;
    s->connection = s->engine->connection;
    return 0;
}

int postgres_prepare(struct engine *base, const char *sql, struct engine_stmt **ret, struct error *err)
{
    struct engine_stmt *s = must_calloc(1, sizeof(*s));
    s->sql = must_strdup(sql);
    s->engine = postgres_of(base);
    s->reads = strncmp(s->sql, "SELECT", 6) == 0;
    if (postgres_connected(s->engine, err) < 0 || prepare_here(s, err) < 0) {
        postgres_finalize(s);
        return -1;
    }
    *ret = s;
    return 0;
}

void postgres_finalize(struct engine_stmt *s)
{
    if (!s)
        return;
    struct postgres_engine *e = s->engine;
    postgres_reset(s);
    postgres_forget_text(e, s->sql);
    if (s->connection && s->connection == e->connection && PQstatus(e->conn) == CONNECTION_OK) {
        char sql[32];
        snprintf(sql, sizeof(sql), "DEALLOCATE %s", s->name);
        postgres_send_text(e, sql, "DEALLOCATE", NULL);
    }
    free(s->sql);
    free(s);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

int postgres_bind(struct engine_stmt *s, int index, const struct sql_value *v, struct error *err)
{
    if (index < 1 || index > s->param_n)
        return error_set(err, ERR_INTERNAL, "%s: there is no parameter %d", s->sql, index);
    s->value[index - 1] = *v;
    return 0;
}

static int execute_once(struct engine_stmt *s, struct error *err)
{
    struct postgres_engine *e = s->engine;
    if (s->connection != e->connection && prepare_here(s, err) < 0)
        return -1;
    if (postgres_send_stmt(s, err) < 0 || postgres_settle(e, &s->result, err) < 0)
        return -1;
    s->row = -1;
    return 0;
}

/* A reader's single statement is run again if the connection turns out to be lost, since the statement changes
 * nothing. */
static int execute_statement(struct engine_stmt *s, struct error *err)
{
    struct postgres_engine *e = s->engine;
    if (postgres_connected(e, err) < 0)
        return -1;
    if (execute_once(s, err) == 0)
        return 0;
    if (e->writer || e->open || PQstatus(e->conn) == CONNECTION_OK)
        return -1;
    error_release(err);
    return postgres_reconnect(e, err) < 0 ? -1 : execute_once(s, err);
}

int postgres_step(struct engine_stmt *s, struct error *err)
{
    if (!s->result && execute_statement(s, err) < 0)
        return -1;
    return ++s->row < PQntuples(s->result) ? 1 : 0;
}

int postgres_send(struct engine_stmt *s, struct error *err)
{
    struct postgres_engine *e = s->engine;
    if (!e->open)
        return postgres_step(s, err) < 0 ? -1 : 0;
    if (postgres_connected(e, err) < 0 || (s->connection != e->connection && prepare_here(s, err) < 0))
        return -1;
    return postgres_send_stmt(s, err);
}

int64_t postgres_changes(struct engine_stmt *s)
{
    bool writes = s->result && strncmp(PQcmdStatus(s->result), "SELECT", 6) != 0;
    return writes ? strtoll(PQcmdTuples(s->result), NULL, 10) : 0;
}

void postgres_reset(struct engine_stmt *s)
{
    PQclear(s->result);
    s->result = NULL;
    for (int i = 0; i < s->param_n; i++)
        s->value[i] = (struct sql_value){.type = SQL_NULL};
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

bool postgres_is_null(struct engine_stmt *s, int column)
{
    return PQgetisnull(s->result, s->row, column);
}

int64_t postgres_integer(struct engine_stmt *s, int column)
{
    const char *at = PQgetvalue(s->result, s->row, column);
    if (postgres_is_null(s, column))
        return 0;
    switch (PQftype(s->result, column)) {
    case TYPE_INT8:
        return postgres_get_integer(at, 8);
    case TYPE_INT4:
        return postgres_get_integer(at, 4);
    case TYPE_BOOL:
        return *at != 0;
    case TYPE_FLOAT8:
        return (int64_t)postgres_get_real(at);
    default:
        return 0;
    }
}

double postgres_real(struct engine_stmt *s, int column)
{
    if (!postgres_is_null(s, column) && PQftype(s->result, column) == TYPE_FLOAT8)
        return postgres_get_real(PQgetvalue(s->result, s->row, column));
    return (double)postgres_integer(s, column);
}

const void *postgres_data(struct engine_stmt *s, int column, size_t *ret_n)
{
    *ret_n = (size_t)PQgetlength(s->result, s->row, column);
    return postgres_is_null(s, column) ? NULL : PQgetvalue(s->result, s->row, column);
}
