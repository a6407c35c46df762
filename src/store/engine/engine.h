/* The database engine under the store: one connection, its statements and transactions.
 *
 * SQLite is the engine that is embedded (engine_sqlite.c), PostgreSQL the one that is a server (engine_postgres.c and
 * postgres_*.c).
 * Nothing else in the store calls a database library. Errors have the kinds that store.h promises, and leave their mark
 * in `failure`. A conflict names the kind of the constraint that refused the row, and its name (common/base/error.h),
 * alike in both engines. One difference is left: of a unique index with a name of its own PostgreSQL tells that name
 * ("trials_by_external_id"), SQLite the columns ("trials.experiment_id_external_id"). */
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
        const void *data; /* SQL_TEXT, SQL_BLOB: n bytes, borrowed until the statement is reset */
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

/* Rows for one table, COPY_COLUMNS_MAX columns at most, made one after the other: fill() sets the column_n values of
 * row i, which it lends until the next call. */
enum { COPY_COLUMNS_MAX = 64 };
struct engine_rows {
    size_t column_n, row_n;
    void (*fill)(void *ctx, size_t i, struct sql_value *ret);
    void *ctx;
};

struct engine_ops;
struct engine {
    const struct engine_ops *ops;
    atomic_uint failure; /* of enum engine_failure; other threads may look */
};
struct engine_stmt;

struct engine_ops {
    const char *name;
    enum sql_dialect dialect;
    /* A writer's commits are safe against a crash of this program at first, and as durable as wanted from
     * set_durability on: what migrations write becomes durable with the first commit after them. */
    int (*open)(const char *place, bool writer, struct engine **ret, struct error *err);
    int (*set_durability)(struct engine *e, enum store_durability durability, struct error *err);
    void (*close)(struct engine *e);
    int (*exec)(struct engine *e, const char *sql, struct error *err); /* statements without parameters and rows */
    /* A write transaction has the database for itself, as far as writing goes. A read transaction sees one version. */
    int (*begin)(struct engine *e, bool write, struct error *err);
    /* A write transaction, and one number out of the database: `ask` is a SELECT. NULL: the two are as fast apart. */
    int (*begin_asking)(struct engine *e, const char *ask, int64_t *ret, struct error *err);
    /* Whether a release may leave what was sent since to be looked at later (store_trust). NULL: nothing is sent ahead.
     */
    void (*trust)(struct engine *e, bool trusting);
    int (*commit)(struct engine *e, struct error *err); /* on failure the transaction may still be open */
    void (*rollback)(struct engine *e);                 /* whatever is left of it */
    int (*savepoint)(struct engine *e, struct error *err);
    int (*release)(struct engine *e, struct error *err);     /* fails for what was sent since; then rollback_to */
    int (*rollback_to)(struct engine *e, struct error *err); /* and ends the savepoint */
    /* One version of everything, as a database file of its own; ERR_ABORTED once *cancel is true.
     * NULL: the engine is no file; its own tools make copies of it. */
    int (*backup)(struct engine *e, const char *to, const atomic_bool *cancel, struct error *err);
    bool (*in_transaction)(const struct engine *e);

    int (*prepare)(struct engine *e, const char *sql, struct engine_stmt **ret, struct error *err);
    void (*finalize)(struct engine_stmt *s);
    int (*bind)(struct engine_stmt *s, int index, const struct sql_value *v, struct error *err); /* index from 1 */
    int (*step)(struct engine_stmt *s, struct error *err);                                       /* 1: a row, 0: done */
    /* Runs a statement without waiting for its result, in a transaction of an engine that is a server; its failure is
     * that of the next call that waits, at the latest of release, settle or commit. */
    int (*send)(struct engine_stmt *s, struct error *err);
    int (*settle)(struct engine *e, struct error *err);
    /* Many rows at once; into is "table (column, …)". NULL: sending one after the other is as fast as it gets. */
    int (*copy)(struct engine *e, const char *into, const struct engine_rows *rows, struct error *err);
    int64_t (*changes)(struct engine_stmt *s);          /* rows that the last run wrote, before reset */
    void (*reset)(struct engine_stmt *s);               /* ready for new values; ends what it was reading */
    bool (*is_null)(struct engine_stmt *s, int column); /* columns from 0 */
    int64_t (*integer)(struct engine_stmt *s, int column);
    double (*real)(struct engine_stmt *s, int column);
    const void *(*data)(struct engine_stmt *s, int column, size_t *ret_n); /* text or blob, until the next step */
};

extern const struct engine_ops engine_sqlite, engine_postgres;

#endif
