#include "store/changes/change_seal.h"

#include <stdlib.h>
#include <string.h>

#include "store/changes/changes.h"
#include "store/row_io.h"

/* ---- the triggers ------------------------------------------------------------------------------------------------ */

#define INSTALLED_KEY "changes.triggers"

/* On a server the triggers are part of the database. A migration may have dropped some of them, so they belong to a
 * version of the schema, too. */
static int install_on_server(struct store *st, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const struct engine_ops *ops = store_engine(st)->ops;
    const char *wanted = arena_printf(&a, "%d.%s", (int)SQL_MIGRATION_NR, sql_change_triggers.name), *installed;
    if (store_kv_get(st, INSTALLED_KEY, &a, &installed, err) < 0)
        return -1;
    if (installed && strcmp(installed, wanted) == 0)
        return 0;
    if (ops->exec(store_engine(st), "SET LOCAL client_min_messages = warning", err) < 0 ||
        ops->exec(store_engine(st), sql_change_triggers.text[ops->dialect], err) < 0)
        return -1;
    return store_kv_set(st, INSTALLED_KEY, wanted, err);
}

static int install(struct store *st, struct error *err)
{
    const struct engine_ops *ops = store_engine(st)->ops;
    if (ops->dialect == SQL_POSTGRES)
        return install_on_server(st, err);
    return ops->exec(store_engine(st), sql_change_triggers.text[ops->dialect], err);
}

int change_triggers_install(struct store *st, struct error *err)
{
    const struct engine_ops *ops = store_engine(st)->ops;
    if (ops->begin(store_engine(st), ops->dialect == SQL_POSTGRES, err) < 0)
        return -1;
    if (install(st, err) == 0 && ops->commit(store_engine(st), err) == 0)
        return 0;
    store_rollback(st);
    return error_wrap(err, "the triggers that note changes");
}

/* ---- authors ----------------------------------------------------------------------------------------------------- */

enum { AUTHOR_FIELDS = 7 };
#define SEPARATOR "\x1f"

/* The name comes last, since it is the only one that a person has chosen. */
const char *change_author_text(struct arena *a, const struct change_author *w)
{
    return arena_printf(a,
                        "%lld" SEPARATOR "%d" SEPARATOR "%lld" SEPARATOR "%s" SEPARATOR "%s" SEPARATOR "%s" SEPARATOR
                        "%s",
                        (long long)w->at_us, w->user_id, (long long)w->session_id, w->via, w->address, w->route,
                        w->username);
}

static void read_author(struct arena *a, const char *text, struct change_record *ret)
{
    char *rest = arena_strdup(a, text), *field[AUTHOR_FIELDS];
    for (size_t i = 0; i < AUTHOR_FIELDS; i++) {
        field[i] = rest ? rest : "";
        char *end = rest && i + 1 < AUTHOR_FIELDS ? strchr(rest, SEPARATOR[0]) : NULL;
        if (end)
            *end = '\0';
        rest = end ? end + 1 : NULL;
    }
    ret->at_us = strtoll(field[0], NULL, 10);
    ret->user_id = (int32_t)strtol(field[1], NULL, 10);
    ret->session_id = strtoll(field[2], NULL, 10);
    ret->via = field[3];
    ret->address = field[4];
    ret->route = field[5];
    ret->username = field[6];
}

/* ---- notes become records ---------------------------------------------------------------------------------------- */

struct sealed {
    struct change_record record;
    char hash[CHANGE_HASH_TEXT_MAX];
};

static void seal_note(struct arena *a, const struct store_change_note *note, struct change_chain *chain,
                      struct sealed *ret)
{
    ret->record = (struct change_record){.seq = chain->seq + 1,
                                         .kind = note->kind,
                                         .object_id = note->object_id,
                                         .action = note->action,
                                         .old_values = note->old_values,
                                         .new_values = note->new_values,
                                         .hash = ret->hash};
    read_author(a, note->actor, &ret->record);
    change_record_hash(chain->hash, &ret->record, ret->hash);
    change_chain_begin(chain, ret->record.seq, ret->hash);
}

static void fill_record(void *ctx, size_t i, struct sql_value *ret)
{
    const struct sealed *s = ctx;
    bind_changes(ret, &s[i].record);
}

/* One question to the store, and then statements whose answers nobody waits for: the commit does. */
int changes_seal(struct store *st, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_change_note *note;
    struct change_chain chain;
    size_t n;
    if (list_change_notes_all(st, SQL_NO_ARGS, &a, &note, &n, err) < 0)
        return -1;
    if (n == 0)
        return 0;
    struct sealed *sealed = arena_array(&a, struct sealed, n);
    const struct engine_rows rows = {.column_n = COPY_CHANGES_COLUMNS, .row_n = n, .fill = fill_record, .ctx = sealed};
    change_chain_begin(&chain, note[0].head_seq, note[0].head_hash);
    for (size_t i = 0; i < n; i++)
        seal_note(&a, &note[i], &chain, &sealed[i]);
    if (query_copy(st, C_CHANGES, &rows, err) < 0 || query_send(st, Q_CHANGE_NOTES_CLEAR, SQL_NO_ARGS, err) < 0)
        return -1;
    return query_send(st, Q_CHANGE_HEAD_SET, ARGS_CHANGE_HEAD_SET(chain.seq, chain.hash), err);
}
