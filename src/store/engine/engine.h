/* The database engine under the store: one connection, its statements and transactions.
 *
 * SQLite is the embedded engine (engine_sqlite.c), and PostgreSQL is the one that is a server (engine_postgres.c and
 * postgres_*.c). Nothing else in the store calls a database library. Errors have the kinds that store.h promises,
 * and set flags in `failure`. A conflict names the kind of the constraint that refused the row, and the constraint's
 * name (common/base/error.h), in the same way in both engines. One difference is left: for a unique index with a
 * name of its own PostgreSQL gives that name ("trials_by_external_id"), and SQLite gives the columns
 * ("trials.experiment_id_external_id"). */
#ifndef DET_STORE_ENGINE_ENGINE_H
#define DET_STORE_ENGINE_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "store/sql.h"
#include "store/store.h"

enum sql_type { SQL_NULL, SQL_INT, SQL_REAL, SQL_TEXT, SQL_BLOB };

struct sql_value {
    enum sql_type type;
    union {
        int64_t integer;
        double real;
        const void *data; /* for SQL_TEXT and SQL_BLOB: n bytes, borrowed until the statement is reset */
    };
    size_t n;
};

enum engine_failure {
    ENGINE_FULL = 1 << 0,
    ENGINE_FENCED = 1 << 1,
    ENGINE_BROKEN = 1 << 2,
    ENGINE_AWAY = 1 << 3,
    ENGINE_TANGLED = 1 << 4,
};

/* Rows for one table, with at most COPY_COLUMNS_MAX columns. They are made one after the other: fill() sets the
 * column_n values of row i, which stay valid until the next call of fill(). */
enum { COPY_COLUMNS_MAX = 64 };
struct engine_rows {
    size_t column_n, row_n;
    void (*fill)(void *ctx, size_t i, struct sql_value *ret);
    void *ctx;
};

struct engine_ops;
struct engine {
    const struct engine_ops *ops;
    atomic_uint failure; /* flags of enum engine_failure; other threads may read them */
};
struct engine_stmt;

struct engine_ops {
    const char *name;
    enum sql_dialect dialect;
    /* From `open` on a writer's commits survive a crash of this program, and from `set_durability` on they are as
     * durable as that call says. The first commit after set_durability also makes durable what migrations have
     * written. */
    int (*open)(const char *place, bool writer, struct engine **ret, struct error *err);
    int (*set_durability)(struct engine *e, enum store_durability durability, struct error *err);
    void (*close)(struct engine *e);
    /* runs statements that have no parameters and give no rows */
    int (*exec)(struct engine *e, const char *sql, struct error *err);
    /* A write transaction excludes all other writers of the database. A read transaction sees one version of the
     * database. */
    int (*begin)(struct engine *e, bool write, struct error *err);
    /* Begins a write transaction and reads one number; `ask` is the SELECT for it. The engine leaves this NULL if
     * doing both at once saves no time. */
    int (*begin_asking)(struct engine *e, const char *ask, int64_t *ret, struct error *err);
    /* Says whether a release may return before the statements that were sent ahead have been checked
     * (store_trust()). The engine leaves this NULL if it sends nothing ahead. */
    void (*trust)(struct engine *e, bool trusting);
    /* Names the author of changes until the next call, and at most until the end of the transaction; NULL: nobody. The
     * triggers that note changes ask for it. */
    int (*act_as)(struct engine *e, const char *author, struct error *err);
    int (*commit)(struct engine *e, struct error *err); /* after a failure the transaction may still be open */
    void (*rollback)(struct engine *e);                 /* ends the transaction, whatever is left of it */
    int (*savepoint)(struct engine *e, struct error *err);
    /* fails if a statement failed that was sent since the savepoint; then rollback_to must follow */
    int (*release)(struct engine *e, struct error *err);
    int (*rollback_to)(struct engine *e, struct error *err); /* also ends the savepoint */
    /* Writes one version of the whole database as a database file of its own. Fails with ERR_ABORTED once *cancel is
     * true. A server leaves this NULL, since it has its own tools for backups. */
    int (*backup)(struct engine *e, const char *to, const atomic_bool *cancel, struct error *err);
    bool (*in_transaction)(const struct engine *e);

    int (*prepare)(struct engine *e, const char *sql, struct engine_stmt **ret, struct error *err);
    void (*finalize)(struct engine_stmt *s);
    /* `index` counts from 1 */
    int (*bind)(struct engine_stmt *s, int index, const struct sql_value *v, struct error *err);
    /* 1: there is a row, 0: the statement is done */
    int (*step)(struct engine_stmt *s, struct error *err);
    /* Runs a statement in a transaction. An engine that is a server does not wait for the result: a failure is then
     * reported by the next call that waits, and by release, settle or commit at the latest. */
    int (*send)(struct engine_stmt *s, struct error *err);
    int (*settle)(struct engine *e, struct error *err);
    /* Writes many rows at once; `into` is "table (column, …)". The engine leaves this NULL if sending the rows one
     * after the other is as fast. */
    int (*copy)(struct engine *e, const char *into, const struct engine_rows *rows, struct error *err);
    /* how many rows the last run wrote; to be called before reset */
    int64_t (*changes)(struct engine_stmt *s);
    /* makes the statement ready for new values; ends the reading of its rows */
    void (*reset)(struct engine_stmt *s);
    bool (*is_null)(struct engine_stmt *s, int column); /* `column` counts from 0 */
    int64_t (*integer)(struct engine_stmt *s, int column);
    double (*real)(struct engine_stmt *s, int column);
    /* a text or a blob, valid until the next step */
    const void *(*data)(struct engine_stmt *s, int column, size_t *ret_n);
};

extern const struct engine_ops engine_sqlite, engine_postgres;

#endif
