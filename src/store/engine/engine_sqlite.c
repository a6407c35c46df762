#include "common/base/must.h"
#include "store/engine/engine.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long a connection waits for another process that holds the file, such as an old master that is ending. */
enum { BUSY_TIMEOUT_MS = 5000 };
/* So many pages, about 4 MB, are copied between two checks of whether a backup was cancelled. */
enum { BACKUP_PAGES = 1024 };

struct sqlite_engine {
    struct engine base;
    sqlite3 *db;
    const char *author; /* of what is changed now; borrowed; NULL: nobody */
};

struct engine_stmt {
    struct sqlite_engine *engine;
    sqlite3_stmt *stmt;
};

/* Finds the name that error.h gives the constraint in SQLite's sentence. "UNIQUE constraint failed:
 * projects.workspace_id, projects.name" becomes projects.workspace_id_name. SQLite gives an index over expressions
 * by its name: "…: index 'users_by_name'". */
static void name_unique(const char *text, char ret[ERROR_CONSTRAINT_NAME_MAX])
{
    const char *p = strstr(text, "failed: ");
    size_t n = 0;
    ret[0] = '\0';
    if (!p)
        return;
    p += strlen("failed: ");
    if (strncmp(p, "index '", 7) == 0) {
        snprintf(ret, ERROR_CONSTRAINT_NAME_MAX, "%.*s", (int)strcspn(p + 7, "'"), p + 7);
        return;
    }
    while (*p && n + 1 < ERROR_CONSTRAINT_NAME_MAX) {
        if (*p != ',') {
            ret[n++] = *p++;
            continue;
        }
        ret[n++] = '_';
        const char *column = strchr(p, '.'); /* the column follows the name of the table, which is the same for each */
        p = column ? column + 1 : "";
    }
    ret[n] = '\0';
}

static int fail_constraint(struct sqlite_engine *e, const char *text, struct error *err)
{
    char name[ERROR_CONSTRAINT_NAME_MAX];
    name_unique(text, name);
    switch (sqlite3_extended_errcode(e->db)) {
    case SQLITE_CONSTRAINT_FOREIGNKEY:
        return error_set_constraint(err, CONSTRAINT_FOREIGN_KEY, "", "%s", text);
    case SQLITE_CONSTRAINT_UNIQUE:
        return error_set_constraint(err, CONSTRAINT_UNIQUE, name, "%s", text);
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID:
        name[strcspn(name, ".")] = '\0';
        return error_set_constraint(err, CONSTRAINT_PRIMARY_KEY, name, "%s", text);
    default:
        return error_set_constraint(err, CONSTRAINT_OTHER, "", "%s", text);
    }
}

/* Reports an error of SQLite with the kinds and flags of store.h. */
static int fail_call(struct sqlite_engine *e, const char *doing, struct error *err)
{
    int code = sqlite3_errcode(e->db);
    const char *text = sqlite3_errmsg(e->db);
    switch (code) {
    case SQLITE_CONSTRAINT:
        return fail_constraint(e, text, err);
    case SQLITE_FULL:
        e->base.failure |= ENGINE_FULL;
        return error_set(err, ERR_UNAVAILABLE,
                         "the disk that holds the database is full: make room, the master goes on by itself");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(err, ERR_UNAVAILABLE,
                         "the database is locked by another process for more than %d s (is a second master"
                         " running on it?)",
                         BUSY_TIMEOUT_MS / 1000);
    case SQLITE_NOMEM:
        return error_set(err, ERR_NO_MEMORY, "out of memory in the database");
    case SQLITE_TOOBIG:
        return error_set(err, ERR_TOO_LARGE, "a value is too large for the database");
    case SQLITE_CORRUPT: /* the failed statement does not matter to the reader of the message: the file is damaged */
        e->base.failure |= ENGINE_BROKEN;
        return error_set(err, ERR_IO,
                         "the file is damaged: a part of it is missing or was overwritten (SQLite error %d: %s)",
                         sqlite3_extended_errcode(e->db), text);
    case SQLITE_NOTADB:
        e->base.failure |= ENGINE_BROKEN;
        return error_set(err, ERR_IO, "%s", text); /* SQLite's text says that the file is not a database */
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PROTOCOL:
        e->base.failure |= ENGINE_BROKEN;
        return error_set(err, ERR_IO, "%s: %s (SQLite error %d)", doing, text, sqlite3_extended_errcode(e->db));
    default:
        return error_set(err, ERR_INTERNAL, "%s: %s (SQLite error %d)", doing, text, sqlite3_extended_errcode(e->db));
    }
}

static int op_exec(struct engine *base, const char *sql, struct error *err)
{
    struct sqlite_engine *e = (struct sqlite_engine *)base;
    if (sqlite3_exec(e->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return fail_call(e, sql, err);
    return 0;
}

static void op_close(struct engine *base)
{
    struct sqlite_engine *e = (struct sqlite_engine *)base;
    if (!e)
        return;
    sqlite3_close(e->db);
    free(e);
}

static int op_set_durability(struct engine *base, enum store_durability durability, struct error *err)
{
    return op_exec(base, durability == STORE_DURABLE_FULL ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL",
                   err);
}

/* Only the writer runs WAL checkpoints: SQLite before 3.51 can corrupt a WAL when two connections do. Files are not
 * mapped into memory: an I/O error would then be a SIGBUS instead of an error code. */
static int configure_connection(struct sqlite_engine *e, bool writer, bool fresh, struct error *err)
{
    if (op_exec(&e->base,
                "PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-4096; PRAGMA trusted_schema=OFF",
                err) < 0)
        return -1;
    if (!writer)
        return op_exec(&e->base, "PRAGMA query_only=ON; PRAGMA wal_autocheckpoint=0", err);
    /* While an empty file becomes a WAL database, a journal on disk has nothing to save. A journal in memory saves
     * four fsyncs. */
    if (fresh && op_exec(&e->base, "PRAGMA journal_mode=MEMORY", err) < 0)
        return -1;
    return op_exec(&e->base,
                   "PRAGMA synchronous=NORMAL; PRAGMA journal_mode=WAL; PRAGMA foreign_keys=ON;"
                   " PRAGMA wal_autocheckpoint=1000; PRAGMA journal_size_limit=67108864",
                   err);
}

/* The file holds password hashes, so only its owner may read it, whatever the umask is. */
static int make_file(const char *path, bool *ret_fresh, struct error *err)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st) < 0) {
        error_errno(err, "%s", path);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *ret_fresh = st.st_size == 0;
    close(fd);
    return 0;
}

/* The SQL function det_actor(), which the triggers that note changes call. */
static void sql_author(sqlite3_context *ctx, int n, sqlite3_value **value)
{
    const struct sqlite_engine *e = sqlite3_user_data(ctx);
    if (e->author)
        sqlite3_result_text(ctx, e->author, -1, SQLITE_TRANSIENT);
}

static int op_act_as(struct engine *base, const char *author, struct error *err)
{
    ((struct sqlite_engine *)base)->author = author;
    return 0;
}

static int open_file(struct sqlite_engine *e, const char *path, bool writer, struct error *err)
{
    int flags = writer ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    bool fresh = false;
    if (writer && make_file(path, &fresh, err) < 0)
        return -1;
    /* A connection belongs to one thread at a time, so SQLite need not lock it. */
    if (sqlite3_open_v2(path, &e->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return error_set(err, ERR_IO, "%s", e->db ? sqlite3_errmsg(e->db) : "out of memory");
    sqlite3_busy_timeout(e->db, BUSY_TIMEOUT_MS);
    if (writer && sqlite3_create_function(e->db, "det_actor", 0, SQLITE_UTF8, e, sql_author, NULL, NULL) != SQLITE_OK)
        return error_set(err, ERR_IO, "%s", sqlite3_errmsg(e->db));
    return configure_connection(e, writer, fresh, err);
}

static int op_open(const char *path, bool writer, struct engine **ret, struct error *err)
{
    struct sqlite_engine *e = must_calloc(1, sizeof(*e));
    e->base.ops = &engine_sqlite;
    if (open_file(e, path, writer, err) < 0) {
        op_close(&e->base);
        return -1;
    }
    *ret = &e->base;
    return 0;
}

static int op_begin(struct engine *base, bool write, struct error *err)
{
    return op_exec(base, write ? "BEGIN IMMEDIATE" : "BEGIN", err);
}

static int op_commit(struct engine *base, struct error *err)
{
    return op_exec(base, "COMMIT", err);
}

static bool op_in_transaction(const struct engine *base)
{
    return !sqlite3_get_autocommit(((const struct sqlite_engine *)base)->db);
}

static void op_rollback(struct engine *base)
{
    if (op_in_transaction(base))
        op_exec(base, "ROLLBACK", NULL);
}

static int op_savepoint(struct engine *base, struct error *err)
{
    return op_exec(base, "SAVEPOINT job", err);
}
static int op_release(struct engine *base, struct error *err)
{
    return op_exec(base, "RELEASE job", err);
}
static int op_rollback_to(struct engine *base, struct error *err)
{
    return op_exec(base, "ROLLBACK TO job; RELEASE job", err);
}

/* A read transaction is held from the first page to the last, so that the copy sees one version. Otherwise SQLite
 * would begin the copy again after each write. */
static int copy_pages(struct sqlite_engine *e, sqlite3 *copy, const atomic_bool *cancel, struct error *err)
{
    if (op_exec(&e->base, "BEGIN; SELECT count(*) FROM sqlite_schema", err) < 0)
        return -1;
    sqlite3_backup *backup = sqlite3_backup_init(copy, "main", e->db, "main");
    int rc = backup ? SQLITE_OK : SQLITE_NOMEM;
    while (rc == SQLITE_OK && !atomic_load(cancel))
        rc = sqlite3_backup_step(backup, BACKUP_PAGES);
    sqlite3_backup_finish(backup);
    sqlite3_exec(e->db, "COMMIT", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        return error_set(err, ERR_ABORTED, "the backup was cancelled: the master stops");
    return rc == SQLITE_DONE ? 0 : error_set(err, ERR_IO, "%s", sqlite3_errstr(rc));
}

/* An incomplete copy is of no use, so the copy is made without a journal and without fsync until it is complete. */
static int op_backup(struct engine *base, const char *to, const atomic_bool *cancel, struct error *err)
{
    sqlite3 *copy = NULL;
    bool fresh;
    int rc = make_file(to, &fresh, err);
    if (rc == 0 && sqlite3_open_v2(to, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        rc = error_set(err, ERR_IO, "%s: %s", to, copy ? sqlite3_errmsg(copy) : "out of memory");
    if (rc == 0) {
        sqlite3_exec(copy, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", NULL, NULL, NULL);
        rc = copy_pages((struct sqlite_engine *)base, copy, cancel, err);
    }
    sqlite3_close(copy);
    return rc;
}

static void op_finalize(struct engine_stmt *s)
{
    if (!s)
        return;
    sqlite3_finalize(s->stmt);
    free(s);
}

static int op_prepare(struct engine *base, const char *sql, struct engine_stmt **ret, struct error *err)
{
    struct sqlite_engine *e = (struct sqlite_engine *)base;
    struct engine_stmt *s = must_calloc(1, sizeof(*s));
    s->engine = e;
    if (sqlite3_prepare_v3(e->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &s->stmt, NULL) != SQLITE_OK) {
        op_finalize(s);
        return fail_call(e, sql, err);
    }
    *ret = s;
    return 0;
}

static int op_bind(struct engine_stmt *s, int index, const struct sql_value *v, struct error *err)
{
    int rc = SQLITE_OK;
    switch (v->type) {
    case SQL_NULL:
        rc = sqlite3_bind_null(s->stmt, index);
        break;
    case SQL_INT:
        rc = sqlite3_bind_int64(s->stmt, index, v->integer);
        break;
    case SQL_REAL:
        rc = sqlite3_bind_double(s->stmt, index, v->real);
        break;
    case SQL_TEXT:
        rc = sqlite3_bind_text64(s->stmt, index, v->data, v->n, SQLITE_STATIC, SQLITE_UTF8);
        break;
    case SQL_BLOB: /* a NULL pointer would be stored as SQL NULL, not as an empty blob */
        rc = sqlite3_bind_blob64(s->stmt, index, v->n ? v->data : "", v->n, SQLITE_STATIC);
        break;
    }
    return rc == SQLITE_OK ? 0 : fail_call(s->engine, sqlite3_sql(s->stmt), err);
}

static int op_step(struct engine_stmt *s, struct error *err)
{
    int rc = sqlite3_step(s->stmt);
    if (rc == SQLITE_ROW)
        return 1;
    return rc == SQLITE_DONE ? 0 : fail_call(s->engine, sqlite3_sql(s->stmt), err);
}

/* Counts the rows that the statement itself wrote, as PostgreSQL does: not those that triggers and foreign keys
 * changed. */
static int64_t op_changes(struct engine_stmt *s)
{
    return sqlite3_changes64(s->engine->db);
}

static void op_reset(struct engine_stmt *s)
{
    sqlite3_reset(s->stmt);
    sqlite3_clear_bindings(s->stmt);
}

/* SQLite runs within this process, so nothing is sent ahead: the statement is run at once. */
static int op_send(struct engine_stmt *s, struct error *err)
{
    return op_step(s, err) < 0 ? -1 : 0;
}
static int op_settle(struct engine *e, struct error *err)
{
    return 0;
}

static bool op_is_null(struct engine_stmt *s, int column)
{
    return sqlite3_column_type(s->stmt, column) == SQLITE_NULL;
}
static int64_t op_integer(struct engine_stmt *s, int column)
{
    return sqlite3_column_int64(s->stmt, column);
}
static double op_real(struct engine_stmt *s, int column)
{
    return sqlite3_column_double(s->stmt, column);
}

static const void *op_data(struct engine_stmt *s, int column, size_t *ret_n)
{
    /* The pointer must be asked for before the length: sqlite3_column_text() may convert the value, and the length
     * is that of the converted value. */
    const void *data = sqlite3_column_type(s->stmt, column) == SQLITE_BLOB ? sqlite3_column_blob(s->stmt, column)
                                                                           : sqlite3_column_text(s->stmt, column);
    *ret_n = (size_t)sqlite3_column_bytes(s->stmt, column);
    return data;
}

const struct engine_ops engine_sqlite = {
    .name = "sqlite",
    .dialect = SQL_SQLITE,
    .open = op_open,
    .set_durability = op_set_durability,
    .close = op_close,
    .exec = op_exec,
    .begin = op_begin,
    .act_as = op_act_as,
    .commit = op_commit,
    .backup = op_backup,
    .in_transaction = op_in_transaction,
    .rollback = op_rollback,
    .savepoint = op_savepoint,
    .release = op_release,
    .rollback_to = op_rollback_to,
    .prepare = op_prepare,
    .finalize = op_finalize,
    .bind = op_bind,
    .step = op_step,
    .send = op_send,
    .settle = op_settle,
    .changes = op_changes,
    .reset = op_reset,
    .is_null = op_is_null,
    .integer = op_integer,
    .real = op_real,
    .data = op_data,
};
