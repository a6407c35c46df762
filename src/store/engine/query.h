/* Within the store: running named statements (queries/NAME.sql, constants Q_… made by tools/gen-sql).
 *
 *     query_exec(st, Q_SESSIONS_REVOKE_OF_USER, SQL_ARGS(sql_int(user_id)), NULL, err)
 *
 * A function that would only do that is not written: `-- function:` below the statement's name makes it
 * (store/functions.h, tools/sql_functions.py).
 *
 * Records are declared as rows in queries/NAME.sql. What reads and binds them is made of that, in store/row_io.h:
 *
 *     get_users_by_id(st, SQL_ARGS(sql_int(id)), a, &user, err)           1, 0 (there is no such row) or -1
 *     list_users_of_team(st, SQL_ARGS(sql_int(team)), a, &list, &n, err)  all of them, in the arena
 *     query_exec(st, Q_PROJECTS_INSERT, ARGS_PROJECTS_INSERT(&project), NULL, err)
 *
 * Lists with filters that come and go are composed from fragments (F_…), each with its own $1, $2 …:
 *
 *     struct compose c = COMPOSE_INIT;
 *     compose_add(&c, F_USERS_ACTIVE, SQL_ARGS(sql_bool(true)));
 *     query_all_composed(st, &c, …);
 *
 * Writing much: a round trip to a server costs more than a small statement. query_send() does not wait for its answer,
 * and query_copy() writes rows of one table, one or a million, as fast as the engine can (a COPY, or one statement for
 * all of them):
 *
 *     query_send(st, Q_JOBS_PUT, SQL_ARGS(…), err)
 *
 *     -- copy: log_blocks (task_id, first_id, lines)                                  in queries/NAME.sql: C_LOG_BLOCKS
 *     static void fill(void *ctx, size_t i, struct sql_value *ret);                   ret[0], ret[1], ret[2] of row i
 *     query_copy(st, C_LOG_BLOCKS, &(struct engine_rows){.column_n = 3, .row_n = n, .fill = fill, .ctx = x}, err)
 *
 * Statements are prepared once per connection. The same statement must not be run while its rows are being read. */
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
/* NULL for no buffer; an empty one is an empty blob. */
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
} /* 0 is NULL */
static inline struct sql_value sql_text_n(const char *v, size_t n)
{
    return (struct sql_value){.type = SQL_TEXT, .data = v, .n = n};
}
/* A NULL pointer is NULL; with sql_text it is the empty text. */
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
    int column; /* the next one to be taken */
};

typedef void row_fn(struct query *q, struct arena *a, void *row);

/* Runs a statement to its end; *ret_changes (may be NULL) is how many rows it wrote. */
int query_exec(struct store *st, enum sql_query name, struct sql_args args, int64_t *ret_changes, struct error *err);
/* As query_exec for a statement whose outcome nobody needs at once; it is run in its turn. Its failure may come with a
 * later call of the same job, at the latest with the release of its savepoint, so it is not for conflicts that get a
 * sentence of their own (explain_conflict). Values are copied. */
int query_send(struct store *st, enum sql_query name, struct sql_args args, struct error *err);
/* New rows: a duplicate is a conflict. Values must have the types of the columns (sql_real for a REAL). Its failure may
 * come as late as that of query_send. */
int query_copy(struct store *st, enum sql_copy name, const struct engine_rows *rows, struct error *err);
/* As query_exec, and fails with ERR_NOT_FOUND `WHAT not found` when it wrote no row. */
int query_exec_one(struct store *st, enum sql_query name, struct sql_args args, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* What 1, 0 or -1 of a get_NAME() is to a caller who needs the row: 0, `WHAT not found` (ERR_NOT_FOUND) or -1. */
int query_found(int found, struct error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The first column of the first row; 0, false or NULL if there is none. */
int query_int(struct store *st, enum sql_query name, struct sql_args args, int64_t *ret, struct error *err);
int query_i32(struct store *st, enum sql_query name, struct sql_args args, int32_t *ret, struct error *err);
int query_bool(struct store *st, enum sql_query name, struct sql_args args, bool *ret, struct error *err);
int query_text(struct store *st, enum sql_query name, struct sql_args args, struct arena *a, const char **ret,
               struct error *err);
/* The first column of all rows. */
int query_ints(struct store *st, enum sql_query name, struct sql_args args, struct arena *a, int64_t **ret,
               size_t *ret_n, struct error *err);
int query_ids(struct store *st, enum sql_query name, struct sql_args args, struct arena *a, int32_t **ret,
              size_t *ret_n, struct error *err);
int query_texts(struct store *st, enum sql_query name, struct sql_args args, struct arena *a, const char ***ret,
                size_t *ret_n, struct error *err);

/* What get_NAME() and list_NAME() are made of. *ret of query_all is an array in the arena; NULL when there are no rows.
 */
int query_one(struct store *st, enum sql_query name, struct sql_args args, row_fn *read, struct arena *a, void *ret,
              struct error *err);
int query_all(struct store *st, enum sql_query name, struct sql_args args, row_fn *read, size_t row_size,
              struct arena *a, void *ret, size_t *ret_n, struct error *err);

/* Step by step, for rows that are handed on one at a time: start, next until it is not 1, end (always). A row is read
 * with read_ROW() of store/row_io.h. */
int query_start(struct store *st, enum sql_query name, struct sql_args args, struct query *ret, struct error *err);
int query_next(struct query *q, struct error *err);
void query_end(struct query *q);

enum { COMPOSE_ARGS_MAX = 128 };
enum { COMPOSE_PARTS_MAX = 512 };
struct compose {
    struct {
        enum sql_fragment fragment;
        size_t base;
    } part[COMPOSE_PARTS_MAX]; /* base: parameters before its $1 */
    size_t part_n;
    struct sql_value value[COMPOSE_ARGS_MAX];
    size_t value_n;
};
#define COMPOSE_INIT {0}
void compose_add(struct compose *c, enum sql_fragment f, struct sql_args args);
int query_all_composed(struct store *st, const struct compose *c, row_fn *read, size_t row_size, struct arena *a,
                       void *ret, size_t *ret_n, struct error *err);
int query_int_composed(struct store *st, const struct compose *c, int64_t *ret, struct error *err);

/* Lists travel as one JSON parameter: ["a","b"] or [1,2]. */
const char *json_of_texts(struct arena *a, struct store_texts t);
const char *json_of_ints(struct arena *a, struct store_ints t);

/* Gives ERR_CONFLICT, if it is that, a sentence for people. Always -1. */
int explain_conflict(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Before rows are deleted from a table whose ids must not come again: remembers the highest so far. */
int mark_last_id(struct store *st, enum store_ids which, struct error *err);

struct engine *store_engine(struct store *st);
/* For writing, but neither created nor migrated. */
int store_open_as_it_is(const char *path, struct store **ret, struct error *err);
/* The cached statement of this text; NULL and err on failure. */
struct engine_stmt *store_named_stmt(struct store *st, enum sql_query name, struct error *err);
struct engine_stmt *store_copy_stmt(struct store *st, enum sql_copy name, struct error *err);
struct engine_stmt *store_composed_stmt(struct store *st, const char *sql, struct error *err);

#endif
