/* Tests that the migrations make the same logical schema on both engines: columns, types, NOT NULL, keys, indexes. */
#include "store/fixture.h"

/* Each object of the schema is one line, in the words of the migrations. */
static const char of_sqlite[] =
    "SELECT t.name || '.' || c.name || ' ' || c.type || iif(c.\"notnull\" OR c.pk, ' NOT NULL', '')"
    "    || iif(c.dflt_value IS NULL, '', ' DEFAULT') || iif(c.pk, ' KEY ' || c.pk, '')"
    "  FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
    "   AND t.name <> 'sqlite_sequence'" /* SQLite's own, for AUTOINCREMENT */
    " UNION ALL SELECT t.name || ' UNIQUE ' || (SELECT group_concat(i.name) FROM pragma_index_info(l.name) i)"
    "  FROM sqlite_master t, pragma_index_list(t.name) l WHERE t.type = 'table' AND l.origin = 'u'"
    " UNION ALL SELECT t.name || '.' || f.\"from\" || ' REFERENCES ' || f.\"table\" || ' ' || f.on_delete"
    "  FROM sqlite_master t, pragma_foreign_key_list(t.name) f WHERE t.type = 'table'"
    " UNION ALL SELECT t.name || iif(l.\"unique\", ' UNIQUE', '') || ' INDEX ' || l.name || iif(l.partial, ' WHERE', '')"
    "  FROM sqlite_master t, pragma_index_list(t.name) l WHERE t.type = 'table' AND l.origin = 'c'"
    " ORDER BY 1";
static const char of_postgres[] =
    "SELECT line FROM ("
    "SELECT c.table_name || '.' || c.column_name || ' ' || CASE c.data_type WHEN 'bigint' THEN 'INTEGER'"
    "      WHEN 'double precision' THEN 'REAL' WHEN 'bytea' THEN 'BLOB' WHEN 'text' THEN 'TEXT' ELSE c.data_type END"
    "    || CASE c.is_nullable WHEN 'NO' THEN ' NOT NULL' ELSE '' END"
    "    || CASE WHEN c.column_default IS NULL THEN '' ELSE ' DEFAULT' END"
    "    || coalesce((SELECT ' KEY ' || array_position(k.conkey, c.ordinal_position::smallint) FROM pg_constraint k"
    "       WHERE k.contype = 'p' AND k.conrelid = c.table_name::regclass), '')"
    "  FROM information_schema.columns c WHERE c.table_schema = current_schema()"
    " UNION ALL SELECT k.conrelid::regclass || ' UNIQUE ' || (SELECT string_agg(a.attname, ',' ORDER BY p.n)"
    "    FROM unnest(k.conkey) WITH ORDINALITY p(num, n) JOIN pg_attribute a ON a.attrelid = k.conrelid"
    "     AND a.attnum = p.num)"
    "  FROM pg_constraint k WHERE k.contype = 'u' AND k.connamespace = current_schema()::regnamespace"
    " UNION ALL SELECT k.conrelid::regclass || '.' || a.attname || ' REFERENCES ' || k.confrelid::regclass"
    "    || CASE k.confdeltype WHEN 'c' THEN ' CASCADE' ELSE ' NO ACTION' END"
    "  FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)"
    "  WHERE k.contype = 'f' AND k.connamespace = current_schema()::regnamespace"
    " UNION ALL SELECT i.indrelid::regclass || CASE WHEN i.indisunique THEN ' UNIQUE' ELSE '' END || ' INDEX '"
    "    || i.indexrelid::regclass || CASE WHEN i.indpred IS NULL THEN '' ELSE ' WHERE' END"
    "  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
    "  WHERE c.relnamespace = current_schema()::regnamespace"
    "   AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u'))"
    "   AND c.relname NOT LIKE '%\\_nulls_last'" /* SQLite reads this order from the plain index */
    ") s(line) ORDER BY line COLLATE \"C\"";

static void read_schema(struct fixture *f, struct store *st, const char *sql, struct strbuf *out)
{
    const struct engine_ops *ops = store_engine(st)->ops;
    struct engine_stmt *s;
    int rc;
    OK(f, ops->prepare(store_engine(st), sql, &s, &f->err));
    while ((rc = ops->step(s, &f->err)) > 0) {
        size_t n;
        const char *line = ops->data(s, 0, &n);
        strbuf_add(out, line, n);
        strbuf_addc(out, '\n');
    }
    OK(f, rc);
    ops->finalize(s);
}

static void test_schema__is_the_same_on_both_engines(void **state)
{
    struct fixture *f = *state;
    cleanup_strbuf struct strbuf file = STRBUF_INIT, server = STRBUF_INIT;
    struct store *st;
    char path[96];
    if (!fixture_server())
        skip();
    snprintf(path, sizeof(path), "%s/master.db", f->dir);
    OK(f, store_open(path, STORE_DURABLE_NORMAL, &st, &f->err));
    read_schema(f, st, of_sqlite, &file);
    read_schema(f, f->st, of_postgres, &server);
    store_close(st);
    fixture_remove(path);
    assert_non_null(strstr(strbuf_str(&file), "\ntrials.id INTEGER NOT NULL KEY 1\n"));
    assert_non_null(strstr(strbuf_str(&file), "users UNIQUE INDEX users_by_name\n"));
    assert_string_equal(strbuf_str(&server), strbuf_str(&file));
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_schema__is_the_same_on_both_engines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
