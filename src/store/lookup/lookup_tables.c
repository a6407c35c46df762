/* The tables of lookups follow the database. They are filled completely once, and then the rows that the table
 * search_changes names are read again. */
#include "store/lookup/lookup_tables.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "store/engine/take.h"
#include "store/lookup/lookup_paths.h"
#include "store/metrics/metric_value.h"

enum { PAGE = 5000 };
/* The kinds of changes, as migrations/0021 numbers them. */
enum lookup_change { CHANGE_EXPERIMENT, CHANGE_RUN, CHANGE_SUMMARY, CHANGE_FEW, CHANGE_NR };

/* ---- rows -------------------------------------------------------------------------------------------------------- */

uint32_t lookup_place(const struct lookup_rows *rows, int32_t id)
{
    return id > 0 && (size_t)id < rows->of_id_n ? rows->of_id[id] : LOOKUP_NO_ROW;
}

static void reach_id(struct lookup_rows *rows, int32_t id)
{
    if ((size_t)id < rows->of_id_n)
        return;
    size_t n = (size_t)id + 1 + (size_t)id / 4;
    rows->of_id = must_reallocarray(rows->of_id, n, sizeof(*rows->of_id));
    for (size_t i = rows->of_id_n; i < n; i++)
        rows->of_id[i] = LOOKUP_NO_ROW;
    rows->of_id_n = n;
}

/* Returns the row's place; a row that has none gets a new one. */
static uint32_t take_place(struct lookup_rows *rows, int32_t id)
{
    reach_id(rows, id);
    if (rows->of_id[id] != LOOKUP_NO_ROW) {
        rows->id[rows->of_id[id]] = id;
        return rows->of_id[id];
    }
    if (rows->n == rows->cap) {
        rows->cap = rows->cap ? rows->cap + rows->cap / 2 : 64;
        rows->id = must_reallocarray(rows->id, rows->cap, sizeof(*rows->id));
    }
    uint32_t place = rows->free_n ? rows->free[--rows->free_n] : (uint32_t)rows->n++;
    rows->id[place] = id;
    return rows->of_id[id] = place;
}

static void give_place(struct lookup_rows *rows, int32_t id)
{
    uint32_t place = lookup_place(rows, id);
    if (place == LOOKUP_NO_ROW)
        return;
    rows->of_id[id] = LOOKUP_NO_ROW;
    rows->id[place] = 0;
    for (size_t i = 0; i < LOOKUP_COLUMNS_MAX; i++)
        column_clear(&rows->column[i], place);
    if (rows->free_n == rows->free_cap) {
        rows->free_cap = rows->free_cap ? 2 * rows->free_cap : 64;
        rows->free = must_reallocarray(rows->free, rows->free_cap, sizeof(*rows->free));
    }
    rows->free[rows->free_n++] = place;
}

static void rows_release(struct lookup_rows *rows)
{
    for (size_t i = 0; i < LOOKUP_COLUMNS_MAX; i++)
        column_release(&rows->column[i]);
    free(rows->id);
    free(rows->free);
    free(rows->of_id);
    *rows = (struct lookup_rows){0};
}

static size_t rows_bytes(const struct lookup_rows *rows)
{
    size_t bytes = (rows->cap + rows->free_cap + rows->of_id_n) * sizeof(uint32_t);
    for (size_t i = 0; i < LOOKUP_COLUMNS_MAX; i++)
        bytes += column_bytes(&rows->column[i]);
    return bytes;
}

/* ---- reading rows from the database ------------------------------------------------------------------------------ */

static const char *const column_types[LOOKUP_TABLE_NR] = {
    [LOOKUP_TABLE_EXPERIMENTS] = lookup_x_types,
    [LOOKUP_TABLE_RUNS] = lookup_t_types,
    [LOOKUP_TABLE_USERS] = lookup_u_types,
    [LOOKUP_TABLE_PROJECTS] = lookup_p_types,
};

static void set_labels(struct column *c, uint32_t place, const char *json)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_strbuf struct strbuf all = STRBUF_INIT;
    struct metric_members m = metric_members_of(json);
    while (metric_members_next(&m, &a)) {
        if (m.value[0] != '"')
            continue;
        strbuf_addc(&all, LOOKUP_LABEL_MARK);
        strbuf_adds(&all, metric_text_of(m.value, m.value_n, &a));
    }
    if (all.n)
        strbuf_addc(&all, LOOKUP_LABEL_MARK);
    column_set_text(c, place, strbuf_str(&all), all.n);
}

static void take_column(struct query *q, char type, struct column *c, uint32_t place)
{
    double number;
    size_t n;
    if (type == 'N') {
        if (take_opt_real(q, &number))
            column_set_number(c, place, number);
        else
            column_clear(c, place);
        return;
    }
    const char *text = take_borrowed(q, &n);
    if (!text)
        column_clear(c, place);
    else if (type == 'L')
        set_labels(c, place, text);
    else
        column_set_text(c, place, text, n);
}

/* Takes over one row of any table. The documents are the last columns of a run, hyperparameters before metadata. */
static int32_t take_row(struct lookup_tables *t, enum lookup_table which, struct query *q, const char *only_path)
{
    struct lookup_rows *rows = &t->table[which];
    int32_t id = take_i32(q);
    uint32_t place = take_place(rows, id);
    const char *type = column_types[which];
    for (size_t i = 0; *type && *type != 'D'; i++)
        take_column(q, *type++, &rows->column[i], place);
    size_t n;
    for (int kind = LOOKUP_HPARAMS; *type == 'D'; kind = LOOKUP_METADATA_OF_RUN, type++)
        lookup_document(t, kind, place, take_borrowed(q, &n), only_path);
    return id;
}

static int read_rows(struct lookup_tables *t, struct store *st, enum lookup_table which, enum sql_query name,
                     struct sql_args args, const char *only_path, int32_t *ret_last, size_t *ret_n, struct error *err)
{
    struct query q;
    int rc;
    *ret_n = 0;
    if (query_start(st, name, args, &q, err) < 0)
        return -1;
    for (; (rc = query_next(&q, err)) > 0; ++*ret_n)
        *ret_last = take_row(t, which, &q, only_path);
    query_end(&q);
    return rc;
}

static int read_all(struct lookup_tables *t, struct store *st, enum lookup_table which, enum sql_query after,
                    const char *only_path, struct error *err)
{
    int32_t last = 0;
    size_t n;
    do {
        if (read_rows(t, st, which, after, SQL_ARGS(sql_int(last), sql_int(PAGE)), only_path, &last, &n, err) < 0)
            return -1;
        lookup_paths_bound(t);
    } while (n == PAGE);
    return 0;
}

struct summary_mark {
    int32_t trial_id;
    const char *group;
};

static int read_summaries(struct lookup_tables *t, struct store *st, enum sql_query name, struct sql_args args,
                          const char *only_path, struct arena *a, struct summary_mark *ret_last, size_t *ret_n,
                          struct error *err)
{
    struct query q;
    int rc;
    *ret_n = 0;
    if (query_start(st, name, args, &q, err) < 0)
        return -1;
    for (; (rc = query_next(&q, err)) > 0; ++*ret_n) {
        struct lookup_summary_row row;
        read_lookup_summary_row(&q, NULL, &row);
        if (*ret_n == PAGE - 1)
            *ret_last = (struct summary_mark){row.trial_id, arena_strndup(a, row.group, row.group_n)};
        uint32_t place = lookup_place(&t->table[LOOKUP_TABLE_RUNS], row.trial_id);
        if (place != LOOKUP_NO_ROW)
            lookup_summary(t, place, row.group, row.metrics, only_path);
    }
    query_end(&q);
    return rc;
}

static int read_all_summaries(struct lookup_tables *t, struct store *st, const char *only_path, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct summary_mark last = {0, ""};
    size_t n;
    do {
        const struct sql_args args = SQL_ARGS(sql_int(last.trial_id), sql_text(last.group), sql_int(PAGE));
        if (read_summaries(t, st, Q_LOOKUP_SUMMARIES_AFTER, args, only_path, &a, &last, &n, err) < 0)
            return -1;
        lookup_paths_bound(t);
    } while (n == PAGE);
    return 0;
}

int lookup_documents_again(struct lookup_tables *t, struct store *st, const char *path, struct error *err)
{
    if (lookup_path_kind(path) == LOOKUP_SUMMARY)
        return read_all_summaries(t, st, path, err);
    return read_all(t, st, LOOKUP_TABLE_RUNS, Q_LOOKUP_RUNS_AFTER, path, err);
}

static int read_few(struct lookup_tables *t, struct store *st, struct error *err)
{
    int32_t last;
    size_t n;
    rows_release(&t->table[LOOKUP_TABLE_USERS]);
    rows_release(&t->table[LOOKUP_TABLE_PROJECTS]);
    if (read_rows(t, st, LOOKUP_TABLE_USERS, Q_LOOKUP_USERS, SQL_NO_ARGS, NULL, &last, &n, err) < 0)
        return -1;
    return read_rows(t, st, LOOKUP_TABLE_PROJECTS, Q_LOOKUP_PROJECTS, SQL_NO_ARGS, NULL, &last, &n, err);
}

/* ---- taking over changes ----------------------------------------------------------------------------------------- */

static int load_tables(struct lookup_tables *t, struct store *st, int64_t seen, struct error *err)
{
    lookup_tables_release(t);
    if (read_few(t, st, err) < 0 ||
        read_all(t, st, LOOKUP_TABLE_EXPERIMENTS, Q_LOOKUP_EXPERIMENTS_AFTER, NULL, err) < 0 ||
        read_all(t, st, LOOKUP_TABLE_RUNS, Q_LOOKUP_RUNS_AFTER, NULL, err) < 0 ||
        read_all_summaries(t, st, NULL, err) < 0)
        return -1;
    for (size_t i = 0; i < X_NR; i++) /* sorts the names now, so that no lookup has to sort all of them */
        if (column_types[LOOKUP_TABLE_EXPERIMENTS][i] == 'T')
            texts_ranks(&t->table[LOOKUP_TABLE_EXPERIMENTS].column[i].texts);
    t->loaded = true;
    t->seen = seen;
    return 0;
}

static struct store_ints changed_ids(const struct lookup_change_row *change, size_t n, int kind, struct arena *a)
{
    int32_t *id = arena_array(a, int32_t, n + 1);
    size_t id_n = 0;
    for (size_t i = 0; i < n; i++)
        if (change[i].kind == kind)
            id[id_n++] = change[i].id;
    return (struct store_ints){id, id_n};
}

/* Reads the changed rows again. First all of them are marked by a negative id, which reading a row replaces. Rows
 * that are still marked afterwards do not exist any more, and give back their places. */
static int follow_rows(struct lookup_tables *t, struct store *st, enum lookup_table which, enum sql_query some,
                       struct store_ints ids, struct arena *a, struct error *err)
{
    struct lookup_rows *rows = &t->table[which];
    int32_t last;
    size_t n;
    if (ids.n == 0)
        return 0;
    for (size_t i = 0; i < ids.n; i++) {
        uint32_t place = lookup_place(rows, ids.value[i]);
        if (place != LOOKUP_NO_ROW)
            rows->id[place] = -ids.value[i];
    }
    if (read_rows(t, st, which, some, SQL_ARGS(sql_text(json_of_ints(a, ids))), NULL, &last, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < ids.n; i++) {
        uint32_t place = lookup_place(rows, ids.value[i]);
        if (place == LOOKUP_NO_ROW || rows->id[place] > 0)
            continue;
        if (which == LOOKUP_TABLE_RUNS)
            lookup_paths_forget(t, place);
        give_place(rows, ids.value[i]);
    }
    return 0;
}

static int follow_summaries(struct lookup_tables *t, struct store *st, struct store_ints ids, struct arena *a,
                            struct error *err)
{
    struct summary_mark last;
    size_t n;
    if (ids.n == 0)
        return 0;
    for (size_t i = 0; i < ids.n; i++) {
        uint32_t place = lookup_place(&t->table[LOOKUP_TABLE_RUNS], ids.value[i]);
        if (place != LOOKUP_NO_ROW)
            lookup_summary_forget(t, place);
    }
    return read_summaries(t, st, Q_LOOKUP_SUMMARIES_SOME, SQL_ARGS(sql_text(json_of_ints(a, ids))), NULL, a, &last, &n,
                          err);
}

static int follow_changes(struct lookup_tables *t, struct store *st, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct lookup_change_row *change;
    size_t n;
    if (list_lookup_changes_since(st, SQL_ARGS(sql_int(t->seen)), &a, &change, &n, err) < 0)
        return -1;
    if (changed_ids(change, n, CHANGE_FEW, &a).n && read_few(t, st, err) < 0)
        return -1;
    if (follow_rows(t, st, LOOKUP_TABLE_EXPERIMENTS, Q_LOOKUP_EXPERIMENTS_SOME,
                    changed_ids(change, n, CHANGE_EXPERIMENT, &a), &a, err) < 0 ||
        follow_rows(t, st, LOOKUP_TABLE_RUNS, Q_LOOKUP_RUNS_SOME, changed_ids(change, n, CHANGE_RUN, &a), &a, err) < 0)
        return -1;
    return follow_summaries(t, st, changed_ids(change, n, CHANGE_SUMMARY, &a), &a, err);
}

/* Whether the tables should be loaded again. Texts that no row has any more are removed only by that. */
static bool is_full_of_old_texts(const struct lookup_tables *t)
{
    for (int which = 0; which < LOOKUP_TABLE_NR; which++)
        for (size_t i = 0; i < LOOKUP_COLUMNS_MAX; i++)
            if (t->table[which].column[i].texts.n > 2 * t->table[which].n + PAGE)
                return true;
    for (const struct lookup_path_column *p = t->paths; p; p = p->hh.next)
        if (p->column.texts.n > 2 * p->column.n + PAGE)
            return true;
    return false;
}

static void account(struct lookup_tables *t)
{
    size_t bytes = lookup_paths_bytes(t);
    for (int which = 0; which < LOOKUP_TABLE_NR; which++)
        bytes += rows_bytes(&t->table[which]);
    t->bytes = bytes;
}

int lookup_tables_refresh(struct lookup_tables *t, struct store *st, struct error *err)
{
    struct change_extent changes;
    if (get_lookup_changes_extent(st, SQL_NO_ARGS, NULL, &changes, err) < 0)
        return -1;
    if (t->loaded && t->seen == changes.last)
        return 0;
    bool again = !t->loaded || changes.first > t->seen || t->seen > changes.last || is_full_of_old_texts(t);
    int rc = again ? load_tables(t, st, changes.last, err) : follow_changes(t, st, err);
    t->seen = changes.last;
    t->changes_kept = changes.last - changes.first;
    if (rc < 0)
        lookup_tables_release(t); /* the tables must not be used if only a part of the changes was taken over */
    lookup_paths_bound(t);
    account(t);
    return rc;
}

void lookup_tables_use(struct lookup_tables *t)
{
    t->uses++;
}

void lookup_tables_release(struct lookup_tables *t)
{
    for (int which = 0; which < LOOKUP_TABLE_NR; which++)
        rows_release(&t->table[which]);
    lookup_paths_release(t);
    t->loaded = t->dropped = false;
}
