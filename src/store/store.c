#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "store/changes/change_seal.h"
#include "store/changes/changes.h"
#include "store/engine/migrate.h"
#include "store/engine/query.h"
#include "store/lookup/lookup_tables.h"

/* How many composed statements are cached. Only a few combinations of a page's filters and sorts are in use at a
 * time; a new one replaces the one that was used longest ago. */
enum { COMPOSED_MAX = 64 };

struct composed {
    char *sql;
    struct engine_stmt *stmt;
    uint64_t used; /* when the statement was used last, by the connection's own counter */
};

struct store {
    struct engine *engine;
    int64_t epoch; /* the epoch that store_next_epoch() has taken; 0: none was taken, and nothing is checked */
    struct engine_stmt *named[Q_NR], *copies[C_NR];
    struct composed composed[COMPOSED_MAX];
    uint64_t uses;
    struct lookup_tables lookup; /* empty until the first lookup */
    bool acted;                  /* the transaction has changes with an author, which may have left notes */
};

struct engine *store_engine(struct store *st)
{
    return st->engine;
}
struct lookup_tables *store_lookup_tables(struct store *st)
{
    return &st->lookup;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static struct engine_stmt *cached_stmt(struct store *st, struct engine_stmt **kept, const struct sql_text *sql,
                                       struct error *err)
{
    const struct engine_ops *ops = st->engine->ops;
    if (!*kept && ops->prepare(st->engine, sql->text[ops->dialect], kept, err) < 0)
        error_wrap(err, "statement %s", sql->name);
    return *kept;
}

struct engine_stmt *store_named_stmt(struct store *st, enum sql_query name, struct error *err)
{
    return cached_stmt(st, &st->named[name], &sql_queries[name], err);
}

struct engine_stmt *store_copy_stmt(struct store *st, enum sql_copy name, struct error *err)
{
    return cached_stmt(st, &st->copies[name], &sql_copies[name], err);
}

static void composed_clear(struct store *st, struct composed *c)
{
    st->engine->ops->finalize(c->stmt);
    free(c->sql);
    *c = (struct composed){0};
}

struct engine_stmt *store_composed_stmt(struct store *st, const char *sql, struct error *err)
{
    struct composed *oldest = &st->composed[0];
    for (struct composed *c = st->composed; c < st->composed + COMPOSED_MAX; c++) {
        if (c->sql && strcmp(c->sql, sql) == 0) {
            c->used = ++st->uses;
            return c->stmt;
        }
        if (c->used < oldest->used)
            oldest = c;
    }
    composed_clear(st, oldest);
    if (st->engine->ops->prepare(st->engine, sql, &oldest->stmt, err) < 0)
        return NULL;
    oldest->sql = must_strdup(sql);
    oldest->used = ++st->uses;
    return oldest->stmt;
}

static void release_statements(struct store *st)
{
    for (size_t i = 0; i < Q_NR; i++)
        st->engine->ops->finalize(st->named[i]);
    for (size_t i = 0; i < C_NR; i++)
        st->engine->ops->finalize(st->copies[i]);
    for (size_t i = 0; i < COMPOSED_MAX; i++)
        composed_clear(st, &st->composed[i]);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* The place without its password, for messages. */
struct place_name {
    char text[512];
};
static struct place_name name_of(const char *place)
{
    struct place_name n;
    const char *user = strstr(place, "://"), *at = user ? strrchr(place, '@') : NULL;
    const char *password = at ? strchr(user + 3, ':') : NULL;
    if (password && password < at)
        snprintf(n.text, sizeof(n.text), "%.*s%s", (int)(password - place), place, at);
    else
        snprintf(n.text, sizeof(n.text), "%s", place);
    return n;
}

static const struct engine_ops *engine_of(const char *place)
{
    return strncmp(place, "postgresql://", 13) == 0 ? &engine_postgres : &engine_sqlite;
}

static int open_engine(const char *place, bool writer, struct store **ret, struct error *err)
{
    struct store *st = must_calloc(1, sizeof(*st));
    st->lookup.bytes_max = LOOKUP_BYTES_MAX;
    if (engine_of(place)->open(place, writer, &st->engine, err) < 0) {
        free(st);
        return error_wrap(err, "opening the database %s", name_of(place).text);
    }
    *ret = st;
    return 0;
}

int store_open(const char *place, enum store_durability durability, struct store **ret, struct error *err)
{
    struct store *st = NULL;
    if (open_engine(place, true, &st, err) < 0)
        return -1;
    if (migrate(st->engine, name_of(place).text, err) < 0 || change_triggers_install(st, err) < 0 ||
        st->engine->ops->set_durability(st->engine, durability, err) < 0) {
        store_close(st);
        return -1;
    }
    *ret = st;
    return 0;
}

int store_open_as_it_is(const char *path, struct store **ret, struct error *err)
{
    return open_engine(path, true, ret, err);
}

int store_open_reader(const char *place, struct store **ret, struct error *err)
{
    return open_engine(place, false, ret, err);
}

void store_close(struct store *st)
{
    if (!st)
        return;
    store_rollback(st);
    release_statements(st);
    lookup_tables_release(&st->lookup);
    st->engine->ops->close(st->engine);
    free(st);
}

/* ---- transactions ------------------------------------------------------------------------------------------------ */

bool store_in_transaction(const struct store *st)
{
    return st->engine->ops->in_transaction(st->engine);
}

void store_rollback(struct store *st)
{
    st->acted = false;
    st->engine->ops->rollback(st->engine);
}

int store_commit(struct store *st, struct error *err)
{
    if ((!st->acted || changes_seal(st, err) == 0) && st->engine->ops->commit(st->engine, err) == 0) {
        st->acted = false;
        return 0;
    }
    store_rollback(st);
    return -1;
}

int store_act_as(struct store *st, const char *author, struct error *err)
{
    st->acted |= author != NULL;
    return st->engine->ops->act_as(st->engine, author, err);
}

static int check_epoch(struct store *st, int64_t now, struct error *err)
{
    if (now == st->epoch)
        return 0;
    st->engine->failure |= ENGINE_FENCED;
    return error_set(err, ERR_ABORTED, "another master has taken over this database (epoch %lld, ours is %lld)",
                     (long long)now, (long long)st->epoch);
}

static int begin_and_ask(struct store *st, int64_t *ret_epoch, struct error *err)
{
    const struct engine_ops *ops = st->engine->ops;
    if (ops->begin_asking)
        return ops->begin_asking(st->engine, sql_queries[Q_EPOCH_GET].text[ops->dialect], ret_epoch, err);
    return ops->begin(st->engine, true, err) < 0 ? -1 : query_int(st, Q_EPOCH_GET, SQL_NO_ARGS, ret_epoch, err);
}

int store_begin(struct store *st, struct error *err)
{
    int64_t now;
    if (!st->epoch)
        return st->engine->ops->begin(st->engine, true, err);
    if (begin_and_ask(st, &now, err) == 0 && check_epoch(st, now, err) == 0)
        return 0;
    store_rollback(st);
    return -1;
}

int store_begin_read(struct store *st, struct error *err)
{
    return st->engine->ops->begin(st->engine, false, err);
}

int store_next_epoch(struct store *st, int64_t *ret_epoch, struct error *err)
{
    int64_t epoch;
    st->epoch = 0; /* the epoch is not checked: this call is there to take over */
    if (store_begin(st, err) < 0)
        return -1;
    if (query_int(st, Q_EPOCH_NEXT, SQL_NO_ARGS, &epoch, err) < 0) {
        store_rollback(st);
        return -1;
    }
    if (store_commit(st, err) < 0)
        return -1;
    st->epoch = *ret_epoch = epoch;
    return 0;
}

int store_savepoint(struct store *st, struct error *err)
{
    return st->engine->ops->savepoint(st->engine, err);
}
int store_release(struct store *st, struct error *err)
{
    return st->engine->ops->release(st->engine, err);
}
int store_rollback_to(struct store *st, struct error *err)
{
    return st->engine->ops->rollback_to(st->engine, err);
}

void store_trust(struct store *st, bool trusting)
{
    if (st->engine->ops->trust)
        st->engine->ops->trust(st->engine, trusting);
}

bool store_is_tangled(const struct store *st)
{
    return st->engine->failure & ENGINE_TANGLED;
}
bool store_is_full(const struct store *st)
{
    return st->engine->failure & ENGINE_FULL;
}
bool store_is_away(const struct store *st)
{
    return st->engine->failure & ENGINE_AWAY;
}
void store_clear_failure(struct store *st)
{
    st->engine->failure = 0;
}

size_t store_first_row_of(const void *rows, size_t n, size_t row_size, int32_t id)
{
    size_t low = 0;
    while (n > 0) {
        int32_t middle;
        memcpy(&middle, (const char *)rows + (low + n / 2) * row_size, sizeof(middle));
        low = middle < id ? low + n / 2 + 1 : low;
        n = middle < id ? n - n / 2 - 1 : n / 2;
    }
    return low;
}

const void *store_row_by_id(const void *rows, size_t n, size_t row_size, int32_t id)
{
    size_t place = store_first_row_of(rows, n, row_size, id);
    const void *row = (const char *)rows + place * row_size;
    return place < n && memcmp(row, &id, sizeof(id)) == 0 ? row : NULL;
}
