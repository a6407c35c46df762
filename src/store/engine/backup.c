#include "store/engine/backup.h"

#include <string.h>
#include <unistd.h>

#include "store/engine/meta.h"
#include "store/engine/query.h"

static const char note_key[] = "backup.note";

/* Adds the note without running migrations: a backup keeps the version of the schema that it was made from. */
static int add_note(const char *path, const char *note, struct error *err)
{
    struct store *copy = NULL;
    if (store_open_as_it_is(path, &copy, err) < 0)
        return -1;
    int rc = store_kv_set(copy, note_key, note, err);
    store_close(copy);
    return rc;
}

void store_file_remove(const char *path)
{
    static const char *const beside[] = {"", "-journal", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof(beside) / sizeof(*beside); i++) {
        cleanup_strbuf struct strbuf name = STRBUF_INIT;
        strbuf_addf(&name, "%s%s", path, beside[i]);
        unlink(strbuf_str(&name));
    }
}

int store_backup(struct store *reader, const char *to, const char *note, const atomic_bool *cancel, struct error *err)
{
    struct engine *e = store_engine(reader);
    if (!e->ops->backup)
        return error_set(err, ERR_UNIMPLEMENTED,
                         "the store is a %s server: copy it with the server's own tools (pg_dump) and keep"
                         " agent.token and agents-ca.pem of the data directory with it",
                         e->ops->name);
    if (e->ops->backup(e, to, cancel, err) == 0 && add_note(to, note, err) == 0)
        return 0;
    store_file_remove(to);
    return error_wrap(err, "backup to %s", to);
}

static int check_integrity(struct store *st, const char *path, struct error *err)
{
    struct engine *e = store_engine(st);
    struct engine_stmt *s;
    if (e->ops->prepare(e, "PRAGMA integrity_check(1)", &s, err) < 0)
        return -1;
    int rc = e->ops->step(s, err);
    if (rc > 0) {
        size_t n;
        const char *verdict = e->ops->data(s, 0, &n);
        rc = n == 2 && memcmp(verdict, "ok", 2) == 0
                 ? 0
                 : error_set(err, ERR_INVALID, "%s is damaged: %.*s", path, (int)n, verdict);
    }
    e->ops->finalize(s);
    return rc;
}

static int take_note(struct store *st, struct arena *a, const char **ret, struct error *err)
{
    if (store_kv_get(st, note_key, a, ret, err) < 0)
        return -1;
    if (!*ret || !**ret)
        return error_set(err, ERR_INVALID, "this is a database, but not a backup: determined-master backup makes one");
    return store_kv_set(st, note_key, "", err);
}

int store_revive(const char *path, int64_t epoch, struct arena *a, const char **ret_note, struct error *err)
{
    struct store *st = NULL;
    const char *note = NULL;
    if (store_open(path, STORE_DURABLE_FULL, &st, err) < 0)
        return -1;
    int rc = check_integrity(st, path, err);
    if (rc == 0 && (rc = store_begin(st, err)) == 0) {
        rc = take_note(st, a, &note, err);
        if (rc == 0)
            rc = query_exec(st, Q_EPOCH_RAISE, SQL_ARGS(sql_int(epoch)), NULL, err);
        if (rc == 0)
            rc = store_commit(st, err);
    }
    store_close(st);
    if (rc == 0)
        *ret_note = note;
    return rc;
}
