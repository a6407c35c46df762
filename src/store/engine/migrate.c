#include "store/engine/migrate.h"

#include "store/sql.h"

static const char *const create_table[SQL_DIALECT_NR] = {
    [SQL_SQLITE] = "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT",
    [SQL_POSTGRES] =
        "CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, name TEXT COLLATE \"C\" NOT NULL)",
};

/* Runs a statement of this file. Such statements run before the tables exist, so they are not among the named ones.
 * Both engines take $1 as a parameter. */
static int run_int(struct engine *e, const char *sql, const struct sql_value *value, int n, int64_t *ret,
                   struct error *err)
{
    struct engine_stmt *s;
    if (e->ops->prepare(e, sql, &s, err) < 0)
        return -1;
    int rc = 0;
    for (int i = 0; i < n && rc == 0; i++)
        rc = e->ops->bind(s, i + 1, &value[i], err);
    if (rc == 0 && (rc = e->ops->step(s, err)) > 0) {
        *ret = e->ops->integer(s, 0);
        rc = 0;
    }
    e->ops->finalize(s);
    return rc;
}

static int read_version(struct engine *e, int *ret_version, struct error *err)
{
    int64_t version = 0;
    if (run_int(e, "SELECT coalesce(max(number), 0) FROM migrations", NULL, 0, &version, err) < 0)
        return -1;
    *ret_version = (int)version;
    return 0;
}

static int apply_migration(struct engine *e, int number, struct error *err)
{
    const struct sql_text *m = &sql_migrations[number - 1];
    const struct sql_value row[] = {
        {.type = SQL_INT, .integer = number},
        {.type = SQL_TEXT, .data = m->name, .n = __builtin_strlen(m->name)},
    };
    int64_t ignored;
    if (run_int(e, "INSERT INTO migrations (number, name) VALUES ($1, $2)", row, 2, &ignored, err) < 0 ||
        e->ops->exec(e, m->text[e->ops->dialect], err) < 0)
        return error_wrap(err, "migration %s", m->name);
    return 0;
}

/* Refuses a database of another program, such as release 0.38.1, which has tables with the same names as ours. Other
 * tables, such as those of a server's extensions, are allowed. */
static int expect_empty(struct engine *e, const char *path, struct error *err)
{
    static const char *const count_tables[SQL_DIALECT_NR] = {
        [SQL_SQLITE] = "SELECT count(*) FROM sqlite_master WHERE name IN ('users', 'experiments', 'trials')",
        [SQL_POSTGRES] = "SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()"
                         " AND table_name IN ('users', 'experiments', 'trials')"};
    int64_t n;
    if (run_int(e, count_tables[e->ops->dialect], NULL, 0, &n, err) < 0)
        return -1;
    return n == 0
               ? 0
               : error_set(
                     err, ERR_PRECONDITION,
                     "the database %s holds users and experiments of another program (release 0.38.1"
                     " of Determined, for one), and stays as it is: name another, empty database in db.name, or keep the"
                     " platform's state in a file of its own with db.type: sqlite",
                     path);
}

/* A new database gets all migrations in one transaction, which saves an fsync for each. A database that has contents
 * gets them one by one. */
static int apply_from(struct engine *e, int version, struct error *err)
{
    int last = version == 0 ? SQL_MIGRATION_NR : version + 1;
    for (int number = version + 1; number <= last; number++)
        if (apply_migration(e, number, err) < 0)
            return -1;
    return 0;
}

/* Runs within one transaction. Returns 1 if migrations were applied, 0 if there is nothing left to do. */
static int migrate_one_version(struct engine *e, const char *path, struct error *err)
{
    int version;
    if (e->ops->exec(e, create_table[e->ops->dialect], err) < 0 || read_version(e, &version, err) < 0)
        return -1;
    if (version > SQL_MIGRATION_NR)
        return error_set(err, ERR_PRECONDITION,
                         "the database %s is of version %d, this program knows versions up to %d: run the"
                         " release that wrote it, or restore a backup from before the upgrade",
                         path, version, (int)SQL_MIGRATION_NR);
    if (version == SQL_MIGRATION_NR)
        return 0;
    if (version == 0 && expect_empty(e, path, err) < 0)
        return -1;
    return apply_from(e, version, err) < 0 ? -1 : 1;
}

int migrate(struct engine *e, const char *path, struct error *err)
{
    int rc;
    do {
        if (e->ops->begin(e, true, err) < 0)
            return -1;
        rc = migrate_one_version(e, path, err);
        if (rc < 0 || e->ops->commit(e, err) < 0) {
            if (e->ops->in_transaction(e))
                e->ops->exec(e, "ROLLBACK", NULL);
            return -1;
        }
    } while (rc > 0);
    return 0;
}
