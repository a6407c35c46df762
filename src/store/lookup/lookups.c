/* Pages of lookups: rows are found in memory, then read from the database by their ids. */
#include <string.h>

#include "store/lists/list.h"
#include "store/lookup/lookup_internal.h"
#include "store/metrics/metrics.h"
#include "store/row_io.h"

/* So many changes are kept in search_changes. It is more than can come between two lookups of a connection that is
 * in use. */
enum { CHANGES_KEPT = 100000, CHANGES_AT_ONCE = 5000 };

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static int find_page(struct store *st, const struct lookup *s, int32_t project_id, struct page page, struct arena *a,
                     struct lookup_found *ret, struct error *err)
{
    cleanup_arena struct arena own = ARENA_INIT;
    struct lookup_tables *t = store_lookup_tables(st);
    lookup_tables_use(t);
    if (lookup_tables_refresh(t, st, err) < 0)
        return -1;
    enum lookup_table target = s->kind == LOOKUP_RUNS ? LOOKUP_TABLE_RUNS : LOOKUP_TABLE_EXPERIMENTS;
    struct looking x = {.t = t, .st = st, .s = s, .kept = &own, .a = &own, .target = target, .n = t->table[target].n};
    uint8_t *match = arena_array(&own, uint8_t, x.n + 1);
    size_t total = 0;
    if (lookup_match(&x, project_id, match, err) < 0)
        return -1;
    for (size_t i = 0; i < x.n; i++)
        total += match[i];
    if (page_of_query_list(page, (int64_t)total, &ret->window, err) < 0)
        return -1;
    size_t start = (size_t)ret->window.start, end = (size_t)ret->window.end;
    int32_t *ids = arena_array(a, int32_t, end - start + 1);
    ret->ids = (struct store_ints){ids, end - start};
    return end > start ? lookup_order(&x, match, total, start, end, ids, err) : 0;
}

void lookup_limit(struct lookup *s, struct store_ints workspaces)
{
    s->workspaces = workspaces;
}

int store_lookup(struct store *st, const struct lookup *s, int32_t project_id, struct page page, struct arena *a,
                 struct lookup_found *ret, struct error *err)
{
    bool own = !store_in_transaction(st);
    if (own && store_begin_read(st, err) < 0)
        return -1;
    int rc = find_page(st, s, project_id, page, a, ret, err);
    if (own)
        store_rollback(st);
    return rc;
}

int store_lookup_refresh(struct store *st, struct lookup_state *ret, struct error *err)
{
    struct lookup_tables *t = store_lookup_tables(st);
    if (store_begin_read(st, err) < 0)
        return -1;
    int rc = lookup_tables_refresh(t, st, err);
    store_rollback(st);
    *ret = (struct lookup_state){t->bytes, rc == 0 && t->changes_kept > CHANGES_KEPT + CHANGES_AT_ONCE};
    return rc;
}

int store_lookup_trim(struct store *st, struct error *err)
{
    return query_exec(st, Q_LOOKUP_CHANGES_TRIM, SQL_ARGS(sql_int(CHANGES_KEPT), sql_int(CHANGES_AT_ONCE)), NULL, err);
}

/* ---- experiments ------------------------------------------------------------------------------------------------- */

/* Puts rows, which were read in the order of their ids, into the order of the page. */
static void *in_order(const void *rows, size_t n, size_t size, struct store_ints ids, struct arena *a)
{
    char *ordered = arena_alloc(a, (n + 1) * size), *to = ordered;
    for (size_t i = 0; i < ids.n; i++) {
        const void *row = store_row_by_id(rows, n, size, ids.value[i]);
        if (!row)
            continue;
        memcpy(to, row, size);
        to += size;
    }
    return ordered;
}

int store_experiments_shown(struct store *st, struct store_ints ids, struct arena *a, struct store_experiment **ret,
                            size_t *ret_n, struct error *err)
{
    struct store_experiment *rows = NULL;
    if (list_experiments_shown(st, SQL_ARGS(sql_text(json_of_ints(a, ids))), a, &rows, ret_n, err) < 0)
        return -1;
    *ret = in_order(rows, *ret_n, sizeof(*rows), ids, a);
    return 0;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static int add_summaries(struct store *st, struct store_run *run, size_t n, struct arena *a, struct error *err)
{
    int32_t *id = arena_array(a, int32_t, n + 1);
    const char **summary;
    for (size_t i = 0; i < n; i++)
        id[i] = run[i].id;
    if (store_summary_metrics(st, (struct store_ints){id, n}, a, &summary, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        run[i].summary_metrics = summary[i];
    return 0;
}

int store_runs_shown(struct store *st, struct store_ints ids, struct arena *a, struct store_run **ret, size_t *ret_n,
                     struct error *err)
{
    struct store_run *rows = NULL;
    if (list_lookup_runs_shown(st, SQL_ARGS(sql_text(json_of_ints(a, ids))), a, &rows, ret_n, err) < 0)
        return -1;
    *ret = in_order(rows, *ret_n, sizeof(*rows), ids, a);
    return add_summaries(st, *ret, *ret_n, a, err);
}
