/* Reports the errors of PostgreSQL with the kinds and flags of store.h. */
#include <stdio.h>
#include <string.h>

#include "store/engine/postgres.h"

static int line_n(const char *text)
{
    return (int)strcspn(text, "\n");
} /* libpq's messages end with a line feed */

static bool is_class(const char *state, const char *class)
{
    return strncmp(state, class, strlen(class)) == 0;
}

/* ---- connections that could not be made -------------------------------------------------------------------------- */

/* libpq gives no SQLSTATE when a connection is refused, so the words of its message are looked at. They only choose
 * the advice that is added. */
static const struct {
    const char *words, *advice;
} advices[] = {
    {"too many clients", ": the master needs four connections, raise max_connections or find who holds them"},
    {"remaining connection slots", ": the master needs four connections, raise max_connections or find who holds them"},
    {"too many connections for", ": the master needs four connections, raise the limit of the role or of the database"},
    {"password authentication failed", ": check db.user and db.password"},
    {"no password supplied", ": set db.password"},
    {"hot standby", ": it takes no writes, db.host must name the primary"},
    {"read-only", ": it takes no writes, db.host must name the primary"},
    {"does not exist", ": check db.name and db.user (createdb -E UTF8 -T template0 NAME)"},
};

static const char *advice_for(const char *text)
{
    for (size_t i = 0; i < sizeof(advices) / sizeof(*advices); i++)
        if (strstr(text, advices[i].words))
            return advices[i].advice;
    return "";
}

int postgres_fail_connect(struct postgres_engine *e, struct error *err)
{
    const char *text = PQerrorMessage(e->conn);
    return error_set(err, ERR_UNAVAILABLE, "no connection: %.*s%s", line_n(text), text, advice_for(text));
}

int postgres_fail_away(struct postgres_engine *e, struct error *err)
{
    const char *text = PQerrorMessage(e->conn);
    e->base.failure |= ENGINE_AWAY;
    return error_set(err, ERR_UNAVAILABLE, "the database server is away, the master goes on when it is back: %.*s%s",
                     line_n(text), text, advice_for(text));
}

/* ---- statements that failed -------------------------------------------------------------------------------------- */

/* Finds the name that error.h gives the constraint. PostgreSQL gives the name projects_workspace_id_name_key to the
 * constraint that error.h calls projects.workspace_id_name. A name of any other form is that of an index, and is
 * returned unchanged. */
static void name_unique(const char *table, const char *name, char ret[ERROR_CONSTRAINT_NAME_MAX])
{
    size_t table_n = strlen(table), n = strlen(name);
    if (strncmp(name, table, table_n) == 0 && name[table_n] == '_' && n > table_n + 5 &&
        strcmp(name + n - 4, "_key") == 0)
        snprintf(ret, ERROR_CONSTRAINT_NAME_MAX, "%s.%.*s", table, (int)(n - table_n - 5), name + table_n + 1);
    else
        snprintf(ret, ERROR_CONSTRAINT_NAME_MAX, "%s", name);
}

static bool is_primary_key(const char *table, const char *name)
{
    size_t n = strlen(table);
    return strncmp(name, table, n) == 0 && strcmp(name + n, "_pkey") == 0;
}

static int fail_conflict(const PGresult *result, const char *state, const char *text, struct error *err)
{
    const char *table = PQresultErrorField(result, PG_DIAG_TABLE_NAME);
    const char *name = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
    char unique[ERROR_CONSTRAINT_NAME_MAX];
    if (strcmp(state, "23503") == 0)
        return error_set_constraint(err, CONSTRAINT_FOREIGN_KEY, "", "%s", text);
    if (strcmp(state, "23505") != 0)
        return error_set_constraint(err, CONSTRAINT_OTHER, "", "%s", text);
    if (table && name && is_primary_key(table, name))
        return error_set_constraint(err, CONSTRAINT_PRIMARY_KEY, table, "%s", text);
    name_unique(table ? table : "", name ? name : "", unique);
    return error_set_constraint(err, CONSTRAINT_UNIQUE, unique, "%s", text);
}

/* Errors that pass by themselves: the writer rolls back and tries the same group again. */
static const struct {
    const char *state;
    enum engine_failure failure;
    const char *sentence;
} passing[] = {
    {"53100", ENGINE_FULL, "the disk that holds the database is full: make room, the master goes on by itself"},
    {"40", ENGINE_AWAY, "the database asks to try again"}, /* for example a failed serialization or a deadlock */
    {"25006", ENGINE_AWAY, "the database takes no writes for now"},
    {"55P03", ENGINE_AWAY, "the database stays locked by somebody else (is a second master running on it?)"},
};

static int fail_for_now(struct postgres_engine *e, const char *state, const char *text, struct error *err)
{
    for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++) {
        if (!is_class(state, passing[i].state))
            continue;
        e->base.failure |= passing[i].failure;
        error_set(err, ERR_UNAVAILABLE, "%s: %s", passing[i].sentence, text);
        return 1;
    }
    return 0;
}

/* Reports that the server refused the statement because of its form or its values. */
static int fail_statement(struct postgres_engine *e, const char *state, const char *text, const char *doing,
                          struct error *err)
{
    if (strcmp(state, "57014") == 0)
        return error_set(err, ERR_UNAVAILABLE, "the database took more than %g s for one statement",
                         (double)e->timeout_ms / 1000);
    if (strcmp(state, "53200") == 0)
        return error_set(err, ERR_NO_MEMORY, "the database server is out of memory: %s", text);
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

int postgres_fail(struct postgres_engine *e, const PGresult *result, const char *doing, struct error *err)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (PQstatus(e->conn) == CONNECTION_BAD || !state || !text || is_class(state, "08") || is_class(state, "57P0"))
        return postgres_fail_away(e, err);
    if (is_class(state, "23"))
        return fail_conflict(result, state, text, err);
    if (e->writer && fail_for_now(e, state, text, err))
        return -1;
    return fail_statement(e, state, text, doing, err);
}

bool postgres_is_good(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
}

int postgres_finish(struct postgres_engine *e, PGresult *result, const char *doing, struct error *err)
{
    int rc = postgres_is_good(result) ? 0 : postgres_fail(e, result, doing, err);
    PQclear(result);
    return rc;
}
