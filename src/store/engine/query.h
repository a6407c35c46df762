/* Within the store: running named statements (queries/NAME.sql, constants Q_… made by tools/gen-sql).
 *
 *     query_exec(st, Q_SESSIONS_REVOKE_OF_USER, SQL_ARGS(sql_int(user_id)), NULL, err)
 *
 * A function that would only do that is not written by hand: `-- function:` below the statement's name declares it
 * (store/functions.h, tools/sql_functions.py).
 *
 * Records are declared as rows in queries/NAME.sql. The functions that read and bind them are made from that, in
 * store/row_io.h:
 *
 *     get_users_by_id(st, SQL_ARGS(sql_int(id)), a, &user, err)           1, 0 (there is no such row) or -1
 *     list_users_of_team(st, SQL_ARGS(sql_int(team)), a, &list, &n, err)  all of them, in the arena
 *     query_exec(st, Q_PROJECTS_INSERT, ARGS_PROJECTS_INSERT(&project), NULL, err)
 *
 * Lists whose filters are optional are composed from fragments (F_…), each of which has its own $1, $2 …:
 *
 *     struct compose c = COMPOSE_INIT;
 *     compose_add(&c, F_USERS_ACTIVE, SQL_ARGS(sql_bool(true)));
 *     query_all_composed(st, &c, …);
 *
 * When much is written, a round trip to a server costs more than a small statement. query_send() does not wait for the
 * server's answer, and query_copy() writes rows of one table, one or a million, as fast as the engine can (by a COPY,
 * or by one statement that is run for each row):
 *
 *     query_send(st, Q_JOBS_PUT, SQL_ARGS(…), err)
 *
 *     -- copy: log_blocks (task_id, first_id, lines)                                  in queries/NAME.sql: C_LOG_BLOCKS
 *     static void fill(void *ctx, size_t i, struct sql_value *ret);                   ret[0], ret[1], ret[2] of row i
 *     query_copy(st, C_LOG_BLOCKS, &(struct engine_rows){.column_n = 3, .row_n = n, .fill = fill, .ctx = x}, err)
 *
 * Statements are prepared once for each connection. A statement must not be run again while its rows are being read. */
#ifndef DET_STORE_ENGINE_QUERY_H
#define DET_STORE_ENGINE_QUERY_H

#include <string.h>

#include "common/base/strbuf.h"
#include "store/engine/engine.h"
#include "store/sql.h"

struct sql_args {
    const struct sql_value *value;
    size_t n;
};
#define SQL_ARGS(...) \
    ((struct sql_args){(const struct sql_value[]){__VA_ARGS__}, \
                       sizeof((const struct sql_value[]){__VA_ARGS__}) / sizeof(struct sql_value)})
#define SQL_NO_ARGS ((struct sql_args){NULL, 0})

static inline struct sql_value sql_null(void)
{
    return (struct sql_value){.type = SQL_NULL};
}
static inline struct sql_value sql_int(int64_t v)
{
    return (struct sql_value){.type = SQL_INT, .integer = v};
}
static inline struct sql_value sql_bool(bool v)
{
    return sql_int(v);
}
static inline struct sql_value sql_real(double v)
{
    return (struct sql_value){.type = SQL_REAL, .real = v};
}
static inline struct sql_value sql_blob(const void *v, size_t n)
{
    return (struct sql_value){.type = SQL_BLOB, .data = v, .n = n};
}
/* A NULL pointer is NULL; a buffer without bytes is an empty blob. */
static inline struct sql_value sql_strbuf(const struct strbuf *b)
{
    return b ? sql_blob(strbuf_str(b), b->n) : sql_null();
}
static inline struct sql_value sql_opt_int(bool has, int64_t v)
{
    return has ? sql_int(v) : sql_null();
}
static inline struct sql_value sql_opt_real(bool has, double v)
{
    return has ? sql_real(v) : sql_null();
}
static inline struct sql_value sql_time(int64_t us)
{
    return sql_opt_int(us != 0, us);
} /* 0 is stored as NULL */
static inline struct sql_value sql_text_n(const char *v, size_t n)
{
    return (struct sql_value){.type = SQL_TEXT, .data = v, .n = n};
}
/* A NULL pointer is stored as NULL; sql_text() would store the empty text. */
static inline struct sql_value sql_opt_text(const char *v)
{
    return v ? sql_text_n(v, strlen(v)) : sql_null();
}
static inline struct sql_value sql_text(const char *v)
{
    return sql_text_n(v ? v : "", v ? strlen(v) : 0);
}

struct query {
    struct store *st;
    struct engine_stmt *stmt;
    int column; /* the next column to be taken */
};

typedef void row_fn(struct query *q, struct arena *a, void *row);

/* Runs a statement to its end. *ret_changes receives how many rows it wrote; ret_changes may be NULL. */
int query_exec(struct store *st, enum sql_query name, struct sql_args args, int64_t *ret_changes, struct error *err);
/* Does the same as query_exec() for a statement whose outcome is not needed at once. Statements still run in the
 * order in which they were sent. A failure may be reported by a later call of the same job, and by the release of
 * its savepoint at the latest. So this function is not for statements whose conflict gets a sentence of its own
 * (explain_conflict()). The values are copied. */
int query_send(struct store *st, enum sql_query name, struct sql_args args, struct error *err);
/* Inserts new rows; a duplicate is a conflict. Values must have the types of the columns (sql_real() for a REAL). A
 * failure may be reported as late as one of query_send(). */
int query_copy(struct store *st, enum sql_copy name, const struct engine_rows *rows, struct error *err);
/* Does the same as query_exec(), and fails with ERR_NOT_FOUND and the text `WHAT not found` if no row was written. */
int query_exec_one(struct store *st, enum sql_query name, struct sql_args args, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Makes of the result of a get_NAME(), which is 1, 0 or -1, the result for a caller who needs the row: 0; an error
 * `WHAT not found` (ERR_NOT_FOUND); or -1. */
int query_found(int found, struct error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Each function below returns the first column of the first row; 0, false or NULL if there is no row. */
int query_int(struct store *st, enum sql_query name, struct sql_args args, int64_t *ret, struct error *err);
int query_i32(struct store *st, enum sql_query name, struct sql_args args, int32_t *ret, struct error *err);
int query_bool(struct store *st, enum sql_query name, struct sql_args args, bool *ret, struct error *err);
int query_text(struct store *st, enum sql_query name, struct sql_args args, struct arena *a, const char **ret,
               struct error *err);
/* Returns the first column of all rows. */
int query_ints(struct store *st, enum sql_query name, struct sql_args args, struct arena *a, int64_t **ret,
               size_t *ret_n, struct error *err);
int query_ids(struct store *st, enum sql_query name, struct sql_args args, struct arena *a, int32_t **ret,
              size_t *ret_n, struct error *err);
int query_texts(struct store *st, enum sql_query name, struct sql_args args, struct arena *a, const char ***ret,
                size_t *ret_n, struct error *err);

/* The functions that get_NAME() and list_NAME() call. *ret of query_all() is an array in the arena, or NULL if there
 * are no rows. */
int query_one(struct store *st, enum sql_query name, struct sql_args args, row_fn *read, struct arena *a, void *ret,
              struct error *err);
int query_all(struct store *st, enum sql_query name, struct sql_args args, row_fn *read, size_t row_size,
              struct arena *a, void *ret, size_t *ret_n, struct error *err);

/* The functions below read rows that are handed on one at a time: query_start(), then query_next() until it does not
 * return 1, then query_end() in any case. A row is read with read_ROW() of store/row_io.h. */
int query_start(struct store *st, enum sql_query name, struct sql_args args, struct query *ret, struct error *err);
int query_next(struct query *q, struct error *err);
void query_end(struct query *q);

enum { COMPOSE_ARGS_MAX = 128 };
enum { COMPOSE_PARTS_MAX = 512 };
struct compose {
    struct {
        enum sql_fragment fragment;
        size_t base;
    } part[COMPOSE_PARTS_MAX]; /* base: how many parameters come before the part's $1 */
    size_t part_n;
    struct sql_value value[COMPOSE_ARGS_MAX];
    size_t value_n;
};
#define COMPOSE_INIT {0}
void compose_add(struct compose *c, enum sql_fragment f, struct sql_args args);
int query_all_composed(struct store *st, const struct compose *c, row_fn *read, size_t row_size, struct arena *a,
                       void *ret, size_t *ret_n, struct error *err);
int query_int_composed(struct store *st, const struct compose *c, int64_t *ret, struct error *err);

/* A list is passed as one parameter, in JSON: ["a","b"] or [1,2]. */
const char *json_of_texts(struct arena *a, struct store_texts t);
const char *json_of_ints(struct arena *a, struct store_ints t);

/* Replaces the message of an error that is ERR_CONFLICT by a sentence for users. Always returns -1. */
int explain_conflict(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Remembers the highest id used so far. It is called before rows are deleted from a table whose ids must not be used
 * twice. */
int mark_last_id(struct store *st, enum store_ids which, struct error *err);

struct engine *store_engine(struct store *st);
/* Opens a store for writing, without creating or migrating it. */
int store_open_as_it_is(const char *path, struct store **ret, struct error *err);
/* Returns the cached statement of this text; NULL and err on failure. */
struct engine_stmt *store_named_stmt(struct store *st, enum sql_query name, struct error *err);
struct engine_stmt *store_copy_stmt(struct store *st, enum sql_copy name, struct error *err);
struct engine_stmt *store_composed_stmt(struct store *st, const char *sql, struct error *err);

#endif
